#pragma once
#include <map>
#include <memory>
#include <mutex>

#include "codec/collation.h"
#include "server/mariadb.h"

namespace basalt::server {

// The server's collations as the codec sees them, made on first use.
//
// Threads     Safe from any thread. Collations live as long as the registry.
class CollationRegistry {
 public:
  // For columns of any collation: never null.
  const codec::Collation* find(const CHARSET_INFO* charset);
  // Whether keys can be made of strings in this collation.
  static bool is_indexable(const CHARSET_INFO* charset);

 private:
  std::mutex mutex_;
  std::map<unsigned, std::unique_ptr<codec::Collation>> collations_;
};

}  // namespace basalt::server
