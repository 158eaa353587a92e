#include <map>

#include "server/introspect/names.h"
#include "server/introspect/schema_table.h"
#include "server/introspect/sessions.h"
#include "server/introspect/tables.h"
#include "server/sysvars.h"

namespace basalt::server {
namespace {

using Show::SLong;

ST_FIELD_INFO g_columns[] = {
    Show::Column("TRANSACTION_ID", number_type(), NOT_NULL),
    Show::Column("STATE", name_type(), NOT_NULL),
    Show::Column("NAME", name_type(), NOT_NULL),
    Show::Column("WRITE_COUNT", number_type(), NOT_NULL),
    Show::Column("LOCK_COUNT", number_type(), NOT_NULL),
    Show::Column("TIMEOUT_SEC", SLong(), NOT_NULL),
    Show::Column("WAITING_KEY", text_type(), NOT_NULL),
    Show::Column("WAITING_COLUMN_FAMILY_ID", SLong(), NOT_NULL),
    Show::Column("IS_REPLICATION", SLong(), NOT_NULL),
    Show::Column("SKIP_TRX_API", SLong(), NOT_NULL),
    Show::Column("READ_ONLY", SLong(), NOT_NULL),
    Show::Column("HAS_DEADLOCK_DETECTION", SLong(), NOT_NULL),
    Show::Column("NUM_ONGOING_BULKLOAD", SLong(), NOT_NULL),
    Show::Column("THREAD_ID", SLong(), NOT_NULL),
    Show::Column("QUERY", Show::Varchar(1024), NOT_NULL),
    Show::Column("BYTES_IN_MEMORY", number_type(), NOT_NULL),
    Show::Column("BYTES_IN_FILES", number_type(), NOT_NULL),
    Show::Column("SORTED_RUNS", number_type(), NOT_NULL),
    Show::Column("STEP", name_type(), NOT_NULL),
    Show::Column("STEP_PERCENT", SLong(), NOT_NULL),
    Show::CEnd(),
};

// In RocksDB's words.
const char* name_of(txn::TransactionState state) {
  switch (state) {
    case txn::TransactionState::kIdle: return "";
    case txn::TransactionState::kActive: return "STARTED";
    case txn::TransactionState::kPrepared: return "PREPARED";
    case txn::TransactionState::kOrdered: return "AWAITING_COMMIT";
  }
  return "";
}

const char* name_of(txn::TransactionStep step) {
  switch (step) {
    case txn::TransactionStep::kNone: return "";
    case txn::TransactionStep::kSpilling: return "MOVING CHANGES TO FILES";
    case txn::TransactionStep::kMerging: return "MERGING FILES";
    case txn::TransactionStep::kIngesting: return "INGESTING FILES";
    case txn::TransactionStep::kRollingBack: return "ROLLING BACK";
  }
  return "";
}

void fill(Rows& rows) {
  std::map<std::uint64_t, std::string> waiting_keys;
  for (const lock::WaitInfo& wait : the_engine().locks().waits()) {
    waiting_keys.emplace(wait.owner_id, wait.key);
  }
  const bool detects = the_engine().locks().detects_deadlocks();
  for (const OpenTransaction& open : open_transactions()) {
    const auto waits = waiting_keys.find(open.info.id);
    const bool is_waiting = waits != waiting_keys.end();
    const std::string key = is_waiting ? waits->second : "";
    const ConnectionInfo& connection = open.connection;
    if (!rows.put(open.info.id, name_of(open.info.state), open.info.prepared_name,
                  open.info.changed_rows, open.info.locked_keys,
                  open.info.lock_wait_timeout_ms / 1000, hex_of(key),
                  is_waiting ? owner_of(key).family() : 0, int{connection.is_replication}, 0,
                  int{connection.is_read_only}, int{detects}, 0, connection.thread_id,
                  connection.query, open.info.bytes_in_memory, open.info.bytes_in_files,
                  open.info.runs, name_of(open.info.step), open.info.step_percent)) {
      return;
    }
  }
}

}  // namespace

int init_trx(void* schema_table) noexcept {
  return init_guarded_table<g_columns, fill>(schema_table);
}

}  // namespace basalt::server
