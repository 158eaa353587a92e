#pragma once
#include <cstdint>

#include "codec/collation.h"

namespace basalt::codec {

// The collations of the server by their numbers: for tables that nobody has opened.
class CollationSource {
 public:
  virtual ~CollationSource() = default;
  // Returns the collation for CHAR columns or for all others; null if there is none. Several
  // threads may call it at once.
  virtual const Collation* find_by_id(std::uint16_t id, bool is_char) = 0;
};

}  // namespace basalt::codec
