#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/relaxed.h"
#include "base/status.h"
#include "kv/database.h"
#include "lock/lock_manager.h"
#include "txn/binlog_position.h"
#include "txn/changed_buckets.h"
#include "txn/changed_tables.h"
#include "txn/insert_registry.h"
#include "txn/key_spans.h"
#include "txn/loaded_files.h"
#include "txn/open_scans.h"
#include "txn/spilled_changes.h"
#include "txn/transaction_expiry.h"
#include "txn/transaction_progress.h"
#include "txn/undecided_changes.h"

namespace basalt_rocksdb {
class Transaction;
class WriteBatch;
class WriteBatchWithIndex;
}  // namespace basalt_rocksdb

// Transactions: what a session sees, what it holds, and how its changes become permanent.
//
// States      Idle -> Active [first read view, lock or write] -> Idle [commit, rollback]
//             Active -> Prepared [prepare] -> Idle [commit, rollback]
//             Prepared -> Ordered [take_commit_ticket] -> Idle [commit]
//             Active -> Ordered [commit, if it is written, and rows in files could not be taken in]
//             Prepared survives a crash; TransactionManager::recover() brings it back. Ordered is
//             Prepared then: whoever ordered it knows the decision.
// Threads     A transaction belongs to one thread at a time; lock_owner().interrupt may come
//             from any.
namespace basalt::txn {

class EmptyRanges;
class TransactionManager;

enum class IsolationLevel : std::uint8_t {
  kReadCommitted,   // one snapshot per statement
  kRepeatableRead,  // one snapshot per transaction
};

// What a transaction can return to: a savepoint, or the beginning of the statement.
struct SavepointMark {
  // What there was of changes: runs, and entries in the batch.
  std::size_t runs = 0;
  std::size_t batch_entries = 0;
  bool is_released = false;
};

// A batch that is emptied keeps the memory of so many bytes for what comes next.
inline constexpr std::uint64_t kKeptBatchBytes = std::uint64_t{1} << 20;

// Of the memory that a transaction takes.
struct MemoryLimits {
  // With more bytes further rows are refused: kTooLarge. What is about to be written is not among
  // them.
  std::uint64_t bytes_max = std::numeric_limits<std::uint64_t>::max();
  // With more bytes of changes spill_if_large() moves them to files; 0: never.
  std::uint64_t spills_at = 0;
  // Where the changes of all transactions take more memory it does so with fewer.
  std::uint64_t scarce_above = std::numeric_limits<std::uint64_t>::max();
  // It will be prepared.
  bool is_two_phase = false;
  // What goes to files is written by a thread meanwhile, and not by the transaction itself.
  bool writes_meanwhile = false;
  // Files that are many are merged by a thread meanwhile, and not all of them by the commit.
  bool merges_meanwhile = false;
};

// The value of a unique index that a transaction has locked.
struct LockedValue {
  kv::FamilyId family;
  std::string key;
};

class Transaction {
 public:
  using State = TransactionState;

  // `user` is handed to the lock manager's observer.
  Transaction(TransactionManager& manager, std::uint64_t id, void* user);
  // Rolls back what is not prepared. A prepared transaction must have been detached.
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;

  std::uint64_t id() const { return owner_.id(); }
  State state() const { return state_; }
  bool has_writes() const { return has_writes_; }
  // Whether a change of the transaction may be in [lower, upper); false is certain. An empty bound
  // is none.
  bool may_have_changed(std::string_view lower, std::string_view upper) const {
    return has_writes_ && (changes_are_unknown_ || changed_keys_.may_touch(lower, upper));
  }
  // Bytes of the changes as the commit will write them.
  std::uint64_t batch_bytes() const;
  // Memory that the transaction takes at most until it has ended, if it changes nothing more: its
  // changes, their index and its locks, and what the commit will need beside them.
  std::uint64_t memory_bytes() const;
  void set_memory_limits(const MemoryLimits& limits) { limits_ = limits; }
  // Between two rows, also of a cascade: nobody holds what was read of own changes. kNoSpace,
  // kIoError, kInterrupted: the changes are the same, and in memory.
  Status spill_if_large();
  bool has_changes_in_files() const { return !spilled_.is_empty(); }  // or that will be
  // Bytes of those, and of what was undone of them.
  std::uint64_t spilled_bytes() const { return spilled_.bytes(); }
  // Whether blocks that reads of consistent or newest data bring in stay in the cache.
  void set_fill_cache(bool is_on) { fills_cache_ = is_on; }
  bool fills_cache() const { return fills_cache_; }
  lock::LockOwner& lock_owner() { return owner_; }
  TransactionExpiry& expiry() { return expiry_; }
  OpenScans& scans() { return scans_; }
  EmptyRanges& empty_ranges() const;
  const std::string& prepared_name() const { return name_; }

  // ---- statements and savepoints

  // Notes that a statement begins. Until end_statement(), rollback_statement() undoes to here.
  // Statements within the statement, of its functions and triggers, are part of it.
  void begin_statement(IsolationLevel level);
  // Keeps the statement's changes and drops its snapshot. Savepoints that were set within the
  // statement are gone.
  void end_statement();
  Status rollback_statement();

  // Savepoints have growing numbers above zero; setting one returns its number. One that is set
  // within a statement leaves the statement as it is, its snapshot and its way back.
  std::size_t set_savepoint();
  // Undoes what came after the savepoint, which stays; later ones are gone. Locks stay. Within a
  // statement only savepoints that were set there can be returned to.
  Status rollback_to_savepoint(std::size_t number);
  // The savepoint will not be used again; changes and other savepoints stay.
  Status release_savepoint(std::size_t number);
  // Neither it nor any later one will be used again; changes stay.
  Status release_savepoints_from(std::size_t number);

  // ---- reads

  // What a consistent read of the current statement sees: newest data if `needs_snapshot` is
  // false and none is open, which is right only for a statement that reads once.
  kv::ReadView consistent_view(bool needs_snapshot = true);
  // Whether the committed value of a key that is locked is another one than in the transaction's
  // snapshot; false without a snapshot. A value that was changed and changed back is the same.
  Status is_newer_than_snapshot(kv::FamilyId family, std::string_view key, bool& is_newer);
  // Whether consistent reads see the database as it was before `sequence`.
  bool is_snapshot_older_than(std::uint64_t sequence) const {
    return transaction_snapshot_ != nullptr && transaction_snapshot_->sequence() < sequence;
  }
  // Opens the transaction's snapshot now. REPEATABLE READ only.
  void open_snapshot();

  // Reads one key, own changes included.
  Status get(kv::FamilyId family, std::string_view key, const kv::ReadView& view,
             kv::PinnedValue& value, bool& found);
  // As Database::get_many(), own changes included.
  Status get_many(kv::FamilyId family, std::span<const std::string> keys, const kv::ReadView& view,
                  kv::PinnedValues& values);
  // As new_iterator(), but a key that is in the view and among own changes is seen twice, the
  // view's entry first, unless it belongs to the same row; and own removals hide nothing. For
  // unique indexes, see UnionIterator.
  kv::Iterator new_union_iterator(kv::FamilyId family, const kv::ReadView& view,
                                  const KeyRange& range, const SameRow& same_row);

  // What this transaction did to a key. `value` is set for kPut. kIoError, kCorruption.
  Status own_version(kv::FamilyId family, std::string_view key, OwnVersion& version,
                     std::string& value);
  // Whether a consistent read may meet index entries of row versions that are older than the ones
  // this transaction locked and changed: others committed in between.
  bool may_read_behind_own_changes() const {
    return has_writes_ && (transaction_snapshot_ != nullptr || changed_behind_statement_);
  }
  // Whether others may have committed a change of the row after the snapshot was taken that
  // consistent reads see now: a version whose index entries the snapshot does not have.
  bool may_be_newer_than_snapshot(std::string_view row_key) const;
  // Own changes made so far are included, later ones need not be.
  kv::Iterator new_iterator(kv::FamilyId family, const kv::ReadView& view, const KeyRange& range);

  // ---- locks

  // As LockManager::lock; locks live until the transaction ends.
  Status lock(std::string_view key, lock::LockMode mode, const lock::WaitPolicy& policy,
              bool* newly_acquired = nullptr);
  // Locks a value, exclusively, that is the beginning of keys but never a whole one: `key`, of an
  // index in `family`. A prepared transaction holds it again after a restart, if prepare() says so.
  Status lock_value(kv::FamilyId family, std::string_view key, const lock::WaitPolicy& policy);
  // Gives a lock back that guards nothing: the row did not match.
  void unlock(std::string_view key);

  // Locks the keys of [lower, upper), of one index, against inserts by others, until the end. Does
  // not wait. What others inserted and did not commit before stays; find_pending_insert() tells.
  void lock_gap(std::string_view lower, std::string_view upper);
  // A key in [lower, upper) that another transaction has inserted and not committed.
  bool find_pending_insert(kv::FamilyId family, std::string_view lower, std::string_view upper,
                           std::string& key, std::string& value);
  // Whether an iterator made at that point may lack committed keys of the index of `key`.
  bool may_lack_inserts(std::string_view key, std::uint64_t sequence) const;

  // A point in history that an iterator made from now on includes.
  std::uint64_t newest_sequence() const;
  // Whether a locked row is certainly as an iterator made at that point shows it.
  bool is_unchanged_since(std::string_view row_key, std::uint64_t sequence) const;

  // ---- writes: see change_row() in row_change.h

  // Waits until nobody else's locks forbid to insert a key. Before the key itself is locked, so
  // that the one who is waited for can lock it.
  Status await_insert(std::string_view key, const lock::WaitPolicy& policy);
  // kTooLarge if the transaction has no memory left for more rows.
  Status check_size() const;
  // Counts a row that goes into files, of those that add_loaded() is to bring. The statement, or
  // the transaction, fails if they do not come.
  void note_loaded_row(const std::shared_ptr<TableChanges>& table);
  // Makes the rows in files part of the transaction: they come with its commit, or go with its
  // rollback. The transaction has locked them, and found that no entry of theirs is there; its own
  // reads do not see them. It may have put other entries, and removed none. Waits for range locks
  // of others. After an error it is to be rolled back.
  Status add_loaded(LoadedFiles loaded, const lock::WaitPolicy& policy);

  // ---- the end

  // Writes the changes to the WAL under `name`, undecided. Names are unique among prepared ones.
  // `keeps_value_locks`: a user has named it and decides it, perhaps after a restart; others may
  // use the engine before. Its gap locks are given up then: nothing will be read any more. After an
  // error it is either prepared, then not durably, or active: to be rolled back.
  Status prepare(const std::string& name, kv::Durability durability,
                 bool keeps_value_locks = false);
  // Does of the commit of a prepared one what can be done before others wait for it: before it has
  // its ticket. The commit is to come soon: no file's space is given back in between. An error
  // leaves it prepared.
  Status prepare_ingestion();
  // Gives a prepared transaction its commit ticket: it will be committed, whatever happens. It ends
  // at `offset` of `file` in the binary log, if that is not empty. Takes less than a microsecond.
  void take_commit_ticket(std::string_view file, std::uint64_t offset);
  // Whether recovery finds in the binary log that it is to be committed: one that is ordered, has a
  // ticket, and was not named by a user, to whom recovery leaves what is prepared.
  bool is_decided_by_binlog() const {
    return state_ == State::kOrdered && !binlog_position_.file.empty() && !is_decided_by_user_;
  }
  // Makes the changes visible and releases locks and snapshot. One that the binary log decides is
  // not synced: its prepare is on disk, and so is the decision. After an error a prepared or
  // ordered one is as it was (TransactionManager::keep_decided()); others are to be rolled back.
  Status commit(kv::Durability durability);
  // Commits what was changed so far, and goes on with the statement, its locks and its snapshot. No
  // rollback undoes what was committed. After an error it is to be rolled back.
  Status commit_portion(kv::Durability durability);
  // Fails only if it is prepared, and then it stays so: TransactionManager::keep_decided().
  Status rollback();
  // Gives up files that a written commit could not take in (kOrdered). An error: it is as it was.
  Status cancel_loaded();

 private:
  friend class TransactionManager;
  friend class RowChange;
  class BatchGuard;

  // The first of the keys that a range lock of somebody else's forbids to insert; null: none.
  const std::string_view* find_blocked(std::span<const std::string_view> keys);
  // Whether the batch is to be asked about a key: it costs as much as the search for a row.
  bool may_have_changed(std::string_view key) const {
    return has_writes_ && (changes_are_unknown_ || changed_keys_.may_have(key));
  }
  // The changes as they will be written. Savepoints are the batch's own: those of RocksDB's
  // transaction note its snapshot and its locks, of which it has none.
  basalt_rocksdb::WriteBatch& batch() const;
  std::size_t push_mark();  // on top; its number
  Status get_own_or_committed(kv::FamilyId family, std::string_view key, const kv::ReadView& view,
                              kv::PinnedValue& value, bool& found);
  // Puts what is in files, and not in the batch, in place of what was read.
  Status put_spilled_over(kv::FamilyId family, std::span<const std::string> keys,
                          kv::PinnedValues& values);
  void clear_spilled();
  // Moves the batch to files, which a thread may be at then if `may_interrupt`.
  Status spill(bool may_interrupt);
  Status freeze_batch();  // makes pending runs of it, and begins an empty one
  Status write_pending_runs(bool may_interrupt);
  void take_finished_runs();  // that threads have made of others
  void use_runs(const Renumbering& numbers);
  bool is_batch_large(std::uint64_t memory) const;  // which it takes
  // Before a commit or prepare: moves the rest of the batch to files, if there are any, and has
  // others wait but shortly when they are taken in.
  Status complete_files();
  // The batch has grown or shrunk: for reports, and for others that spill. Returns its memory.
  std::uint64_t note_batch();
  std::uint64_t batch_memory_bytes() const;
  // Takes the top mark off, and released ones that are on top then. Changes stay.
  Status pop_mark();
  // What consistent reads see; null: none was taken yet.
  const kv::Snapshot* snapshot_of_reads() const {
    return transaction_snapshot_ ? transaction_snapshot_.get() : statement_snapshot_.get();
  }
  void drop_statement_snapshot();
  void note_changed_row(std::string_view row_key);  // which is about to be changed
  // Undoes the changes since the mark, which is gone then, as are all later ones.
  Status roll_back_to_mark(std::size_t number);
  bool is_savepoint(std::size_t number) const {
    return number > statement_mark_ && number <= marks_.size() && !marks_[number - 1].is_released;
  }
  // So that what is set within the statement comes after its beginning.
  void mark_statement();
  // To the latest savepoint, which is gone then.
  Status roll_back_batch() BASALT_REQUIRES(inserts_->batch_mutex());
  basalt_rocksdb::WriteBatchWithIndex& own_changes();  // to be found by their keys
  // What was changed is committed, or undone: tells those who read with locks, while ours are held.
  void end_changes();
  void announce_inserts(std::span<const std::string_view> keys);
  // Before the key is changed in the batch.
  void note_change(std::string_view key) BASALT_REQUIRES(inserts_->batch_mutex());
  Status queue_remove(kv::FamilyId family, std::string_view key)
      BASALT_REQUIRES(inserts_->batch_mutex());
  void check_commit() const;
  void activate();
  Status begin_writing() BASALT_REQUIRES(inserts_->batch_mutex());
  // Makes an empty one, with a savepoint for each mark.
  void begin_batch() BASALT_REQUIRES(inserts_->batch_mutex());
  Status check_room() const;
  Status write_commit();
  Status move_batch_to_files() BASALT_REQUIRES(inserts_->batch_mutex());
  Status take_spilled() BASALT_REQUIRES(inserts_->batch_mutex());
  // If there are rows in files: queues their records, and nothing else.
  // `is_for_copies`: a copy of the database is to have the files, too.
  Status queue_loaded(bool is_for_copies) BASALT_REQUIRES(inserts_->batch_mutex());
  // Writes the commit, unless an earlier call has, and then takes in the files.
  Status write_and_publish() BASALT_REQUIRES(inserts_->batch_mutex());
  void drop_batch() BASALT_REQUIRES(inserts_->batch_mutex());
  void finish();

  TransactionManager& manager_;
  lock::LockOwner owner_;
  Relaxed<State> state_{State::kIdle};
  IsolationLevel level_ = IsolationLevel::kRepeatableRead;
  // RocksDB's transaction: the batch of our changes. Exists from the first write on and is reused
  // by the session's next transactions.
  std::unique_ptr<basalt_rocksdb::Transaction> writes_;
  const std::shared_ptr<PendingInserts> inserts_ = std::make_shared<PendingInserts>();
  // The batch's mutex, taken by this thread: for a call, or for a whole row change.
  std::unique_lock<Mutex> hold_batch_{inserts_->batch_mutex(), std::defer_lock};
  bool inserts_are_open_ = false;  // in the manager's registry
  bool has_writes_ = false;
  bool fills_cache_ = true;
  MemoryLimits limits_;
  std::uint64_t counted_bytes_ = 0;  // of the batch's memory, in the manager's sum
  // Around every key that was put or removed, also if a savepoint has undone it.
  KeySpans changed_keys_;
  TransactionProgress progress_;
  ChangedIndexes changed_indexes_{owner_, state_, progress_};
  SpilledChanges spilled_;
  // The manager's, in which they are. An idle transaction may go after its manager.
  const std::shared_ptr<UndecidedChanges> undecided_;
  bool in_statement_ = false;
  // The number of the mark at the statement's beginning, put by its first write or savepoint. Zero:
  // there is none.
  std::size_t statement_mark_ = 0;
  // By number, which counts from 1. If there is a batch, its savepoints are these.
  std::vector<SavepointMark> marks_;
  OpenScans scans_;
  std::unique_ptr<kv::Snapshot> transaction_snapshot_;
  std::unique_ptr<kv::Snapshot> statement_snapshot_;
  // Whether a row was changed since that: a trigger or a function of the statement has read before.
  // Others may have changed the row in between, or taken away the unique value that it has got.
  bool changed_behind_statement_ = false;
  std::string name_;
  bool is_decided_by_user_ = false;
  std::uint64_t commit_ticket_ = 0;  // in the commit order
  BinlogPosition binlog_position_;
  std::vector<LockedValue> value_locks_;
  std::vector<LoadedFiles> loaded_;
  kv::PreparedIngestion ingestion_;     // of loaded_, for a commit that is about to come
  bool has_committed_portion_ = false;  // in the statement
  bool is_commit_written_ = false;      // with rows in files that are not ingested
  ChangedBuckets changed_buckets_;      // also of what a savepoint has undone
  bool changes_are_unknown_ = false;    // recovered after a crash
  ChangedTables changed_tables_;        // has a mark for each of marks_
  TransactionExpiry expiry_{manager_, state_};
};

// Holds the batch for a block, unless it is held already.
class BASALT_SCOPED_CAPABILITY Transaction::BatchGuard {
 public:
  explicit BatchGuard(Transaction& own) BASALT_ACQUIRE(own.inserts_->batch_mutex())
      : hold_(own.hold_batch_), was_held_(hold_.owns_lock()) {
    if (!was_held_) hold_.lock();
  }
  ~BatchGuard() BASALT_RELEASE() {
    if (!was_held_) hold_.unlock();
  }
  BatchGuard(const BatchGuard&) = delete;
  BatchGuard& operator=(const BatchGuard&) = delete;

 private:
  std::unique_lock<Mutex>& hold_;
  const bool was_held_;
};

}  // namespace basalt::txn
