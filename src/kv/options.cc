#include "kv/options.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <thread>
#include <utility>

#include "kv/directory_check.h"

namespace basalt::kv {
namespace {

constexpr std::uint64_t kMiB = 1024 * 1024;
// What a server with a few connections takes beside its engines' caches, and under a load of writes
// compactions: about 200 MB of 448 were measured.
constexpr std::uint64_t kServerMin = 224 * kMiB;
constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

std::uint64_t machine_memory_bytes() {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

// The number in a control group file, or kUnlimited ("max", absent, unreadable).
std::uint64_t read_limit(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t limit = 0;
  return file >> limit ? limit : kUnlimited;
}

// The smallest limit on the way from this process's control group up to the root.
std::uint64_t control_group_limit() {
  std::uint64_t limit = kUnlimited;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string group = line.substr(second + 1);
    const bool is_version_2 = controllers.empty();
    if (!is_version_2 && controllers.find("memory") == std::string::npos) continue;
    const std::string root = is_version_2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    const char* file = is_version_2 ? "/memory.max" : "/memory.limit_in_bytes";
    while (true) {
      limit = std::min(limit, read_limit(root + group + file));
      const auto slash = group.rfind('/');
      if (slash == std::string::npos || group == "/") break;
      group.resize(slash);
    }
  }
  return limit;
}

// What the server and memtables leave, but for a quarter, which compactions, connections and pages
// of logs take. Where tables are in the page cache, too, that gets half. A whole machine is perhaps
// shared with other caches.
std::uint64_t default_cache_bytes(const Machine& machine, const DatabaseOptions& options) {
  const std::uint64_t others =
      std::max(machine.memory_bytes / 8, kServerMin) + options.memtables_total_bytes;
  if (machine.memory_bytes <= others) return kBlockCacheMin;
  const std::uint64_t left = machine.memory_bytes - others;
  std::uint64_t bytes = options.direct_io == DirectIo::kOn ? left / 4 * 3 : left / 2;
  if (!machine.is_memory_ours) bytes = std::min(bytes, machine.memory_bytes / 4);
  return std::max(bytes, kBlockCacheMin);
}

}  // namespace

std::uint64_t limited_memory_bytes(std::uint64_t otherwise) {
  const std::uint64_t limit = control_group_limit();
  return limit < machine_memory_bytes() ? limit : otherwise;
}

std::uint64_t available_memory_bytes() { return limited_memory_bytes(machine_memory_bytes()); }

Machine this_machine(const std::string& directory) {
  const std::uint64_t memory = available_memory_bytes();
  return {.memory_bytes = memory,
          .is_memory_ours = memory < machine_memory_bytes(),
          .has_direct_io = has_direct_io(directory),
          .cores = static_cast<int>(std::thread::hardware_concurrency())};
}

DatabaseOptions with_machine_defaults(DatabaseOptions options) {
  const Machine machine = this_machine(options.directory);
  return with_defaults_for(machine, std::move(options));
}

DatabaseOptions with_defaults_for(const Machine& machine, DatabaseOptions options) {
  const std::uint64_t memory = machine.memory_bytes;
  // An eighth of memory holds memtables while much is written. The larger they are the fewer levels
  // lie under them: a row is written to the device less often, and logs are switched less often.
  if (options.memtable_bytes == 0) {
    options.memtable_bytes = std::clamp(memory / 32, 4 * kMiB, 64 * kMiB);
  }
  if (options.memtables_total_bytes == 0) {
    options.memtables_total_bytes = 4 * options.memtable_bytes;
  }
  if (options.direct_io == DirectIo::kChosen) {
    const bool is_on = machine.is_memory_ours && machine.has_direct_io;
    options.direct_io = is_on ? DirectIo::kOn : DirectIo::kOff;
  }
  const bool has_budget = machine.is_memory_ours && options.direct_io == DirectIo::kOn;
  options.process_memory_bytes = has_budget ? memory : 0;
  if (options.block_cache_bytes == 0) {
    options.block_cache_bytes = default_cache_bytes(machine, options);
  }
  if (options.max_total_wal_bytes == 0) {
    options.max_total_wal_bytes = std::max(4 * options.memtables_total_bytes, 64 * kMiB);
  }
  if (options.reserved_disk_bytes == 0) {
    // What memtables hold, written out, and a little for logs and the manifest.
    options.reserved_disk_bytes = options.memtables_total_bytes + 16 * kMiB;
  }
  if (options.batch_bytes_max == 0) {
    options.batch_bytes_max = std::clamp(memory / 2, 128 * kMiB, 8192 * kMiB);
  }
  if (options.background_jobs == 0) {
    // Three are one flush and two compactions. The second one runs under pressure only, while the
    // first is busy with a large one further down.
    options.background_jobs = std::clamp(machine.cores / 2, 3, 8);
  }
  return options;
}

std::vector<Setting> explain(const Machine& machine, const DatabaseOptions& given,
                             const DatabaseOptions& used) {
  std::vector<Setting> settings = {
      {"memory", machine.memory_bytes, false,
       machine.is_memory_ours ? "the limit of the control group" : "all that the machine has"},
      {"cores", static_cast<std::uint64_t>(machine.cores), false, "all that the machine has"}};
  const auto add = [&](const char* name, std::uint64_t of_given, std::uint64_t of_used,
                       std::string rule) {
    const bool is_given = of_given != 0;
    settings.push_back({name, of_used, is_given, is_given ? "" : std::move(rule)});
  };
  const bool is_direct = used.direct_io == DirectIo::kOn;
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

}  // namespace basalt::kv
