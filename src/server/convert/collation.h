#pragma once
#include <map>
#include <memory>
#include <utility>

#include "base/mutex.h"
#include "codec/collation.h"
#include "stats/key_layouts.h"
#include "server/mariadb.h"

namespace basalt::server {

// The server's collations as the codec sees them, made on first use. The order is that of the
// server's comparison functions (strnncollsp(), of CHAR columns strnncollsp_nchars()).
//
// Threads     Safe from any thread. Collations live as long as the registry.
class CollationRegistry final : public codec::CollationSource {
 public:
  // Never null. `is_char`: for CHAR columns, not for VARCHAR and TEXT.
  const codec::Collation* find(const CHARSET_INFO* charset, bool is_char);
  const codec::Collation* find_by_id(std::uint16_t id, bool is_char) override;

 private:
  Mutex mutex_{MutexRank::kCollations};
  std::map<std::pair<unsigned, bool>, std::unique_ptr<codec::Collation>> collations_
      BASALT_GUARDED_BY(mutex_);
};

}  // namespace basalt::server
