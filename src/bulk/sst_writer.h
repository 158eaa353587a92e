#pragma once
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
  SstWriter(const rdb::Options& options, rdb::ColumnFamilyHandle* family, wal::Health& health,
            std::string path);
  ~SstWriter();
  SstWriter(const SstWriter&) = delete;
  SstWriter& operator=(const SstWriter&) = delete;

  // Keys ascend.
  Status put(std::string_view key, std::string_view value);
  Status finish();
  // None without entries.
  const std::vector<std::string>& paths() const { return paths_; }

 private:
  struct Writer;

  Status begin_file();
  Status end_file();

  wal::Health& health_;
  const std::string path_;
  const std::unique_ptr<Writer> writer_;
  bool file_is_open_ = false;
  std::vector<std::string> paths_;
};

}  // namespace basalt::bulk
