#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "codec/collation.h"
#include "server/mariadb.h"

namespace basalt::server {

// The server's collations as the codec sees them, made on first use. The order is that of the
// server's comparison functions (strnncollsp(), of CHAR columns strnncollsp_nchars()).
//
// Threads     Safe from any thread. Collations live as long as the registry.
class CollationRegistry {
 public:
  // Never null. `is_char`: for CHAR columns, not for VARCHAR and TEXT.
  const codec::Collation* find(const CHARSET_INFO* charset, bool is_char);

 private:
  std::mutex mutex_;
  std::map<std::pair<unsigned, bool>, std::unique_ptr<codec::Collation>> collations_;
};

}  // namespace basalt::server
