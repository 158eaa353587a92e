#include "server/handler/exported_tables.h"
#include "server/handler/ha_rocksdb.h"
#include "server/handler/row_expiry.h"
#include "server/handler/undecided_changes.h"
#include "server/plugin.h"
#include "server/sysvars.h"
#include "server/mariadb.h"

namespace basalt::server {
namespace {

// Whether the statement's reads of other tables take locks, as in InnoDB: whatever is not a plain
// SELECT may write what it read, here or on a replica that repeats it from the binary log. Below
// REPEATABLE READ no statement is logged as such, and those that write what one table gave read it
// without locks.
bool reads_for_writing(THD* thd) {
  switch (thd_sql_command(thd)) {
    case SQLCOM_SELECT:
    case SQLCOM_LOCK_TABLES:
    case SQLCOM_HA_OPEN:
    case SQLCOM_HA_READ: return false;
    case SQLCOM_INSERT_SELECT:
    case SQLCOM_REPLACE_SELECT:
    case SQLCOM_UPDATE:
    case SQLCOM_CREATE_TABLE: return thd_tx_isolation(thd) >= ISO_REPEATABLE_READ;
    default: return true;
  }
}

// Statements about tables as such. Metadata locks keep others off where that matters.
bool is_administrative(THD* thd) {
  switch (thd_sql_command(thd)) {
    case SQLCOM_ALTER_TABLE:
    case SQLCOM_CREATE_INDEX:
    case SQLCOM_DROP_INDEX:
    case SQLCOM_OPTIMIZE:
    case SQLCOM_ANALYZE:
    case SQLCOM_CHECK:
    case SQLCOM_CHECKSUM:
    case SQLCOM_CREATE_SEQUENCE: return true;
    default: return false;
  }
}

// Whether the statement may make another thing of the rows than the table: a copy, an index, parts
// of it, nothing. It has kept writers away then, before it locks the table.
bool replaces_table(THD* thd, const TABLE& table) {
  if (table.mdl_ticket == nullptr || table.mdl_ticket->get_type() < MDL_SHARED_NO_WRITE) {
    return false;
  }
  switch (thd_sql_command(thd)) {
    case SQLCOM_ALTER_TABLE:
    case SQLCOM_CREATE_INDEX:
    case SQLCOM_DROP_INDEX:
    case SQLCOM_TRUNCATE:
    case SQLCOM_OPTIMIZE:
    case SQLCOM_REPAIR:
    case SQLCOM_CHECK: return true;
    default: return false;
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
  if (is_administrative(thd)) return std::nullopt;
  const bool is_serializable = thd_tx_isolation(thd) == ISO_SERIALIZABLE;
  if (reads_for_writing(thd) || (is_serializable && is_multi_statement(thd))) {
    return lock::LockMode::kShared;
  }
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

THR_LOCK_DATA** ha_rocksdb::store_lock(THD* thd, THR_LOCK_DATA** to, thr_lock_type type) noexcept {
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
  auto_increment_rows_ = 0;
  if (is_sequence()) return;
  session_ = &Session::of(thd);
  session_->register_statement();
  // The session may have another transaction than when a HANDLER began its scan.
  // OPTIMIZE TABLE reads no rows, and is not to hold its own compaction back.
  if (has_expiry() && thd_sql_command(thd) != SQLCOM_OPTIMIZE) {
    session_->begin_expiry();
    // What it reads depends on the time: a replica is to be told of rows, not of the statement.
    thd->lex->set_stmt_unsafe(LEX::BINLOG_STMT_UNSAFE_SYSTEM_FUNCTION);
  }
  if (cursor_->is_open()) cursor_->go_on_in(transaction());
  writer_->set_wait_policy(session_->wait_policy());
}

int ha_rocksdb::external_lock(THD* thd, int type) noexcept {
  if (const int error = refuse_if_read_only(thd, type); error != 0) return error;
  if (type == F_UNLCK) {
    row_lock_.reset();
    writes_rows_ = false;
    // A scan that is still open goes on in another statement: HANDLER.
    if (cursor_->is_open()) cursor_->park();
    export_.reset();
    return 0;
  }
  begin_statement(thd);
  writes_rows_ = type == F_WRLCK;
  if (writes_rows_) row_lock_ = lock::LockMode::kExclusive;
  if (is_sequence()) row_lock_.reset();
  reads_whole_rows_ = writes_rows_ && (needs_whole_rows(thd, *table) || is_sequence());
  if (const int error = bind_references(thd); error != 0) return error;
  if (const int error = refuse_statement(thd); error != 0) return error;
  if (!asks_for_export(thd, *table)) return 0;
  if (const int error = refuse_if_discarded(thd, *table, opened().definition()); error != 0) {
    return error;
  }
  auto made = export_table(thd, *table, opened());
  if (!made.is_ok()) return report(made.take_status());
  export_ = std::move(made.value());
  return 0;
}

int ha_rocksdb::start_stmt(THD* thd, thr_lock_type type) noexcept {
  begin_statement(thd);
  row_lock_ = row_lock_of(thd, type);
  writes_rows_ = row_lock_ == lock::LockMode::kExclusive;
  if (is_sequence()) row_lock_.reset();
  reads_whole_rows_ = writes_rows_ && (needs_whole_rows(thd, *table) || is_sequence());
  if (const int error = bind_references(thd); error != 0) return error;
  return refuse_statement(thd);
}

int ha_rocksdb::refuse_statement(THD* thd) {
  // What an open sequence has in memory is given without a read, and an error of its first read is
  // not told.
  if (is_sequence()) {
    if (thd_tablespace_op(thd) != 0) return 0;
    return refuse_if_discarded(thd, *table, opened().definition());
  }
  if (table_share->tmp_table != NO_TMP_TABLE) return 0;
  if (const int error = check_converted_expiry(thd, *table, opened().definition()); error != 0) {
    return error;
  }
  if (replaces_table(thd, *table)) return refuse_if_undecided(thd, opened().definition());
  // CHECKSUM TABLE goes on with its transaction's snapshot; the others begin by ending it.
  const bool has_snapshot = !is_administrative(thd) || thd_sql_command(thd) == SQLCOM_CHECKSUM;
  const bool reads_snapshot = !row_lock_ && has_snapshot;
  if (reads_snapshot && transaction().is_snapshot_older_than(opened().state().exists_since)) {
    return HA_ERR_TABLE_DEF_CHANGED;
  }
  return 0;
}

// The row just read did not match. At REPEATABLE READ its lock keeps it from matching later.
void ha_rocksdb::unlock_row() noexcept {
  if (!row_lock_ || locks_gaps() || keeps_scanned_rows_locked(ha_thd())) return;
  if (cursor_->read_semi_consistently()) {
    cursor_->pass_over_row();
  } else {
    cursor_->release_row_lock();
  }
}

bool ha_rocksdb::locks_gaps() const {
  return row_lock_.has_value() && thd_tx_isolation(ha_thd()) >= ISO_REPEATABLE_READ;
}

void ha_rocksdb::try_semi_consistent_read(bool yes) noexcept {
  tries_semi_consistent_ = yes;
  if (cursor_ && cursor_->is_open()) cursor_->set_semi_consistent(reads_semi_consistently());
}

bool ha_rocksdb::was_semi_consistent_read() noexcept {
  return cursor_ && cursor_->read_semi_consistently();
}

bool ha_rocksdb::reads_semi_consistently() const {
  return tries_semi_consistent_ && row_lock_ == lock::LockMode::kExclusive && !locks_gaps();
}

}  // namespace basalt::server
