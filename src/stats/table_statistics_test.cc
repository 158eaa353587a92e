#include "stats/table_statistics.h"

#include <memory>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/test_support.h"
#include "kv/test_directory.h"
#include "stats/key_layouts.h"

// Goal: estimates that a plan can be built on: exact where ranges are small, within a factor of
// two where they are not, and exact numbers after an analysis. Method: entries written by hand,
// with keys of index id, group (4 bytes), and row number (4 bytes).
namespace basalt::stats {
namespace {

using basalt::test::fails_with;
using basalt::test::must;
using basalt::test::succeeds;

constexpr std::uint32_t kRows = 30'000;
constexpr std::uint32_t kRowsPerGroup = 100;

// Values that compress like ordinary text: to about a half.
std::string text(std::uint32_t seed, std::size_t size) {
  std::string value;
  std::uint32_t state = seed * 2654435761u + 1;
  while (value.size() < size) {
    state = state * 1664525u + 1013904223u;
    value.push_back(static_cast<char>('a' + (state >> 28)));
  }
  return value;
}

std::size_t common_parts(std::string_view left, std::string_view right) {
  if (left.substr(0, 8) != right.substr(0, 8)) return 0;
  return left == right ? 2 : 1;
}

bool never() { return false; }

// A table, and the estimates made for it.
class OneTableTest : public testing::Test {
 protected:
  explicit OneTableTest(catalog::TableDefinition definition) {
    must(catalog_.load());
    table_ = must(catalog_.create(std::move(definition)));
    database_->set_key_structures(&key_layouts_);
  }
  ~OneTableTest() override { database_->set_key_structures(nullptr); }

  std::string key(std::size_t index, std::uint32_t first_part) const {
    std::string key;
    append_be32(key, table_->indexes[index].id);
    append_be32(key, first_part);
    return key;
  }
  // As an engine would make it when the table is opened.
  TableStatistics& opened() {
    statistics_ =
        std::make_unique<TableStatistics>(*database_, catalog_, &key_layouts_, table_, changes_);
    return *statistics_;
  }
  std::uint64_t in_range(std::uint32_t from, std::uint32_t to, std::size_t index = 0) {
    return must(statistics_->entries_in_range(index, {key(index, from), key(index, to)}));
  }

  kv::test::TestDirectory directory_;
  std::unique_ptr<kv::Database> database_ = kv::test::open_database(directory_ / "db");
  catalog::Catalog catalog_{*database_};
  KeyLayouts key_layouts_{catalog_, nullptr};
  catalog::TablePointer table_;
  const std::shared_ptr<ChangedRows> changes_ = std::make_shared<ChangedRows>();
  std::unique_ptr<TableStatistics> statistics_;
};

// A table whose rows are in groups, with an index of the groups.
catalog::TableDefinition grouped_rows() {
  catalog::TableDefinition definition;
  definition.name = "test/t";
  definition.columns = {{"id", codec::ColumnKind::kSignedInteger, 4, 0, false, true},
                        {"g", codec::ColumnKind::kSignedInteger, 4, 0, false, true}};
  definition.indexes = {{"PRIMARY", 0, 0, true, {{0, 0, false, 4}}},
                        {"by_group", 0, 0, false, {{1, 0, false, 4}}}};
  return definition;
}

class TableStatisticsTest : public OneTableTest {
 protected:
  TableStatisticsTest() : OneTableTest(grouped_rows()) {}

  void insert(std::uint32_t from, std::uint32_t to, std::size_t index = 0) {
    kv::WriteBatch batch;
    for (std::uint32_t row = from; row < to; ++row) {
      std::string at = key(index, row / kRowsPerGroup);
      append_be32(at, row);
      batch.put(kv::kDefaultFamily, at, index == 0 ? text(row, 80) : "");
    }
    must(database_->write(batch, kv::Durability::kBuffered));
  }
  void insert_all_and_flush() {
    for (std::uint32_t row = 0; row < kRows; row += 1000) insert(row, row + 1000);
    must(database_->flush());
  }
};

TEST_F(TableStatisticsTest, AnEmptyTableHasNothing) {
  const TableSize size = opened().size();
  EXPECT_EQ(size.rows, 0u);
  EXPECT_EQ(size.row_bytes, 0u);
  EXPECT_EQ(size.index_bytes, 0u);
  EXPECT_EQ(in_range(0, 1000), 0u);
  EXPECT_GE(statistics_->rows_per_value(0, 1), 1u);
  EXPECT_GE(statistics_->rows_per_value(1, 1), 1u);
}

TEST_F(TableStatisticsTest, TheRowsOfAFlushedTableAreKnownWithinAFactorOfTwo) {
  insert_all_and_flush();
  insert(0, kRows / 2, 1);
  const TableSize size = opened().size();
  EXPECT_GT(size.rows, kRows / 2);
  EXPECT_LT(size.rows, kRows * 2);
  EXPECT_GT(size.row_bytes, kRows * 30u);
  EXPECT_LT(size.row_bytes, kRows * 200u);
  EXPECT_GT(size.index_bytes, 0u);
  EXPECT_LT(size.index_bytes, size.row_bytes);
}

// Rows and entries share files, and an entry is a fraction of a row.
TEST_F(TableStatisticsTest, RowsAreKnownWithinAFactorOfTwoBesideFourSmallIndexes) {
  insert_all_and_flush();
  for (std::uint32_t row = 0; row < kRows; row += 1000) {
    for (std::uint32_t copy = 0; copy < 4; ++copy) {
      insert(row + copy * kRows, row + copy * kRows + 1000, 1);
    }
  }
  must(database_->flush());
  const TableSize size = opened().size();
  EXPECT_GT(size.rows, kRows / 2);
  EXPECT_LT(size.rows, kRows * 2);
}

TEST_F(TableStatisticsTest, TheRowsOfAMemtableAreCounted) {
  insert(0, 5000);
  EXPECT_GT(opened().size().rows, 2500u);
  EXPECT_LT(statistics_->size().rows, 10'000u);
}

TEST_F(TableStatisticsTest, RowsInFilesAreToldApartFromThoseInMemtables) {
  insert(0, 500);
  EXPECT_EQ(opened().rows_in_files(), 0u);
  must(database_->flush());
  insert(500, 600);
  EXPECT_EQ(opened().rows_in_files(), 500u);
  EXPECT_EQ(statistics_->size().rows, 600u);
}

TEST_F(TableStatisticsTest, BytesOfAnEntryAreThoseOfItsFilesOrElseOfSomeInMemtables) {
  EXPECT_EQ(opened().entry_bytes(0), 0) << "it is empty";
  insert(0, 1000);
  EXPECT_NEAR(opened().entry_bytes(0), 12 + 80, 4);
  must(database_->flush());
  EXPECT_NEAR(opened().entry_bytes(0), 12 + 80, 4);
  EXPECT_EQ(statistics_->entry_bytes(1), 0) << "it has no entries";
  EXPECT_EQ(statistics_->stored_entry_bytes(1), 0);
  EXPECT_GT(statistics_->stored_entry_bytes(0), 92 * 0.3) << "no text compresses like that";
  EXPECT_LE(statistics_->stored_entry_bytes(0), statistics_->entry_bytes(0));
}

TEST_F(TableStatisticsTest, ChangedRowsCountAtOnceAndNeverBelowZero) {
  opened();
  changes_->add(500);
  EXPECT_EQ(statistics_->size().rows, 500u);
  changes_->add(-100);
  EXPECT_EQ(statistics_->size().rows, 400u);
  changes_->add(-1000);
  EXPECT_EQ(statistics_->size().rows, 0u);
  changes_->roll_back(-1000);
  EXPECT_EQ(statistics_->size().rows, 400u) << "also where it was below zero meanwhile";
}

TEST_F(TableStatisticsTest, WhatIsNotCommittedCountsBesideWhatIsFoundInTheTable) {
  insert(0, 200);
  changes_->add(50);
  EXPECT_EQ(opened().size().rows, 250u) << "whoever opens the table counts the rest";
  must(statistics_->analyze(0, 2, common_parts, never));
  EXPECT_EQ(statistics_->size().rows, 250u);
  statistics_->set_exact_rows(200);
  EXPECT_EQ(statistics_->size().rows, 250u);
  changes_->roll_back(50);
  EXPECT_EQ(statistics_->size().rows, 200u);
  changes_->add(100);
  insert(200, 300);
  changes_->commit(100);
  EXPECT_EQ(statistics_->size().rows, 300u);
  EXPECT_EQ(opened().size().rows, 300u) << "what was committed before is in the table";
}

TEST_F(TableStatisticsTest, FewRowsAreCountedAnewAfterChangesThatNobodyHasCounted) {
  insert(0, 200);
  opened();
  changes_->add(7);
  insert(200, 500);
  EXPECT_EQ(statistics_->size().rows, 207u) << "nobody knows";
  statistics_->note_uncounted(300);
  EXPECT_EQ(statistics_->size().rows, 507u);
  changes_->roll_back(7);
  EXPECT_EQ(statistics_->size().rows, 500u);
}

TEST_F(TableStatisticsTest, ManyRowsAreEstimatedAnewAfterManyChanges) {
  insert(0, 5000);
  must(database_->flush());
  opened();
  insert(0, 2000);
  insert(5000, 5010);
  statistics_->note_uncounted(10);
  EXPECT_EQ(statistics_->size().rows, 5000u) << "an estimate would take the updated rows for new";
  insert(5010, 25'000);
  statistics_->note_uncounted(20'000);
  EXPECT_GT(statistics_->size().rows, 15'000u);
}

TEST_F(TableStatisticsTest, AFlushLeavesTheCountOfAFewRowsAsItIs) {
  static std::int64_t now_us = 0;
  insert(0, 30);
  statistics_ = std::make_unique<TableStatistics>(*database_, catalog_, &key_layouts_, table_,
                                                  changes_, [] { return now_us; });
  EXPECT_EQ(statistics_->size().rows, 30u);
  for (int i = 0; i < 6; ++i) {
    insert(0, 30 - 5 * static_cast<std::uint32_t>(i % 3));
    must(database_->flush());
    now_us += 60'000'000;
    EXPECT_EQ(statistics_->size().rows, 30u) << "the rest are newer versions";
  }
  must(statistics_->analyze(0, 2, common_parts, never));
  EXPECT_EQ(statistics_->size().rows, 30u);
}

TEST_F(TableStatisticsTest, SmallRangesAreExactInMemoryAndInFiles) {
  insert(0, 1000);
  opened();
  for (const bool is_flushed : {false, true}) {
    if (is_flushed) must(database_->flush());
    std::string from = key(0, 3);
    append_be32(from, 350);
    for (const std::uint32_t count : {0u, 1u, 2u, 63u, 64u}) {
      std::string to = key(0, (350 + count) / kRowsPerGroup);
      append_be32(to, 350 + count);
      EXPECT_EQ(must(statistics_->entries_in_range(0, {from, to})), count);
    }
    EXPECT_EQ(in_range(10, 2000), 0u) << "behind the last row";
    EXPECT_EQ(in_range(5, 5), 0u);
    EXPECT_EQ(in_range(7, 5), 0u) << "crossed bounds";
  }
}

// A table with a primary key of one integer.
catalog::TableDefinition numbered_rows() {
  catalog::TableDefinition definition;
  definition.name = "test/n";
  definition.columns = {{"id", codec::ColumnKind::kUnsignedInteger, 4, 0, false, true}};
  definition.indexes = {{"PRIMARY", 0, 0, true, {{0, 0, false, 4}}}};
  return definition;
}

class IntegerRangeTest : public OneTableTest {
 protected:
  IntegerRangeTest() : OneTableTest(numbered_rows()) {}

  template <typename Chosen>
  void write(std::uint32_t from, std::uint32_t to, bool is_put, Chosen chosen) {
    kv::WriteBatch batch;
    for (std::uint32_t id = from; id < to; ++id) {
      if (!chosen(id)) continue;
      is_put ? batch.put(kv::kDefaultFamily, key(0, id), text(id, 80))
             : batch.remove(kv::kDefaultFamily, key(0, id));
    }
    must(database_->write(batch, kv::Durability::kBuffered));
  }
  template <typename Chosen>
  void fill(Chosen chosen) {
    write(0, 10'000, true, chosen);
    must(database_->flush());
    opened();
  }
};

TEST_F(IntegerRangeTest, ASmallRangeOfADenseIntegerIsKnownWithoutReadingIt) {
  fill([](std::uint32_t id) { return id % 4 != 0; });
  write(1000, 1256, false, [](std::uint32_t) { return true; });
  EXPECT_EQ(in_range(1000, 1100), 75u) << "that its rows are gone is seen only by reading";
  EXPECT_EQ(in_range(1000, 1256), 192u);
  EXPECT_EQ(in_range(1000, 1001), 1u);
  EXPECT_EQ(in_range(1000, 1000), 0u);
  EXPECT_LT(in_range(1000, 1257), 192u) << "one value more, and it is read";
}

TEST_F(IntegerRangeTest, ABoundThatIsCutAtItsEndIsTheSameValue) {
  fill([](std::uint32_t) { return true; });
  std::string upper = key(0, 1024);
  while (upper.back() == '\0') upper.pop_back();
  EXPECT_EQ(must(statistics_->entries_in_range(0, {key(0, 1000), upper})), 24u);
}

TEST_F(IntegerRangeTest, ASmallRangeOfASparseIntegerIsCounted) {
  fill([](std::uint32_t id) { return id % 10 == 0 || id / 100 == 77; });
  EXPECT_EQ(in_range(7700, 7800), 100u);
  EXPECT_EQ(in_range(5000, 5100), 10u);
  EXPECT_EQ(in_range(5001, 5010), 0u);
}

TEST_F(IntegerRangeTest, ARangeBeyondTheFilesIsCounted) {
  fill([](std::uint32_t id) { return id >= 100; });
  EXPECT_EQ(in_range(50, 150), 50u);
  EXPECT_EQ(in_range(9900, 10'050), 100u);
  EXPECT_EQ(in_range(20'000, 20'100), 0u);
  write(20'000, 20'010, true, [](std::uint32_t) { return true; });
  EXPECT_EQ(in_range(20'000, 20'100), 10u);
}

TEST_F(TableStatisticsTest, RangesOfAFlushedTableAreKnownWithinAFactorOfTwo) {
  insert_all_and_flush();
  opened();
  for (const std::uint32_t groups : {10u, 30u, 100u, 200u}) {
    for (const std::uint32_t from : {0u, 50u, 100u}) {
      const std::uint64_t rows = groups * kRowsPerGroup;
      const std::uint64_t estimate = in_range(from, from + groups);
      EXPECT_GE(estimate, rows / 2) << from << " and " << groups << " more";
      EXPECT_LE(estimate, rows * 2) << from << " and " << groups << " more";
    }
  }
  EXPECT_LE(in_range(0, 10'000), kRows * 2);
}

TEST_F(TableStatisticsTest, ARangeThatIsNotEmptyIsNeverEstimatedAsEmpty) {
  insert_all_and_flush();
  opened();
  EXPECT_GE(in_range(17, 18), 50u);
  changes_->add(-2 * static_cast<std::int64_t>(kRows));
  EXPECT_GT(in_range(17, 18), 0u) << "although the table seems to be empty";
}

TEST_F(TableStatisticsTest, AnAnalysisCountsEntriesAndDistinctPrefixes) {
  insert(0, 950);
  insert(0, 950, 1);
  opened();
  EXPECT_EQ(must(statistics_->analyze(1, 2, common_parts, never)), 950u);
  EXPECT_EQ(statistics_->rows_per_value(1, 1), 95u) << "950 rows in 10 groups";
  EXPECT_EQ(statistics_->rows_per_value(1, 2), 1u);
  const auto stored = catalog_.statistics(table_->indexes[1].id);
  ASSERT_TRUE(stored.has_value());
  EXPECT_EQ(stored->entries, 950u);
  EXPECT_EQ(stored->distinct_prefixes, (std::vector<std::uint64_t>{10, 950}));
  EXPECT_EQ(opened().rows_per_value(1, 1), 95u) << "also after the table was opened again";
}

TEST_F(TableStatisticsTest, AnAnalysisOfAnEmptyIndexIsFine) {
  opened();
  EXPECT_EQ(must(statistics_->analyze(1, 2, common_parts, never)), 0u);
  EXPECT_EQ(statistics_->rows_per_value(1, 1), 1u);
}

// In files, whose entries are counted. RocksDB estimates those of memtables by chance, and now and
// then so roughly that the analysis does not seem to fit.
TEST_F(TableStatisticsTest, AnAnalyzedTableKnowsItsRowsExactly) {
  insert(0, 5000);
  must(database_->flush());
  opened();
  changes_->add(123);
  changes_->commit(123);
  EXPECT_EQ(must(statistics_->analyze(0, 2, common_parts, never)), 5000u);
  EXPECT_EQ(statistics_->size().rows, 5000u);
  EXPECT_EQ(opened().size().rows, 5000u) << "also after the table was opened again";
}

TEST_F(TableStatisticsTest, AnAnalysisThatDoesNotFitTheRowsIsNotBelieved) {
  insert(0, 1000);
  insert(0, 1000, 1);
  opened();
  must(statistics_->analyze(
      1, 2, [](auto, auto) { return std::size_t{1}; }, never));
  EXPECT_EQ(statistics_->rows_per_value(1, 1), 1000u) << "it counted a single value";
  insert(1000, 2000);
  insert(1000, 2000, 1);
  EXPECT_EQ(opened().rows_per_value(1, 1), 100u);
}

TEST_F(TableStatisticsTest, ValuesInMemtablesAreJudgedBySomeOfThem) {
  insert(0, 20'000);
  insert(0, 20'000, 1);
  EXPECT_NEAR(static_cast<double>(opened().rows_per_value(1, 1)), 100, 25);
  EXPECT_EQ(statistics_->rows_per_value(1, 2), 1u);
}

TEST_F(TableStatisticsTest, ACountThatFilesContradictIsMovedToWhatTheyAllow) {
  static std::int64_t now_us = 0;
  insert(0, 5000);
  must(database_->flush());
  statistics_ = std::make_unique<TableStatistics>(*database_, catalog_, &key_layouts_, table_,
                                                  changes_, [] { return now_us; });
  changes_->add(1'000'000);
  changes_->commit(1'000'000);
  EXPECT_EQ(statistics_->size().rows, 1'005'000u);
  insert(5000, 5100);
  must(database_->flush());
  EXPECT_EQ(statistics_->size().rows, 1'005'000u) << "no refresh is due";
  now_us += 1'100'000;
  // Overlap is possible as far as anybody knows: two files, each with an error of a twentieth.
  EXPECT_NEAR(static_cast<double>(statistics_->size().rows), 5100, 260);
}

TEST_F(TableStatisticsTest, AnInterruptedAnalysisStoresNothing) {
  insert(0, 3000, 1);
  opened();
  EXPECT_TRUE(fails_with(ErrorCode::kInterrupted,
                         statistics_->analyze(1, 2, common_parts, [] { return true; })));
  EXPECT_FALSE(catalog_.statistics(table_->indexes[1].id).has_value());
}

TEST_F(TableStatisticsTest, WholeUniqueValuesBelongToOneRow) {
  insert(0, 1000);
  EXPECT_EQ(opened().rows_per_value(0, 1), 1u);
}

TEST_F(TableStatisticsTest, UnanalyzedValuesAreGuessedBetweenOneAndTheTable) {
  insert(0, 1000, 1);
  insert(0, 1000);
  opened();
  EXPECT_GT(statistics_->rows_per_value(1, 1), 1u);
  EXPECT_LE(statistics_->rows_per_value(1, 1), 1000u);
  EXPECT_EQ(statistics_->rows_per_value(1, 2), 1u) << "with the whole primary key";
}

}  // namespace
}  // namespace basalt::stats
