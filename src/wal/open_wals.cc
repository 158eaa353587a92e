#include "wal/open_wals.h"

#include <memory>
#include <utility>

#include "rdb/status_conversion.h"
#include "wal/wal_file.h"
#include "wal/wal_paths.h"

namespace basalt::wal {

rdb::IOStatus sync_directory(rdb::FileSystem& files, const std::string& directory,
                             const rdb::IOOptions& options) {
  std::unique_ptr<rdb::FSDirectory> names;
  rdb::IOStatus status = files.NewDirectory(directory, options, &names, nullptr);
  if (!status.ok()) return status;
  return names->FsyncWithDirOptions(options, nullptr, rdb::DirFsyncOptions());
}

void OpenWals::add(WalFile& wal) {
  const MutexLock guard(wals_mutex_);
  wals_.push_back(&wal);
}

void OpenWals::remove(WalFile& wal) {
  const MutexLock guard(wals_mutex_);
  std::erase(wals_, &wal);
}

rdb::IOStatus OpenWals::sync_before(const WalFile& wal, const rdb::IOOptions& options) {
  const std::string directory = directory_of(wal.path());
  const MutexLock guard(wals_mutex_);
  bool has_synced = false;
  for (WalFile* const before : wals_) {
    if (before == &wal) break;
    if (!before->has_unsynced() || directory_of(before->path()) != directory) continue;
    rdb::IOStatus status = before->Sync(options, nullptr);
    if (!status.ok()) return status;
    has_synced = true;
  }
  if (!has_synced) return {};
  return sync_directory(files_, directory, options);
}

void OpenWals::remember(Remnant remnant) {
  const MutexLock guard(remnants_mutex_);
  remnants_.push_back(std::move(remnant));
}

Status OpenWals::repair() {
  const MutexLock guard(remnants_mutex_);
  while (!remnants_.empty()) {
    BASALT_TRY(repair(remnants_.back()));
    remnants_.pop_back();
  }
  return Status::ok();
}

Status OpenWals::repair(const Remnant& remnant) {
  const rdb::IOOptions options;
  rdb::IOStatus status = files_.FileExists(remnant.path, options, nullptr);
  if (status.IsNotFound()) return Status::ok();  // flushed and removed: nobody reads it
  std::unique_ptr<rdb::FSWritableFile> file;
  if (status.ok()) {
    status = files_.ReopenWritableFile(remnant.path, rdb::FileOptions(), &file, nullptr);
  }
  if (status.ok()) status = file->Truncate(remnant.begin, options, nullptr);
  if (status.ok()) status = file->Truncate(remnant.end, options, nullptr);
  if (status.ok()) status = file->Fsync(options, nullptr);
  if (file != nullptr) {
    rdb::IOStatus closed = file->Close(options, nullptr);
    if (status.ok()) {
      status = std::move(closed);
    } else {
      closed.PermitUncheckedError();  // of two errors the first one is told
    }
  }
  if (status.ok()) return Status::ok();
  return Status(ErrorCode::kIoError, "the end of the WAL '" + remnant.path +
                                         "', of a write that failed, cannot be removed: " +
                                         rdb::from_rocksdb(status).message());
}

}  // namespace basalt::wal
