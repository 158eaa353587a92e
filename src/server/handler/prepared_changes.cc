#include "server/handler/prepared_changes.h"

#include <vector>

#include "server/plugin.h"

namespace basalt::server {

int refuse_if_held_by_prepared(THD* thd, const catalog::TableDefinition& table) {
  std::vector<std::uint32_t> indexes;
  for (const catalog::IndexDefinition& index : table.indexes) indexes.push_back(index.id);
  if (!the_engine().transactions().is_held_by_prepared(indexes)) return 0;
  if (thd != nullptr) {
    push_warning_printf(thd, Sql_condition::WARN_LEVEL_WARN, ER_LOCK_WAIT_TIMEOUT,
                        "RocksDB: a prepared XA transaction has changed '%s'; decide it first, "
                        "XA RECOVER lists them",
                        table.name.c_str());
  }
  return HA_ERR_LOCK_WAIT_TIMEOUT;
}

}  // namespace basalt::server
