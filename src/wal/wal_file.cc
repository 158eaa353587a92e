#include "wal/wal_file.h"

#include <utility>

#include "wal/open_wals.h"
#include "wal/wal_write.h"

namespace basalt::wal {

WalFile::WalFile(std::unique_ptr<rdb::FSWritableFile>&& target, rdb::FileSystem& files,
                 OpenWals& wals, Health& health, std::string path, std::uint64_t size)
    : FSWritableFileOwnerWrapper(std::make_unique<RetryableFile>(std::move(target), health)),
      wals_(wals),
      path_(std::move(path)),
      size_(size),
      preallocator_(files, path_, health, size) {
  wals_.add(*this);
}

WalFile::~WalFile() { wals_.remove(*this); }

rdb::IOStatus WalFile::begin_append(std::uint64_t bytes, const rdb::IOOptions& options) {
  WalWrite::note_append(*this, size_);
  preallocator_.before_append(size_ + bytes);
  return size_ == 0 ? retryable(wals_.sync_before(*this, options)) : rdb::IOStatus();
}

rdb::IOStatus WalFile::end_append(rdb::IOStatus status, std::uint64_t bytes) {
  if (status.ok()) [[likely]] {
    size_ += bytes;
    ++appends_;
  }
  return status;
}

rdb::IOStatus WalFile::Append(const rdb::Slice& data, const rdb::IOOptions& options,
                              rdb::IODebugContext* debug) {
  rdb::IOStatus status = begin_append(data.size(), options);
  if (status.ok()) status = FSWritableFileOwnerWrapper::Append(data, options, debug);
  return end_append(std::move(status), data.size());
}

rdb::IOStatus WalFile::Append(const rdb::Slice& data, const rdb::IOOptions& options,
                              const rdb::DataVerificationInfo& verification,
                              rdb::IODebugContext* debug) {
  rdb::IOStatus status = begin_append(data.size(), options);
  if (status.ok()) status = FSWritableFileOwnerWrapper::Append(data, options, verification, debug);
  return end_append(std::move(status), data.size());
}

rdb::IOStatus WalFile::Close(const rdb::IOOptions& options, rdb::IODebugContext* debug) {
  wals_.remove(*this);
  if (preallocator_.finish()) {
    FSWritableFileOwnerWrapper::Truncate(size_, rdb::IOOptions(), nullptr).PermitUncheckedError();
  }
  return FSWritableFileOwnerWrapper::Close(options, debug);
}

// `appends`: how many had ended when the sync began.
rdb::IOStatus WalFile::end_sync(rdb::IOStatus status, std::uint64_t appends) {
  if (!status.ok()) [[unlikely]]
    return status;
  std::uint64_t before = synced_appends_;
  while (before < appends && !synced_appends_.compare_exchange_weak(before, appends)) {
  }
  return status;
}

rdb::IOStatus WalFile::Sync(const rdb::IOOptions& options, rdb::IODebugContext* debug) {
  preallocator_.note_sync();
  const std::uint64_t appends = appends_;
  return end_sync(FSWritableFileOwnerWrapper::Sync(options, debug), appends);
}

rdb::IOStatus WalFile::Fsync(const rdb::IOOptions& options, rdb::IODebugContext* debug) {
  preallocator_.note_sync();
  const std::uint64_t appends = appends_;
  return end_sync(FSWritableFileOwnerWrapper::Fsync(options, debug), appends);
}

void WalFile::undo_since(std::uint64_t begin) {
  const rdb::IOOptions options;
  rdb::IOStatus status = FSWritableFileOwnerWrapper::Truncate(begin, options, nullptr);
  if (status.ok()) status = FSWritableFileOwnerWrapper::Truncate(size_, options, nullptr);
  // The sync helps only if the machine stops before the database is resumed, and it may well fail,
  // too.
  if (status.ok()) FSWritableFileOwnerWrapper::Sync(options, nullptr).PermitUncheckedError();
  if (!status.ok()) wals_.remember({path_, begin, size_});
}

}  // namespace basalt::wal
