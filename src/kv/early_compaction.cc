#include "kv/early_compaction.h"

#include <rocksdb/options.h>
#include <rocksdb/utilities/table_properties_collectors.h>

#include <algorithm>

#include "base/assert.h"

namespace basalt::kv {
namespace {

constexpr std::uint64_t kWindow = 16384;
// Half is not most: where each change of an entry is a removal and an insertion, every file would
// be compacted at once, down to the last level.
constexpr double kShare = 0.75;

using Factory = std::shared_ptr<rdb::TablePropertiesCollectorFactory>;

// Of the `factories` of a family of tables.
auto& find(auto& factories) {
  const auto found = std::ranges::find_if(factories, [](const Factory& each) {
    return each->CheckedCast<rdb::CompactOnDeletionCollectorFactory>() != nullptr;
  });
  BASALT_ASSERT(found != factories.end());
  return *found;
}

}  // namespace

std::shared_ptr<rdb::CompactOnDeletionCollectorFactory> make_early_compaction() {
  auto factory = rdb::NewCompactOnDeletionCollectorFactory(0, 0);
  set_early_compaction({}, *factory);
  return factory;
}

void set_early_compaction(const EarlyCompaction& limits,
                          rdb::CompactOnDeletionCollectorFactory& factory) {
  const bool is_chosen = limits.removals == 0;
  const std::uint64_t window =
      std::max(limits.window != 0 ? limits.window : kWindow, limits.removals);
  const auto chosen = static_cast<std::uint64_t>(static_cast<double>(window) * kShare);
  factory.SetWindowSize(window);
  factory.SetDeletionTrigger(is_chosen ? std::max<std::uint64_t>(chosen, 1) : limits.removals);
  factory.SetDeletionRatio(is_chosen ? kShare : 0);
  factory.SetMinFileSize(limits.file_bytes);
}

rdb::CompactOnDeletionCollectorFactory& early_compaction_of(
    const rdb::ColumnFamilyOptions& options) {
  const Factory& factory = find(options.table_properties_collector_factories);
  return *factory->CheckedCast<rdb::CompactOnDeletionCollectorFactory>();
}

void share_early_compaction(const rdb::ColumnFamilyOptions& from, rdb::ColumnFamilyOptions& to) {
  find(to.table_properties_collector_factories) = find(from.table_properties_collector_factories);
}

}  // namespace basalt::kv
