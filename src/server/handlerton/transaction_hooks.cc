#include <cstdlib>
#include <string>
#include <string_view>

#include "base/failpoint.h"
#include "base/log.h"
#include "server/convert/error_mapping.h"
#include "server/handlerton/hooks.h"
#include "server/plugin.h"
#include "server/session.h"
#include "server/sysvars.h"
#include "server/mariadb.h"

namespace basalt::server {
namespace {

using txn::Transaction;
using Decision = txn::Decision;

// What to do about a commit that failed. The server forgets the transaction either way.
int end_failed_commit(THD* thd, Session& session, const Status& status) {
  Transaction& transaction = session.transaction();
  switch (transaction.state()) {
    case Transaction::State::kOrdered:
      // The transaction is in the binary log and cannot be lost. A client that is told of a failure
      // would repeat it.
      session.leave_decided(Decision::kCommit, status);
      push_warning_printf(thd, Sql_condition::WARN_LEVEL_WARN, ER_ERROR_DURING_COMMIT,
                          "RocksDB: the transaction is committed, but nobody sees it before the "
                          "engine can write again: %s",
                          status.message().c_str());
      return 0;
    case Transaction::State::kPrepared: session.leave_decided(Decision::kCommit, status); break;
    case Transaction::State::kIdle:
    case Transaction::State::kActive:
      transaction.rollback().ignore("only prepared transactions can fail to roll back");
      break;
  }
  report_failure("the transaction is not committed", status);
  return to_handler_error(status, thd);
}

// Syncs what commit_ordered() has committed and may not sync. The transaction can be seen, so a
// failure cannot be its own: the engine is read-only then, and the error log says why.
void pay_owed_sync(THD* thd, Session& session) {
  if (!session.take_owed_sync() || commit_durability(thd) == kv::Durability::kBuffered) return;
  const Status status = the_engine().database().sync_wal();
  if (!status.is_ok()) log_message(LogLevel::kError, "commit: " + status.message());
}

int commit(handlerton*, THD* thd, bool all) noexcept {
  Session* session = Session::find(thd);
  if (session == nullptr) return 0;
  if (!session->ends_transaction(all)) {
    session->transaction().end_statement();
    session->cascade_context().forget();
    return 0;
  }
  take_back_prepared(thd, *session);
  Transaction& transaction = session->transaction();
  const Status status = transaction.commit(commit_durability(thd));
  transaction.end_statement();
  int error = 0;
  if (status.is_ok()) {
    pay_owed_sync(thd, *session);
  } else {
    log_message(LogLevel::kError, "commit: " + status.message());
    error = end_failed_commit(thd, *session, status);
  }
  session->end_taken_back();
  return error;
}

// Whether the thread may give up the lock that keeps BACKUP and FLUSH TABLES WITH READ LOCK out, as
// parallel replication does while a transaction waits for earlier ones, and have to take it again
// before it can commit: who has the lock then would read without the transaction.
bool may_be_kept_from_committing(const THD* thd) { return thd->rgi_slave != nullptr; }

// Runs in the group leader's thread under the server's commit order mutex, for participants
// that did not write as well. Only takes a place in the order: commit() runs in the session's
// thread, in parallel with others. docs/decisions/0007-commit-in-parallel.md
void commit_ordered(handlerton*, THD* thd, bool all) noexcept {
  Session* session = Session::find(thd);
  if (session == nullptr || !session->ends_transaction(all)) return;
  take_back_prepared(thd, *session);
  Transaction& transaction = session->transaction();
  if (transaction.state() != Transaction::State::kPrepared) return;
  unsigned long long offset = 0;
  const char* path = nullptr;
  mysql_bin_log_commit_pos(thd, &offset, &path);
  std::string_view file = path == nullptr ? std::string_view() : std::string_view(path);
  file.remove_prefix(file.rfind('/') + 1);
  transaction.take_commit_ticket(file, offset);
  BASALT_FAILPOINT("server.commit_ordered");
  if (!may_be_kept_from_committing(thd)) return;
  const bool is_decided_by_binlog = transaction.is_decided_by_binlog();
  const Status status = transaction.commit(kv::Durability::kBuffered);
  if (status.is_ok()) {
    // Not here, where all others wait.
    if (!is_decided_by_binlog) session->owe_sync();
    return;
  }
  // Still ordered then; commit() tries again where an error can be returned.
  log_message(LogLevel::kError, "ordered commit: " + status.message());
}

// Tells the client of rows that no rollback undoes.
void warn_of_rows_that_stay(THD* thd, Session& session) {
  const std::uint64_t rows = session.take_rows_that_stay();
  if (rows == 0) return;
  push_warning_printf(thd, Sql_condition::WARN_LEVEL_WARN, ER_WARNING_NOT_COMPLETE_ROLLBACK,
                      "RocksDB: changes of %llu rows are not rolled back: "
                      "rocksdb_commit_in_the_middle has committed them",
                      static_cast<unsigned long long>(rows));
}

int rollback(handlerton* hton, THD* thd, bool all) noexcept {
  Session* session = Session::find(thd);
  if (session == nullptr) return 0;
  warn_of_rows_that_stay(thd, *session);
  if (!session->ends_transaction(all)) {
    session->cascade_context().forget();
    return to_handler_error(session->transaction().rollback_statement(), thd);
  }
  take_back_prepared(thd, *session);
  Transaction& transaction = session->transaction();
  // It is in the binary log. The server rolls back after an error of an earlier transaction.
  if (transaction.state() == Transaction::State::kOrdered) return commit(hton, thd, all);
  transaction.end_statement();
  const Status status = transaction.rollback();
  if (!status.is_ok()) {
    log_message(LogLevel::kError, "rollback: " + status.message());
    session->leave_decided(Decision::kRollback, status);
  }
  session->end_taken_back();
  return 0;
}

int close_connection(handlerton*, THD* thd) noexcept {
  Session::close(thd);
  return 0;
}

// In the thread that kills, with the LOCK_thd_data of the one that is killed: neither the session
// nor its transaction goes away meanwhile.
void kill_query(handlerton*, THD* thd, thd_kill_levels) noexcept {
  Session* session = Session::find(thd);
  if (session == nullptr) return;
  the_engine().locks().interrupt(session->transaction().lock_owner());
}

int start_consistent_snapshot(handlerton*, THD* thd) noexcept {
  Session& session = Session::of(thd);
  session.register_statement();
  if (isolation_level_of(thd) != txn::IsolationLevel::kRepeatableRead) {
    push_warning_printf(thd, Sql_condition::WARN_LEVEL_WARN, HA_ERR_UNSUPPORTED,
                        "RocksDB: WITH CONSISTENT SNAPSHOT needs REPEATABLE READ or "
                        "SERIALIZABLE; each statement will have a snapshot of its own");
    return 0;
  }
  // The server holds its commit order mutex: what is ordered now is what the binary log has.
  const Status status =
      the_engine().transactions().wait_for_ordered([&] { return !session.is_raised(); });
  if (status.is_ok()) {
    // What is expired is so by the same time for all tables, whenever they are read.
    session.begin_expiry();
    session.transaction().open_snapshot();
    return 0;
  }
  if (!status.is(ErrorCode::kInterrupted)) {
    my_printf_error(ER_UNKNOWN_ERROR, "RocksDB: no consistent snapshot: %s", MYF(0),
                    status.message().c_str());
  }
  return 1;
}

// Makes everything durable that was in the commit order at `place`; then recovery does not need
// the binary log up to there.
Status complete_checkpoint(std::uint64_t place, void* cookie) {
  constexpr int kQuestionsPerRound = 10;
  int questions = 0;
  txn::CommitTickets& order = the_engine().transactions().order();
  if (!order.wait_for(place, [&] { return questions++ < kQuestionsPerRound; })) {
    return Status(ErrorCode::kLockTimeout, "transactions of the binary log are not committed yet");
  }
  BASALT_FAILPOINT("checkpoint.before_sync");
  BASALT_TRY(the_engine().database().sync_wal());
  BASALT_FAILPOINT("checkpoint.before_notify");
  commit_checkpoint_notify_ha(cookie);
  return Status::ok();
}

// At once if there is nothing to wait for: PURGE BINARY LOGS after a FLUSH then finds files free.
// Else not in this thread, whose own transaction may be one of those to wait for.
void commit_checkpoint_request(void* cookie) noexcept {
  txn::CommitTickets& order = the_engine().transactions().order();
  const std::uint64_t place = order.newest();
  if (order.wait_for(place, [] { return false; }) && complete_checkpoint(place, cookie).is_ok()) {
    return;
  }
  the_engine().worker().run_soon("binary log checkpoint",
                                 [=] { return complete_checkpoint(place, cookie); });
}

bool flush_logs(handlerton*) noexcept {
  const Status status = the_engine().database().sync_wal();
  if (status.is_ok()) return false;
  log_message(LogLevel::kError, "FLUSH LOGS: " + status.message());
  return true;
}

// All connections are closed, and the binary log is not yet. A prepared transaction would keep a
// server from starting that finds the binary log closed: only after a crash does it ask there which
// are to be committed. So commits that are only buffered are synced now, and where decisions cannot
// be written, the stop is made a crash.
void pre_shutdown() noexcept {
  engine::Engine& engine = the_engine();
  if (engine.transactions().decided_count() == 0) {
    const Status status = engine.database().sync_wal();
    if (!status.is_ok()) log_message(LogLevel::kError, "last sync: " + status.message());
    return;
  }
  Status status = engine.resume();
  if (status.is_ok()) status = engine.database().sync_wal();
  if (status.is_ok()) return;
  log_message(LogLevel::kError,
              std::to_string(engine.transactions().decided_count()) +
                  " transactions are decided and cannot be written: " + status.message() +
                  "; the server ends here as in a crash, and completes them at the next start");
  std::_Exit(1);
}

}  // namespace

void install_transaction_hooks(handlerton* hton) {
  hton->commit = commit;
  hton->commit_ordered = commit_ordered;
  hton->rollback = rollback;
  hton->close_connection = close_connection;
  hton->kill_query = kill_query;
  hton->start_consistent_snapshot = start_consistent_snapshot;
  hton->commit_checkpoint_request = commit_checkpoint_request;
  hton->flush_logs = flush_logs;
  hton->pre_shutdown = pre_shutdown;
}

}  // namespace basalt::server
