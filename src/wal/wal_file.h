#pragma once
#include <rocksdb/file_system.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "rdb/rocksdb_fwd.h"
#include "wal/health.h"
#include "wal/retryable_files.h"
#include "wal/wal_preallocator.h"

namespace basalt::wal {

class OpenWals;

// A WAL as it is written. What a failed write has appended can be taken back (WalWrite), its size
// changes rarely (WalPreallocator), and its first record waits for the WALs before it (OpenWals).
//
// Threads     One appends at a time; syncs come from any thread.
class WalFile final : public rdb::FSWritableFileOwnerWrapper {
 public:
  // `target`, the file at `path` of `files`, which already has `size` bytes. `files`, `wals` and
  // `health` outlive it.
  WalFile(std::unique_ptr<rdb::FSWritableFile>&& target, rdb::FileSystem& files, OpenWals& wals,
          Health& health, std::string path, std::uint64_t size);
  ~WalFile() override;

  rdb::IOStatus Append(const rdb::Slice& data, const rdb::IOOptions& options,
                       rdb::IODebugContext* debug) override;
  rdb::IOStatus Append(const rdb::Slice& data, const rdb::IOOptions& options,
                       const rdb::DataVerificationInfo& verification,
                       rdb::IODebugContext* debug) override;
  rdb::IOStatus Close(const rdb::IOOptions& options, rdb::IODebugContext* debug) override;
  rdb::IOStatus Sync(const rdb::IOOptions& options, rdb::IODebugContext* debug) override;
  rdb::IOStatus Fsync(const rdb::IOOptions& options, rdb::IODebugContext* debug) override;

  const std::string& path() const { return path_; }
  // Whether something was appended that is perhaps not on disk.
  bool has_unsynced() const { return synced_appends_ < appends_; }
  // Replaces what was appended since `begin` by zeros. The size stays: RocksDB believes in it, and
  // has perhaps noted it where it looks at the next start. What cannot be replaced now is left to
  // OpenWals::repair().
  void undo_since(std::uint64_t begin);

 private:
  rdb::IOStatus begin_append(std::uint64_t bytes, const rdb::IOOptions& options);
  rdb::IOStatus end_append(rdb::IOStatus status, std::uint64_t bytes);
  rdb::IOStatus end_sync(rdb::IOStatus status, std::uint64_t appends);

  OpenWals& wals_;
  const std::string path_;
  std::uint64_t size_;
  WalPreallocator preallocator_;
  std::atomic<std::uint64_t> appends_{0};
  std::atomic<std::uint64_t> synced_appends_{0};  // so many of them are on disk
};

}  // namespace basalt::wal
