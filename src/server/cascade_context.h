#pragma once
#include <set>
#include <string>
#include <vector>

#include "catalog/catalog.h"
#include "table/statement_context.h"
#include "server/mariadb.h"

namespace basalt::server {

// Tells the changes that foreign keys bring to other tables of the session's statement. The server
// opens these tables for the statement, so its own instances of them compute generated columns.
class CascadeContext final : public table::StatementContext {
 public:
  explicit CascadeContext(THD* thd) : thd_(thd) {}

  // Whether rows of the table were perhaps changed by foreign keys since forget().
  bool have_changed(catalog::TableId table) const { return changed_.contains(table); }
  // No statement runs that has read rows.
  void forget() { changed_.clear(); }

  table::SystemTimestamp time() override;
  Status begin_changes(const table::Table& table) override;
  Status compute_columns(const table::Table& table, const codec::ColumnSet& wanted, Version version,
                         std::uint8_t* record, std::vector<std::string>& blobs) override;

 private:
  TABLE* find_opened(const catalog::TableDefinition& table) const;

  THD* const thd_;
  std::set<catalog::TableId> changed_;
};

}  // namespace basalt::server
