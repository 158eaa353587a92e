#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "kv/database.h"
#include "lock/lock_manager.h"
#include "txn/binlog_position.h"
#include "txn/change_tracker.h"
#include "txn/commit_tickets.h"
#include "txn/decided_transactions.h"
#include "txn/empty_ranges.h"
#include "txn/insert_registry.h"
#include "txn/run_merger.h"
#include "txn/transaction.h"
#include "txn/undecided_changes.h"

// All transactions of one database: makes them, and decides prepared ones by name.
//
// Threads     Safe from any thread.
namespace basalt::txn {

class TransactionManager {
 public:
  TransactionManager(kv::Database& database, lock::LockManager& locks)
      : database_(database), locks_(locks) {}
  ~TransactionManager();
  TransactionManager(const TransactionManager&) = delete;
  TransactionManager& operator=(const TransactionManager&) = delete;

  kv::Database& database() { return database_; }
  lock::LockManager& locks() { return locks_; }
  ChangeTracker& changes() { return *changes_; }
  InsertRegistry& inserts() { return *inserts_; }
  EmptyRanges& empty_ranges() { return empty_ranges_; }
  CommitTickets& order() { return order_; }
  BinlogPositions& binlog_positions() { return binlog_positions_; }
  UndecidedChanges& undecided() { return *undecided_; }
  const std::shared_ptr<UndecidedChanges>& shared_undecided() { return undecided_; }
  // The memory of the changes of transactions of which each has this at least, and to so many bytes
  // exactly. `bytes` wraps around where it has become less.
  static constexpr std::uint64_t kCountedBytes = std::uint64_t{1} << 20;
  void add_batch_memory(std::uint64_t bytes) {
    batch_memory_.fetch_add(bytes, std::memory_order_relaxed);
  }
  std::uint64_t batch_memory() const { return batch_memory_.load(std::memory_order_relaxed); }
  MergeSlot& merge_slot() { return merge_slot_; }
  // As ChangedIndexes::join() and UndecidedChanges::first_open_number().
  std::uint64_t join_journal(ChangedIndexes& transaction, std::uint32_t journal) {
    return transaction.join(journal, next_commit_number_);
  }
  std::uint64_t first_open_number() const {
    return undecided_->first_open_number(next_commit_number_);
  }

  // What debug builds assert of indexes: that one may get a transaction's first change, and that a
  // commit of changes that it has got will be given back some day, if not sooner used. To be set
  // before the first transaction; null: anything may.
  using IndexCheck = std::function<bool(std::uint32_t index)>;
  void set_index_checks(IndexCheck may_change, IndexCheck may_commit) {
    may_change_ = std::move(may_change);
    may_commit_ = std::move(may_commit);
  }
  bool may_change(std::uint32_t index) const { return !may_change_ || may_change_(index); }
  bool may_commit(std::uint32_t index) const { return !may_commit_ || may_commit_(index); }

  // Told, when a transaction that was recovered is committed, which indexes it has changed, and how
  // many changes there are of all of them: nobody knows how many rows their tables have got and
  // lost. To be set before recover(); null: nobody is told. Called by whoever commits it, without
  // locks of this folder.
  using UncountedCommit =
      std::function<void(std::span<const std::uint32_t> indexes, std::uint64_t changes)>;
  void set_uncounted_commit(UncountedCommit tell) { tell_uncounted_commit_ = std::move(tell); }

  std::unique_ptr<Transaction> make_transaction(void* user);

  static constexpr std::uint64_t kMostKeys = std::uint64_t{1} << 20;
  // Brings back the transactions that were prepared when the database was closed or crashed,
  // with the locks of the rows they changed, and the stored position in the binary log. One that
  // has more than `most_keys` keys in files gets ranges: txn/recovered_locks.h. To be called once,
  // before any other transaction.
  Status recover(std::uint64_t most_keys = kMostKeys);
  // Takes a prepared transaction out of its session, to be decided by name later.
  void detach_prepared(std::unique_ptr<Transaction> transaction);
  // Gives it to a session again, which decides it; null if there is none of that name.
  std::unique_ptr<Transaction> take_prepared(const std::string& name);
  // The names of the prepared transactions that no session holds.
  std::vector<std::string> prepared_names() const;
  // `found` is false if there is no such prepared transaction.
  Status commit_prepared(const std::string& name, bool& found);
  Status rollback_prepared(const std::string& name, bool& found);
  // Rolls back what is prepared, without a session, and has changed indexes that `is_gone` names
  // and no others. To be called after recover(), before anybody asks for prepared_names().
  Status rollback_prepared_in(const std::function<bool(std::uint32_t index)>& is_gone);

  // Takes a transaction out of its session that is prepared or ordered, and decided, but whose
  // decision could not be written, for `cause`: txn/decided_transactions.h. The database is
  // read-only then: others would wait for the locks, and not know why.
  void keep_decided(std::shared_ptr<Transaction> transaction, Decision decision,
                    const Status& cause);
  // Writes all of them, and calls end() before there can be another: whoever lets others write
  // again does so there. The first error, or that of end().
  Status write_decided(const std::function<Status()>& end) { return decided_.write(end); }
  std::size_t decided_count() const { return decided_.count(); }

  // Waits until all transactions are visible that have a commit ticket now. If nobody can get one
  // meanwhile, exactly those are visible then. `may_wait` is asked ten times a second.
  // kInterrupted if it says no; kReadOnly if one of them could not be committed.
  Status wait_for_ordered(const std::function<bool()>& may_wait);

 private:
  kv::Database& database_;
  lock::LockManager& locks_;
  const std::unique_ptr<ChangeTracker> changes_ = std::make_unique<ChangeTracker>();
  const std::unique_ptr<InsertRegistry> inserts_ = std::make_unique<InsertRegistry>();
  EmptyRanges empty_ranges_{database_, *inserts_};
  IndexCheck may_change_;
  IndexCheck may_commit_;
  UncountedCommit tell_uncounted_commit_;
  const std::shared_ptr<UndecidedChanges> undecided_ = std::make_shared<UndecidedChanges>();
  MergeSlot merge_slot_;
  std::atomic<std::uint64_t> batch_memory_{0};
  std::atomic<std::uint64_t> next_id_{1};
  std::atomic<std::uint64_t> next_commit_number_{1};  // for journals
  mutable Mutex mutex_{MutexRank::kPrepared};
  std::map<std::string, std::unique_ptr<Transaction>> prepared_ BASALT_GUARDED_BY(mutex_);
  CommitTickets order_;
  BinlogPositions binlog_positions_;
  DecidedTransactions decided_;
};

}  // namespace basalt::txn
