#pragma once
#include <cstddef>
#include <cstdint>

#include "engine/engine_options.h"
#include "txn/transaction.h"
#include "server/mariadb.h"

namespace basalt::server {

// The rocksdb_* variables: docs/user-guide.md.
extern st_mysql_sys_var* g_system_variables[];

engine::EngineOptions options_from_variables();
// How long a statement of this connection waits for one lock.
std::int64_t lock_wait_timeout_ms(THD* thd);
// Whether this connection's locking reads refuse rows that are newer than its snapshot.
bool snapshot_isolation(THD* thd);
// How many rows a transaction of this connection locks singly.
std::size_t max_row_locks(THD* thd);
// How many bytes the changes of a transaction of this connection may take.
std::uint64_t batch_bytes_max(THD* thd);
// Whether statements of this connection that insert many rows write them to files.
bool bulk_load(THD* thd);
// Whether they commit within themselves, and after how many rows.
bool commits_in_the_middle(THD* thd);
std::uint64_t rows_of_commit(THD* thd);
// Whether a lock that was not granted in time ends the transaction and not just the statement.
bool rollback_on_timeout();
// Whether a commit must be on disk when it returns.
bool commits_are_synced();
kv::Durability commit_durability();

}  // namespace basalt::server
