#pragma once
#include <rocksdb/file_system.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rdb/rocksdb_fwd.h"

// For tests: a file system that fails when it is told to.
namespace basalt::wal::test {

enum class Operation {
  kAppend,
  kSync,
  kCreate,
  kRename,
  kDirectorySync,
  kTruncate,
  kRead,
  kPrefetch,
  kRewrite,
};

// Fails the operations of one kind on files whose path contains `part`.
struct Fault {
  Operation operation = Operation::kAppend;
  std::string part;
  int cause = EIO;       // 0: they only take longer
  int skipped = 0;       // how many of them succeed before
  int count = 1 << 30;   // how many of them fail then
  bool is_torn = false;  // an append that fails leaves half of its bytes
  int delay_ms = 0;      // how long they take to fail
  bool is_held = false;  // they wait for release() before they fail, or are done
};

class FaultyFileSystem : public rdb::FileSystemWrapper {
 public:
  FaultyFileSystem() : FileSystemWrapper(rdb::FileSystem::Default()) {}
  const char* Name() const override { return "FaultyFileSystem"; }

  void set(std::vector<Fault> faults) {
    const std::lock_guard guard(mutex_);
    faults_ = std::move(faults);
    failures_ = 0;
    is_released_ = false;
  }
  void set(Fault fault) { set(std::vector<Fault>{std::move(fault)}); }
  void heal() { set(std::vector<Fault>()); }
  int failures() const {
    const std::lock_guard guard(mutex_);
    return failures_;
  }

  // Lets operations that are held go on, and all later ones, until faults are set anew.
  void release() {
    const std::lock_guard guard(mutex_);
    is_released_ = true;
    ++releases_;
    released_.notify_all();
  }
  // How many operations are held.
  int held() const {
    const std::lock_guard guard(mutex_);
    return held_;
  }

  // The error of an operation; ok if it is to succeed. Errors look as those of RocksDB's own files.
  rdb::IOStatus visit(Operation operation, const std::string& path, bool* is_torn = nullptr) {
    std::unique_lock guard(mutex_);
    for (Fault& fault : faults_) {
      const bool is_meant =
          operation == fault.operation && path.find(fault.part) != std::string::npos;
      if (!is_meant || fault.count == 0) continue;
      if (fault.skipped > 0) {
        --fault.skipped;
        continue;
      }
      --fault.count;
      ++failures_;
      if (is_torn != nullptr) *is_torn = fault.is_torn;
      // The fault itself may be replaced while the operation takes its time.
      const int delay_ms = fault.delay_ms;
      const rdb::IOStatus error = error_of(fault, path);
      if (fault.is_held) {
        ++held_;
        // Faults may be set anew before this thread sees that it was released.
        released_.wait(guard,
                       [this, before = releases_] { return is_released_ || releases_ != before; });
        --held_;
      }
      guard.unlock();
      std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
      return error;
    }
    return rdb::IOStatus::OK();
  }

  rdb::IOStatus NewWritableFile(const std::string& path, const rdb::FileOptions& options,
                                std::unique_ptr<rdb::FSWritableFile>* file,
                                rdb::IODebugContext* debug) override;
  rdb::IOStatus ReopenWritableFile(const std::string& path, const rdb::FileOptions& options,
                                   std::unique_ptr<rdb::FSWritableFile>* file,
                                   rdb::IODebugContext* debug) override;
  rdb::IOStatus NewRandomAccessFile(const std::string& path, const rdb::FileOptions& options,
                                    std::unique_ptr<rdb::FSRandomAccessFile>* file,
                                    rdb::IODebugContext* debug) override;
  rdb::IOStatus NewRandomRWFile(const std::string& path, const rdb::FileOptions& options,
                                std::unique_ptr<rdb::FSRandomRWFile>* file,
                                rdb::IODebugContext* debug) override {
    const rdb::IOStatus status = visit(Operation::kRewrite, path);
    return status.ok() ? FileSystemWrapper::NewRandomRWFile(path, options, file, debug) : status;
  }
  rdb::IOStatus NewDirectory(const std::string& path, const rdb::IOOptions& options,
                             std::unique_ptr<rdb::FSDirectory>* directory,
                             rdb::IODebugContext* debug) override;
  rdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                           const rdb::IOOptions& options, rdb::IODebugContext* debug) override {
    const rdb::IOStatus status = visit(Operation::kRename, to);
    return status.ok() ? FileSystemWrapper::RenameFile(from, to, options, debug) : status;
  }

 private:
  static rdb::IOStatus error_of(const Fault& fault, const std::string& path) {
    if (fault.cause == 0) return rdb::IOStatus::OK();
    const std::string what = "While failing on purpose: " + path;
    if (fault.cause != ENOSPC) return rdb::IOStatus::IOError(what, "Input/output error");
    rdb::IOStatus status = rdb::IOStatus::NoSpace(what, "No space left on device");
    status.SetRetryable(true);
    return status;
  }

  mutable std::mutex mutex_;
  std::condition_variable released_;
  std::vector<Fault> faults_;
  int failures_ = 0;
  int held_ = 0;
  bool is_released_ = false;
  std::uint64_t releases_ = 0;
};

class FaultyFile : public rdb::FSWritableFileOwnerWrapper {
 public:
  FaultyFile(std::unique_ptr<rdb::FSWritableFile>&& target, FaultyFileSystem& files,
             std::string path)
      : FSWritableFileOwnerWrapper(std::move(target)), files_(files), path_(std::move(path)) {}

  rdb::IOStatus Append(const rdb::Slice& data, const rdb::IOOptions& options,
                       rdb::IODebugContext* debug) override {
    bool is_torn = false;
    rdb::IOStatus status = files_.visit(Operation::kAppend, path_, &is_torn);
    if (status.ok()) return FSWritableFileOwnerWrapper::Append(data, options, debug);
    if (is_torn) {
      FSWritableFileOwnerWrapper::Append({data.data(), data.size() / 2}, options, debug)
          .PermitUncheckedError();
    }
    return status;
  }
  rdb::IOStatus Append(const rdb::Slice& data, const rdb::IOOptions& options,
                       const rdb::DataVerificationInfo&, rdb::IODebugContext* debug) override {
    return Append(data, options, debug);
  }
  rdb::IOStatus Sync(const rdb::IOOptions& options, rdb::IODebugContext* debug) override {
    const rdb::IOStatus status = files_.visit(Operation::kSync, path_);
    return status.ok() ? FSWritableFileOwnerWrapper::Sync(options, debug) : status;
  }
  rdb::IOStatus Fsync(const rdb::IOOptions& options, rdb::IODebugContext* debug) override {
    const rdb::IOStatus status = files_.visit(Operation::kSync, path_);
    return status.ok() ? FSWritableFileOwnerWrapper::Fsync(options, debug) : status;
  }
  rdb::IOStatus Truncate(std::uint64_t size, const rdb::IOOptions& options,
                         rdb::IODebugContext* debug) override {
    const rdb::IOStatus status = files_.visit(Operation::kTruncate, path_);
    return status.ok() ? FSWritableFileOwnerWrapper::Truncate(size, options, debug) : status;
  }

 private:
  FaultyFileSystem& files_;
  const std::string path_;
};

class FaultyReadFile : public rdb::FSRandomAccessFileOwnerWrapper {
 public:
  FaultyReadFile(std::unique_ptr<rdb::FSRandomAccessFile>&& target, FaultyFileSystem& files,
                 std::string path)
      : FSRandomAccessFileOwnerWrapper(std::move(target)), files_(files), path_(std::move(path)) {}
  rdb::IOStatus Read(std::uint64_t offset, std::size_t bytes, const rdb::IOOptions& options,
                     rdb::Slice* result, char* scratch, rdb::IODebugContext* debug) const override {
    const rdb::IOStatus status = files_.visit(Operation::kRead, path_);
    if (!status.ok()) return status;
    return FSRandomAccessFileOwnerWrapper::Read(offset, bytes, options, result, scratch, debug);
  }
  rdb::IOStatus Prefetch(std::uint64_t offset, std::size_t bytes, const rdb::IOOptions& options,
                         rdb::IODebugContext* debug) override {
    const rdb::IOStatus status = files_.visit(Operation::kPrefetch, path_);
    if (!status.ok()) return status;
    return FSRandomAccessFileOwnerWrapper::Prefetch(offset, bytes, options, debug);
  }

 private:
  FaultyFileSystem& files_;
  const std::string path_;
};

class FaultyDirectory : public rdb::FSDirectoryWrapper {
 public:
  FaultyDirectory(std::unique_ptr<rdb::FSDirectory>&& target, FaultyFileSystem& files)
      : FSDirectoryWrapper(std::move(target)), files_(files) {}
  rdb::IOStatus FsyncWithDirOptions(const rdb::IOOptions& options, rdb::IODebugContext* debug,
                                    const rdb::DirFsyncOptions& reason) override {
    const rdb::IOStatus status = files_.visit(Operation::kDirectorySync, "the directory");
    return status.ok() ? FSDirectoryWrapper::FsyncWithDirOptions(options, debug, reason) : status;
  }

 private:
  FaultyFileSystem& files_;
};

inline rdb::IOStatus FaultyFileSystem::NewWritableFile(const std::string& path,
                                                       const rdb::FileOptions& options,
                                                       std::unique_ptr<rdb::FSWritableFile>* file,
                                                       rdb::IODebugContext* debug) {
  rdb::IOStatus status = visit(Operation::kCreate, path);
  if (!status.ok()) return status;
  status = FileSystemWrapper::NewWritableFile(path, options, file, debug);
  if (status.ok()) *file = std::make_unique<FaultyFile>(std::move(*file), *this, path);
  return status;
}

inline rdb::IOStatus FaultyFileSystem::ReopenWritableFile(
    const std::string& path, const rdb::FileOptions& options,
    std::unique_ptr<rdb::FSWritableFile>* file, rdb::IODebugContext* debug) {
  rdb::IOStatus status = FileSystemWrapper::ReopenWritableFile(path, options, file, debug);
  if (status.ok()) *file = std::make_unique<FaultyFile>(std::move(*file), *this, path);
  return status;
}

inline rdb::IOStatus FaultyFileSystem::NewRandomAccessFile(
    const std::string& path, const rdb::FileOptions& options,
    std::unique_ptr<rdb::FSRandomAccessFile>* file, rdb::IODebugContext* debug) {
  const rdb::IOStatus status = FileSystemWrapper::NewRandomAccessFile(path, options, file, debug);
  if (status.ok()) *file = std::make_unique<FaultyReadFile>(std::move(*file), *this, path);
  return status;
}

inline rdb::IOStatus FaultyFileSystem::NewDirectory(const std::string& path,
                                                    const rdb::IOOptions& options,
                                                    std::unique_ptr<rdb::FSDirectory>* directory,
                                                    rdb::IODebugContext* debug) {
  const rdb::IOStatus status = FileSystemWrapper::NewDirectory(path, options, directory, debug);
  if (status.ok()) *directory = std::make_unique<FaultyDirectory>(std::move(*directory), *this);
  return status;
}

}  // namespace basalt::wal::test
