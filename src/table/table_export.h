#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "kv/database.h"
#include "table/exported_table.h"
#include "table/interruption.h"
#include "table/table.h"

namespace basalt::table {

// A table in files beside the server's definition, for as long as this lives: who exports a table
// copies them meanwhile.
//
// Files       Those of the indexes, as exported_file_path(), and then exported_definition_path(),
//             without which the others are of no use.
// Errors      kInterrupted; those of kv::Iterator and bulk::SstWriter. Nothing is left then.
// Threads     One at a time.
class TableExport {
 public:
  // Writes what is committed. Nobody may be writing to the table. `described`: its columns and the
  // next AUTO_INCREMENT value. `path`: as of exported_definition_path(). What lies there of another
  // export is removed.
  static Result<std::unique_ptr<TableExport>> make(kv::Database& database, const Table& table,
                                                   ExportedTable described, const std::string& path,
                                                   const Interruption& interruption);
  ~TableExport();
  TableExport(const TableExport&) = delete;
  TableExport& operator=(const TableExport&) = delete;

 private:
  TableExport(kv::Database& database, std::string path)
      : database_(database), path_(std::move(path)) {}
  Status write(const Table& table, const Interruption& interruption);
  Status write_index(const Table& table, std::size_t number, const kv::Snapshot& snapshot,
                     const Interruption& interruption);

  kv::Database& database_;
  const std::string path_;
  ExportedTable exported_;
};

}  // namespace basalt::table
