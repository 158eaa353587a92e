#include "server/handler/exported_tables.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "server/convert/error_mapping.h"
#include "server/handler/foreign_key_definition.h"
#include "server/handler/undecided_changes.h"
#include "server/plugin.h"
#include "server/session.h"
#include "table/exported_files.h"
#include "table/table_import.h"
#include "server/mariadb.h"

namespace basalt::server {
namespace {

std::string text_of(const String& text) { return {text.ptr(), text.length()}; }

// While one exists the server quotes all names alike.
class PlainQuotes {
 public:
  explicit PlainQuotes(THD* thd)
      : thd_(thd), sql_mode_(thd->variables.sql_mode), options_(thd->variables.option_bits) {
    thd->variables.sql_mode = 0;
    thd->variables.option_bits |= OPTION_QUOTE_SHOW_CREATE;
  }
  ~PlainQuotes() {
    thd_->variables.sql_mode = sql_mode_;
    thd_->variables.option_bits = options_;
  }
  PlainQuotes(const PlainQuotes&) = delete;
  PlainQuotes& operator=(const PlainQuotes&) = delete;

 private:
  THD* const thd_;
  const sql_mode_t sql_mode_;
  const ulonglong options_;
};

// As of table::ExportedTable: in the order of the dictionary's columns, which is the server's.
std::vector<std::string> describe_columns(THD* thd, const TABLE& table) {
  const PlainQuotes quotes(thd);
  std::vector<std::string> columns;
  for (Field* const* field = table.field; *field != nullptr; ++field) {
    StringBuffer<MAX_FIELD_WIDTH> type;
    (*field)->sql_type(type);
    std::string& column = columns.emplace_back(text_of(type));
    if ((*field)->has_charset()) {
      column.append(" COLLATE ").append((*field)->charset()->coll_name.str);
    }
    if ((*field)->vcol_info == nullptr) continue;
    StringBuffer<MAX_FIELD_WIDTH> expression;
    (*field)->vcol_info->print(&expression);
    column.append(" AS (").append(text_of(expression)).append(")");
    column.append((*field)->stored_in_db() ? " STORED" : " VIRTUAL");
  }
  return columns;
}

// A failure of which the statement has been told: print_error() is not to say anything else.
constexpr int kTold = HA_ERR_GENERIC;

int refuse_temporary() {
  my_error(ER_CANNOT_DISCARD_TEMPORARY_TABLE, MYF(0));
  return kTold;
}

// Of files, in the words of their errors.
int tell(THD* thd, const Status& status) {
  const bool tells_file = std::ranges::any_of(
      std::array{ErrorCode::kNotFound, ErrorCode::kInvalidArgument, ErrorCode::kIoError,
                 ErrorCode::kCorruption, ErrorCode::kUnsupported},
      [&status](ErrorCode code) { return status.is(code); });
  if (!tells_file) return to_handler_error(status, thd);
  const uint code = status.is(ErrorCode::kNotFound) ? ER_TABLESPACE_MISSING : ER_UNKNOWN_ERROR;
  my_printf_error(code, "RocksDB: %s", MYF(0), status.message().c_str());
  return kTold;
}

void warn_if_left(THD* thd, const Status& removed) {
  if (removed.is_ok()) return;
  push_warning_printf(thd, Sql_condition::WARN_LEVEL_WARN, ER_CANT_DELETE_FILE, "RocksDB: %s",
                      removed.message().c_str());
}

}  // namespace

// The server's working directory is its data directory.
std::string files_of(const catalog::TableDefinition& definition) { return "./" + definition.name; }

void remove_left_exports() {
  const catalog::Catalog& catalog = the_engine().catalog();
  std::set<std::string> databases;
  for (const catalog::TablePointer& table : catalog.all_tables()) {
    databases.insert(table->name.substr(0, table->name.find('/')));
  }
  for (const std::string& database : databases) {
    const auto is_left = [&](std::string_view name) {
      const catalog::TablePointer table = catalog.find(database + "/" + std::string(name));
      return table != nullptr && !table->is_discarded;
    };
    table::remove_left_exports(the_engine().database(), "./" + database, is_left)
        .ignore("the error log tells it");
  }
}

bool has_told(THD* thd, int error) { return error == kTold && thd->get_stmt_da()->is_error(); }

int refuse_discarded(THD* thd, const TABLE& table) {
  // The server reads a sequence that ALTER TABLE opens, and takes that for an answer.
  if (thd_tablespace_op(thd) != 0) return HA_ERR_TABLESPACE_MISSING;
  my_error(ER_TABLESPACE_DISCARDED, MYF(0), table.s->table_name.str);
  return kTold;
}

// Not of what the statement reads for another purpose: the tables in a view's subqueries, which
// others may be writing to, a sequence that is opened.
bool asks_for_export(THD* thd, const TABLE& table) {
  return thd_sql_command(thd) == SQLCOM_FLUSH && (thd->lex->type & REFRESH_FOR_EXPORT) != 0 &&
         table.mdl_ticket != nullptr && table.mdl_ticket->get_type() >= MDL_SHARED_NO_WRITE;
}

Result<std::unique_ptr<table::TableExport>> export_table(THD* thd, const TABLE& table,
                                                         const table::Table& opened) {
  // What is prepared may be committed while the files are copied.
  Status status = the_engine().check_decided(opened.definition(), thd);
  warn_if_undecided(thd, status);
  BASALT_TRY(std::move(status));
  table::ExportedTable described;
  described.columns = describe_columns(thd, table);
  if (table.found_next_number_field != nullptr) {
    described.next_auto_increment = opened.state().auto_increment.next();
  }
  return table::TableExport::make(the_engine().database(), opened, std::move(described),
                                  files_of(opened.definition()), Session::of(thd));
}

int discard_table(THD* thd, const TABLE& table, const catalog::TableDefinition& definition) {
  if (table.s->tmp_table != NO_TMP_TABLE) return refuse_temporary();
  if (definition.is_discarded) {
    push_warning_printf(thd, Sql_condition::WARN_LEVEL_WARN, ER_TABLESPACE_MISSING,
                        ER_THD(thd, ER_TABLESPACE_MISSING), table.s->table_name.str);
    return 0;
  }
  if (const int error = check_not_referenced(thd, definition.name); error != 0) return error;
  const Status status =
      the_engine().truncate_table(definition.name, thd, engine::Engine::Undecided::kRefuse,
                                  waiter_of(thd), catalog::Catalog::Emptied::kDiscarded);
  warn_if_undecided(thd, status);
  // As InnoDB has it: what is imported is put there afterwards.
  if (status.is_ok()) {
    warn_if_left(thd, table::remove_exported(the_engine().database(), files_of(definition)));
  }
  return tell(thd, status);
}

int import_table(THD* thd, const TABLE& table, const catalog::TableDefinition& definition,
                 std::size_t row_key_bytes_max) {
  if (table.s->tmp_table != NO_TMP_TABLE) return refuse_temporary();
  if (!definition.is_discarded) {
    my_error(ER_TABLESPACE_EXISTS, MYF(0), table.s->table_name.str);
    return kTold;
  }
  kv::Database& database = the_engine().database();
  const std::string path = files_of(definition);
  const Result<table::ExportedTable> exported = table::read_exported(database, path);
  if (!exported.is_ok()) return tell(thd, exported.status());
  const std::string difference =
      table::find_difference(exported.value(), definition, describe_columns(thd, table));
  if (!difference.empty()) {
    my_error(ER_TABLE_SCHEMA_MISMATCH, MYF(0), difference.c_str());
    return kTold;
  }
  const Status status = the_engine().import_table(
      definition.name, exported.value(), path, row_key_bytes_max, waiter_of(thd), Session::of(thd));
  warn_if_undecided(thd, status);
  if (!status.is_ok()) return tell(thd, status);
  warn_if_left(thd, table::remove_exported(database, path));
  return 0;
}

}  // namespace basalt::server
