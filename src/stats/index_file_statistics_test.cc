#include "stats/index_file_statistics.h"

#include <memory>
#include <random>
#include <string>

#include "base/bytes.h"
#include "base/test_support.h"
#include "kv/test_directory.h"
#include "stats/key_layouts.h"

// Goal: distinct values and entries of many files are put together to those of the index,
// however the files overlap. Method: a secondary index (g, name) over a primary key (id), written
// in several ways into several files; the dictionary alone tells where parts end.
namespace basalt::stats {
namespace {

using basalt::test::must;

constexpr std::uint32_t kEntries = 20'000;
constexpr std::uint32_t kGroups = 100;

// Every collation is that of bytes, with another number.
class AnyCollation final : public codec::CollationSource {
 public:
  const codec::Collation* find_by_id(std::uint16_t id, bool) override {
    return id == 63 ? &codec::binary_collation() : nullptr;
  }
};

class IndexFileStatisticsTest : public testing::Test {
 protected:
  IndexFileStatisticsTest() {
    must(catalog_.load());
    create("test/known", 63);
    database_->set_key_structures(&key_layouts_);
  }
  ~IndexFileStatisticsTest() override { database_->set_key_structures(nullptr); }

  void create(const char* name, std::uint16_t collation) {
    catalog::TableDefinition definition;
    definition.name = name;
    definition.columns = {{"id", codec::ColumnKind::kUnsignedInteger, 4, 0, false, true},
                          {"g", codec::ColumnKind::kUnsignedInteger, 2, 0, true, true},
                          {"name", codec::ColumnKind::kVariableString, 31, collation, false, true}};
    definition.indexes = {{"PRIMARY", 0, 0, true, {{0, 0, false, 4}}},
                          {"by_name", 0, 0, false, {{1, 0, true, 2}, {2, 0, false, 30}}}};
    table_ = must(catalog_.create(definition));
  }
  // A nullable descending SMALLINT UNSIGNED, a zero-escaped string of 1 to 3 letters, the id.
  std::string entry(std::uint32_t i) const {
    const std::uint32_t group = i % kGroups;
    std::string key;
    append_be32(key, table_->indexes[1].id);
    key.push_back('\xFE');
    key.push_back(static_cast<char>(~(group >> 8)));
    key.push_back(static_cast<char>(~group));
    key += std::string(1 + i / kGroups % 3, 'n');
    key += std::string("\x00\x01", 2);
    append_be32(key, i);
    return key;
  }
  template <typename Chosen>
  void put(Chosen chosen) {
    kv::WriteBatch batch;
    for (std::uint32_t i = 0; i < kEntries; ++i) {
      if (chosen(i)) batch.put(kv::kDefaultFamily, entry(i), "");
    }
    must(database_->write(batch, kv::Durability::kBuffered));
    must(database_->flush());
  }
  IndexFileStatistics figures() {
    return IndexFileStatistics(
        must(database_->index_files(kv::kDefaultFamily, table_->indexes[1].id)));
  }
  void expect_values(double tolerance) {
    const IndexFileStatistics all = figures();
    EXPECT_TRUE(all.is_complete());
    EXPECT_EQ(all.entries(), kEntries);
    const double per_group = static_cast<double>(kEntries) / kGroups;
    EXPECT_NEAR(all.entries_per_value(1, kEntries).value_or(0) / per_group, 1, tolerance);
    EXPECT_NEAR(all.entries_per_value(2, kEntries).value_or(0) / (per_group / 3), 1, tolerance);
    EXPECT_EQ(all.entries_per_value(3, kEntries), 1);
    EXPECT_FALSE(all.entries_per_value(4, kEntries).has_value());
  }

  kv::test::TestDirectory directory_;
  std::unique_ptr<kv::Database> database_ = kv::test::open_database(directory_ / "db");
  catalog::Catalog catalog_{*database_};
  AnyCollation collations_;
  KeyLayouts key_layouts_{catalog_, &collations_};
  catalog::TablePointer table_;
};

TEST_F(IndexFileStatisticsTest, NothingIsKnownOfAnIndexWithoutFiles) {
  const IndexFileStatistics none = figures();
  EXPECT_TRUE(none.is_complete());
  EXPECT_TRUE(none.is_exact());
  EXPECT_EQ(none.entries(), 0);
  EXPECT_FALSE(none.entries_per_value(1, 0).has_value());
  EXPECT_EQ(none.entries_between("", "").entries, 0);
}

TEST_F(IndexFileStatisticsTest, OneFileKnowsDistinctValuesExactly) {
  put([](std::uint32_t) { return true; });
  EXPECT_TRUE(figures().is_exact());
  expect_values(0.0001);
}

TEST_F(IndexFileStatisticsTest, FilesThatHaveAllValuesEachAreNotAddedUp) {
  for (std::uint32_t file = 0; file < 3; ++file) {
    put([file](std::uint32_t i) { return i / 1000 % 3 == file; });
  }
  expect_values(0.1);
}

TEST_F(IndexFileStatisticsTest, FilesThatHaveDifferentValuesAreAddedUp) {
  for (std::uint32_t file = 0; file < 4; ++file) {
    put([file](std::uint32_t i) { return i % kGroups / 25 == file; });
  }
  expect_values(0.0001);
}

TEST_F(IndexFileStatisticsTest, ASmallFileThatDoesNotKnowThePartsLeavesTheOthersTheirSay) {
  database_->set_key_structures(nullptr);
  put([](std::uint32_t i) { return i % 10 == 0; });
  EXPECT_FALSE(figures().entries_per_value(1, kEntries).has_value());
  database_->set_key_structures(&key_layouts_);
  put([](std::uint32_t i) { return i % 10 != 0; });
  EXPECT_NEAR(figures().entries_per_value(1, kEntries).value_or(0), kEntries / kGroups, 20);
}

TEST_F(IndexFileStatisticsTest, FilesThatKnowLessThanHalfOfTheEntriesDoNotTell) {
  put([](std::uint32_t i) { return i < 9'000; });
  EXPECT_FALSE(figures().entries_per_value(1, kEntries).has_value());
  EXPECT_TRUE(figures().entries_per_value(1, 10'000).has_value());
}

TEST_F(IndexFileStatisticsTest, AnIndexInACollationThatNobodyHasIsCountedWithoutValues) {
  create("test/unknown", 45);
  EXPECT_EQ(key_layouts_.find(table_->indexes[1].id), nullptr);
  EXPECT_NE(key_layouts_.find(table_->indexes[0].id), nullptr) << "it has no strings";
  put([](std::uint32_t) { return true; });
  EXPECT_EQ(figures().entries(), kEntries);
  EXPECT_FALSE(figures().entries_per_value(1, kEntries).has_value());
}

TEST_F(IndexFileStatisticsTest, DroppedIndexesHaveNoParts) {
  const catalog::IndexId id = table_->indexes[1].id;
  EXPECT_NE(key_layouts_.find(id), nullptr);
  must(catalog_.drop("test/known"));
  EXPECT_EQ(key_layouts_.find(id), nullptr);
}

}  // namespace
}  // namespace basalt::stats
