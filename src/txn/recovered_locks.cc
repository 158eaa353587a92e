#include "txn/recovered_locks.h"

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <utility>

#include "base/assert.h"
#include "base/key_range.h"
#include "base/log.h"
#include "rdb/slice.h"
#include "rdb/status_conversion.h"
#include "txn/key_spans.h"
#include "txn/loaded_file_reader.h"

namespace basalt::txn {
namespace {

Status lock_key(lock::LockManager& locks, lock::LockOwner& owner, std::string_view key) {
  const lock::WaitPolicy policy{.may_wait = false};
  if (locks.lock(owner, key, lock::LockMode::kExclusive, policy).is_ok()) return Status::ok();
  return Status(ErrorCode::kCorruption, "two prepared transactions changed the same key");
}

class BatchLocker : public rdb::WriteBatch::Handler {
 public:
  BatchLocker(const kv::Database& database, lock::LockManager& locks,
              const RecoveredLocks::Holder& holder, std::vector<LoadedFiles>& loads)
      : database_(database), locks_(locks), holder_(holder), loads_(loads) {}

  // Which keys are new is not known.
  rdb::Status PutCF(std::uint32_t family, const rdb::Slice& key, const rdb::Slice& value) override {
    const std::string_view announced = rdb::view_of(key);
    const bool is_of_system = family == database_.family_handle(kv::kSystemFamily)->GetID();
    if (is_of_system && is_loaded_files_key(announced)) {
      return note_load(announced, rdb::view_of(value));
    }
    if (announced.size() >= lock::kSpaceBytes) holder_.inserts.note({&announced, 1});
    return lock(key);
  }
  rdb::Status DeleteCF(std::uint32_t, const rdb::Slice& key) override { return lock(key); }
  rdb::Status SingleDeleteCF(std::uint32_t, const rdb::Slice& key) override { return lock(key); }
  rdb::Status MarkBeginPrepare(bool) override { return rdb::Status::OK(); }
  rdb::Status MarkEndPrepare(const rdb::Slice&) override { return rdb::Status::OK(); }
  rdb::Status MarkNoop(bool) override { return rdb::Status::OK(); }

 private:
  rdb::Status note_load(std::string_view key, std::string_view value) {
    Result<LoadedFiles> load = parse_loaded_files(database_.build_place(), key, value);
    if (!load.is_ok()) return rdb::Status::Corruption(load.status().message());
    loads_.push_back(std::move(load.value()));
    return rdb::Status::OK();
  }
  rdb::Status lock(const rdb::Slice& key) {
    holder_.changed.note(KeySpans::index_of(rdb::view_of(key)));
    const Status status = lock_key(locks_, holder_.owner, rdb::view_of(key));
    return status.is_ok() ? rdb::Status::OK() : rdb::Status::Corruption(status.message());
  }

  const kv::Database& database_;
  lock::LockManager& locks_;
  const RecoveredLocks::Holder& holder_;
  std::vector<LoadedFiles>& loads_;
};

}  // namespace

Status RecoveredLocks::lock_keys(const Holder& holder, const rdb::WriteBatch& batch,
                                 std::vector<LoadedFiles>& loads) {
  BASALT_DEBUG_ASSERT(loads.empty() && !holder.owner.holds_locks());
  BatchLocker locker(database_, locks_, holder, loads);
  BASALT_TRY(rdb::from_rocksdb(batch.Iterate(&locker)));
  return loads.empty() ? Status::ok() : lock_files(holder, loads);
}

Status RecoveredLocks::lock_files(const Holder& holder, std::vector<LoadedFiles>& loads) {
  LoadedFileReader reader(database_);
  for (LoadedFiles& load : loads) {
    if (const Status status = reader.open(load); !status.is_ok()) {
      lock_unread(holder, loads, status);
      return Status::ok();
    }
  }
  const bool locks_ranges = reader.entry_count() > most_keys_;
  for (const LoadedFiles& load : loads) {
    for (const std::uint32_t index : load.indexes) holder.changed.note(index);
    for (const LoadedKeys& keys : load.keys) {
      holder.inserts.note_loaded(keys);
      holder.changed.note(KeySpans::index_of(keys.first));
      if (locks_ranges) ranges_.push_back({holder.owner, keys.first, keys.last + '\0'});
    }
  }
  if (locks_ranges) return Status::ok();
  bool is_locked_twice = false;
  Status status = reader.for_each_key([&](std::string_view key) {
    Status locked = lock_key(locks_, holder.owner, key);
    is_locked_twice = !locked.is_ok();
    return locked;
  });
  if (status.is_ok() || is_locked_twice) return status;
  lock_unread(holder, loads, status);
  return Status::ok();
}

// What has damaged files, or none, is to be rolled back: all else in the database must be reached.
void RecoveredLocks::lock_unread(const Holder& holder, std::vector<LoadedFiles>& loads,
                                 const Status& cause) {
  for (LoadedFiles& load : loads) {
    BASALT_DEBUG_ASSERT(!load.row_key.empty());
    load.keys.clear();
    // Its number is nobody else's as long as the transaction is there.
    load.directory->make_again();
    if (load.indexes.empty()) load.indexes.push_back(KeySpans::index_of(load.row_key));
    for (const std::uint32_t index : load.indexes) {
      holder.changed.note(index);
      KeyRange all = index_key_range(index);
      ranges_.push_back({holder.owner, std::move(all.lower), std::move(all.upper)});
    }
  }
  log_message(LogLevel::kWarning,
              "a prepared transaction has rows in files that cannot be read, so that it can only "
              "be rolled back: " +
                  cause.message());
}

void RecoveredLocks::lock_ranges() {
  for (const Range& range : ranges_) locks_.lock_range(range.owner, range.lower, range.upper);
  ranges_.clear();
}

}  // namespace basalt::txn
