#pragma once
#include <rocksdb/file_system.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "rdb/rocksdb_fwd.h"

namespace basalt::wal {

class WalFile;

// Makes the names in a directory survive a crash of the machine.
rdb::IOStatus sync_directory(rdb::FileSystem& files, const std::string& directory,
                             const rdb::IOOptions& options);

// The WALs that are written, of all databases of a file system, and what failed writes have left in
// WALs that could not be taken back at once.
//
// Threads     Safe from any thread. The mutex of the WALs is held while one is synced.
class OpenWals {
 public:
  // Bytes of a WAL that are to be replaced by zeros.
  struct Remnant {
    std::string path;
    std::uint64_t begin;
    std::uint64_t end;
  };

  // `files`, where they are, outlives it.
  explicit OpenWals(rdb::FileSystem& files) : files_(files) {}

  // WALs come in the order of their making. One that is not removed yet is not closed, either.
  void add(WalFile& wal);
  void remove(WalFile& wal);
  // Brings the WALs of the same directory to disk that were made before `wal`, and their names: the
  // system may know of the new WAL and not of one before it.
  rdb::IOStatus sync_before(const WalFile& wal, const rdb::IOOptions& options);

  void remember(Remnant remnant);
  // Replaces what is remembered; an error leaves the rest for the next call.
  Status repair();

 private:
  Status repair(const Remnant& remnant);

  rdb::FileSystem& files_;
  Mutex wals_mutex_{MutexRank::kOpenWals};
  std::vector<WalFile*> wals_ BASALT_GUARDED_BY(wals_mutex_);
  Mutex remnants_mutex_{MutexRank::kWalRemnants};
  std::vector<Remnant> remnants_ BASALT_GUARDED_BY(remnants_mutex_);
};

}  // namespace basalt::wal
