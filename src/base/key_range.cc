#include "base/key_range.h"

#include "base/bytes.h"

namespace basalt {

KeyRange index_key_range(std::uint32_t index_id) {
  KeyRange range;
  append_be32(range.lower, index_id);
  // Behind the last index there is nothing.
  if (index_id != UINT32_MAX) append_be32(range.upper, index_id + 1);
  return range;
}

}  // namespace basalt
