#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "kv/database.h"
#include "rdb/rocksdb_fwd.h"
#include "txn/key_spans.h"
#include "txn/own_change.h"

namespace basalt::txn {

// A part of a transaction's changes in sorted files: each key once, with what was done to it last.
//
// Files       One for each family, of the kind that RocksDB ingests, written once: the commit makes
//             them part of the database as they are. They are the owner's of their directory.
// Errors      kIoError, kCorruption: a file cannot be read.
// Threads     Safe from any thread.
class SpilledRun : public std::enable_shared_from_this<SpilledRun> {
 public:
  struct File {
    kv::FamilyId family;
    std::string path;
  };
  struct Content {
    std::vector<File> files;
    // What there is of each index.
    KeySpans keys;
    // The indexes of which keys are removed.
    std::vector<std::uint32_t> with_removals;
    std::uint64_t bytes = 0;  // of keys and values
    bool is_merged = false;   // it has been made of others
  };

  // Opens what was written.
  static Result<std::shared_ptr<const SpilledRun>> open(kv::Database& database, Content content);
  ~SpilledRun();
  SpilledRun(const SpilledRun&) = delete;
  SpilledRun& operator=(const SpilledRun&) = delete;

  const std::vector<File>& files() const { return content_.files; }
  const KeySpans& keys() const { return content_.keys; }
  std::uint64_t bytes() const { return content_.bytes; }
  bool is_merged() const { return content_.is_merged; }
  // The changes of a family, which keep the run; null: there are none.
  std::unique_ptr<ChangeSource> changes(kv::FamilyId family) const;
  // `value` is set for kPut.
  Status find(kv::FamilyId family, std::string_view key, OwnVersion& version,
              std::string& value) const;
  // Removes the files, which who reads them goes on reading.
  void remove_files() const;

 private:
  explicit SpilledRun(Content content);
  // Null: there is none.
  rdb::SstFileReader* file_of(kv::FamilyId family) const;

  const Content content_;
  std::vector<std::unique_ptr<rdb::SstFileReader>> readers_;  // for each of the files
};

using SpilledRuns = std::vector<std::shared_ptr<const SpilledRun>>;

// The changes that a file has. `owner`, of the file, lives as long.
std::unique_ptr<ChangeSource> changes_of_file(rdb::SstFileReader& file,
                                              std::shared_ptr<const void> owner = nullptr);

// Calls `visit` with each key and value that a file of puts of `family` has, in their order. An
// error of it ends the visits. kIoError, kCorruption.
Status visit_sorted_file(
    kv::Database& database, kv::FamilyId family, const std::string& path,
    const std::function<Status(std::string_view key, std::string_view value)>& visit);

// Opens a file of entries of `family`.
Result<std::unique_ptr<rdb::SstFileReader>> open_sorted_file(kv::Database& database,
                                                             kv::FamilyId family,
                                                             const std::string& path);

}  // namespace basalt::txn
