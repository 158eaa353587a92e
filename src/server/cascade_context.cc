#include "server/cascade_context.h"

#include "server/convert/foreign_key_text.h"
#include "server/convert/table_layout.h"
#include "server/plugin.h"
#include "server/session.h"
#include "server/virtual_columns.h"
#include "server/mariadb.h"

namespace basalt::server {
namespace {

using codec::ColumnLayout;

bool fits(const catalog::TableDefinition& table, const TABLE& opened) {
  if (opened.s->fields != table.columns.size()) return false;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const Field& field = *opened.field[i];
    const catalog::ColumnDefinition& column = table.columns[i];
    if (field.pack_length() != column.record_length || field.stored_in_db() != column.stored ||
        (field.null_ptr != nullptr) != column.nullable) {
      return false;
    }
  }
  return true;
}

Status was_replaced(const catalog::TableDefinition& table) {
  return Status(ErrorCode::kDefinitionMismatch, "'" + table.name + "' was replaced meanwhile");
}

}  // namespace

table::SystemTimestamp CascadeContext::time() {
  const auto seconds = static_cast<std::uint32_t>(thd_->query_start());
  const auto microseconds = static_cast<std::uint32_t>(thd_->query_start_sec_part());
  table::SystemTimestamp time{};
  for (std::size_t i = 0; i < 4; ++i) time[i] = static_cast<std::uint8_t>(seconds >> (24 - 8 * i));
  for (std::size_t i = 0; i < 3; ++i) {
    time[4 + i] = static_cast<std::uint8_t>(microseconds >> (16 - 8 * i));
  }
  return time;
}

// The server has the metadata locks of most tables to which cascades lead. Of those that change
// because of ON DELETE SET NULL, and then of ON UPDATE, it has locks of readers alone; and none of
// a table that was renamed while it opened its tables.
Status CascadeContext::begin_changes(const table::Table& table) {
  const catalog::TableDefinition& definition = table.definition();
  changed_.insert(definition.id);
  // A copy that is going to take the place of a table, and with it what references that.
  const bool is_copy = is_servers_own_name(definition.name);
  Result<std::string> copied =
      is_copy ? the_engine().catalog().copied_table(definition.name) : std::string();
  if (!copied.is_ok()) return copied.take_status();
  const std::string& name = is_copy ? copied.value() : definition.name;
  if (name.empty()) return was_replaced(definition);
  const TableNames names = names_in_sql(name);
  MDL_context& locks = thd_->mdl_context;
  if (locks.is_lock_owner(MDL_key::TABLE, names.database.c_str(), names.table.c_str(),
                          MDL_SHARED_WRITE)) {
    return Status::ok();
  }
  MDL_request request;
  MDL_REQUEST_INIT(&request, MDL_key::TABLE, names.database.c_str(), names.table.c_str(),
                   MDL_SHARED_WRITE, MDL_TRANSACTION);
  // As for a row: who has the table may be waiting for this transaction, and nobody finds a circle
  // of both kinds of locks.
  const auto timeout_ms = static_cast<double>(Session::wait_policy_of(thd_).timeout_ms);
  if (locks.acquire_lock(&request, timeout_ms / 1000)) {
    const Diagnostics_area& told = *thd_->get_stmt_da();
    const bool is_deadlock = told.is_error() && told.sql_errno() == ER_LOCK_DEADLOCK;
    return Status(is_deadlock    ? ErrorCode::kDeadlock
                  : thd_->killed ? ErrorCode::kInterrupted
                                 : ErrorCode::kLockTimeout,
                  "'" + name + "' is locked by others");
  }
  const catalog::Catalog& catalog = the_engine().catalog();
  const bool is_there = catalog.find(definition.name).get() == &definition;
  // A copy beside the table was left behind by an error: no ALTER TABLE runs that it is of.
  const bool may_change = is_there && (!is_copy || catalog.find(name) != nullptr);
  return may_change ? Status::ok() : was_replaced(definition);
}

TABLE* CascadeContext::find_opened(const catalog::TableDefinition& table) const {
  const TableNames names = names_in_sql(table.name);
  TABLE* const opened = find_fk_open_table(thd_, names.database.data(), names.database.size(),
                                           names.table.data(), names.table.size());
  return opened != nullptr && fits(table, *opened) ? opened : nullptr;
}

Status CascadeContext::compute_columns(const table::Table& table, const codec::ColumnSet& wanted,
                                       Version version, std::uint8_t* record,
                                       std::vector<std::string>& blobs) {
  const catalog::TableDefinition& definition = table.definition();
  const std::vector<ColumnLayout>& columns = table.layout().columns;
  TABLE* const opened = find_opened(definition);
  if (opened == nullptr) {
    return Status(ErrorCode::kUnsupported,
                  "a foreign key changes rows of '" + definition.name +
                      "', which has an index on a virtual column and was not opened for this "
                      "statement; change its rows first");
  }
  VirtualColumns computed(*opened);
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (wanted.test(i)) computed.add(*opened->field[i]);
  }
  using Conditions = VirtualColumns::Conditions;
  const bool is_stored = version == Version::kStored;
  if (!computed.compute_in(table.layout(), record, blobs,
                           is_stored ? Conditions::kNone : Conditions::kAll)) {
    return Status(ErrorCode::kInterrupted,
                  "a virtual column of '" + definition.name + "' cannot be computed");
  }
  return Status::ok();
}

}  // namespace basalt::server
