#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/test_support.h"
#include "kv/test_directory.h"
#include "stats/key_layouts.h"
#include "stats/table_statistics.h"

// Goal: what the optimizer is told of rows, values and ranges is right within a factor that plans
// can be built on, for data of many shapes and in every state: in memtables, in files that
// overlap, updated, deleted, compacted, after a crash. Method: random data with its truth beside
// it, and hundreds of random ranges over each.
namespace basalt::stats {
namespace {

using basalt::test::must;

constexpr std::uint32_t kRows = 40'000;

struct Shape {
  const char* name;
  std::uint32_t value_bytes;
  bool descending;
  // The first part of row `i` of `kRows`.
  std::uint32_t (*group)(std::uint32_t i, std::mt19937& random);
};

std::uint32_t one_per_row(std::uint32_t i, std::mt19937&) { return i; }
std::uint32_t evenly(std::uint32_t, std::mt19937& random) { return random() % 2000; }
std::uint32_t sparsely(std::uint32_t, std::mt19937& random) { return random() * 3u; }
// Half of all rows in one group, a quarter in the next, and so on; and a few far away.
std::uint32_t skewed(std::uint32_t, std::mt19937& random) {
  const auto zeros = static_cast<std::uint32_t>(__builtin_ctz(random() | 1u << 20));
  return zeros * 1000 + (random() % 50 == 0 ? random() % 1'000'000 : 0);
}

const Shape kShapes[] = {
    {"sequential_narrow", 4, false, one_per_row},
    {"sequential_wide", 400, false, one_per_row},
    {"groups_narrow", 0, false, evenly},
    {"groups_descending", 20, true, evenly},
    {"sparse", 60, false, sparsely},
    {"skewed_narrow", 0, false, skewed},
    {"skewed_descending_wide", 200, true, skewed},
};

// Compresses to about a half.
std::string text(std::uint32_t seed, std::size_t size) {
  std::string value(size, 'x');
  std::uint32_t state = seed * 2654435761u + 1;
  for (std::size_t i = 0; i < size; i += 2) {
    state = state * 1664525u + 1013904223u;
    value[i] = static_cast<char>(state >> 24);
  }
  return value;
}

// A table with a primary key of two parts (g, id).
class RangeEstimateTest : public testing::TestWithParam<Shape> {
 protected:
  RangeEstimateTest() {
    must(catalog_->load());
    catalog::TableDefinition definition;
    definition.name = "test/t";
    definition.columns = {{"g", codec::ColumnKind::kUnsignedInteger, 4, 0, false, true},
                          {"id", codec::ColumnKind::kUnsignedInteger, 4, 0, false, true}};
    definition.indexes = {
        {"PRIMARY", 0, 0, true, {{0, 0, GetParam().descending, 4}, {1, 0, false, 4}}}};
    table_ = must(catalog_->create(definition));
    database_->set_key_structures(key_layouts_.get());
    std::mt19937 random(7);
    for (std::uint32_t i = 0; i < kRows; ++i) {
      const std::uint32_t group = GetParam().group(i, random);
      keys_.push_back(key(GetParam().descending ? ~group : group, i));
    }
    sorted_ = keys_;
    std::sort(sorted_.begin(), sorted_.end());
  }
  ~RangeEstimateTest() override {
    if (database_ != nullptr) database_->set_key_structures(nullptr);
  }

  std::string key(std::uint32_t group, std::uint32_t id) const {
    std::string key;
    append_be32(key, table_->indexes[0].id);
    append_be32(key, group);
    append_be32(key, id);
    return key;
  }
  void open() {
    statistics_ = std::make_unique<TableStatistics>(*database_, *catalog_, key_layouts_.get(),
                                                    table_, changes_);
  }
  // Puts the rows of keys_[from..to) that `chosen` picks, and tells how many there are.
  template <typename Chosen>
  std::uint32_t write(std::uint32_t from, std::uint32_t to, bool is_put, Chosen chosen) {
    kv::WriteBatch batch;
    std::uint32_t written = 0;
    for (std::uint32_t i = from; i < to; ++i) {
      if (!chosen(i)) continue;
      ++written;
      if (is_put) {
        batch.put(kv::kDefaultFamily, keys_[i], text(i, GetParam().value_bytes));
      } else {
        batch.remove(kv::kDefaultFamily, keys_[i]);
      }
    }
    must(database_->write(batch, kv::Durability::kBuffered));
    return written;
  }
  void insert_all() {
    write(0, kRows, true, [](std::uint32_t) { return true; });
  }
  template <typename Chosen>
  void remove(Chosen chosen) {
    has_removed_ = true;
    write(0, kRows, false, chosen);
    std::vector<std::string> left;
    for (std::uint32_t i = 0; i < kRows; ++i) {
      if (!chosen(i)) left.push_back(keys_[i]);
    }
    sorted_ = std::move(left);
    std::sort(sorted_.begin(), sorted_.end());
  }
  void compact() {
    const KeyRange range = index_key_range(table_->indexes[0].id);
    must(database_->compact(kv::kDefaultFamily, range));
    has_removed_ = false;
  }

  // The rows that the statistics see when the table is opened now.
  double row_error() {
    open();
    return static_cast<double>(statistics_->size().rows) / static_cast<double>(sorted_.size());
  }
  // Random ranges from one row to all, as many short ones as long ones: all of up to 64 entries
  // are exact, and nearly all others right within a factor of two.
  void expect_good_ranges(const char* state, double off_allowed = 0.01, double worst_allowed = 4) {
    constexpr std::uint32_t kRanges = 400;
    std::mt19937 random(11);
    std::uint32_t off = 0;
    double worst = 1;
    for (std::uint32_t i = 0; i < kRanges; ++i) {
      const double exponent = static_cast<double>(random() % 1000) / 1000.0;
      const auto size = std::min(
          static_cast<std::size_t>(std::pow(static_cast<double>(sorted_.size()), exponent)),
          sorted_.size() - 1);
      const std::size_t from = random() % (sorted_.size() - size);
      const std::uint64_t estimate =
          must(statistics_->entries_in_range(0, {sorted_[from], sorted_[from + size]}));
      EXPECT_GT(estimate, 0u);
      // Where many removed entries are in the way, counting gives up.
      if (size <= 64 && !has_removed_) {
        EXPECT_EQ(estimate, size) << state;
      }
      const double ratio = static_cast<double>(estimate) / static_cast<double>(size);
      const double factor = std::max(ratio, 1 / ratio);
      worst = std::max(worst, factor);
      if (factor > 2) ++off;
    }
    EXPECT_LE(off, off_allowed * kRanges) << state << ", the worst by " << worst;
    EXPECT_LE(worst, worst_allowed) << state;
  }

  kv::test::TestDirectory directory_;
  std::unique_ptr<kv::Database> database_ = kv::test::open_database(directory_ / "db");
  std::unique_ptr<catalog::Catalog> catalog_ = std::make_unique<catalog::Catalog>(*database_);
  std::unique_ptr<KeyLayouts> key_layouts_ = std::make_unique<KeyLayouts>(*catalog_, nullptr);
  catalog::TablePointer table_;
  const std::shared_ptr<ChangedRows> changes_ = std::make_shared<ChangedRows>();
  std::unique_ptr<TableStatistics> statistics_;
  std::vector<std::string> keys_;    // by id
  std::vector<std::string> sorted_;  // of the rows that exist
  bool has_removed_ = false;         // and not yet compacted
};

TEST_P(RangeEstimateTest, DataInMemtablesAlone) {
  insert_all();
  // RocksDB's own estimate, which is random: the deviation is a fifth, of small samples.
  EXPECT_NEAR(row_error(), 1, 0.7);
  expect_good_ranges("memtables", 0.05, 20);
}

TEST_P(RangeEstimateTest, DataInOneFile) {
  insert_all();
  must(database_->flush());
  EXPECT_NEAR(row_error(), 1, 0.0001);
  expect_good_ranges("one file");
}

TEST_P(RangeEstimateTest, DataInFilesThatOverlap) {
  for (std::uint32_t file = 0; file < 3; ++file) {
    write(0, kRows, true, [file](std::uint32_t i) { return i % 3 == file; });
    must(database_->flush());
  }
  EXPECT_NEAR(row_error(), 1, 0.1);
  expect_good_ranges("overlapping files");
}

TEST_P(RangeEstimateTest, RowsThatWereUpdatedOrDeleted) {
  insert_all();
  must(database_->flush());
  compact();
  std::mt19937 random(5);
  write(0, kRows, true, [&](std::uint32_t) { return random() % 10 < 3; });
  must(database_->flush());
  EXPECT_NEAR(row_error(), 1, 0.1);
  expect_good_ranges("30 % updated");
  remove([](std::uint32_t i) { return i % 4 == 0 || (i > kRows / 2 && i < kRows * 3 / 4); });
  must(database_->flush());
  EXPECT_NEAR(row_error(), 1, 0.1);
  expect_good_ranges("44 % deleted", 0.01, 20);
  compact();
  EXPECT_NEAR(row_error(), 1, 0.0001);
  expect_good_ranges("compacted");
}

TEST_P(RangeEstimateTest, AHotRangeIsUpdatedAgainAndAgain) {
  insert_all();
  must(database_->flush());
  for (int i = 0; i < 3; ++i) {
    write(kRows / 4, kRows / 2, true, [](std::uint32_t) { return true; });
    must(database_->flush());
  }
  EXPECT_NEAR(row_error(), 1, 0.1);
  expect_good_ranges("hot range");
}

TEST_P(RangeEstimateTest, RowsThatStatementsChangeAfterTheFilesWereRead) {
  insert_all();
  must(database_->flush());
  compact();
  open();
  remove([](std::uint32_t i) { return i % 2 == 0; });
  changes_->add(-static_cast<std::int64_t>(kRows / 2));
  changes_->commit(-static_cast<std::int64_t>(kRows / 2));
  EXPECT_EQ(statistics_->size().rows, sorted_.size());
  expect_good_ranges("half deleted in memory", 0.25, 20);
}

TEST_P(RangeEstimateTest, MassDeletionsAreKnownWhenTheTableIsOpened) {
  insert_all();
  must(database_->flush());
  compact();
  remove([](std::uint32_t i) { return i % 20 != 0; });
  must(database_->flush());
  EXPECT_NEAR(row_error(), 1, 0.35) << "few samples are left";
  compact();
  EXPECT_NEAR(row_error(), 1, 0.0001);
}

TEST_P(RangeEstimateTest, RowsAreKnownAfterACrash) {
  write(0, kRows / 2, true, [](std::uint32_t) { return true; });
  must(database_->flush());
  write(kRows / 2, kRows, true, [](std::uint32_t) { return true; });
  kv::test::TestDirectory crashed;
  kv::test::copy_crash_image(directory_ / "db", crashed / "db");
  statistics_.reset();
  database_->set_key_structures(nullptr);
  catalog_.reset();
  key_layouts_.reset();
  database_ = kv::test::open_database(crashed / "db");
  catalog_ = std::make_unique<catalog::Catalog>(*database_);
  must(catalog_->load());
  key_layouts_ = std::make_unique<KeyLayouts>(*catalog_, nullptr);
  database_->set_key_structures(key_layouts_.get());
  EXPECT_NEAR(row_error(), 1, 0.1);
  EXPECT_EQ(statistics_->rows_per_value(0, 2), 1u);
  expect_good_ranges("after a crash");
  statistics_.reset();
  database_->set_key_structures(nullptr);
  database_.reset();
}

INSTANTIATE_TEST_SUITE_P(Shapes, RangeEstimateTest, testing::ValuesIn(kShapes),
                         [](const auto& shape) { return std::string(shape.param.name); });

}  // namespace
}  // namespace basalt::stats
