#pragma once
#include <rocksdb/file_system.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "base/mutex.h"
#include "base/status.h"
#include "rdb/rocksdb_fwd.h"
#include "wal/health.h"
#include "wal/kept_files.h"
#include "wal/open_wals.h"

namespace basalt::wal {

// RocksDB's file system, made fit to go on after an error.
//
// Errors      Those of writes are marked so that RocksDB can be resumed: wal/retryable_files.h.
// WAL         When a write to the WAL fails, its bytes may be there whole or in part, and nobody
//             knows after a failed sync. RocksDB takes none of it into memory and goes on in a new
//             WAL; but the old one is kept while it has a prepared transaction, and read at the
//             next start. So that a transaction cannot be found there that has failed, the bytes
//             are replaced by zeros, which readers skip; see wal/wal_write.h. Where even that
//             fails, repair_wals() tries again before the database is resumed.
// Order       A machine that stops keeps what was not synced in any order: of a new WAL it may keep
//             records, and have lost some of the WAL before, and RocksDB would replay over the
//             hole. So the first record of a WAL is written when the WALs before it are on disk.
//             And a manifest is made current when its name is.
// Manifest    What a manifest that could not be written may name stays: wal/kept_files.h.
// Space       Bytes written are counted for Health.
// Threads     Safe from any thread.
class GuardedFileSystem final : public rdb::FileSystemWrapper {
 public:
  // `directory`: of the database, as RocksDB is given it. Copies elsewhere are none of its files.
  GuardedFileSystem(const std::shared_ptr<rdb::FileSystem>& target, std::shared_ptr<Health> health,
                    std::string directory);

  static const char* kClassName() { return "BasaltGuardedFileSystem"; }
  const char* Name() const override { return kClassName(); }

  // Reads of the file end at `size`.
  void cut(const std::string& path, std::uint64_t size);
  // Replaces by zeros what is left of failed writes.
  Status repair_wals() { return wals_.repair(); }
  // From now on no WAL can be opened, and no file made: an opening of the database that must not go
  // on fails, and has changed nothing.
  void refuse(const std::string& cause);
  void refuse_no_more();
  // Makes all that the WALs of the directory hold, and their names, survive a crash of the machine.
  Status sync_wals_in(const std::string& directory);
  // Moves the WAL and the newer ones of its directory to a folder there, named in `folder`, and
  // puts WALs of the same sizes without records in their places, durably. May be called again after
  // it was interrupted.
  Status set_aside_wals_from(const std::string& path, std::string& folder);

  rdb::IOStatus NewSequentialFile(const std::string& path, const rdb::FileOptions& options,
                                  std::unique_ptr<rdb::FSSequentialFile>* file,
                                  rdb::IODebugContext* debug) override;
  rdb::IOStatus NewRandomAccessFile(const std::string& path, const rdb::FileOptions& options,
                                    std::unique_ptr<rdb::FSRandomAccessFile>* file,
                                    rdb::IODebugContext* debug) override;
  rdb::IOStatus NewWritableFile(const std::string& path, const rdb::FileOptions& options,
                                std::unique_ptr<rdb::FSWritableFile>* file,
                                rdb::IODebugContext* debug) override;
  rdb::IOStatus ReopenWritableFile(const std::string& path, const rdb::FileOptions& options,
                                   std::unique_ptr<rdb::FSWritableFile>* file,
                                   rdb::IODebugContext* debug) override;
  rdb::IOStatus NewDirectory(const std::string& path, const rdb::IOOptions& options,
                             std::unique_ptr<rdb::FSDirectory>* directory,
                             rdb::IODebugContext* debug) override;
  rdb::IOStatus DeleteFile(const std::string& path, const rdb::IOOptions& options,
                           rdb::IODebugContext* debug) override;
  rdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                           const rdb::IOOptions& options, rdb::IODebugContext* debug) override;
  rdb::IOStatus LinkFile(const std::string& from, const std::string& to,
                         const rdb::IOOptions& options, rdb::IODebugContext* debug) override;
  rdb::IOStatus SyncFile(const std::string& path, const rdb::FileOptions& file_options,
                         const rdb::IOOptions& options, bool use_fsync,
                         rdb::IODebugContext* debug) override;

 private:
  Status set_aside(const std::string& wal, const std::string& folder);
  // Whether `path` lies in the database's directory.
  bool is_own(const std::string& path) const;
  bool is_own_data_file(const std::string& path) const;
  // The error of refuse(), once that was called.
  rdb::IOStatus check_refusal();
  // Wraps what RocksDB writes: `file`, of `size` bytes.
  void guard(const std::string& path, std::uint64_t size,
             std::unique_ptr<rdb::FSWritableFile>* file);

  const std::shared_ptr<Health> health_;
  const std::string directory_;
  Mutex mutex_{MutexRank::kFileSystem};
  std::map<std::string, std::uint64_t> cuts_ BASALT_GUARDED_BY(mutex_);
  std::string refusal_ BASALT_GUARDED_BY(mutex_);
  KeptFiles kept_files_;
  OpenWals wals_;
};

}  // namespace basalt::wal
