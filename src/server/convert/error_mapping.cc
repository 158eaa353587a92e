#include "server/convert/error_mapping.h"

#include "server/session.h"
#include "server/sysvars.h"

namespace basalt::server {
namespace {

// The server takes the error for one only if the connection is killed. Else the statement would
// count as done, and its half be committed. That a client has gone nobody knows but the engine.
void end_unless_killed(THD* thd) {
  if (thd == nullptr || thd->killed != NOT_KILLED || thd->is_error()) return;
  thd->set_killed(has_lost_client(thd) ? KILL_CONNECTION : KILL_QUERY);
}

}  // namespace

int to_handler_error(const Status& status, THD* thd) noexcept {
  switch (status.code()) {  // no default: a new code must fail to compile here
    case ErrorCode::kOk: return 0;
    case ErrorCode::kNotFound: return HA_ERR_KEY_NOT_FOUND;
    case ErrorCode::kDuplicateKey: return HA_ERR_FOUND_DUPP_KEY;
    case ErrorCode::kNoReferencedRow: return HA_ERR_NO_REFERENCED_ROW;
    case ErrorCode::kRowIsReferenced: return HA_ERR_ROW_IS_REFERENCED;
    case ErrorCode::kCascadeTooDeep: return HA_ERR_FK_DEPTH_EXCEEDED;
    case ErrorCode::kDuplicateInChild: return HA_ERR_FOREIGN_DUPLICATE_KEY;
    case ErrorCode::kLockTimeout:
      if (thd != nullptr) thd->mark_transaction_to_rollback(rollback_on_timeout());
      return HA_ERR_LOCK_WAIT_TIMEOUT;
    case ErrorCode::kDeadlock:
      if (thd != nullptr) thd->mark_transaction_to_rollback(true);
      return HA_ERR_LOCK_DEADLOCK;
    case ErrorCode::kSnapshotConflict:
      // As of a deadlock's victim: of HA_ERR_RECORD_CHANGED the server writes to its error log, and
      // a replica may take it for a row that is missing. The client is told ER_CHECKREAD.
      if (thd != nullptr) thd->mark_transaction_to_rollback(true);
      return HA_ERR_LOCK_DEADLOCK;
    case ErrorCode::kInterrupted:
      end_unless_killed(thd != nullptr ? thd : current_thd);
      return HA_ERR_ABORTED_BY_USER;
    case ErrorCode::kTooLarge: return HA_ERR_LOCK_TABLE_FULL;
    case ErrorCode::kTableExists: return HA_ERR_TABLE_EXIST;
    case ErrorCode::kTableNotFound: return HA_ERR_NO_SUCH_TABLE;
    case ErrorCode::kDefinitionMismatch: return HA_ERR_TABLE_DEF_CHANGED;
    case ErrorCode::kAutoIncrementExhausted: return HA_ERR_AUTOINC_READ_FAILED;
    case ErrorCode::kUnsupported: return kErrorUnsupported;
    case ErrorCode::kInvalidArgument: return kErrorInvalidArgument;
    case ErrorCode::kReadOnly: return HA_ERR_TABLE_READONLY;
    case ErrorCode::kNoSpace: return HA_ERR_RECORD_FILE_FULL;
    case ErrorCode::kIoError: return kErrorIo;
    case ErrorCode::kCorruption: return HA_ERR_CRASHED;
    case ErrorCode::kInconsistentRead: return kErrorInconsistentRead;
  }
  return HA_ERR_INTERNAL_ERROR;
}

void report_failure(const char* what, const Status& status) noexcept {
  // A background thread has nobody to tell.
  if (current_thd == nullptr || status.is_ok()) return;
  my_printf_error(ER_ERROR_DURING_COMMIT, "RocksDB: %s: %s", MYF(0), what,
                  status.message().c_str());
}

}  // namespace basalt::server
