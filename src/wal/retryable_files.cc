#include "wal/retryable_files.h"

#include <utility>

#include "wal/wal_write.h"

namespace basalt::wal {
namespace {

// As an error of one file that may be tried again.
void mark(rdb::IOStatus& error) {
  error.SetRetryable(true);
  error.SetScope(rdb::IOStatus::IOErrorScope::kIOErrorScopeFile);
}

}  // namespace

rdb::IOStatus retryable(rdb::IOStatus error) {
  if (error.ok()) [[likely]]
    return error;
  WalWrite::undo_current();
  // A "no space" error becomes another one with its text, which names file and cause.
  if (error.IsNoSpace()) {
    const char* const text = error.getState();
    error = rdb::IOStatus::IOError(text == nullptr ? "" : text, "");
  }
  if (error.IsIOError()) mark(error);
  return error;
}

rdb::IOStatus RetryableReadFile::Read(std::uint64_t offset, std::size_t bytes,
                                      const rdb::IOOptions& options, rdb::Slice* result,
                                      char* scratch, rdb::IODebugContext* debug) const {
  rdb::IOStatus status =
      FSRandomAccessFileOwnerWrapper::Read(offset, bytes, options, result, scratch, debug);
  if (status.IsIOError()) [[unlikely]]
    mark(status);
  return status;
}

RetryableDirectory::RetryableDirectory(std::unique_ptr<rdb::FSDirectory>&& target, std::string path,
                                       KeptFiles& kept)
    : FSDirectoryWrapper(std::move(target)), path_(std::move(path)), kept_(kept) {}

// RocksDB's own text calls it "a directory".
rdb::IOStatus RetryableDirectory::named(rdb::IOStatus status) const {
  if (!status.IsIOError()) return retryable(std::move(status));
  const char* const text = status.getState();
  return retryable(rdb::IOStatus::IOError(path_ + "/", text == nullptr ? "" : text));
}

rdb::IOStatus RetryableDirectory::Fsync(const rdb::IOOptions& options, rdb::IODebugContext* debug) {
  return named(FSDirectoryWrapper::Fsync(options, debug));
}

rdb::IOStatus RetryableDirectory::FsyncWithDirOptions(const rdb::IOOptions& options,
                                                      rdb::IODebugContext* debug,
                                                      const rdb::DirFsyncOptions& reason) {
  rdb::IOStatus status = FSDirectoryWrapper::FsyncWithDirOptions(options, debug, reason);
  if (!status.ok() && reason.renamed_new_name.ends_with("/CURRENT")) kept_.begin();
  return named(std::move(status));
}

RetryableFile::RetryableFile(std::unique_ptr<rdb::FSWritableFile>&& target, Health& health)
    : FSWritableFileOwnerWrapper(std::move(target)), health_(health) {}

rdb::IOStatus RetryableFile::checked(rdb::IOStatus status) {
  if (status.ok()) [[likely]]
    return status;
  note_failure();
  return retryable(std::move(status));
}

rdb::IOStatus RetryableFile::end_append(rdb::IOStatus status, std::size_t bytes) {
  if (!status.ok()) [[unlikely]]
    return checked(std::move(status));
  health_.note_written(bytes);
  return status;
}

rdb::IOStatus RetryableFile::Append(const rdb::Slice& data, const rdb::IOOptions& options,
                                    rdb::IODebugContext* debug) {
  return end_append(FSWritableFileOwnerWrapper::Append(data, options, debug), data.size());
}

rdb::IOStatus RetryableFile::Append(const rdb::Slice& data, const rdb::IOOptions& options,
                                    const rdb::DataVerificationInfo& verification,
                                    rdb::IODebugContext* debug) {
  return end_append(FSWritableFileOwnerWrapper::Append(data, options, verification, debug),
                    data.size());
}

rdb::IOStatus RetryableFile::PositionedAppend(const rdb::Slice& data, std::uint64_t offset,
                                              const rdb::IOOptions& options,
                                              rdb::IODebugContext* debug) {
  return end_append(FSWritableFileOwnerWrapper::PositionedAppend(data, offset, options, debug),
                    data.size());
}

rdb::IOStatus RetryableFile::PositionedAppend(const rdb::Slice& data, std::uint64_t offset,
                                              const rdb::IOOptions& options,
                                              const rdb::DataVerificationInfo& verification,
                                              rdb::IODebugContext* debug) {
  return end_append(
      FSWritableFileOwnerWrapper::PositionedAppend(data, offset, options, verification, debug),
      data.size());
}

rdb::IOStatus RetryableFile::Truncate(std::uint64_t size, const rdb::IOOptions& options,
                                      rdb::IODebugContext* debug) {
  return checked(FSWritableFileOwnerWrapper::Truncate(size, options, debug));
}

rdb::IOStatus RetryableFile::Close(const rdb::IOOptions& options, rdb::IODebugContext* debug) {
  return retryable(FSWritableFileOwnerWrapper::Close(options, debug));
}

rdb::IOStatus RetryableFile::Flush(const rdb::IOOptions& options, rdb::IODebugContext* debug) {
  return checked(FSWritableFileOwnerWrapper::Flush(options, debug));
}

rdb::IOStatus RetryableFile::Sync(const rdb::IOOptions& options, rdb::IODebugContext* debug) {
  return checked(FSWritableFileOwnerWrapper::Sync(options, debug));
}

rdb::IOStatus RetryableFile::Fsync(const rdb::IOOptions& options, rdb::IODebugContext* debug) {
  return checked(FSWritableFileOwnerWrapper::Fsync(options, debug));
}

rdb::IOStatus RetryableFile::RangeSync(std::uint64_t offset, std::uint64_t bytes,
                                       const rdb::IOOptions& options, rdb::IODebugContext* debug) {
  return checked(FSWritableFileOwnerWrapper::RangeSync(offset, bytes, options, debug));
}

rdb::IOStatus ManifestFile::sync_before_append(const rdb::IOOptions& options,
                                               rdb::IODebugContext* debug) {
  if (state_ == State::kNotCurrent) return {};
  if (state_ == State::kUnsynced) {
    rdb::IOStatus status = Sync(options, debug);
    if (!status.ok()) return status;
  }
  state_ = State::kUnsynced;
  return {};
}

rdb::IOStatus ManifestFile::end_sync(rdb::IOStatus status) {
  if (status.ok()) state_ = State::kSynced;
  return status;
}

rdb::IOStatus ManifestFile::Append(const rdb::Slice& data, const rdb::IOOptions& options,
                                   rdb::IODebugContext* debug) {
  rdb::IOStatus status = sync_before_append(options, debug);
  if (!status.ok()) return status;
  return RetryableFile::Append(data, options, debug);
}

rdb::IOStatus ManifestFile::Append(const rdb::Slice& data, const rdb::IOOptions& options,
                                   const rdb::DataVerificationInfo& verification,
                                   rdb::IODebugContext* debug) {
  rdb::IOStatus status = sync_before_append(options, debug);
  if (!status.ok()) return status;
  return RetryableFile::Append(data, options, verification, debug);
}

rdb::IOStatus ManifestFile::Sync(const rdb::IOOptions& options, rdb::IODebugContext* debug) {
  return end_sync(RetryableFile::Sync(options, debug));
}

rdb::IOStatus ManifestFile::Fsync(const rdb::IOOptions& options, rdb::IODebugContext* debug) {
  return end_sync(RetryableFile::Fsync(options, debug));
}

}  // namespace basalt::wal
