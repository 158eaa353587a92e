#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/log.h"
#include "server/convert/error_mapping.h"
#include "server/handlerton/hooks.h"
#include "server/plugin.h"
#include "server/session.h"
#include "server/sysvars.h"
#include "server/mariadb.h"

namespace basalt::server {
namespace {

constexpr std::size_t kXidHeaderBytes = 10;

// Return values of the X/Open XA specification, which the server passes on.
constexpr int kXaOk = 0;
constexpr int kXaResourceManagerError = -3;
constexpr int kXaUnknownTransaction = -4;

// A prepared transaction's name: format id (8 bytes), the lengths of the two parts (1 byte each),
// the parts. docs/formats/transactions.md
std::string name_of(const XID& xid) {
  std::string name;
  append_be64(name, static_cast<std::uint64_t>(xid.formatID));
  name.push_back(static_cast<char>(xid.gtrid_length));
  name.push_back(static_cast<char>(xid.bqual_length));
  name.append(xid.data, static_cast<std::size_t>(xid.gtrid_length + xid.bqual_length));
  return name;
}

bool parse_name(const std::string& name, XID& xid) {
  if (name.size() < kXidHeaderBytes) return false;
  const auto gtrid_length = static_cast<std::uint8_t>(name[8]);
  const auto bqual_length = static_cast<std::uint8_t>(name[9]);
  if (gtrid_length > MAXGTRIDSIZE || bqual_length > MAXBQUALSIZE ||
      name.size() != kXidHeaderBytes + gtrid_length + bqual_length) {
    return false;
  }
  xid.set(static_cast<long>(load_be64(name.data())), name.data() + kXidHeaderBytes, gtrid_length,
          name.data() + kXidHeaderBytes + gtrid_length, bqual_length);
  return true;
}

int prepare(handlerton*, THD* thd, bool all) noexcept {
  Session* session = Session::find(thd);
  if (session == nullptr) return 0;
  txn::Transaction& transaction = session->transaction();
  if (!session->ends_transaction(all)) {
    transaction.end_statement();
    session->cascade_context().forget();
    return 0;
  }
  const bool is_users = thd->transaction->xid_state.is_explicit_XA();
  if (is_users) session->forget_prepared();
  if (!transaction.has_writes()) {
    if (!is_users) return 0;
    // There is nothing to decide: it may as well end here, before its connection is reset, of which
    // the engine is not told. What it has locked is to stay locked until the decision.
    if (!transaction.lock_owner().holds_locks()) {
      return to_handler_error(transaction.rollback(), thd);
    }
  }
  XID xid;
  thd_get_xid(thd, reinterpret_cast<MYSQL_XID*>(&xid));
  Status status = transaction.prepare(name_of(xid), commit_durability(thd), is_users);
  // Of what is committed in one phase nobody else gets to know.
  const bool is_left = is_users && thd_sql_command(thd) != SQLCOM_XA_COMMIT;
  // A replica's thread may wait for another one's commit, for as long as that takes.
  if (status.is_ok() && !is_left && thd->rgi_slave == nullptr) {
    status = transaction.prepare_ingestion();
  }
  if (!status.is_ok()) log_message(LogLevel::kError, "prepare: " + status.message());
  report_failure("the transaction cannot be prepared", status);
  if (status.is_ok() && is_left) session->leave_prepared();
  return to_handler_error(status, thd);
}

// Called until it returns fewer than `length`; every prepared transaction is given once a round.
int recover(handlerton*, XID* list, uint length) noexcept {
  static std::set<std::string> given;
  uint count = 0;
  for (const std::string& name : the_engine().transactions().prepared_names()) {
    if (count == length) break;
    if (given.contains(name)) continue;
    if (!parse_name(name, list[count])) {
      log_message(LogLevel::kError, "a prepared transaction has a name that is not an XID");
      continue;
    }
    given.insert(name);
    ++count;
  }
  if (count < length) given.clear();
  return static_cast<int>(count);
}

int result_by_xid(const XID& xid, const Status& status, bool found) {
  if (!found) return kXaUnknownTransaction;
  if (status.is_ok()) return kXaOk;
  log_message(LogLevel::kError, "deciding a prepared transaction: " + status.message());
  const std::vector<std::string> prepared = the_engine().transactions().prepared_names();
  const bool is_prepared = std::ranges::find(prepared, name_of(xid)) != prepared.end();
  report_failure(is_prepared ? "the transaction stays prepared"
                             : "the transaction is decided, but nobody sees it before the engine "
                               "can write again",
                 status);
  return kXaResourceManagerError;
}

int commit_by_xid(handlerton*, XID* xid) noexcept {
  bool found = false;
  const Status status = the_engine().transactions().commit_prepared(name_of(*xid), found);
  return result_by_xid(*xid, status, found);
}

int rollback_by_xid(handlerton*, XID* xid) noexcept {
  bool found = false;
  const Status status = the_engine().transactions().rollback_prepared(name_of(*xid), found);
  return result_by_xid(*xid, status, found);
}

}  // namespace

void take_back_prepared(THD* thd, Session& session) {
  if (!thd->transaction->xid_state.is_explicit_XA()) return;
  XID xid;
  thd_get_xid(thd, reinterpret_cast<MYSQL_XID*>(&xid));
  session.take_back_prepared(name_of(xid));
}

void install_xa_hooks(handlerton* hton) {
  hton->prepare = prepare;
  hton->recover = recover;
  hton->commit_by_xid = commit_by_xid;
  hton->rollback_by_xid = rollback_by_xid;
}

}  // namespace basalt::server
