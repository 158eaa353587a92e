#include "kv/rocksdb_reads.h"

#include "block_cache/block_sizes.h"
#include "kv/options.h"

namespace basalt::kv {
namespace {

constexpr std::uint64_t kReadBytesMax = 1024 * 1024;
// Fewer are in one block. More are read ahead by RocksDB as it comes to them, more each time.
constexpr std::uint64_t kExpectedBytesMin = 1024;
constexpr std::uint64_t kExpectedBytesMax = 64 * 1024;
constexpr std::uint64_t kPageBytes = 4096;

}  // namespace

DataBytes data_bytes(const rdb::TablePropertiesCollection& files) {
  DataBytes bytes;
  for (const auto& [path, properties] : files) {
    bytes.stored += properties->data_size;
    bytes.raw += properties->raw_key_size + properties->raw_value_size;
  }
  return bytes;
}

rdb::ReadOptions make_read_options_of_many(const ReadView& view) {
  rdb::ReadOptions options = make_read_options(view, nullptr);
  options.value_size_soft_limit = kReadBytesMax;
  return options;
}

void note_get_many(const ReadView& view, const PinnedValues& values) {
  if (view.counts == nullptr) return;
  for (std::size_t i = 0; i < values.count(); ++i) {
    if (values.state(i) != PinnedValues::State::kFound) continue;
    view.counts->multi_get_bytes += values.view(i).size();
  }
}

std::uint64_t readahead_bytes(const ReadView& view) {
  if (view.expected_bytes < kExpectedBytesMin || view.expected_bytes > kExpectedBytesMax) {
    return 0;
  }
  // Behind the block that is missing first; the range may end early in its last one.
  const std::uint64_t bytes = view.expected_bytes + block_cache::kBlockBytes;
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

rdb::ReadOptions make_read_options(const ReadView& view, const IteratorBounds* bounds) {
  rdb::ReadOptions options;
  options.snapshot = view.snapshot != nullptr ? view.snapshot->handle() : nullptr;
  options.fill_cache = view.fill_cache;
  options.max_skippable_internal_keys = view.skipped_max;
  options.readahead_size = readahead_bytes(view);
  // Would prepare, at every block, to trim what RocksDB reads ahead itself. It leaves that to the
  // system, through FileSystem::Prefetch.
  options.auto_readahead_size = false;
  // Only reclaim() makes them, of ranges that nobody reads.
  options.ignore_range_deletions = true;
  if (bounds != nullptr && !bounds->range.lower.empty()) {
    options.iterate_lower_bound = &bounds->lower;
  }
  if (bounds != nullptr && !bounds->range.upper.empty()) {
    options.iterate_upper_bound = &bounds->upper;
  }
  return options;
}

}  // namespace basalt::kv
