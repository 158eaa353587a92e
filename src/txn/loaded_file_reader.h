#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "kv/database.h"
#include "rdb/rocksdb_fwd.h"
#include "txn/loaded_files.h"

namespace basalt::txn {

// Reads files of loads that are not part of the database yet: those that a crash has left.
//
// Errors      kIoError, kCorruption.
// Threads     Belongs to one.
class LoadedFileReader {
 public:
  explicit LoadedFileReader(kv::Database& database);
  ~LoadedFileReader();
  LoadedFileReader(const LoadedFileReader&) = delete;
  LoadedFileReader& operator=(const LoadedFileReader&) = delete;

  // Opens the files of a load, and sets its `keys`: one of each index and file.
  Status open(LoadedFiles& load);
  // How many entries all files have that are open.
  std::uint64_t entry_count() const { return entry_count_; }
  // Calls visit(key) for each of them, up to the first error.
  Status for_each_key(const std::function<Status(std::string_view key)>& visit) const;

 private:
  kv::Database& database_;
  std::vector<std::unique_ptr<rdb::SstFileReader>> files_;
  std::uint64_t entry_count_ = 0;
};

// Reads all of the files, and compares what they have with their checksums: a recovered load has
// been open in no process since it was written. kIoError, kCorruption.
Status verify_loaded_files(kv::Database& database, std::span<const LoadedFiles> loads);

}  // namespace basalt::txn
