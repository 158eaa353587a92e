#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"
#include "kv/database.h"
#include "table/exported_table.h"
#include "table/interruption.h"

namespace basalt::table {

// What is known of an exported table whose files lie at `path`. kNotFound if there are none;
// kInvalidArgument if they do not belong together, or are no such files; kIoError.
Result<ExportedTable> read_exported(kv::Database& database, const std::string& path);

// Makes the entries of an exported table, with other ids, those of `table`: of new indexes, which
// nobody reads yet. The files stay. No key of a row may have more than `row_key_bytes_max`, without
// the index id. `rows` is how many rows there are. kInvalidArgument if a file is not what it was;
// kInterrupted; as bulk::SstWriter and kv::Database::ingest().
Status import_entries(kv::Database& database, const ExportedTable& exported,
                      const std::string& path, const catalog::TableDefinition& table,
                      std::size_t row_key_bytes_max, const Interruption& interruption,
                      std::uint64_t& rows);

}  // namespace basalt::table
