#include "kv/options.h"

#include <algorithm>
#include <utility>

#include "block_cache/block_sizes.h"

namespace basalt::kv {
namespace {

constexpr std::uint64_t kMiB = 1024 * 1024;
// What a server with a few connections takes beside its engines' caches, and under a load of writes
// compactions: about 200 MB of 448 were measured.
constexpr std::uint64_t kServerMin = 224 * kMiB;

// What the server and memtables leave, but for a quarter, which compactions, connections and pages
// of WALs take. Where tables are in the page cache, too, that gets half. A whole machine is perhaps
// shared with other caches.
std::uint64_t default_cache_bytes(const Machine& machine, const DatabaseOptions& options) {
  const std::uint64_t others =
      std::max(machine.memory_bytes / 8, kServerMin) + options.memtables_total_bytes;
  if (machine.memory_bytes <= others) return block_cache::kBlockCacheMin;
  const std::uint64_t left = machine.memory_bytes - others;
  std::uint64_t bytes = options.direct_io == DirectIo::kOn ? left / 4 * 3 : left / 2;
  if (!machine.is_memory_ours) bytes = std::min(bytes, machine.memory_bytes / 4);
  return std::max(bytes, block_cache::kBlockCacheMin);
}

}  // namespace

DatabaseOptions with_machine_defaults(DatabaseOptions options) {
  const Machine machine = this_machine(options.directory);
  return with_defaults_for(machine, std::move(options));
}

DatabaseOptions with_defaults_for(const Machine& machine, DatabaseOptions options) {
  const std::uint64_t memory = machine.memory_bytes;
  // An eighth of memory holds memtables while much is written. The larger they are the fewer levels
  // lie under them: a row is written to the device less often, and WALs are switched less often.
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
    // What memtables hold, written out, and a little for WALs and the manifest.
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

}  // namespace basalt::kv
