#pragma once
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/mutex.h"
#include "base/relaxed.h"
#include "lock/lock_owner.h"
#include "txn/transaction_progress.h"

// Which indexes have changes that are neither committed nor rolled back.
//
// Purpose     Whoever drops, empties, copies or gives back an index, or builds another one from it,
//             must know what may yet be written to it, whoever holds the transaction: a session,
//             the manager after the session's end or a restart, or nobody who is still asked.
// Protocol    A transaction is in the register from its making to its destruction, so there is no
//             moment at which one that changes hands is nobody's. It notes each index once, before
//             its first change of it is in the batch, and forgets all when its end is written.
namespace basalt::txn {

// What a transaction has come to: see Transaction.
enum class TransactionState : std::uint8_t { kIdle, kActive, kPrepared, kOrdered };

// A transaction, for reports.
struct TransactionInfo {
  std::uint64_t id = 0;
  void* user = nullptr;  // of the lock owner, which may be gone already
  TransactionState state = TransactionState::kIdle;
  std::string prepared_name;
  std::uint64_t changed_rows = 0;
  std::uint64_t locked_keys = 0;
  std::int64_t lock_wait_timeout_ms = 0;  // of its latest statement
  std::uint64_t bytes_in_memory = 0;
  std::uint64_t bytes_in_files = 0;
  std::uint64_t runs = 0;
  TransactionStep step = TransactionStep::kNone;
  std::uint32_t step_percent = 0;  // 0 where it is not known
};

// The indexes of one transaction, and what else others may know of it.
//
// Numbers     A journal (table/journal.h) keeps the changes of each commit apart, by a number that
//             no other commit since the start has. A transaction gets one when it first needs it.
// Threads     note(), join(), leave(), end_number(), set_name() and clear(): the transaction's. The
//             rest: any.
class ChangedIndexes {
 public:
  // All have the same life. `owner`: whose transaction it is, as long as a session holds it.
  ChangedIndexes(const lock::LockOwner& owner, const Relaxed<TransactionState>& state,
                 const TransactionProgress& progress)
      : owner_(owner), state_(state), progress_(progress) {}
  ChangedIndexes(const ChangedIndexes&) = delete;
  ChangedIndexes& operator=(const ChangedIndexes&) = delete;

  void note(std::uint32_t index);
  // Notes a journal, and returns the number of the commit to come; `next` is the first that nobody
  // has got yet.
  std::uint64_t join(std::uint32_t journal, std::atomic<std::uint64_t>& next);
  // Forgets a journal to which nothing was written.
  void leave(std::uint32_t journal);
  bool has(std::uint32_t index) const;
  // What was changed so far is committed or undone; what comes will have another number.
  void end_number();
  // Under which it is prepared.
  void set_name(const std::string& name);
  // The transaction has ended.
  void clear();

  // Whether it has changes in one of the indexes and is not of `user`, if that is not null.
  bool concern(std::span<const std::uint32_t> indexes, const void* user) const;
  // With which it may yet commit entries of any journal, also of one that it joins later; 0: with
  // none that it has got.
  std::uint64_t number() const;
  void append_to(std::vector<std::uint32_t>& indexes) const;
  TransactionInfo info() const;
  // The transaction's thread.
  std::span<const std::uint32_t> all() const { return indexes_; }

 private:
  const lock::LockOwner& owner_;
  const Relaxed<TransactionState>& state_;
  const TransactionProgress& progress_;
  mutable Mutex mutex_{MutexRank::kChangedIndexes};
  // All are changed by the transaction's thread, with the mutex.
  std::vector<std::uint32_t> indexes_;
  std::uint64_t number_ = 0;  // of the commit to come; 0: nobody has asked for one
  std::string name_;
};

// All transactions of a database.
//
// Threads     Safe from any thread.
// Lock order  The register's mutex, then that of a transaction's indexes, which is a leaf.
class UndecidedChanges {
 public:
  // A transaction is made, or goes.
  void enter(const ChangedIndexes& transaction);
  void leave(const ChangedIndexes& transaction);

  // Whether a transaction has changed one of the indexes and has not ended. Those of `user`, if it
  // is not null, do not count. Linear in the number of transactions.
  bool exist_in(std::span<const std::uint32_t> indexes, const void* user = nullptr) const;
  // No number below this will be committed to a journal any more: what was, is visible. `next`: as
  // of ChangedIndexes::join(). Linear in the number of transactions.
  std::uint64_t first_open_number(const std::atomic<std::uint64_t>& next) const;
  // The indexes that transactions have changed which have not ended: each once, in order.
  std::vector<std::uint32_t> indexes() const;
  // Those that have begun and not ended, in the order of their ids.
  std::vector<TransactionInfo> open_transactions() const;

 private:
  mutable Mutex mutex_{MutexRank::kUndecided};
  std::unordered_set<const ChangedIndexes*> transactions_ BASALT_GUARDED_BY(mutex_);
};

}  // namespace basalt::txn
