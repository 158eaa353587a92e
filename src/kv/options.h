#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "base/machine.h"

namespace basalt::kv {

// Whether tables are read and written past the system's page cache. Their blocks have one cache
// then, ours, which keeps compressed ones without their neighbours; and no reclaim of pages takes
// time from queries.
enum class DirectIo : std::uint8_t {
  kChosen = 0,  // yes where a limit says how much memory is this process's, if the file system can
  kOff,
  kOn,
};

// What administrators give in RocksDB's own names and words: given_options.h.
struct GivenToRocksdb {
  std::map<std::string, std::string> database;  // of rdb::DBOptions
  std::map<std::string, std::string> blocks;    // of rdb::BlockBasedTableOptions
  std::string default_family;                   // of every column family that holds tables
  std::string families;                         // of single ones
};

// How to open a database. Every size is in bytes. Zero means "choose by the machine".
struct DatabaseOptions {
  std::string directory;
  std::uint64_t block_cache_bytes = 0;
  // The memory of this whole process, unless its control group has another limit later. If it is
  // not zero, the block cache has what the rest leaves of it, see block_cache/memory_budget.h: all
  // of that, and block_cache_bytes to begin with, where these are chosen; block_cache_bytes at most
  // where they are given. Always chosen.
  std::uint64_t process_memory_bytes = 0;
  std::uint64_t memtable_bytes = 0;         // one memtable of one column family
  std::uint64_t memtables_total_bytes = 0;  // all memtables of all column families
  std::uint64_t max_total_wal_bytes = 0;
  std::uint64_t batch_bytes_max = 0;  // of memory that one transaction may take
  int background_jobs = 0;
  DirectIo direct_io = DirectIo::kChosen;
  bool create_if_missing = true;
  // Kept free on the device, see wal/health.h.
  std::uint64_t reserved_disk_bytes = 0;
  // Whether to open a database whose WAL is damaged in the middle, without what follows there.
  bool accept_wal_damage = false;
  // How much flushes and compactions write in a second; 0: as much as they can.
  std::uint64_t rate_limit_bytes = 0;
  GivenToRocksdb rocksdb;
};

// Fills every zero field from the machine: memory (of the control group, if one limits it)
// and cores.
DatabaseOptions with_machine_defaults(DatabaseOptions options);

// The same for a machine that is not this one.
DatabaseOptions with_defaults_for(const Machine& machine, DatabaseOptions options);

}  // namespace basalt::kv
