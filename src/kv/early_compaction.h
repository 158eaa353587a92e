#pragma once
#include <cstdint>
#include <memory>

#include "rdb/rocksdb_fwd.h"

// Files in which most of a window of entries is removed are compacted before their turn, so that
// scans do not wade through tombstones.
namespace basalt::kv {

// Which files these are.
struct EarlyCompaction {
  // So many entries that remove one, of all kinds. 0: three quarters of the window; then a file of
  // which they are three quarters as a whole counts, too.
  std::uint64_t removals = 0;
  // Among so many in a row. 0, or fewer than `removals`: chosen.
  std::uint64_t window = 0;
  // In a file of so many bytes at least.
  std::uint64_t file_bytes = 0;
};

// Marks the files of a family, each when it is written: by what is chosen until somebody else
// decides.
std::shared_ptr<rdb::CompactOnDeletionCollectorFactory> make_early_compaction();

// For files that are written from now on. Those that are being written may be judged by some old
// and some new limits. Any thread.
void set_early_compaction(const EarlyCompaction& limits,
                          rdb::CompactOnDeletionCollectorFactory& factory);

// The one among the options of a family of tables.
rdb::CompactOnDeletionCollectorFactory& early_compaction_of(
    const rdb::ColumnFamilyOptions& options);

// Lets a family have the one of another, so that what is set for one holds for both.
void share_early_compaction(const rdb::ColumnFamilyOptions& from, rdb::ColumnFamilyOptions& to);

}  // namespace basalt::kv
