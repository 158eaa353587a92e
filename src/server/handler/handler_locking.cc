#include "server/handler/ha_rocksdb.h"
#include "server/plugin.h"
#include "server/mariadb.h"

namespace basalt::server {
namespace {

// Statements whose reads of other tables decide what is written: under REPEATABLE READ and above
// those rows must not change until commit, or a statement-based replica would differ.
bool reads_for_writing(THD* thd) {
  switch (thd_sql_command(thd)) {
    case SQLCOM_INSERT_SELECT:
    case SQLCOM_REPLACE_SELECT:
    case SQLCOM_UPDATE:
    case SQLCOM_UPDATE_MULTI:
    case SQLCOM_DELETE:
    case SQLCOM_DELETE_MULTI:
      return true;
    default:
      return false;
  }
}

bool is_multi_statement(THD* thd) {
  return thd_test_options(thd, OPTION_NOT_AUTOCOMMIT | OPTION_BEGIN);
}

// The row lock that reads under a table lock of `type` take; none: a consistent read.
std::optional<lock::LockMode> row_lock_of(THD* thd, thr_lock_type type) {
  if (type >= TL_FIRST_WRITE) return lock::LockMode::kExclusive;
  if (type == TL_READ_WITH_SHARED_LOCKS || type == TL_READ_SKIP_LOCKED) {
    return lock::LockMode::kShared;
  }
  const auto isolation = thd_tx_isolation(thd);
  if (isolation >= ISO_REPEATABLE_READ && reads_for_writing(thd)) return lock::LockMode::kShared;
  if (isolation == ISO_SERIALIZABLE && is_multi_statement(thd)) return lock::LockMode::kShared;
  return std::nullopt;
}

// DELETE is given its columns by read_set; others may write back the whole row, as does DELETE
// where it makes a row history.
bool needs_whole_rows(THD* thd, const TABLE& table) {
  const int command = thd_sql_command(thd);
  if (table.versioned()) return command != SQLCOM_SELECT;
  return command != SQLCOM_SELECT && command != SQLCOM_DELETE && command != SQLCOM_DELETE_MULTI;
}

}  // namespace

THR_LOCK_DATA** ha_rocksdb::store_lock(THD* thd, THR_LOCK_DATA** to,
                                       thr_lock_type type) noexcept {
  if (type == TL_IGNORE) return to;
  row_lock_ = row_lock_of(thd, type);
  skip_locked_ = type == TL_READ_SKIP_LOCKED || type == TL_WRITE_SKIP_LOCKED;
  return to;
}

lock::WaitPolicy ha_rocksdb::wait_policy() const {
  return session_ == nullptr ? lock::WaitPolicy() : session_->wait_policy();
}

void ha_rocksdb::begin_statement(THD* thd) {
  bind();
  if (is_sequence()) return;
  session_ = &Session::of(thd);
  session_->register_statement();
  writer_->set_wait_policy(session_->wait_policy());
}

int ha_rocksdb::external_lock(THD* thd, int type) noexcept {
  if (type == F_UNLCK) {
    row_lock_.reset();
    writes_rows_ = false;
    // A scan that is still open goes on in another statement: HANDLER.
    if (cursor_->is_open()) cursor_->park();
    return 0;
  }
  begin_statement(thd);
  writes_rows_ = type == F_WRLCK;
  if (writes_rows_) row_lock_ = lock::LockMode::kExclusive;
  if (is_sequence()) row_lock_.reset();
  reads_whole_rows_ = writes_rows_ && (needs_whole_rows(thd, *table) || is_sequence());
  return 0;
}

int ha_rocksdb::start_stmt(THD* thd, thr_lock_type type) noexcept {
  begin_statement(thd);
  row_lock_ = row_lock_of(thd, type);
  writes_rows_ = row_lock_ == lock::LockMode::kExclusive;
  if (is_sequence()) row_lock_.reset();
  reads_whole_rows_ = writes_rows_ && (needs_whole_rows(thd, *table) || is_sequence());
  return 0;
}

// The row just read did not match. At REPEATABLE READ its lock keeps it from matching later.
void ha_rocksdb::unlock_row() noexcept {
  if (!row_lock_ || thd_tx_isolation(ha_thd()) > ISO_READ_COMMITTED) return;
  cursor_->release_row_lock();
}

}  // namespace basalt::server
