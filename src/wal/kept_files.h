#pragma once
#include <string>
#include <vector>

#include "base/mutex.h"
#include "rdb/rocksdb_fwd.h"

namespace basalt::wal {

// Data files that RocksDB has removed, and that its manifest may name all the same.
//
// Purpose     A manifest that could not be written or synced may have its last records whole, and
//             one that could not be made current may be so: the next start reads them. An
//             ingestion that fails removes its files at once all the same, and what a flush has
//             written RocksDB keeps only until any later change of its manifest or options: the
//             next start would find files missing, and open nothing.
// Threads     Safe from any thread.
class KeptFiles {
 public:
  // A manifest could not be written, or not be made current: what is removed from now on is kept.
  void begin();
  // Whether what is removed is kept now.
  bool is_needed();
  // Whether the data file `path`, which is to be removed, is kept; it is removed later then.
  bool keep(const std::string& path);
  // A new manifest is current, and survives a crash of the machine: removes what was kept. What
  // cannot be removed is found by the next start, which no manifest tells of it.
  void end(rdb::FileSystem& files);

 private:
  Mutex mutex_{MutexRank::kKeptFiles};
  bool is_manifest_doubtful_ BASALT_GUARDED_BY(mutex_) = false;
  std::vector<std::string> paths_ BASALT_GUARDED_BY(mutex_);
};

}  // namespace basalt::wal
