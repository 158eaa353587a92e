#include "kv/early_compaction.h"

#include <rocksdb/options.h>
#include <rocksdb/table_properties.h>
#include <rocksdb/utilities/table_properties_collectors.h>

#include <memory>
#include <string>
#include <vector>

#include "base/test_support.h"

// Goal: files full of removed entries are compacted before their time, by the limits that are given
// or by chosen ones, and no others.
namespace basalt::kv {
namespace {

using Pattern = std::vector<rdb::EntryType>;

// Whether a file of a megabyte with these entries, in this order over and over, is.
bool is_compacted_early(const Pattern& pattern, const EarlyCompaction& limits = {}) {
  const auto factory = make_early_compaction();
  set_early_compaction(limits, *factory);
  const std::unique_ptr<rdb::TablePropertiesCollector> collector(
      factory->CreateTablePropertiesCollector({}));
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    const std::string key = std::to_string(i);
    EXPECT_TRUE(collector->AddUserKey(key, "", pattern[i % pattern.size()], i, 10 * i).ok());
  }
  rdb::UserCollectedProperties properties;
  EXPECT_TRUE(collector->Finish(&properties).ok());
  return collector->NeedCompact();
}

TEST(EarlyCompaction, FilesFullOfRemovedEntriesAreCompactedEarly) {
  EXPECT_TRUE(is_compacted_early({rdb::kEntryDelete}));
  EXPECT_TRUE(
      is_compacted_early({rdb::kEntrySingleDelete, rdb::kEntrySingleDelete, rdb::kEntrySingleDelete,
                          rdb::kEntrySingleDelete, rdb::kEntryPut}));
}

// As in an index over a column that is updated.
TEST(EarlyCompaction, FilesOfReplacedEntriesAreNotCompactedEarly) {
  EXPECT_FALSE(is_compacted_early({rdb::kEntrySingleDelete, rdb::kEntryPut}));
}

TEST(EarlyCompaction, FilesAreCompactedEarlyForAsManyRemovalsAsAreGiven) {
  const Pattern half = {rdb::kEntrySingleDelete, rdb::kEntryPut};
  const Pattern most = {rdb::kEntryDelete, rdb::kEntryDelete, rdb::kEntryDelete, rdb::kEntryDelete,
                        rdb::kEntryPut};
  EXPECT_TRUE(is_compacted_early(half, {.removals = 500, .window = 1024}));
  EXPECT_FALSE(is_compacted_early(half, {.removals = 600, .window = 1024}));
  EXPECT_FALSE(is_compacted_early(most, {.removals = 1024, .window = 1024}))
      << "the share in the whole file counts only where nothing is given";
  EXPECT_TRUE(is_compacted_early({rdb::kEntryDelete}, {.removals = 50'000}))
      << "a window is never smaller than what must be in it";
  EXPECT_TRUE(is_compacted_early(most, {.window = 1024}));
}

TEST(EarlyCompaction, SmallFilesAreNotCompactedEarlyIfASizeIsGiven) {
  EXPECT_TRUE(is_compacted_early({rdb::kEntryDelete}, {.file_bytes = 900'000}));
  EXPECT_FALSE(is_compacted_early({rdb::kEntryDelete}, {.file_bytes = 1'100'000}));
}

}  // namespace
}  // namespace basalt::kv
