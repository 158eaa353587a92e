#include "txn/transaction_manager.h"

#include <rocksdb/utilities/transaction.h>
#include <rocksdb/utilities/transaction_db.h>
#include <rocksdb/write_batch.h>

#include <utility>

#include "kv/rocksdb_reads.h"
#include "rdb/status_conversion.h"

namespace basalt::txn {
namespace {

// Locks every key a batch changes, notes its index, and announces every key it puts: which of them
// are rows is known only to the catalog, and a few locks too many on a recovered transaction cost
// nothing.
class KeyLocker : public rdb::WriteBatch::Handler {
 public:
  KeyLocker(const kv::Database& database, lock::LockManager& locks, lock::LockOwner& owner,
            PendingInserts& inserts, ChangedIndexes& changed)
      : database_(database), locks_(locks), owner_(owner), inserts_(inserts), changed_(changed) {}

  // What the transaction has in files.
  std::vector<LoadedFiles>& loaded() { return loaded_; }

  // Which keys are new is not known either.
  rdb::Status PutCF(std::uint32_t family, const rdb::Slice& key, const rdb::Slice& value) override {
    const std::string_view announced(key.data(), key.size());
    const bool is_of_system = family == database_.family_handle(kv::kSystemFamily)->GetID();
    if (is_of_system && is_loaded_files_key(announced)) {
      return note_loaded(announced, {value.data(), value.size()});
    }
    if (announced.size() >= lock::kSpaceBytes) inserts_.note({&announced, 1});
    return lock(key);
  }
  rdb::Status DeleteCF(std::uint32_t, const rdb::Slice& key) override { return lock(key); }
  rdb::Status SingleDeleteCF(std::uint32_t, const rdb::Slice& key) override { return lock(key); }
  rdb::Status MarkBeginPrepare(bool) override { return rdb::Status::OK(); }
  rdb::Status MarkEndPrepare(const rdb::Slice&) override { return rdb::Status::OK(); }
  rdb::Status MarkNoop(bool) override { return rdb::Status::OK(); }

 private:
  rdb::Status note_loaded(std::string_view key, std::string_view value) {
    Result<LoadedFiles> loaded = parse_loaded_files(database_.options().directory, key, value);
    if (!loaded.is_ok()) return rdb::Status::Corruption(loaded.status().message());
    changed_.note(KeySpans::index_of(loaded.value().row_key));
    loaded_.push_back(std::move(loaded.value()));
    return rdb::Status::OK();
  }
  rdb::Status lock(const rdb::Slice& key) {
    changed_.note(KeySpans::index_of({key.data(), key.size()}));
    lock::WaitPolicy policy;
    policy.may_wait = false;
    const Status status =
        locks_.lock(owner_, {key.data(), key.size()}, lock::LockMode::kExclusive, policy);
    if (status.is_ok()) return rdb::Status::OK();
    return rdb::Status::Corruption("two prepared transactions changed the same key");
  }

  const kv::Database& database_;
  lock::LockManager& locks_;
  lock::LockOwner& owner_;
  PendingInserts& inserts_;
  ChangedIndexes& changed_;
  std::vector<LoadedFiles> loaded_;
};

}  // namespace

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

Status TransactionManager::recover() {
  BASALT_TRY(binlog_positions_.load(database_));
  std::vector<rdb::Transaction*> found;
  std::set<std::uint32_t> prepared_loads;
  database_.rocksdb().GetAllPreparedTransactions(&found);
  for (rdb::Transaction* prepared : found) {
    std::unique_ptr<Transaction> transaction = make_transaction(nullptr);
    transaction->writes_.reset(prepared);
    transaction->has_writes_ = true;
    transaction->name_ = prepared->GetName();
    transaction->changed_indexes_.set_name(transaction->name_);
    transaction->state_ = Transaction::State::kPrepared;
    transaction->changes_are_unknown_ = true;
    {
      const MutexLock guard(transaction->inserts_->batch_mutex());
      transaction->inserts_->attach(prepared);
    }
    inserts_->add(transaction->inserts_);
    transaction->inserts_are_open_ = true;
    KeyLocker locker(database_, locks_, transaction->owner_, *transaction->inserts_,
                     transaction->changed_indexes_);
    const Status status =
        rdb::from_rocksdb(prepared->GetWriteBatch()->GetWriteBatch()->Iterate(&locker));
    transaction->loaded_ = std::move(locker.loaded());
    for (const LoadedFiles& loaded : transaction->loaded_) {
      prepared_loads.insert(loaded.directory->number());
    }
    detach_prepared(std::move(transaction));
    if (!status.is_ok()) return Status(status.code(), "recovery: " + status.message());
  }
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
  Status status = transaction->commit(kv::Durability::kSynced);
  if (!status.is_ok()) detach_prepared(std::move(transaction));
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

void TransactionManager::keep_decided(std::shared_ptr<Transaction> transaction, Decision decision) {
  locks_.forget_user(transaction->lock_owner());
  decided_.keep(std::move(transaction), decision);
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
