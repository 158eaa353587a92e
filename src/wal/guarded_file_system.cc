#include "wal/guarded_file_system.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <system_error>
#include <utility>

#include "base/log.h"
#include "rdb/status_conversion.h"
#include "wal/wal_paths.h"
#include "wal/wal_write.h"

namespace basalt::wal {

namespace {

// Of a WAL that much is preallocated at once, if as many syncs came in the last such part of it.
constexpr std::uint64_t kPreallocatedBytes = 256 * 1024;
constexpr std::uint32_t kSyncsMin = 8;

// The write of a WAL that this thread is in.
thread_local WalWrite* current_write = nullptr;

bool is_wal(const std::string& path) { return path.ends_with(".log"); }

std::string directory_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

// Of a WAL.
std::uint64_t number_of(const std::string& path) {
  return std::strtoull(path.c_str() + path.rfind('/') + 1, nullptr, 10);
}

// Whether a WAL has no record.
bool is_blank(const std::string& wal) {
  std::ifstream in(wal, std::ios::binary);
  return std::all_of(std::istreambuf_iterator<char>(in), {}, [](char c) { return c == 0; });
}

// As an error of one file that may be tried again.
void mark(rdb::IOStatus& error) {
  error.SetRetryable(true);
  error.SetScope(rdb::IOStatus::IOErrorScope::kIOErrorScopeFile);
}

// The error of a write, as one that RocksDB can be resumed from.
rdb::IOStatus marked(rdb::IOStatus error) {
  if (error.ok()) [[likely]]
    return error;
  WalWrite::undo_current();
  // Of a "no space" only the text is kept: it names file and cause.
  if (error.IsNoSpace()) {
    const char* const text = error.getState();
    error = rdb::IOStatus::IOError(text == nullptr ? "" : text, "");
  }
  if (error.IsIOError()) mark(error);
  return error;
}

// So that a compaction that cannot read a file leaves the database as it is.
class GuardedReadFile final : public rdb::FSRandomAccessFileOwnerWrapper {
 public:
  using FSRandomAccessFileOwnerWrapper::FSRandomAccessFileOwnerWrapper;

  rdb::IOStatus Read(std::uint64_t offset, std::size_t bytes, const rdb::IOOptions& options,
                     rdb::Slice* result, char* scratch, rdb::IODebugContext* debug) const override {
    rdb::IOStatus status =
        FSRandomAccessFileOwnerWrapper::Read(offset, bytes, options, result, scratch, debug);
    if (status.IsIOError()) [[unlikely]]
      mark(status);
    return status;
  }
};

class GuardedDirectory final : public rdb::FSDirectoryWrapper {
 public:
  explicit GuardedDirectory(std::unique_ptr<rdb::FSDirectory>&& target)
      : FSDirectoryWrapper(std::move(target)) {}

  rdb::IOStatus Fsync(const rdb::IOOptions& options, rdb::IODebugContext* debug) override {
    return marked(FSDirectoryWrapper::Fsync(options, debug));
  }
  rdb::IOStatus FsyncWithDirOptions(const rdb::IOOptions& options, rdb::IODebugContext* debug,
                                    const rdb::DirFsyncOptions& reason) override {
    return marked(FSDirectoryWrapper::FsyncWithDirOptions(options, debug, reason));
  }
};

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

class GuardedFile final : public rdb::FSWritableFileOwnerWrapper {
 public:
  GuardedFile(std::unique_ptr<rdb::FSWritableFile>&& target, GuardedFileSystem& files,
              const std::string& path, std::uint64_t size)
      : FSWritableFileOwnerWrapper(std::move(target)),
        files_(files),
        path_(path),
        is_wal_(is_wal(path)),
        size_(size),
        // What is opened again appends at the file's end, zeros or not.
        preallocation_end_(size == 0 ? kPreallocatedBytes
                                     : std::numeric_limits<std::uint64_t>::max()) {
    if (is_wal_) files_.add_wal(*this);
  }
  ~GuardedFile() override {
    if (is_wal_) files_.remove_wal(*this);
  }

  rdb::IOStatus Append(const rdb::Slice& data, const rdb::IOOptions& options,
                       rdb::IODebugContext* debug) override {
    rdb::IOStatus status = note_begin(data.size(), options);
    if (status.ok()) status = FSWritableFileOwnerWrapper::Append(data, options, debug);
    return note_end(std::move(status), data.size());
  }
  rdb::IOStatus Append(const rdb::Slice& data, const rdb::IOOptions& options,
                       const rdb::DataVerificationInfo& verification,
                       rdb::IODebugContext* debug) override {
    rdb::IOStatus status = note_begin(data.size(), options);
    if (status.ok()) {
      status = FSWritableFileOwnerWrapper::Append(data, options, verification, debug);
    }
    return note_end(std::move(status), data.size());
  }
  rdb::IOStatus PositionedAppend(const rdb::Slice& data, std::uint64_t offset,
                                 const rdb::IOOptions& options,
                                 rdb::IODebugContext* debug) override {
    return note_end(FSWritableFileOwnerWrapper::PositionedAppend(data, offset, options, debug),
                    data.size());
  }
  rdb::IOStatus PositionedAppend(const rdb::Slice& data, std::uint64_t offset,
                                 const rdb::IOOptions& options,
                                 const rdb::DataVerificationInfo& verification,
                                 rdb::IODebugContext* debug) override {
    return note_end(
        FSWritableFileOwnerWrapper::PositionedAppend(data, offset, options, verification, debug),
        data.size());
  }
  rdb::IOStatus Truncate(std::uint64_t size, const rdb::IOOptions& options,
                         rdb::IODebugContext* debug) override {
    return marked(FSWritableFileOwnerWrapper::Truncate(size, options, debug));
  }
  rdb::IOStatus Close(const rdb::IOOptions& options, rdb::IODebugContext* debug) override {
    if (is_wal_) files_.remove_wal(*this);
    cut_preallocation();
    return marked(FSWritableFileOwnerWrapper::Close(options, debug));
  }
  rdb::IOStatus Flush(const rdb::IOOptions& options, rdb::IODebugContext* debug) override {
    return marked(FSWritableFileOwnerWrapper::Flush(options, debug));
  }
  rdb::IOStatus Sync(const rdb::IOOptions& options, rdb::IODebugContext* debug) override {
    syncs_.fetch_add(1, std::memory_order_relaxed);
    const std::uint64_t appends = appends_;
    return note_sync(FSWritableFileOwnerWrapper::Sync(options, debug), appends);
  }
  rdb::IOStatus Fsync(const rdb::IOOptions& options, rdb::IODebugContext* debug) override {
    syncs_.fetch_add(1, std::memory_order_relaxed);
    const std::uint64_t appends = appends_;
    return note_sync(FSWritableFileOwnerWrapper::Fsync(options, debug), appends);
  }
  rdb::IOStatus RangeSync(std::uint64_t offset, std::uint64_t bytes, const rdb::IOOptions& options,
                          rdb::IODebugContext* debug) override {
    return marked(FSWritableFileOwnerWrapper::RangeSync(offset, bytes, options, debug));
  }

  // Whether something was appended that is perhaps not on disk.
  bool has_unsynced() const { return synced_appends_ < appends_; }
  const std::string& path() const { return path_; }

  // Replaces what was appended since `begin` by zeros. The size stays: RocksDB believes in it, and
  // has perhaps noted it where it looks at the next start.
  void blank(std::uint64_t begin) {
    const rdb::IOOptions options;
    rdb::IOStatus status = FSWritableFileOwnerWrapper::Truncate(begin, options, nullptr);
    if (status.ok()) status = FSWritableFileOwnerWrapper::Truncate(size_, options, nullptr);
    // Of use only if the machine stops before the database is resumed; may well fail, too.
    if (status.ok()) FSWritableFileOwnerWrapper::Sync(options, nullptr).PermitUncheckedError();
    if (!status.ok()) files_.remember({path_, begin, size_});
  }

 private:
  rdb::IOStatus note_begin(std::size_t bytes, const rdb::IOOptions& options) {
    if (!is_wal_) return {};
    if (current_write != nullptr) current_write->note_append(*this, size_);
    if (size_ + bytes > preallocation_end_) preallocate(bytes);
    return size_ == 0 ? files_.sync_wals_before(*this, options) : rdb::IOStatus();
  }

  // Before an append of `bytes`, by who appends: another thread's zeros could meet its records. The
  // next sync is for both.
  void preallocate(std::size_t bytes) {
    const std::uint32_t syncs = syncs_.load(std::memory_order_relaxed);
    const bool is_worth_it =
        syncs - syncs_before_ >= kSyncsMin && files_.health_->access() == Access::kWritable;
    syncs_before_ = syncs;
    const std::uint64_t begin = size_ + bytes;
    preallocation_end_ = begin + kPreallocatedBytes;
    if (!is_worth_it) return;
    rdb::IOStatus status;
    if (layout_ == nullptr) {
      status = files_.target()->NewRandomRWFile(path_, rdb::FileOptions(), &layout_, nullptr);
    }
    const std::string zeros(kPreallocatedBytes, '\0');
    if (status.ok()) status = layout_->Write(begin, zeros, rdb::IOOptions(), nullptr);
    // Without it the WAL is as good, and no error that matters stays unseen: records come next.
    status.PermitUncheckedError();
    files_.health_->note_written(zeros.size());
  }

  void cut_preallocation() {
    if (layout_ == nullptr) return;
    layout_.reset();
    FSWritableFileOwnerWrapper::Truncate(size_, rdb::IOOptions(), nullptr).PermitUncheckedError();
  }

  rdb::IOStatus note_end(rdb::IOStatus status, std::size_t bytes) {
    if (!status.ok()) [[unlikely]]
      return marked(std::move(status));
    size_ += bytes;
    ++appends_;
    files_.health_->note_written(bytes);
    return status;
  }

  // `appends`: how many had ended when the sync began.
  rdb::IOStatus note_sync(rdb::IOStatus status, std::uint64_t appends) {
    if (!status.ok()) [[unlikely]]
      return marked(std::move(status));
    std::uint64_t before = synced_appends_;
    while (before < appends && !synced_appends_.compare_exchange_weak(before, appends)) {
    }
    return status;
  }

  GuardedFileSystem& files_;
  const std::string path_;
  const bool is_wal_;
  std::uint64_t size_;
  // Up to here it has been preallocated, or was not worth it.
  std::uint64_t preallocation_end_;
  std::unique_ptr<rdb::FSRandomRWFile> layout_;  // once zeros have been written
  std::atomic<std::uint32_t> syncs_{0};
  std::uint32_t syncs_before_ = 0;  // preallocation_end_ was chosen
  std::atomic<std::uint64_t> appends_{0};
  std::atomic<std::uint64_t> synced_appends_{0};  // so many of them are on disk
};

WalWrite::WalWrite() : outer_(current_write) { current_write = this; }
WalWrite::~WalWrite() { current_write = outer_; }

void WalWrite::note_append(GuardedFile& file, std::uint64_t size) {
  if (file_ == &file) return;
  file_ = &file;
  begin_ = size;
}

void WalWrite::undo_current() {
  if (current_write == nullptr || current_write->file_ == nullptr) return;
  GuardedFile* const file = std::exchange(current_write->file_, nullptr);
  file->blank(current_write->begin_);
}

GuardedFileSystem::GuardedFileSystem(const std::shared_ptr<rdb::FileSystem>& target,
                                     std::shared_ptr<Health> health)
    : FileSystemWrapper(target), health_(std::move(health)) {}

void GuardedFileSystem::cut(const std::string& path, std::uint64_t size) {
  const std::lock_guard guard(mutex_);
  cuts_[path] = size;
}

void GuardedFileSystem::remember(Remnant remnant) {
  const std::lock_guard guard(mutex_);
  remnants_.push_back(std::move(remnant));
}

void GuardedFileSystem::refuse(const std::string& cause) {
  const std::lock_guard guard(mutex_);
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
                              : rdb::from_rocksdb(sync_directory(directory, options));
}

Status GuardedFileSystem::set_aside_wals_from(const std::string& path, std::string& folder) {
  const std::string directory = directory_of(path);
  folder = directory + "/damaged_wals";
  const rdb::IOOptions options;
  BASALT_TRY(rdb::from_rocksdb(target()->CreateDirIfMissing(folder, options, nullptr)));
  BASALT_TRY(rdb::from_rocksdb(sync_directory(directory, options)));
  Result<std::vector<WalPath>> wals = find_wals(directory);
  if (!wals.is_ok()) return wals.take_status();
  const std::uint64_t first = number_of(path);
  for (const WalPath& wal : wals.value()) {
    if (wal.number >= first) BASALT_TRY(set_aside(wal.path, folder));
  }
  return Status::ok();
}

rdb::IOStatus GuardedFileSystem::check_refusal() {
  const std::lock_guard guard(mutex_);
  return refusal_.empty() ? rdb::IOStatus() : rdb::IOStatus::IOError(refusal_);
}

void GuardedFileSystem::add_wal(GuardedFile& wal) {
  const std::lock_guard guard(wals_mutex_);
  wals_.push_back(&wal);
}

void GuardedFileSystem::remove_wal(GuardedFile& wal) {
  const std::lock_guard guard(wals_mutex_);
  std::erase(wals_, &wal);
}

// Also their names: the system may know of the new WAL and not of one before it.
rdb::IOStatus GuardedFileSystem::sync_wals_before(const GuardedFile& wal,
                                                  const rdb::IOOptions& options) {
  const std::string directory = directory_of(wal.path());
  const std::lock_guard guard(wals_mutex_);
  bool has_synced = false;
  for (GuardedFile* const before : wals_) {
    if (before == &wal) break;
    if (!before->has_unsynced() || directory_of(before->path()) != directory) continue;
    rdb::IOStatus status = before->Sync(options, nullptr);
    if (!status.ok()) return status;
    has_synced = true;
  }
  if (!has_synced) return {};
  return sync_directory(directory, options);
}

rdb::IOStatus GuardedFileSystem::sync_directory(const std::string& directory,
                                                const rdb::IOOptions& options) {
  std::unique_ptr<rdb::FSDirectory> names;
  rdb::IOStatus status = NewDirectory(directory, options, &names, nullptr);
  if (!status.ok()) return status;
  return names->FsyncWithDirOptions(options, nullptr, rdb::DirFsyncOptions());
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
  if (status.ok()) status = sync_directory(folder, options);
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
  if (status.ok()) status = sync_directory(directory_of(wal), options);
  return rdb::from_rocksdb(status);
}

Status GuardedFileSystem::repair(const Remnant& remnant) {
  const int file = ::open(remnant.path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0 && errno == ENOENT) return Status::ok();  // flushed and removed: nobody reads it
  const bool done = file >= 0 && ftruncate(file, static_cast<off_t>(remnant.begin)) == 0 &&
                    ftruncate(file, static_cast<off_t>(remnant.end)) == 0 && fsync(file) == 0;
  const int cause = errno;
  if (file >= 0) ::close(file);
  if (done) return Status::ok();
  return Status(ErrorCode::kIoError, "the end of the WAL '" + remnant.path +
                                         "', of a write that failed, cannot be removed: " +
                                         std::generic_category().message(cause));
}

Status GuardedFileSystem::repair_wals() {
  const std::lock_guard guard(mutex_);
  while (!remnants_.empty()) {
    BASALT_TRY(repair(remnants_.back()));
    remnants_.pop_back();
  }
  return Status::ok();
}

rdb::IOStatus GuardedFileSystem::NewSequentialFile(const std::string& path,
                                                   const rdb::FileOptions& options,
                                                   std::unique_ptr<rdb::FSSequentialFile>* file,
                                                   rdb::IODebugContext* debug) {
  rdb::IOStatus status = check_refusal();
  if (status.ok()) status = FileSystemWrapper::NewSequentialFile(path, options, file, debug);
  if (!status.ok()) return status;
  const std::lock_guard guard(mutex_);
  const auto found = cuts_.find(path);
  if (found != cuts_.end()) *file = std::make_unique<CutFile>(std::move(*file), found->second);
  return status;
}

rdb::IOStatus GuardedFileSystem::NewRandomAccessFile(const std::string& path,
                                                     const rdb::FileOptions& options,
                                                     std::unique_ptr<rdb::FSRandomAccessFile>* file,
                                                     rdb::IODebugContext* debug) {
  rdb::IOStatus status = FileSystemWrapper::NewRandomAccessFile(path, options, file, debug);
  if (status.ok()) *file = std::make_unique<GuardedReadFile>(std::move(*file));
  return status;
}

rdb::IOStatus GuardedFileSystem::NewWritableFile(const std::string& path,
                                                 const rdb::FileOptions& options,
                                                 std::unique_ptr<rdb::FSWritableFile>* file,
                                                 rdb::IODebugContext* debug) {
  if (rdb::IOStatus refusal = check_refusal(); !refusal.ok()) return refusal;
  rdb::IOStatus status = marked(FileSystemWrapper::NewWritableFile(path, options, file, debug));
  if (status.ok()) *file = std::make_unique<GuardedFile>(std::move(*file), *this, path, 0);
  return status;
}

rdb::IOStatus GuardedFileSystem::ReopenWritableFile(const std::string& path,
                                                    const rdb::FileOptions& options,
                                                    std::unique_ptr<rdb::FSWritableFile>* file,
                                                    rdb::IODebugContext* debug) {
  rdb::IOStatus status = marked(FileSystemWrapper::ReopenWritableFile(path, options, file, debug));
  if (!status.ok()) return status;
  const std::uint64_t size = (*file)->GetFileSize(rdb::IOOptions(), debug);
  *file = std::make_unique<GuardedFile>(std::move(*file), *this, path, size);
  return status;
}

rdb::IOStatus GuardedFileSystem::NewDirectory(const std::string& path,
                                              const rdb::IOOptions& options,
                                              std::unique_ptr<rdb::FSDirectory>* directory,
                                              rdb::IODebugContext* debug) {
  rdb::IOStatus status = marked(FileSystemWrapper::NewDirectory(path, options, directory, debug));
  if (status.ok()) *directory = std::make_unique<GuardedDirectory>(std::move(*directory));
  return status;
}

rdb::IOStatus GuardedFileSystem::RenameFile(const std::string& from, const std::string& to,
                                            const rdb::IOOptions& options,
                                            rdb::IODebugContext* debug) {
  // RocksDB syncs the new manifest, but its name not before this one's.
  if (to.ends_with("/CURRENT")) {
    rdb::IOStatus status = sync_directory(directory_of(to), options);
    if (!status.ok()) return status;
  }
  return marked(FileSystemWrapper::RenameFile(from, to, options, debug));
}

rdb::IOStatus GuardedFileSystem::LinkFile(const std::string& from, const std::string& to,
                                          const rdb::IOOptions& options,
                                          rdb::IODebugContext* debug) {
  return marked(FileSystemWrapper::LinkFile(from, to, options, debug));
}

rdb::IOStatus GuardedFileSystem::SyncFile(const std::string& path,
                                          const rdb::FileOptions& file_options,
                                          const rdb::IOOptions& options, bool use_fsync,
                                          rdb::IODebugContext* debug) {
  return marked(FileSystemWrapper::SyncFile(path, file_options, options, use_fsync, debug));
}

}  // namespace basalt::wal
