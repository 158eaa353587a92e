#include <map>

#include "server/introspect/names.h"
#include "server/introspect/schema_table.h"
#include "server/introspect/sessions.h"
#include "server/introspect/tables.h"

namespace basalt::server {
namespace {

using Show::ULonglong;

ST_FIELD_INFO g_columns[] = {
    Show::Column("REQUESTING_TRANSACTION_ID", ULonglong(), NOT_NULL),
    Show::Column("REQUESTING_THREAD_ID", ULonglong(), NOT_NULL),
    Show::Column("BLOCKING_TRANSACTION_ID", ULonglong(), NOT_NULL),
    Show::Column("BLOCKING_THREAD_ID", ULonglong(), NOT_NULL),
    Show::Column("TABLE_NAME", text_type(), NOT_NULL),
    Show::Column("INDEX_NAME", name_type(), NOT_NULL),
    Show::Column("KEY", text_type(), NOT_NULL),
    Show::Column("MODE", Show::Varchar(32), NOT_NULL),
    Show::CEnd(),
};

const char* mode_of(const lock::WaitInfo& wait) {
  if (wait.is_insert) return "INSERT";
  return wait.mode == lock::LockMode::kShared ? "S" : "X";
}

void fill(Rows& rows) {
  std::map<std::uint64_t, std::uint64_t> threads;
  for (const OpenTransaction& open : open_transactions()) {
    threads[open.info.id] = open.connection.thread_id;
  }
  for (const lock::WaitInfo& wait : the_engine().locks().waits()) {
    const KeyOwner owner = owner_of(wait.key);
    if (!rows.put(wait.owner_id, threads[wait.owner_id], wait.blocker_id, threads[wait.blocker_id],
                  owner.table_name(), owner.index_name(), hex_of(wait.key), mode_of(wait))) {
      return;
    }
  }
}

}  // namespace

int init_lock_waits(void* schema_table) noexcept {
  return init_guarded_table<g_columns, fill>(schema_table);
}

}  // namespace basalt::server
