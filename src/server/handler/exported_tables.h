#pragma once
#include <cstddef>
#include <memory>
#include <string>

#include "catalog/definitions.h"
#include "table/table.h"
#include "table/table_export.h"
#include "server/mariadb.h"

// Tables that go from one server to another in files: FLUSH TABLES ... FOR EXPORT, ALTER TABLE ...
// DISCARD TABLESPACE and IMPORT TABLESPACE.
//
// Errors      of the handler. has_told() is true of some: the statement has been told already what
//             is the matter, in the words that InnoDB has for it.
namespace basalt::server {

bool has_told(THD* thd, int error);

// Where a table's files lie, as of table::ExportedTable: beside the server's definition.
std::string files_of(const catalog::TableDefinition& definition);

// To be called at the start: removes the files of exports, and of imports that are done, which a
// crash has cut off. Those of discarded tables are there to be imported.
void remove_left_exports();

// ER_TABLESPACE_DISCARDED: the table has no rows to read, and must not get any.
int refuse_discarded(THD* thd, const TABLE& table);
// The same if the table is discarded; else 0. To be asked where rows are read or written, and not
// where a table is opened or locked: views and triggers may be made of it, and dumps tell of it.
inline int refuse_if_discarded(THD* thd, const TABLE& table,
                               const catalog::TableDefinition& definition) {
  return definition.is_discarded ? refuse_discarded(thd, table) : 0;
}

// Whether the statement that locks a table is to have it in files, until it unlocks it.
bool asks_for_export(THD* thd, const TABLE& table);
// Writes the files.
Result<std::unique_ptr<table::TableExport>> export_table(THD* thd, const TABLE& table,
                                                         const table::Table& opened);

// For ALTER TABLE, which keeps others from the table. It has another definition in the dictionary
// afterwards. What lies there of an export goes. A table that is discarded already gets a warning.
// `row_key_bytes_max`: as of table::import_entries().
int discard_table(THD* thd, const TABLE& table, const catalog::TableDefinition& definition);
int import_table(THD* thd, const TABLE& table, const catalog::TableDefinition& definition,
                 std::size_t row_key_bytes_max);

}  // namespace basalt::server
