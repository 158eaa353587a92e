#pragma once
#include <atomic>
#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "lock/lock_manager.h"
#include "server/cascade_context.h"
#include "table/interruption.h"
#include "txn/transaction.h"
#include "txn/transaction_manager.h"
#include "server/mariadb.h"

namespace basalt::server {

// What a connection has in the engine: its transaction. Made at first use, gone with the
// connection.
class Session final : public table::Interruption {
 public:
  explicit Session(THD* thd);
  ~Session() override;

  // The session of a connection; makes it if `thd` has none.
  static Session& of(THD* thd);
  // Null if the connection has not used the engine.
  static Session* find(THD* thd);
  // Ends the session: rolls back, or leaves a prepared transaction to be decided by name.
  static void close(THD* thd);

  txn::Transaction& transaction() { return *transaction_; }
  CascadeContext& cascade_context() { return cascade_context_; }
  // Leaves the transaction, whose decision could not be written for `cause`, to be completed by
  // others, and goes on with a new one.
  void leave_decided(txn::Decision decision, const Status& cause);
  // What a user has prepared is the manager's from then on: the server lets any session decide it
  // as soon as this connection has ended, or has been reset, of which the engine is not told.
  void leave_prepared();
  // Before the user prepares another one.
  void forget_prepared() { prepared_name_.clear(); }
  // Takes it back, if that is what the server decides now, and nobody else has.
  void take_back_prepared(const std::string& name);
  // When it is decided: locks know nothing of its connection any more, so the next one is another.
  void end_taken_back();
  // Whether the statement is to end: by KILL, by max_statement_time, or because its client has
  // gone, which is looked for once a second.
  bool is_raised() const override;
  // For statements that do nothing but write rows, once a row: those that read ask the former.
  bool has_client_gone() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    if (now.tv_sec == row_second_) return false;
    row_second_ = now.tv_sec;
    return is_raised() && has_lost_client_;
  }

  // Tells transaction and server that a statement uses the engine. May be called repeatedly.
  void register_statement();
  lock::WaitPolicy wait_policy() const { return wait_policy_of(thd_); }
  // How long the connection's statements wait for a lock.
  static lock::WaitPolicy wait_policy_of(THD* thd);

  // Before rows are read that may expire: by which time they do, until the transaction ends.
  void begin_expiry();
  // When the lifetime of rows changes by the statement that runs, in seconds since 1970: for all
  // partitions of its table, and on replicas, which are told it as the statement's time.
  std::uint64_t lifetime_change_time();

  // ---- copies: rows on their way into a table that nobody else can open before all of them are
  // there, and that the server drops otherwise, also after a crash. They are in a transaction of
  // their own, which all partitions of the table share.

  // Made if there is none.
  txn::Transaction& copy();
  // Commits what was copied so far if it is much: memory does not grow with the table. After an
  // error the copy is to be abandoned.
  Status commit_full_portion();
  // Commits the rest; all of it is as durable then as a commit is. Does nothing without a copy.
  Status commit_copy();
  // Rolls back the portion that is not committed.
  void abandon_copy() { copy_.reset(); }

  // A row was changed, and nobody holds what was read of own changes: moves changes to files if
  // they take too much memory. Before, with rocksdb_commit_in_the_middle, commits what was changed
  // so far, if it is asked for after so many rows; not in XA transactions, functions and triggers,
  // nor on behalf of a replication source.
  Status end_row();
  // How many rows of the transaction that is rolled back, or whose statement is, stay.
  std::uint64_t take_rows_that_stay() { return std::exchange(rows_that_stay_, 0); }

  // The server's number of the key that the last duplicate violated. Kept here because the handler
  // that is asked may be another partition's than the one that met it.
  void set_duplicate_key(uint key) { duplicate_key_ = key; }
  uint duplicate_key() const { return duplicate_key_; }

  // The code of the last error that rolls the transaction back; it is kept here for the same
  // reason.
  void set_rollback_cause(ErrorCode cause) { rollback_cause_ = cause; }
  ErrorCode rollback_cause() const { return rollback_cause_; }

  // Whether what ends now is the transaction and not just a statement of it.
  bool ends_transaction(bool all) const;

  // A commit that could not be synced where it was made is to be synced before anybody is told.
  void owe_sync() { owes_sync_ = true; }
  bool take_owed_sync() { return std::exchange(owes_sync_, false); }

 private:
  Status commit_in_the_middle();
  // Goes on with `other`, and returns the transaction that was.
  std::unique_ptr<txn::Transaction> exchange(std::unique_ptr<txn::Transaction> other);

  THD* const thd_;
  CascadeContext cascade_context_;
  uint duplicate_key_ = 0;
  ErrorCode rollback_cause_ = ErrorCode::kOk;
  // Changed with the server's LOCK_thd_data held, as a KILL from another thread comes with it.
  std::unique_ptr<txn::Transaction> transaction_;
  std::string prepared_name_;  // of what leave_prepared() has left; empty: nothing
  bool is_taken_back_ = false;
  // Those left in the last statement: its cursors refer to them until it ends.
  std::vector<std::shared_ptr<txn::Transaction>> left_;
  std::unique_ptr<txn::Transaction> copy_;
  query_id_t lifetime_change_query_ = 0;  // for which lifetime_change_time() was asked
  bool owes_sync_ = false;
  bool commits_in_the_middle_ = false;  // as the statement began
  std::uint64_t rows_since_commit_ = 0;
  std::uint64_t rows_that_stay_ = 0;
  // When to look for the client next, in steady_clock's ticks.
  mutable std::atomic<std::chrono::steady_clock::rep> next_look_ = 0;
  mutable std::atomic<bool> has_lost_client_ = false;
  std::time_t row_second_ = 0;  // when a row was last written
};

txn::IsolationLevel isolation_level_of(THD* thd);

// Whether the client of the connection has gone, which the server itself only notices when it next
// reads from it or writes to it. Asks the socket; any thread while the connection lives.
bool has_lost_client(THD* thd);

}  // namespace basalt::server
