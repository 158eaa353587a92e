#pragma once
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <string>

#include "base/status.h"
#include "inspect/index_names.h"
#include "rdb/rocksdb_fwd.h"

namespace basalt::inspect {

// One file of sorted entries, by itself.
//
// Threads     Belongs to one thread at a time.
class SstFile {
 public:
  struct IndexCount {
    std::uint64_t entries = 0;   // all that are in the file
    std::uint64_t removals = 0;  // of these
  };

  // kIoError, kCorruption.
  static Result<std::unique_ptr<SstFile>> open(const std::string& path);
  ~SstFile();
  SstFile(const SstFile&) = delete;
  SstFile& operator=(const SstFile&) = delete;

  // By index; what is too short for an index id is counted for none.
  Result<std::map<catalog::IndexId, IndexCount>> count_entries() const;
  // Prints the first `entries_max`, one on a line: IndexNames::describe(), the sequence number, the
  // kind, and the value in hexadecimal digits `with_values`.
  Status print_entries(const IndexNames& names, bool with_values, std::uint64_t entries_max,
                       std::FILE* out) const;

 private:
  SstFile();

  std::unique_ptr<rdb::SstFileReader> reader_;
};

}  // namespace basalt::inspect
