#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace basalt::kv {

// A data block of a file before it is compressed: as much, or a little less than one more entry.
inline constexpr std::uint64_t kBlockBytes = 8 * 1024;

// Whether tables are read and written past the system's page cache. Their blocks have one cache
// then, ours, which keeps compressed ones without their neighbours; and no reclaim of pages takes
// time from queries.
enum class DirectIo : std::uint8_t {
  kChosen = 0,  // yes where a limit says how much memory is this process's, if the file system can
  kOff,
  kOn,
};

// A cache of blocks is no smaller, however little memory there is.
inline constexpr std::uint64_t kBlockCacheMin = 8 * 1024 * 1024;

// How to open a database. Every size is in bytes. Zero means "choose by the machine".
struct DatabaseOptions {
  std::string directory;
  std::uint64_t block_cache_bytes = 0;
  // Of all of this process, if no limit of its control group says otherwise later. When it is not
  // zero, the block cache has what the rest leaves of it, see kv/memory_budget.h: all of that, and
  // block_cache_bytes to begin with, where these are chosen; block_cache_bytes at most where they
  // are given. Always chosen.
  std::uint64_t process_memory_bytes = 0;
  std::uint64_t memtable_bytes = 0;        // one memtable of one column family
  std::uint64_t memtables_total_bytes = 0;  // all memtables of all column families
  std::uint64_t max_total_wal_bytes = 0;
  std::uint64_t batch_bytes_max = 0;  // of memory that one transaction may take
  int background_jobs = 0;
  DirectIo direct_io = DirectIo::kChosen;
  bool create_if_missing = true;
  // Kept free on the device, see kv/health.h.
  std::uint64_t reserved_disk_bytes = 0;
  // Whether to open a database whose log is damaged in the middle, without what follows there.
  bool accept_log_damage = false;
};

// Fills every zero field from the machine: memory (of the control group, if one limits it)
// and cores.
DatabaseOptions with_machine_defaults(DatabaseOptions options);

// What defaults are chosen by.
struct Machine {
  std::uint64_t memory_bytes = 0;
  // Whether the memory is this process's own by a limit, not the machine's.
  bool is_memory_ours = false;
  // Whether the database's files can be read and written past the page cache.
  bool has_direct_io = false;
  int cores = 0;
};
// The same for a machine that is not this one.
DatabaseOptions with_defaults_for(const Machine& machine, DatabaseOptions options);

// This machine, as far as this process may use it, for a database in `directory`.
Machine this_machine(const std::string& directory);

// What a setting has come to, for people.
struct Setting {
  std::string name;  // the server's variable, or what of the machine others are chosen by
  std::uint64_t value = 0;
  bool is_given = false;  // not chosen here
  std::string reason;     // of a chosen one: the rule
};
// The machine, then the sizes that are `used`: those `given`, and what with_defaults_for() chose.
std::vector<Setting> explain(const Machine& machine, const DatabaseOptions& given,
                             const DatabaseOptions& used);

// The memory this process may use: the smallest limit of its control groups, or the machine's.
std::uint64_t available_memory_bytes();
// The same where control groups limit it now; `otherwise` where they do not.
std::uint64_t limited_memory_bytes(std::uint64_t otherwise);

}  // namespace basalt::kv
