#include "txn/transaction_manager.h"

#include <rocksdb/utilities/transaction.h>
#include <rocksdb/utilities/transaction_db.h>
#include <rocksdb/utilities/write_batch_with_index.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/log.h"
#include "txn/loaded_file_reader.h"
#include "txn/recovered_locks.h"

namespace basalt::txn {

TransactionManager::~TransactionManager() {
  // Their durable part stays in the WAL for the next start; only memory goes.
  const auto leave = [this](Transaction& transaction) {
    locks_.release_all(transaction.owner_);
    if (transaction.inserts_are_open_) inserts_->remove(transaction.inserts_.get());
    for (const LoadedFiles& loaded : transaction.loaded_) loaded.directory->leave();
    transaction.is_commit_written_ = false;
    transaction.state_ = Transaction::State::kIdle;
  };
  for (auto& [name, transaction] : prepared_) leave(*transaction);
  decided_.for_each(leave);
}

std::unique_ptr<Transaction> TransactionManager::make_transaction(void* user) {
  return std::make_unique<Transaction>(*this, next_id_.fetch_add(1), user);
}

Status TransactionManager::recover(std::uint64_t most_keys) {
  BASALT_TRY(binlog_positions_.load(database_));
  std::vector<rdb::Transaction*> found;
  std::set<std::uint32_t> prepared_loads;
  RecoveredLocks locks(database_, locks_, most_keys);
  database_.rocksdb().GetAllPreparedTransactions(&found);
  for (rdb::Transaction* prepared : found) {
    std::unique_ptr<Transaction> transaction = make_transaction(nullptr);
    transaction->writes_.reset(prepared);
    transaction->has_writes_ = true;
    transaction->name_ = prepared->GetName();
    transaction->changed_indexes_.set_name(transaction->name_);
    transaction->state_ = Transaction::State::kPrepared;
    transaction->changes_are_unknown_ = true;
    // A range in place of them would be in the way of what is locked next.
    transaction->owner_.set_most_keys(std::numeric_limits<std::size_t>::max());
    {
      const MutexLock guard(transaction->inserts_->batch_mutex());
      transaction->inserts_->attach(prepared);
    }
    inserts_->add(transaction->inserts_);
    transaction->inserts_are_open_ = true;
    const Status status = locks.lock_keys(
        {transaction->owner_, *transaction->inserts_, transaction->changed_indexes_},
        *prepared->GetWriteBatch()->GetWriteBatch(), transaction->loaded_);
    for (const LoadedFiles& loaded : transaction->loaded_) {
      prepared_loads.insert(loaded.directory->number());
      if (loaded.keys.empty()) continue;
      // A user may have prepared it, in an engine that did not know of that.
      const Status marked = loaded.directory->belong_to_copies();
      if (!marked.is_ok()) log_message(LogLevel::kWarning, marked.message());
    }
    detach_prepared(std::move(transaction));
    if (!status.is_ok()) return Status(status.code(), "recovery: " + status.message());
  }
  locks.lock_ranges();
  return recover_loaded_files(database_, prepared_loads);
}

void TransactionManager::detach_prepared(std::unique_ptr<Transaction> transaction) {
  BASALT_ASSERT(transaction->state() == Transaction::State::kPrepared);
  locks_.forget_user(transaction->lock_owner());
  const MutexLock guard(mutex_);
  std::string name = transaction->prepared_name();
  BASALT_DEBUG_ASSERT(!prepared_.contains(name));
  prepared_.emplace(std::move(name), std::move(transaction));
}

std::vector<std::string> TransactionManager::prepared_names() const {
  const MutexLock guard(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, transaction] : prepared_) names.push_back(name);
  return names;
}

std::unique_ptr<Transaction> TransactionManager::take_prepared(const std::string& name) {
  const MutexLock guard(mutex_);
  const auto found = prepared_.find(name);
  if (found == prepared_.end()) return nullptr;
  std::unique_ptr<Transaction> transaction = std::move(found->second);
  BASALT_DEBUG_ASSERT(transaction != nullptr && transaction->prepared_name() == name);
  prepared_.erase(found);
  return transaction;
}

Status TransactionManager::commit_prepared(const std::string& name, bool& found) {
  std::unique_ptr<Transaction> transaction = take_prepared(name);
  found = transaction != nullptr;
  if (!found) return Status::ok();
  std::vector<std::uint32_t> uncounted;
  std::uint64_t changes = 0;
  if (transaction->changes_are_unknown_) {
    // Recovery may have read a part of its files. A damaged block would come with the commit, and
    // the compaction that reads it would end all writing.
    const auto is_unread = [](const LoadedFiles& loaded) { return loaded.keys.empty(); };
    const std::vector<LoadedFiles>& loads = transaction->loaded_;
    Status status;
    if (std::ranges::none_of(loads, is_unread)) status = verify_loaded_files(database_, loads);
    if (!status.is_ok()) {
      detach_prepared(std::move(transaction));
      return status;
    }
    transaction->changed_indexes_.append_to(uncounted);
    changes = transaction->batch().Count();
    for (const LoadedFiles& load : loads) changes += load.entry_count;
  }
  Status status = transaction->commit(kv::Durability::kSynced);
  if (status.is_ok()) {
    if (!uncounted.empty() && tell_uncounted_commit_) tell_uncounted_commit_(uncounted, changes);
  } else if (transaction->state() == Transaction::State::kOrdered) {
    // The commit is written: there is nothing left to decide.
    keep_decided(std::move(transaction), Decision::kCommit, status);
  } else {
    detach_prepared(std::move(transaction));
  }
  return status;
}

Status TransactionManager::rollback_prepared(const std::string& name, bool& found) {
  std::unique_ptr<Transaction> transaction = take_prepared(name);
  found = transaction != nullptr;
  if (!found) return Status::ok();
  Status status = transaction->rollback();
  if (!status.is_ok()) detach_prepared(std::move(transaction));
  return status;
}

Status TransactionManager::rollback_prepared_in(
    const std::function<bool(std::uint32_t index)>& is_gone) {
  std::vector<std::string> names;
  {
    const MutexLock guard(mutex_);
    for (const auto& [name, transaction] : prepared_) {
      const std::span<const std::uint32_t> changed = transaction->changed_indexes_.all();
      if (!changed.empty() && std::ranges::all_of(changed, is_gone)) names.push_back(name);
    }
  }
  for (const std::string& name : names) {
    bool found = false;
    BASALT_TRY(rollback_prepared(name, found));
  }
  return Status::ok();
}

void TransactionManager::keep_decided(std::shared_ptr<Transaction> transaction, Decision decision,
                                      const Status& cause) {
  BASALT_ASSERT(!cause.is_ok());
  locks_.forget_user(transaction->lock_owner());
  decided_.keep(std::move(transaction), decision, [&] {
    wal::Health& health = database_.health();
    if (health.access() == wal::Access::kReadOnly) return;
    health.turn_read_only("what is decided cannot be completed: " + cause.message());
  });
}

Status TransactionManager::wait_for_ordered(const std::function<bool()>& may_wait) {
  std::size_t stuck = 0;
  const auto asks_on = [&] {
    stuck = decided_count();
    return stuck == 0 && may_wait();
  };
  if (order_.wait_for(order_.newest(), asks_on)) return Status::ok();
  if (stuck == 0) return Status::of(ErrorCode::kInterrupted);
  return Status(ErrorCode::kReadOnly, std::to_string(stuck) +
                                          " transactions are decided that cannot be written; the "
                                          "error log tells why");
}

}  // namespace basalt::txn
