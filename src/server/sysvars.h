#pragma once
#include <cstddef>
#include <cstdint>

#include "engine/engine_options.h"
#include "kv/early_compaction.h"
#include "txn/transaction.h"
#include "server/mariadb.h"

namespace basalt::server {

// The rocksdb_* variables: docs/user-guide.md.
extern st_mysql_sys_var* g_system_variables[];

engine::EngineOptions options_from_variables();
// What the server cannot know by itself: of which RocksDB the engine is made. Before the server
// shows variables.
void show_rocksdb();
// Tells the error log of each variable that was set at the start, to another value than its
// default, and that means nothing to this engine.
void tell_unused_settings();
// How long a statement of this connection waits for one lock.
std::int64_t lock_wait_timeout_ms(THD* thd);
// Whether this connection's locking reads refuse rows that are newer than its snapshot.
bool snapshot_isolation(THD* thd);
// Whether this connection's waits look for deadlocks; those of new connections if `thd` is null.
bool detects_deadlocks(THD* thd);
// Which files are compacted early for what they remove.
kv::EarlyCompaction early_compaction();
// Whether blocks that this connection reads stay in the cache.
bool fills_cache(THD* thd);
// Whether statements that fail with a snapshot conflict go to the error log.
bool logs_snapshot_conflicts();
// Whether rows in memtables count in how many a table is said to have.
bool counts_memtables();
// Whether transactions read rows that are expired, as long as they are certainly there.
bool shows_expired_rows();
// The time of rows that the connection's statement inserts, unless a column tells it.
std::uint64_t statement_time(THD* thd);
// How much memory sorting the entries of indexes takes that this connection adds.
std::uint64_t sort_bytes_max(THD* thd);
// How many rows a transaction of this connection locks singly.
std::size_t max_row_locks(THD* thd);
// How many bytes the changes of a transaction of connections to come may take; 0: not given.
std::uint64_t given_batch_bytes_max();
// How many bytes the changes of a transaction of this connection may take.
std::uint64_t batch_bytes_max(THD* thd);
// With how many bytes of changes the session's transactions move them to files; 0: never.
std::uint64_t batch_spill_bytes(THD* thd);
// Whether statements of this connection that insert many rows write them to files.
bool bulk_load(THD* thd);
// Whether they commit within themselves, and after how many rows.
bool commits_in_the_middle(THD* thd);
std::uint64_t rows_of_commit(THD* thd);
// Whether a lock that was not granted in time ends the transaction and not just the statement.
bool rollback_on_timeout();
// Whether a commit must be on disk when it returns.
bool commits_are_synced();
// How durable a commit of this connection is when it returns.
kv::Durability commit_durability(THD* thd);
// How many rows the optimizer is to be told that any range of keys has; 0: an estimate.
// `is_forced`: the statement forces the index.
std::uint64_t told_rows_in_range(THD* thd, bool is_forced);
// Whether locks of rows that a statement has read, and that do not match, stay at READ COMMITTED.
bool keeps_scanned_rows_locked(THD* thd);
// Whether this connection's statements may be logged as such where their effect depends on order.
bool logs_unsafe_statements(THD* thd);

}  // namespace basalt::server
