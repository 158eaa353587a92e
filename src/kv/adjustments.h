#pragma once
#include <cstdint>

#include "kv/database.h"
#include "kv/early_compaction.h"

// What an administrator changes of an open database that nobody else has to do with; reports.h has
// what one may know of it.
//
// Threads     Any.
namespace basalt::kv {

// How many bytes a second of files that nobody needs any more are deleted, as far as they take less
// than a quarter of all; what is more is deleted at once. 0: all of it. Files that wait when the
// database is closed are deleted at its next opening.
void set_deletion_rate(Database& database, std::uint64_t bytes);

// Of all families with tables, also those that are made later, until the database is closed.
void set_early_compaction(Database& database, const EarlyCompaction& limits);

// What RocksDB counts begins at 0 again: its events, and its statistics of families and of the
// database as a whole. Our events go on (events.def). kUnsupported if RocksDB has none.
Status reset_statistics(Database& database);

}  // namespace basalt::kv
