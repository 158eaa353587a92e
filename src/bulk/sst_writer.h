#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "rdb/rocksdb_fwd.h"
#include "wal/health.h"

namespace basalt::bulk {

// Writes entries to files as the lowest level of a family has them, to be given to
// kv::Database::ingest(): the way of many entries into a range of keys that nobody uses yet,
// without WAL, memtable and compactions.
//
// Life cycle  put()... -> finish() -> paths(). After an error the files are of no use; the owner
//             of their directory removes them.
// Durable     When finish() returns.
// Errors      kIoError, kNoSpace; as wal/health.h has them where rows may not be changed. The
//             database goes on as before.
// Threads     One at a time.
class SstWriter {
 public:
  // `options`: those of `family`, which is open. `path`: what the paths of the files begin with;
  // nobody else makes files that begin with it. `health` is the database's.
  // With `file_bytes_max` a file of that size is followed by another one.
  SstWriter(const rdb::Options& options, rdb::ColumnFamilyHandle* family, wal::Health& health,
            std::string path, std::uint64_t file_bytes_max);
  ~SstWriter();
  SstWriter(const SstWriter&) = delete;
  SstWriter& operator=(const SstWriter&) = delete;

  // Keys ascend, whatever is done to them.
  Status put(std::string_view key, std::string_view value);
  // An entry that hides what other files have of the key, when it is ingested after them. As with
  // DB::SingleDelete(), one of remove_single() must meet exactly one that is put.
  Status remove(std::string_view key);
  Status remove_single(std::string_view key);
  Status finish();
  // None without entries.
  const std::vector<std::string>& paths() const { return paths_; }

 private:
  struct Writer;

  Status begin_entry();
  Status begin_file();
  Status end_file();
  Status end_full_file();

  wal::Health& health_;
  const std::string path_;
  const std::uint64_t file_bytes_max_;
  const std::unique_ptr<Writer> writer_;
  bool file_is_open_ = false;
  std::vector<std::string> paths_;
};

}  // namespace basalt::bulk
