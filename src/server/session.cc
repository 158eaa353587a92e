#include "server/session.h"

#include <algorithm>

#include "base/assert.h"
#include "base/failpoint.h"
#include "server/plugin.h"
#include "server/sysvars.h"

namespace basalt::server {
namespace {

// Large enough that a commit costs nothing beside its rows.
constexpr std::uint64_t kCopyPortionBytes = std::uint64_t{32} << 20;
constexpr std::chrono::seconds kClientLookInterval{1};

constexpr std::uint64_t kLockBytes = 512;  // with a key of 450 bytes

// A replica applies others' transactions while one is prepared, and its XA COMMIT behind them: a
// range would have them wait for rows that it has not locked on the source, and for ever. Half of
// what the transaction may have in memory is for its locks.
std::size_t most_row_locks(THD* thd) {
  const std::size_t most = max_row_locks(thd);
  const bool is_replicas_xa =
      thd->rgi_slave != nullptr && thd->transaction->xid_state.is_explicit_XA();
  return is_replicas_xa ? std::max<std::size_t>(most, batch_bytes_max(thd) / 2 / kLockBytes) : most;
}

}  // namespace

Session::Session(THD* thd)
    : thd_(thd),
      cascade_context_(thd),
      transaction_(the_engine().transactions().make_transaction(thd)) {}

Session::~Session() {
  if (transaction_->state() == txn::Transaction::State::kPrepared) {
    the_engine().transactions().detach_prepared(std::move(transaction_));
  }
}

Session* Session::find(THD* thd) {
  return static_cast<Session*>(thd_get_ha_data(thd, g_plugin->hton));
}

Session& Session::of(THD* thd) {
  Session* session = find(thd);
  if (session == nullptr) {
    session = new Session(thd);
    thd_set_ha_data(thd, g_plugin->hton, session);
  }
  return *session;
}

void Session::close(THD* thd) {
  Session* session = find(thd);
  if (session == nullptr) return;
  BASALT_HOLDPOINT("session.close");
  // First: a KILL that comes now must not find what is about to go.
  thd_set_ha_data(thd, g_plugin->hton, nullptr);
  delete session;
}

std::unique_ptr<txn::Transaction> Session::exchange(std::unique_ptr<txn::Transaction> other) {
  // The thread that goes on with the transaction must not meet this session's cursors.
  transaction_->scans().remove_all();
  mysql_mutex_lock(&thd_->LOCK_thd_data);
  transaction_.swap(other);
  mysql_mutex_unlock(&thd_->LOCK_thd_data);
  return other;
}

void Session::leave_decided(txn::Decision decision, const Status& cause) {
  txn::TransactionManager& manager = the_engine().transactions();
  left_.push_back(exchange(manager.make_transaction(thd_)));
  is_taken_back_ = false;
  manager.keep_decided(left_.back(), decision, cause);
}

void Session::leave_prepared() {
  txn::TransactionManager& manager = the_engine().transactions();
  prepared_name_ = transaction_->prepared_name();
  manager.detach_prepared(exchange(manager.make_transaction(thd_)));
}

void Session::take_back_prepared(const std::string& name) {
  if (prepared_name_.empty() || prepared_name_ != name) return;
  prepared_name_.clear();
  std::unique_ptr<txn::Transaction> prepared = the_engine().transactions().take_prepared(name);
  if (prepared == nullptr) return;
  // A statement that the server has refused may have begun something.
  if (transaction_->state() == txn::Transaction::State::kActive) {
    transaction_->rollback().ignore("only prepared transactions can fail to roll back");
  }
  exchange(std::move(prepared));
  is_taken_back_ = true;
}

void Session::end_taken_back() {
  if (!std::exchange(is_taken_back_, false)) return;
  left_.push_back(exchange(the_engine().transactions().make_transaction(thd_)));
}

bool has_lost_client(THD* thd) {
  // Threads of the server's own have no socket.
  const bool is_clients = thd->system_thread == NON_SYSTEM_THREAD && thd->net.vio != nullptr;
  return is_clients && !thd->is_connected();
}

bool Session::is_raised() const {
  if (thd_kill_level(thd_) != THD_IS_NOT_KILLED || has_lost_client_) return true;
  // Several threads of one statement may ask: one of them looks.
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  auto due = next_look_.load(std::memory_order_relaxed);
  const auto next = (now + kClientLookInterval).count();
  if (now.count() >= due && next_look_.compare_exchange_strong(due, next)) {
    has_lost_client_ = has_lost_client(thd_);
  }
  return has_lost_client_;
}

txn::IsolationLevel isolation_level_of(THD* thd) {
  return thd_tx_isolation(thd) <= ISO_READ_COMMITTED ? txn::IsolationLevel::kReadCommitted
                                                     : txn::IsolationLevel::kRepeatableRead;
}

void Session::register_statement() {
  left_.clear();
  if (transaction_->state() == txn::Transaction::State::kIdle) {
    rows_since_commit_ = 0;
    rows_that_stay_ = 0;
    cascade_context_.forget();
  }
  the_engine().locks().clear_interrupt(transaction_->lock_owner());
  // In this order: a KILL raises its flag first and interrupts then, and may come in between.
  if (is_raised()) the_engine().locks().interrupt(transaction_->lock_owner());
  transaction_->begin_statement(isolation_level_of(thd_));
  transaction_->lock_owner().set_most_keys(most_row_locks(thd_));
  transaction_->set_fill_cache(fills_cache(thd_));
  transaction_->lock_owner().set_deadlock_detect(detects_deadlocks(thd_));
  transaction_->lock_owner().set_reported_timeout_ms(lock_wait_timeout_ms(thd_));
  const kv::DatabaseOptions& database_options = the_engine().database().options();
  transaction_->set_memory_limits({.bytes_max = batch_bytes_max(thd_),
                                   .spills_at = batch_spill_bytes(thd_),
                                   .scarce_above = database_options.batch_bytes_max,
                                   .is_two_phase = opt_bin_log,
                                   .writes_meanwhile = true,
                                   .merges_meanwhile = true});
  commits_in_the_middle_ = commits_in_the_middle(thd_);
  trans_register_ha(thd_, false, g_plugin->hton, 0);
  if (thd_test_options(thd_, OPTION_NOT_AUTOCOMMIT | OPTION_BEGIN)) {
    trans_register_ha(thd_, true, g_plugin->hton, 0);
  }
}

lock::WaitPolicy Session::wait_policy_of(THD* thd) {
  lock::WaitPolicy policy;
  // NOWAIT and WAIT n reach engines as a lock_wait_timeout for the statement.
  const auto statement_timeout_ms =
      static_cast<std::int64_t>(thd->variables.lock_wait_timeout) * 1000;
  policy.timeout_ms = std::min(lock_wait_timeout_ms(thd), statement_timeout_ms);
  policy.may_wait = policy.timeout_ms > 0;
  return policy;
}

void Session::begin_expiry() {
  using txn::Expiry;
  const auto time = static_cast<std::uint64_t>(thd_->query_start());
  if (thd_->lex->is_stmt_row_injection()) {
    // Of a replica's thread, or of a BINLOG statement.
    transaction_->expiry().begin(Expiry::kOfSource, time);
  } else if (thd_->rgi_slave != nullptr) {
    transaction_->expiry().begin(Expiry::kOfSourcesStatement, time);
  } else {
    transaction_->expiry().begin(shows_expired_rows() ? Expiry::kShown : Expiry::kByClock);
  }
}

// By the time at which the statement has begun, and perhaps waited, rows would live on that have
// been seen to be gone.
std::uint64_t Session::lifetime_change_time() {
  if (lifetime_change_query_ != thd_->query_id && thd_->rgi_slave == nullptr) {
    thd_->start_time = static_cast<my_time_t>(the_engine().database().expiry_clock().now());
    thd_->start_time_sec_part = 0;
  }
  lifetime_change_query_ = thd_->query_id;
  return static_cast<std::uint64_t>(thd_->query_start());
}

txn::Transaction& Session::copy() {
  if (copy_ == nullptr) copy_ = the_engine().transactions().make_transaction(thd_);
  return *copy_;
}

Status Session::commit_full_portion() {
  if (copy_->batch_bytes() < kCopyPortionBytes) return Status::ok();
  BASALT_TRY(copy_->commit(kv::Durability::kBuffered));
  BASALT_FAILPOINT("copy.after_portion");
  return Status::ok();
}

Status Session::commit_copy() {
  if (copy_ == nullptr) return Status::ok();
  Status status = copy_->commit(kv::Durability::kBuffered);
  if (!status.is_ok() && copy_->state() == txn::Transaction::State::kOrdered) {
    // The server drops the table. If its rows cannot be given up now they come with the next start,
    // at which the server drops what is left of the statement, or when the engine can write again.
    const Status cancelled = copy_->cancel_loaded();
    if (!cancelled.is_ok()) {
      left_.push_back(std::move(copy_));
      the_engine().transactions().keep_decided(left_.back(), txn::Decision::kCommit, cancelled);
    }
  }
  copy_.reset();
  BASALT_TRY(std::move(status));
  // For all portions at once.
  if (commit_durability(thd_) == kv::Durability::kBuffered) return Status::ok();
  return the_engine().database().sync_wal();
}

Status Session::end_row() {
  BASALT_TRY(commit_in_the_middle());
  return transaction_->spill_if_large();
}

Status Session::commit_in_the_middle() {
  if (!commits_in_the_middle_) return Status::ok();
  if (thd_->in_sub_stmt != 0 || thd_->rgi_slave != nullptr ||
      thd_->transaction->xid_state.is_explicit_XA()) {
    return Status::ok();
  }
  // What is in files comes all together.
  if (transaction_->has_changes_in_files()) return Status::ok();
  if (++rows_since_commit_ < rows_of_commit(thd_)) return Status::ok();
  BASALT_TRY(transaction_->commit_portion(commit_durability(thd_)));
  rows_that_stay_ += std::exchange(rows_since_commit_, 0);
  return Status::ok();
}

bool Session::ends_transaction(bool all) const {
  return all || !thd_test_options(thd_, OPTION_NOT_AUTOCOMMIT | OPTION_BEGIN);
}

}  // namespace basalt::server
