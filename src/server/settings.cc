#include "server/settings.h"

#include <utility>

namespace basalt::server {

std::vector<Setting> explain(const Machine& machine, const kv::DatabaseOptions& given,
                             const kv::DatabaseOptions& used) {
  std::vector<Setting> settings = {
      {"memory", machine.memory_bytes, false,
       machine.is_memory_ours ? "the limit of the control group" : "all that the machine has"},
      {"cores", static_cast<std::uint64_t>(machine.cores), false, "all that the machine has"}};
  const auto add = [&](const char* name, std::uint64_t of_given, std::uint64_t of_used,
                       std::string rule) {
    const bool is_given = of_given != 0;
    settings.push_back({name, of_used, is_given, is_given ? "" : std::move(rule)});
  };
  const bool is_direct = used.direct_io == kv::DirectIo::kOn;
  add("rocksdb_direct_io", static_cast<std::uint64_t>(given.direct_io), is_direct,
      !machine.is_memory_ours ? "no limit says how much memory is this server's: what others leave "
                                "keeps pages of tables"
      : machine.has_direct_io ? "the memory is limited, and one cache uses it best"
                              : "the file system has none");
  add("rocksdb_block_cache_size", given.block_cache_bytes, used.block_cache_bytes,
      used.process_memory_bytes != 0
          ? "what all else in memory leaves of the limit as it is now, but for a tenth of it, at "
            "least 40 MiB"
          : std::string(is_direct ? "three quarters" : "half") +
                " of the memory that the server, an eighth but at least 224 MiB, and the memtables "
                "leave" +
                (machine.is_memory_ours ? ""
                                        : "; no more than a quarter, as no limit says that the "
                                          "memory is for this server alone"));
  if (used.block_cache_bytes < given.block_cache_bytes) {
    settings.back().reason = "all that the rest of the process leaves of the limit";
  }
  add("rocksdb_write_buffer_size", given.memtable_bytes, used.memtable_bytes,
      "a 32nd of the memory, 4 to 64 MiB; there are up to four such memtables");
  add("rocksdb_max_total_wal_size", given.max_total_wal_bytes, used.max_total_wal_bytes,
      "four times the memory for memtables, at least 64 MiB");
  add("rocksdb_write_batch_max_bytes", given.batch_bytes_max, used.batch_bytes_max,
      "half of the memory, 128 MiB to 8 GiB");
  add("rocksdb_max_background_jobs", static_cast<std::uint64_t>(given.background_jobs),
      static_cast<std::uint64_t>(used.background_jobs), "half of the cores, 3 to 8");
  add("rocksdb_reserved_disk_space", given.reserved_disk_bytes, used.reserved_disk_bytes,
      "the memory for memtables and 16 MiB");
  return settings;
}

}  // namespace basalt::server
