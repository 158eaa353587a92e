#include <chrono>

#include "kv/reports.h"
#include "server/introspect/names.h"
#include "server/introspect/schema_table.h"
#include "server/introspect/tables.h"

namespace basalt::server {
namespace {

ST_FIELD_INFO g_columns[] = {
    Show::Column("DEADLOCK_ID", number_type(), NOT_NULL),
    Show::Column("TIMESTAMP", number_type(), NOT_NULL),
    Show::Column("TRANSACTION_ID", number_type(), NOT_NULL),
    Show::Column("CF_NAME", name_type(), NOT_NULL),
    Show::Column("WAITING_KEY", text_type(), NOT_NULL),
    Show::Column("LOCK_TYPE", name_type(), NOT_NULL),
    Show::Column("INDEX_NAME", name_type(), NOT_NULL),
    Show::Column("TABLE_NAME", text_type(), NOT_NULL),
    Show::Column("ROLLED_BACK", number_type(), NOT_NULL),
    Show::CEnd(),
};

bool put_deadlock(Rows& rows, const lock::DeadlockInfo& deadlock) {
  const auto found_at =
      std::chrono::duration_cast<std::chrono::seconds>(deadlock.found_at.time_since_epoch());
  for (const lock::DeadlockInfo::Wait& wait : deadlock.cycle) {
    const KeyOwner owner = owner_of(wait.key);
    if (!rows.put(deadlock.number, found_at.count(), wait.owner_id,
                  kv::family_name(the_engine().database(), owner.family()), hex_of(wait.key),
                  wait.mode == lock::LockMode::kShared ? "SHARED" : "EXCLUSIVE", owner.index_name(),
                  owner.table_name(), wait.owner_id == deadlock.victim_id ? 1 : 0)) {
      return false;
    }
  }
  return true;
}

void fill(Rows& rows) {
  for (const lock::DeadlockInfo& deadlock : the_engine().locks().latest_deadlocks()) {
    if (!put_deadlock(rows, deadlock)) return;
  }
}

}  // namespace

int init_deadlock(void* schema_table) noexcept {
  return init_guarded_table<g_columns, fill>(schema_table);
}

}  // namespace basalt::server
