#include "server/handler/undecided_changes.h"

#include <string>

#include "server/convert/table_layout.h"
#include "server/handler/exported_tables.h"
#include "server/plugin.h"
#include "server/session.h"
#include "table/exported_files.h"

namespace basalt::server {

void warn_if_undecided(THD* thd, const Status& status) {
  if (thd == nullptr || !status.is(ErrorCode::kLockTimeout)) return;
  const std::string text = "RocksDB: " + status.message();
  push_warning(thd, Sql_condition::WARN_LEVEL_WARN, ER_LOCK_WAIT_TIMEOUT, text.c_str());
}

int refuse_if_undecided(THD* thd, const catalog::TableDefinition& table) {
  const Status status = the_engine().check_decided(table, thd);
  warn_if_undecided(thd, status);
  return status.is_ok() ? 0 : HA_ERR_LOCK_WAIT_TIMEOUT;
}

engine::Waiter waiter_of(THD* thd) {
  if (thd == nullptr) return {};
  return {thd, Session::wait_policy_of(thd)};
}

Status drop_by_name(THD* thd, std::string_view name) {
  const auto undecided = is_temporary_name(name) ? engine::Engine::Undecided::kLeave
                                                 : engine::Engine::Undecided::kRefuse;
  const catalog::TablePointer table = the_engine().catalog().find(name);
  Status status = the_engine().drop_table(name, thd, undecided, waiter_of(thd));
  warn_if_undecided(thd, status);
  if (status.is_ok() && table != nullptr && table->is_discarded) {
    table::remove_exported(the_engine().database(), files_of(*table))
        .ignore("the error log tells it");
  }
  const bool is_failed = !status.is_ok() && !status.is(ErrorCode::kTableNotFound);
  // Perhaps only because of a commit that cannot be completed until then.
  if (is_failed && the_engine().database().health().access() == wal::Access::kReadOnly) {
    g_plugin->left_tables.note(name);
  }
  return status;
}

}  // namespace basalt::server
