#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "bulk/build_directory.h"
#include "kv/database.h"
#include "table/entry_files.h"
#include "table/index_load.h"
#include "table/interruption.h"
#include "table/table.h"
#include "txn/loaded_files.h"

namespace basalt::table {

// Rows of one table, in any order, on their way into files instead of a transaction's batch.
//
// How         The entries of each index are written to files, at once where they come in order,
//             else sorted in bounded memory, beyond it with the help of a file, and written at the
//             end, by several threads (IndexLoad). What becomes of the files is the transaction's:
//             txn::Transaction::add_loaded().
// Requires    Of each row what RowWriter sees to: that its keys and unique values are locked, and
//             not there. That none is there twice among the rows is found at the end.
// Life cycle  add()... -> finish(). After an error it is of no more use.
// Errors      Those of files as in bulk::ExternalSort and bulk::SstWriter; kInterrupted.
// Threads     Belongs to one handler.
class BulkLoad {
 public:
  // What it may take of the machine: bytes for sorting, beside some for each file that it writes,
  // and threads: so many write what was sorted, the caller's included, and so many what comes in
  // order, beside the caller's; none of these if it is alone.
  using Resources = FileResources;

  // `interruption` outlives it, as do the others. kIoError, kNoSpace.
  static Result<std::unique_ptr<BulkLoad>> make(kv::Database& database, const Table& table,
                                                const Resources& resources,
                                                const Interruption& interruption);

  // The entry of an index of the table, the primary's 0.
  Status add(std::size_t index_number, std::string_view key, std::string_view value);
  // Writes the files. kDuplicateKey: duplicate_index() and duplicate_key() tell whose.
  Status finish(txn::LoadedFiles& loaded);

  // The index and the entries of the last kDuplicateKey.
  std::size_t duplicate_index() const { return duplicate_index_; }
  const EntryFiles& duplicate() const { return files_; }

 private:
  BulkLoad(kv::Database& database, const Table& table, const Resources& resources,
           const Interruption& interruption, std::unique_ptr<bulk::BuildDirectory> directory);
  Status write(std::size_t index_number, txn::LoadedFiles& loaded);

  const Table& table_;
  const Resources resources_;
  std::unique_ptr<bulk::BuildDirectory> directory_;
  std::size_t threads_left_;                         // to write what comes in order
  std::vector<std::unique_ptr<IndexLoad>> indexes_;  // null: its files are written
  EntryFiles files_;                                 // of the index that is written
  std::size_t duplicate_index_ = 0;
};

}  // namespace basalt::table
