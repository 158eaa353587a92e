#include <rocksdb/utilities/transaction.h>
#include <rocksdb/utilities/transaction_db.h>
#include <rocksdb/utilities/write_batch_with_index.h>

#include <utility>

#include "rdb/slice.h"
#include "rdb/status_conversion.h"
#include "txn/transaction.h"
#include "txn/transaction_manager.h"

// What a transaction does with rows in files: txn/loaded_files.h.
namespace basalt::txn {

// Announced first, then asked, as inserts are: who locks a range from now on waits for the end of
// this transaction, and who has locked one is waited for.
Status Transaction::add_loaded(LoadedFiles loaded, const lock::WaitPolicy& policy) {
  BASALT_ASSERT(state_ == State::kIdle || state_ == State::kActive);
  BASALT_ASSERT(loaded.directory != nullptr && !loaded.keys.empty());
  {
    const BatchGuard guard(*this);
    BASALT_TRY(begin_writing());
  }
  BASALT_TRY(loaded.directory->sync());
  for (const LoadedKeys& keys : loaded.keys) {
    inserts_->note_loaded(keys);
    changed_indexes_.note(KeySpans::index_of(keys.first));
  }
  if (!inserts_are_open_) {
    manager_.inserts().add(inserts_);
    inserts_are_open_ = true;
  }
  loaded_.push_back(std::move(loaded));
  const lock::LockManager& locks = manager_.locks();
  std::string key;
  for (const LoadedKeys& keys : loaded_.back().keys) {
    const std::string upper = keys.last + '\0';
    while (locks.find_blocked_insert(owner_, keys.first, upper, key)) {
      BASALT_TRY(await_insert(key, policy));
    }
  }
  return Status::ok();
}

Status Transaction::queue_loaded() {
  for (const LoadedFiles& loaded : loaded_) {
    const std::string key = loaded_files_key(loaded.directory->number());
    const std::string value = pack_loaded_files(loaded);
    BASALT_TRY(rdb::from_rocksdb(
        writes_->PutUntracked(manager_.database().family_handle(kv::kSystemFamily),
                              rdb::slice_of(key), rdb::slice_of(value))));
  }
  return Status::ok();
}

Status Transaction::write_and_publish() {
  BASALT_DEBUG_ASSERT(!loaded_.empty());
  kv::Database& database = manager_.database();
  const MutexLock guard(database.publication_mutex());
  const bool is_repeated = is_commit_written_;
  if (!is_repeated) BASALT_TRY(write_commit());
  is_commit_written_ = true;
  Status status =
      publish_loaded_files(database, loaded_, is_repeated ? Attempt::kRepeated : Attempt::kFirst);
  // It cannot be rolled back any more.
  if (!status.is_ok()) state_ = State::kOrdered;
  return status;
}

}  // namespace basalt::txn
