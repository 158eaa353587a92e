#pragma once
#include <string>
#include <vector>

#include "table/statement_context.h"
#include "server/mariadb.h"

namespace basalt::server {

// Tells the changes that foreign keys bring to other tables of the session's statement. The server
// opens these tables for the statement, so its own instances of them compute generated columns.
class CascadeContext final : public table::StatementContext {
 public:
  explicit CascadeContext(THD* thd) : thd_(thd) {}

  table::SystemTimestamp time() override;
  Status begin_changes(const table::Table& table) override;
  Status compute_columns(const table::Table& table, const codec::ColumnSet& wanted, Version version,
                         std::uint8_t* record, std::vector<std::string>& blobs) override;

 private:
  TABLE* find_opened(const catalog::TableDefinition& table) const;

  THD* const thd_;
};

}  // namespace basalt::server
