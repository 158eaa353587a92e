#pragma once
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "inspect/index_names.h"
#include "rdb/rocksdb_fwd.h"

namespace basalt::inspect {

// What RocksDB needs to know to read our files, and its own of everything else.
rdb::Options reading_options();

// The files of an engine that are read where they lie, and never changed.
//
// Purpose     Show what is stored without a server. Of an engine that runs at the time it is what
//             its files and its WALs held at the opening; a file that is removed since is an error.
// Ownership   Nothing is locked, made or removed in the directory.
// Threads     Belongs to one thread at a time.
class StoredDatabase {
 public:
  // kInvalidArgument for a directory that has no dictionary, kCorruption for what does not decode.
  static Result<std::unique_ptr<StoredDatabase>> open(const std::string& directory);
  ~StoredDatabase();
  StoredDatabase(const StoredDatabase&) = delete;
  StoredDatabase& operator=(const StoredDatabase&) = delete;

  const IndexNames& names() const { return names_; }
  std::string family_name(std::uint32_t number) const;

  // Prints up to `keys_max` entries of an index, one on a line, and takes off their number:
  // IndexNames::describe(), and the value in hexadecimal digits `with_values`.
  Status print_entries(catalog::IndexId index, bool with_values, std::uint64_t& keys_max,
                       std::FILE* out);

 private:
  StoredDatabase();
  Status open_families(const std::string& directory);
  Status read_names();

  std::unique_ptr<rdb::DB> db_;
  std::vector<rdb::ColumnFamilyHandle*> families_;
  IndexNames names_;
};

}  // namespace basalt::inspect
