#include <utility>

#include "base/assert.h"
#include "catalog/catalog.h"

namespace basalt::catalog {

Result<TablePointer> Catalog::store_system_time(std::string_view name,
                                                const std::vector<ColumnDefinition>& columns) {
  const MutexLock guard(mutex_);
  const auto found = tables_.find(name);
  if (found == tables_.end()) return table_not_found(name);
  TableDefinition table = *found->second;
  BASALT_ASSERT(table.columns.size() == columns.size());
  for (std::size_t i = 0; i < columns.size(); ++i) {
    table.columns[i].system_time = columns[i].system_time;
  }
  kv::WriteBatch batch;
  put_definition(table, batch);
  BASALT_TRY(database_.write(batch, kv::Durability::kSynced));
  begin_generation(name);
  found->second = std::make_shared<const TableDefinition>(std::move(table));
  owners_.add(found->second);
  return found->second;
}

}  // namespace basalt::catalog
