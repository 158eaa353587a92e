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

int commit(handlerton*, THD* thd, bool all) noexcept {
  Session* session = Session::find(thd);
  if (session == nullptr) return 0;
  txn::Transaction& transaction = session->transaction();
  if (!session->ends_transaction(all)) {
    transaction.end_statement();
    return 0;
  }
  const Status status = transaction.commit(commit_durability());
  transaction.end_statement();
  if (status.is_ok()) return 0;
  log_message(LogLevel::kError, "commit: " + status.message());
  return to_handler_error(status, thd);
}

// Runs in the group leader's thread under the server's commit order mutex, for participants
// that did not write as well. The prepare is durable and the binary log decides: no sync here.
void commit_ordered(handlerton*, THD* thd, bool all) noexcept {
  Session* session = Session::find(thd);
  if (session == nullptr || !session->ends_transaction(all)) return;
  txn::Transaction& transaction = session->transaction();
  if (transaction.state() != txn::Transaction::State::kPrepared) return;
  BASALT_FAILPOINT("server.commit_ordered");
  const Status status = transaction.commit(kv::Durability::kBuffered);
  // Still prepared then; commit() tries again where an error can be returned.
  if (!status.is_ok()) log_message(LogLevel::kError, "ordered commit: " + status.message());
}

int rollback(handlerton*, THD* thd, bool all) noexcept {
  Session* session = Session::find(thd);
  if (session == nullptr) return 0;
  txn::Transaction& transaction = session->transaction();
  if (!session->ends_transaction(all)) {
    return to_handler_error(transaction.rollback_statement(), thd);
  }
  transaction.end_statement();
  return to_handler_error(transaction.rollback(), thd);
}

int close_connection(handlerton*, THD* thd) noexcept {
  Session::close(thd);
  return 0;
}

void kill_query(handlerton*, THD* thd, thd_kill_levels) noexcept {
  Session* session = Session::find(thd);
  if (session == nullptr) return;
  the_engine().locks().interrupt(session->transaction().lock_owner());
}

int start_consistent_snapshot(handlerton*, THD* thd) noexcept {
  Session& session = Session::of(thd);
  session.register_statement();
  if (isolation_level_of(thd) == txn::IsolationLevel::kRepeatableRead) {
    session.transaction().open_snapshot();
  } else {
    push_warning_printf(thd, Sql_condition::WARN_LEVEL_WARN, HA_ERR_UNSUPPORTED,
                        "RocksDB: WITH CONSISTENT SNAPSHOT needs REPEATABLE READ or "
                        "SERIALIZABLE; each statement will have a snapshot of its own");
  }
  return 0;
}

void commit_checkpoint_request(void* cookie) noexcept {
  const Status status = the_engine().database().sync_log();
  if (status.is_ok()) {
    commit_checkpoint_notify_ha(cookie);
  } else {
    // Without the notification the binary log keeps the files that recovery would need.
    log_message(LogLevel::kError, "binary log checkpoint: " + status.message());
  }
}

bool flush_logs(handlerton*) noexcept {
  const Status status = the_engine().database().sync_log();
  if (status.is_ok()) return false;
  log_message(LogLevel::kError, "FLUSH LOGS: " + status.message());
  return true;
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
}

}  // namespace basalt::server
