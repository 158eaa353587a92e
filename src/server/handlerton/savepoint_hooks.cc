#include <cstring>

#include "server/convert/error_mapping.h"
#include "server/handlerton/hooks.h"
#include "server/session.h"
#include "server/mariadb.h"

namespace basalt::server {
namespace {

// The server keeps this much raw memory per savepoint for us: the savepoint's number.
using SavepointArea = std::size_t;

SavepointArea load_area(const void* area) {
  SavepointArea number = 0;
  std::memcpy(&number, area, sizeof number);
  return number;
}

// The session's transaction, for a savepoint of the user's. A function or a trigger sets it within
// the statement that calls it, which goes on afterwards; otherwise no statement does.
txn::Transaction& transaction_between_statements(THD* thd) {
  txn::Transaction& transaction = Session::of(thd).transaction();
  if (!thd->in_sub_stmt) transaction.end_statement();
  return transaction;
}

int savepoint_set(handlerton*, THD* thd, void* area) noexcept {
  const SavepointArea number = transaction_between_statements(thd).set_savepoint();
  std::memcpy(area, &number, sizeof number);
  return 0;
}

int savepoint_rollback(handlerton*, THD* thd, void* area) noexcept {
  txn::Transaction& transaction = transaction_between_statements(thd);
  return to_handler_error(transaction.rollback_to_savepoint(load_area(area)), thd);
}

int savepoint_release(handlerton*, THD* thd, void* area) noexcept {
  txn::Transaction& transaction = transaction_between_statements(thd);
  // The server knows savepoints of a prepared transaction by name, which has none any more.
  if (transaction.state() != txn::Transaction::State::kActive) return 0;
  const SavepointArea number = load_area(area);
  // SAVEPOINT releases the one whose name it takes. RELEASE SAVEPOINT, and the end of a function or
  // a trigger for the first of its savepoints, name all later ones with it.
  return to_handler_error(thd_sql_command(thd) == SQLCOM_SAVEPOINT
                              ? transaction.release_savepoint(number)
                              : transaction.release_savepoints_from(number),
                          thd);
}

// Row locks outlive the savepoint, and only the metadata lock keeps the table from changing
// under them.
bool savepoint_rollback_can_release_mdl(handlerton*, THD* thd) noexcept {
  Session* session = Session::find(thd);
  return session == nullptr || !session->transaction().lock_owner().holds_locks();
}

}  // namespace

void install_savepoint_hooks(handlerton* hton) {
  hton->savepoint_offset = sizeof(SavepointArea);
  hton->savepoint_set = savepoint_set;
  hton->savepoint_rollback = savepoint_rollback;
  hton->savepoint_release = savepoint_release;
  hton->savepoint_rollback_can_release_mdl = savepoint_rollback_can_release_mdl;
}

}  // namespace basalt::server
