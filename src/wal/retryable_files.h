#pragma once
#include <rocksdb/file_system.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "rdb/rocksdb_fwd.h"
#include "wal/health.h"
#include "wal/kept_files.h"

// Files whose errors RocksDB can be resumed from.
//
// Purpose     RocksDB lets itself be resumed from errors that are marked so: those of one file,
//             which it then never writes again. Errors of its own file system are not marked, or
//             as "no space", which it handles in another way that does not go with two-phase
//             commit. Here every error of a write is marked; and of a read, so that a file that
//             cannot be read ends a compaction, and not all writes.
// Threads     As RocksDB's own files.
namespace basalt::wal {

// The error of a write, marked; and what the calling thread has appended to a WAL in its WalWrite
// is taken back. A success stays one.
rdb::IOStatus retryable(rdb::IOStatus error);

class RetryableReadFile final : public rdb::FSRandomAccessFileOwnerWrapper {
 public:
  using FSRandomAccessFileOwnerWrapper::FSRandomAccessFileOwnerWrapper;

  rdb::IOStatus Read(std::uint64_t offset, std::size_t bytes, const rdb::IOOptions& options,
                     rdb::Slice* result, char* scratch, rdb::IODebugContext* debug) const override;
};

class RetryableDirectory final : public rdb::FSDirectoryWrapper {
 public:
  // Errors name `path`. `kept`, which outlives it, is told where a manifest cannot be made current.
  RetryableDirectory(std::unique_ptr<rdb::FSDirectory>&& target, std::string path, KeptFiles& kept);

  rdb::IOStatus Fsync(const rdb::IOOptions& options, rdb::IODebugContext* debug) override;
  rdb::IOStatus FsyncWithDirOptions(const rdb::IOOptions& options, rdb::IODebugContext* debug,
                                    const rdb::DirFsyncOptions& reason) override;

 private:
  rdb::IOStatus named(rdb::IOStatus status) const;

  const std::string path_;
  KeptFiles& kept_;
};

// A file that is written; its bytes are counted for Health.
class RetryableFile : public rdb::FSWritableFileOwnerWrapper {
 public:
  RetryableFile(std::unique_ptr<rdb::FSWritableFile>&& target, Health& health);

  rdb::IOStatus Append(const rdb::Slice& data, const rdb::IOOptions& options,
                       rdb::IODebugContext* debug) override;
  rdb::IOStatus Append(const rdb::Slice& data, const rdb::IOOptions& options,
                       const rdb::DataVerificationInfo& verification,
                       rdb::IODebugContext* debug) override;
  rdb::IOStatus PositionedAppend(const rdb::Slice& data, std::uint64_t offset,
                                 const rdb::IOOptions& options,
                                 rdb::IODebugContext* debug) override;
  rdb::IOStatus PositionedAppend(const rdb::Slice& data, std::uint64_t offset,
                                 const rdb::IOOptions& options,
                                 const rdb::DataVerificationInfo& verification,
                                 rdb::IODebugContext* debug) override;
  rdb::IOStatus Truncate(std::uint64_t size, const rdb::IOOptions& options,
                         rdb::IODebugContext* debug) override;
  rdb::IOStatus Close(const rdb::IOOptions& options, rdb::IODebugContext* debug) override;
  rdb::IOStatus Flush(const rdb::IOOptions& options, rdb::IODebugContext* debug) override;
  rdb::IOStatus Sync(const rdb::IOOptions& options, rdb::IODebugContext* debug) override;
  rdb::IOStatus Fsync(const rdb::IOOptions& options, rdb::IODebugContext* debug) override;
  rdb::IOStatus RangeSync(std::uint64_t offset, std::uint64_t bytes, const rdb::IOOptions& options,
                          rdb::IODebugContext* debug) override;

 protected:
  Health& health() { return health_; }

 private:
  // Something of the file could not be written or synced; told before the caller is.
  virtual void note_failure() {}
  rdb::IOStatus checked(rdb::IOStatus status);
  rdb::IOStatus end_append(rdb::IOStatus status, std::size_t bytes);

  Health& health_;
};

// A manifest as it is written. RocksDB writes several records of what several threads have done and
// syncs them together; here each is synced before the next is written, so that of those that a
// machine which stops may leave in part there is one only, the last (check_manifest()).
//
// Threads     One at a time, as RocksDB writes it.
class ManifestFile final : public RetryableFile {
 public:
  // `health` and `kept` outlive it.
  ManifestFile(std::unique_ptr<rdb::FSWritableFile>&& target, Health& health, KeptFiles& kept)
      : RetryableFile(std::move(target), health), kept_(kept) {}

  rdb::IOStatus Append(const rdb::Slice& data, const rdb::IOOptions& options,
                       rdb::IODebugContext* debug) override;
  rdb::IOStatus Append(const rdb::Slice& data, const rdb::IOOptions& options,
                       const rdb::DataVerificationInfo& verification,
                       rdb::IODebugContext* debug) override;
  rdb::IOStatus Sync(const rdb::IOOptions& options, rdb::IODebugContext* debug) override;
  rdb::IOStatus Fsync(const rdb::IOOptions& options, rdb::IODebugContext* debug) override;

 private:
  enum class State {
    kNotCurrent,  // nobody reads it before its first sync
    kSynced,
    kUnsynced,
  };

  void note_failure() override { kept_.begin(); }
  rdb::IOStatus sync_before_append(const rdb::IOOptions& options, rdb::IODebugContext* debug);
  rdb::IOStatus end_sync(rdb::IOStatus status);

  KeptFiles& kept_;
  State state_ = State::kNotCurrent;
};

}  // namespace basalt::wal
