#pragma once
#include <rocksdb/file_system.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "rdb/rocksdb_fwd.h"
#include "wal/health.h"

namespace basalt::wal {

// Writes zeros ahead of the end of a WAL, which records then replace.
//
// Purpose     To sync a file that has grown, a file system writes its journal, too: ext4 three
//             operations and 18 KB in place of two and 6 KB, in more than twice the time. A WAL
//             that is synced often therefore gets 256 KiB at once. Readers take the zeros for the
//             end of the WAL.
// Errors      None: without zeros the WAL is as good.
// Threads     note_sync() by any thread, the rest by the one that appends.
class WalPreallocator {
 public:
  // For the WAL at `path` of `files`, which both outlive this, as `health` does; `size` is its
  // size. One that is opened again appends at its end, zeros or not, and gets none.
  WalPreallocator(rdb::FileSystem& files, const std::string& path, Health& health,
                  std::uint64_t size);

  void note_sync() { syncs_.fetch_add(1, std::memory_order_relaxed); }

  // Records are about to be appended, up to `end`. The next sync is for them and for the zeros.
  void before_append(std::uint64_t end) {
    if (end > preallocated_end_) [[unlikely]]
      extend(end);
  }

  // No zeros are written any more. Whether there are some that have to be cut off.
  bool finish();

 private:
  void extend(std::uint64_t begin);

  rdb::FileSystem& files_;
  const std::string& path_;
  Health& health_;
  // Up to here it has been preallocated, or was not worth it.
  std::uint64_t preallocated_end_;
  std::unique_ptr<rdb::FSRandomRWFile> file_;  // once zeros have been written
  std::atomic<std::uint32_t> syncs_{0};
  std::uint32_t syncs_before_ = 0;  // preallocated_end_ was chosen
};

}  // namespace basalt::wal
