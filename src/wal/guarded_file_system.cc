#include "wal/guarded_file_system.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "rdb/status_conversion.h"
#include "wal/retryable_files.h"
#include "wal/wal_file.h"
#include "wal/wal_paths.h"

namespace basalt::wal {
namespace {

// Whether a WAL has no record.
bool is_blank(const std::string& wal) {
  std::ifstream in(wal, std::ios::binary);
  return std::all_of(std::istreambuf_iterator<char>(in), {}, [](char c) { return c == 0; });
}

// Reads of a WAL that ends before the file does.
class CutFile final : public rdb::FSSequentialFileOwnerWrapper {
 public:
  CutFile(std::unique_ptr<rdb::FSSequentialFile>&& target, std::uint64_t size)
      : FSSequentialFileOwnerWrapper(std::move(target)), left_(size) {}

  rdb::IOStatus Read(std::size_t bytes, const rdb::IOOptions& options, rdb::Slice* result,
                     char* scratch, rdb::IODebugContext* debug) override {
    const std::size_t wanted = std::min<std::uint64_t>(bytes, left_);
    const rdb::IOStatus status =
        FSSequentialFileOwnerWrapper::Read(wanted, options, result, scratch, debug);
    left_ -= result->size();
    return status;
  }
  rdb::IOStatus Skip(std::uint64_t bytes) override {
    const std::uint64_t skipped = std::min(bytes, left_);
    left_ -= skipped;
    return FSSequentialFileOwnerWrapper::Skip(skipped);
  }

 private:
  std::uint64_t left_;
};

}  // namespace

GuardedFileSystem::GuardedFileSystem(const std::shared_ptr<rdb::FileSystem>& target,
                                     std::shared_ptr<Health> health, std::string directory)
    : FileSystemWrapper(target),
      health_(std::move(health)),
      directory_(std::move(directory)),
      wals_(*target) {}

void GuardedFileSystem::cut(const std::string& path, std::uint64_t size) {
  const MutexLock guard(mutex_);
  cuts_[path] = size;
}

void GuardedFileSystem::refuse(const std::string& cause) {
  const MutexLock guard(mutex_);
  refusal_ = cause;
}

void GuardedFileSystem::refuse_no_more() { refuse({}); }

Status GuardedFileSystem::sync_wals_in(const std::string& directory) {
  Result<std::vector<WalPath>> wals = find_wals(directory);
  if (!wals.is_ok()) return wals.take_status();
  const rdb::IOOptions options;
  for (const WalPath& wal : wals.value()) {
    BASALT_TRY(rdb::from_rocksdb(
        target()->SyncFile(wal.path, rdb::FileOptions(), options, /*use_fsync=*/false, nullptr)));
  }
  return wals.value().empty() ? Status::ok()
                              : rdb::from_rocksdb(sync_directory(*this, directory, options));
}

Status GuardedFileSystem::set_aside_wals_from(const std::string& path, std::string& folder) {
  const std::string directory = directory_of(path);
  folder = directory + "/damaged_wals";
  const rdb::IOOptions options;
  BASALT_TRY(rdb::from_rocksdb(target()->CreateDirIfMissing(folder, options, nullptr)));
  BASALT_TRY(rdb::from_rocksdb(sync_directory(*this, directory, options)));
  Result<std::vector<WalPath>> wals = find_wals(directory);
  if (!wals.is_ok()) return wals.take_status();
  const std::uint64_t first = wal_number(path).value();
  for (const WalPath& wal : wals.value()) {
    if (wal.number >= first) BASALT_TRY(set_aside(wal.path, folder));
  }
  return Status::ok();
}

bool GuardedFileSystem::is_own(const std::string& path) const {
  return directory_of(path) == directory_;
}

bool GuardedFileSystem::is_own_data_file(const std::string& path) const {
  return is_data_file(path) && is_own(path);
}

rdb::IOStatus GuardedFileSystem::check_refusal() {
  const MutexLock guard(mutex_);
  return refusal_.empty() ? rdb::IOStatus() : rdb::IOStatus::IOError(refusal_);
}

Status GuardedFileSystem::set_aside(const std::string& wal, const std::string& folder) {
  // Done before this was interrupted.
  if (is_blank(wal)) return Status::ok();
  namespace fs = std::filesystem;
  const std::string name = fs::path(wal).filename();
  std::string kept = folder + "/" + name;
  std::error_code error;
  for (int i = 2; fs::exists(kept, error) && !fs::equivalent(wal, kept, error); ++i) {
    kept = folder + "/" + name + "." + std::to_string(i);
  }
  const rdb::IOOptions options;
  rdb::IOStatus status;
  if (!fs::exists(kept, error)) status = target()->LinkFile(wal, kept, options, nullptr);
  if (status.ok()) status = sync_directory(*this, folder, options);
  // RocksDB knows how large the WAL has to be, and removes what is left of such a name.
  const std::string blank = wal.substr(0, wal.rfind('.')) + ".dbtmp";
  std::unique_ptr<rdb::FSWritableFile> file;
  if (status.ok()) {
    status = target()->NewWritableFile(blank, rdb::FileOptions(), &file, nullptr);
  }
  if (status.ok()) status = file->Truncate(fs::file_size(wal, error), options, nullptr);
  if (status.ok()) status = file->Fsync(options, nullptr);
  if (status.ok()) status = file->Close(options, nullptr);
  if (status.ok()) status = target()->RenameFile(blank, wal, options, nullptr);
  if (status.ok()) status = sync_directory(*this, directory_of(wal), options);
  return rdb::from_rocksdb(status);
}

void GuardedFileSystem::guard(const std::string& path, std::uint64_t size,
                              std::unique_ptr<rdb::FSWritableFile>* file) {
  if (is_wal(path)) {
    *file = std::make_unique<WalFile>(std::move(*file), *target(), wals_, *health_, path, size);
  } else if (is_manifest(path) && is_own(path)) {
    *file = std::make_unique<ManifestFile>(std::move(*file), *health_, kept_files_);
  } else {
    *file = std::make_unique<RetryableFile>(std::move(*file), *health_);
  }
}

rdb::IOStatus GuardedFileSystem::NewSequentialFile(const std::string& path,
                                                   const rdb::FileOptions& options,
                                                   std::unique_ptr<rdb::FSSequentialFile>* file,
                                                   rdb::IODebugContext* debug) {
  rdb::IOStatus status = check_refusal();
  if (status.ok()) status = FileSystemWrapper::NewSequentialFile(path, options, file, debug);
  if (!status.ok()) return status;
  const MutexLock guard(mutex_);
  const auto found = cuts_.find(path);
  if (found != cuts_.end()) *file = std::make_unique<CutFile>(std::move(*file), found->second);
  return status;
}

rdb::IOStatus GuardedFileSystem::NewRandomAccessFile(const std::string& path,
                                                     const rdb::FileOptions& options,
                                                     std::unique_ptr<rdb::FSRandomAccessFile>* file,
                                                     rdb::IODebugContext* debug) {
  rdb::IOStatus status = FileSystemWrapper::NewRandomAccessFile(path, options, file, debug);
  if (status.ok()) *file = std::make_unique<RetryableReadFile>(std::move(*file));
  return status;
}

rdb::IOStatus GuardedFileSystem::NewWritableFile(const std::string& path,
                                                 const rdb::FileOptions& options,
                                                 std::unique_ptr<rdb::FSWritableFile>* file,
                                                 rdb::IODebugContext* debug) {
  if (rdb::IOStatus refusal = check_refusal(); !refusal.ok()) return refusal;
  rdb::IOStatus status = retryable(FileSystemWrapper::NewWritableFile(path, options, file, debug));
  if (status.ok()) guard(path, 0, file);
  return status;
}

rdb::IOStatus GuardedFileSystem::ReopenWritableFile(const std::string& path,
                                                    const rdb::FileOptions& options,
                                                    std::unique_ptr<rdb::FSWritableFile>* file,
                                                    rdb::IODebugContext* debug) {
  rdb::IOStatus status =
      retryable(FileSystemWrapper::ReopenWritableFile(path, options, file, debug));
  if (!status.ok()) return status;
  const std::uint64_t size = (*file)->GetFileSize(rdb::IOOptions(), debug);
  guard(path, size, file);
  return status;
}

rdb::IOStatus GuardedFileSystem::NewDirectory(const std::string& path,
                                              const rdb::IOOptions& options,
                                              std::unique_ptr<rdb::FSDirectory>* directory,
                                              rdb::IODebugContext* debug) {
  rdb::IOStatus status =
      retryable(FileSystemWrapper::NewDirectory(path, options, directory, debug));
  if (status.ok())
    *directory = std::make_unique<RetryableDirectory>(std::move(*directory), path, kept_files_);
  return status;
}

rdb::IOStatus GuardedFileSystem::DeleteFile(const std::string& path, const rdb::IOOptions& options,
                                            rdb::IODebugContext* debug) {
  if (is_own_data_file(path) && kept_files_.keep(path)) return rdb::IOStatus::OK();
  return FileSystemWrapper::DeleteFile(path, options, debug);
}

rdb::IOStatus GuardedFileSystem::RenameFile(const std::string& from, const std::string& to,
                                            const rdb::IOOptions& options,
                                            rdb::IODebugContext* debug) {
  if (!to.ends_with("/CURRENT") || !is_own(to)) {
    // A data file whose removal is put off gets another name first; RocksDB removes what cannot be
    // renamed.
    if (is_own_data_file(from) && kept_files_.is_needed()) return rdb::IOStatus::Busy();
    return retryable(FileSystemWrapper::RenameFile(from, to, options, debug));
  }
  // RocksDB syncs the new manifest, but its name not before this one's.
  rdb::IOStatus status = sync_directory(*this, directory_of(to), options);
  if (status.ok()) status = retryable(FileSystemWrapper::RenameFile(from, to, options, debug));
  if (status.ok()) status = sync_directory(*this, directory_of(to), options);
  if (status.ok()) {
    kept_files_.end(*target());
  } else {
    kept_files_.begin();
  }
  return status;
}

rdb::IOStatus GuardedFileSystem::LinkFile(const std::string& from, const std::string& to,
                                          const rdb::IOOptions& options,
                                          rdb::IODebugContext* debug) {
  return retryable(FileSystemWrapper::LinkFile(from, to, options, debug));
}

rdb::IOStatus GuardedFileSystem::SyncFile(const std::string& path,
                                          const rdb::FileOptions& file_options,
                                          const rdb::IOOptions& options, bool use_fsync,
                                          rdb::IODebugContext* debug) {
  return retryable(FileSystemWrapper::SyncFile(path, file_options, options, use_fsync, debug));
}

}  // namespace basalt::wal
