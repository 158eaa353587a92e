#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/test_support.h"
#include "kv/test_batch.h"
#include "kv/test_directory.h"
#include "stats/key_layouts.h"
#include "stats/table_statistics.h"

// Goal: every figure that the optimizer and information_schema get is right within a factor of two
// in every state of the data, at once after a statement and without ANALYZE: rows, rows per value
// of every prefix of every index, sizes, ranges. Method: a table with three indexes, the truth
// beside it, and every state with every distribution of values. The clock stands still but for what
// the time rule of a refresh needs, so that nothing is right only because a second has passed.
namespace basalt::stats {
namespace {

using basalt::test::must;

constexpr std::uint32_t kRows = 20'000;

struct Row {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
};

struct Distribution {
  const char* name;
  Row (*make)(std::uint32_t id);
};

std::uint32_t mixed(std::uint32_t id) { return id * 2654435761u; }

const Distribution kDistributions[] = {
    {"few_values",
     [](std::uint32_t id) {
       return Row{id % 100, id % 7};
     }},
    {"many_values",
     [](std::uint32_t id) {
       return Row{mixed(id) % 5000, id / 3};
     }},
    {"one_value_is_half",
     [](std::uint32_t id) {
       return Row{id % 2 == 0 ? 0 : 1 + mixed(id) % 1000, id % 2 == 0 ? 7 : id};
     }},
    {"one_value_is_all",
     [](std::uint32_t) {
       return Row{5, 5};
     }},
    {"groups_of_many_sizes",
     [](std::uint32_t id) {
       return Row{static_cast<std::uint32_t>(__builtin_ctz(mixed(id) >> 4 | 1u << 20)) * 100 +
                      (id % 50 == 0 ? id : 0),
                  id % 1000};
     }},
};

// (id) with indexes (a, b) and (b).
catalog::TableDefinition definition() {
  catalog::TableDefinition table;
  table.name = "test/t";
  table.columns = {{"id", codec::ColumnKind::kUnsignedInteger, 4, 0, false, true},
                   {"a", codec::ColumnKind::kUnsignedInteger, 4, 0, false, true},
                   {"b", codec::ColumnKind::kUnsignedInteger, 4, 0, false, true}};
  table.indexes = {{"PRIMARY", 0, 0, true, {{0, 0, false, 4}}},
                   {"ab", 0, 0, false, {{1, 0, false, 4}, {2, 0, false, 4}}},
                   {"b", 0, 0, false, {{2, 0, false, 4}}}};
  return table;
}

class EstimatesTest : public testing::TestWithParam<Distribution> {
 protected:
  EstimatesTest() {
    must(catalog_.load());
    table_ = must(catalog_.create(definition()));
    database_->set_key_structures(&key_layouts_);
    open();
  }
  ~EstimatesTest() override { database_->set_key_structures(nullptr); }

  void open() {
    statistics_ = std::make_unique<TableStatistics>(
        *database_, catalog_, &key_layouts_, table_, changes_, [] { return now_us; },
        [] { return std::int64_t{0}; });
  }
  std::string key(std::size_t index, std::uint32_t id, const Row& row) const {
    std::string key;
    append_be32(key, table_->indexes[index].id);
    if (index == 1) append_be32(key, row.a);
    if (index != 0) append_be32(key, row.b);
    append_be32(key, id);
    return key;
  }
  void note_rows(std::int64_t rows) {
    changes_->add(rows);
    changed_rows_ += rows;
  }
  // Statements: each is a commit and what the engine notes of it.
  void insert(std::uint32_t from, std::uint32_t to) {
    change(from, to, [&](kv::test::Batch& batch, std::uint32_t id) {
      if (rows_.contains(id)) return;
      const Row row = GetParam().make(id);
      put(batch, id, row);
      rows_[id] = row;
      note_rows(1);
    });
  }
  void remove(const std::function<bool(std::uint32_t)>& chosen) {
    change(0, kRows, [&](kv::test::Batch& batch, std::uint32_t id) {
      if (!rows_.contains(id) || !chosen(id)) return;
      batch.remove(key(0, id, rows_[id]));
      remove_entries(batch, id, rows_[id]);
      rows_.erase(id);
      note_rows(-1);
    });
  }
  void update(const std::function<Row(std::uint32_t, const Row&)>& updated) {
    change(0, kRows, [&](kv::test::Batch& batch, std::uint32_t id) {
      if (!rows_.contains(id)) return;
      Row& row = rows_[id];
      remove_entries(batch, id, row);
      row = updated(id, row);
      put(batch, id, row);
      ++updated_rows_;
    });
  }
  void flush() {
    must(database_->flush());
    now_us += 1'100'000;  // nobody tells of files but a refresh
  }
  void compact() {
    for (std::size_t i = 0; i < 3; ++i) {
      const KeyRange range = index_key_range(table_->indexes[i].id);
      must(database_->compact(kv::kDefaultFamily, range));
    }
    now_us += 1'100'000;
  }

  // `factor`: of rows per value and of ranges. Where thousands of removed entries lie beside
  // thousands that exist, some entries all over the index tell less.
  static constexpr double kAmongRemoved = 6;
  void expect_good(const std::string& state, double factor = 2) {
    // Not yet time for a refresh that comes anyway.
    now_us += 900'000;
    const testing::ScopedTrace trace(__FILE__, __LINE__, state);
    // Some of the rows that are deleted in files are still counted until the next compaction.
    const auto rows = static_cast<double>(statistics_->size().rows);
    EXPECT_NEAR(rows, static_cast<double>(rows_.size()),
                static_cast<double>(rows_.size()) / 2 + kRows / 500);
    if (rows_.size() < 64) return;  // nobody waits for so few changes
    for (std::size_t i = 0; i < 3; ++i) {
      expect_good_values(i, factor);
      expect_good_ranges(i, factor);
    }
  }

  static void expect_near(double estimate, double truth, const std::string& what,
                          double factor = 2) {
    EXPECT_LE(estimate, factor * truth + 1) << what;
    EXPECT_GE(estimate, truth / factor - 1) << what;
  }

  void expect_good_values(std::size_t index, double factor) {
    for (std::size_t parts = 1; parts <= (index == 0 ? 1u : index == 1 ? 3u : 2u); ++parts) {
      std::set<std::string> values;
      for (const auto& [id, row] : rows_) {
        values.insert(key(index, id, row).substr(0, 4 + 4 * parts));
      }
      const double truth = static_cast<double>(rows_.size()) /
                           static_cast<double>(std::max<std::size_t>(values.size(), 1));
      expect_near(static_cast<double>(statistics_->rows_per_value(index, parts)), truth,
                  "index " + std::to_string(index) + ", parts " + std::to_string(parts) + " of " +
                      std::to_string(values.size()) + " values",
                  factor);
    }
  }

  void expect_good_ranges(std::size_t index, double factor) {
    constexpr std::uint32_t kRanges = 40;
    std::vector<std::string> keys;
    for (const auto& [id, row] : rows_) keys.push_back(key(index, id, row));
    std::sort(keys.begin(), keys.end());
    std::mt19937 random(11);
    std::uint32_t off = 0;
    std::string worst;
    for (std::uint32_t i = 0; i < kRanges && keys.size() > 1; ++i) {
      const std::size_t size = 1 + random() % (keys.size() - 1);
      const std::size_t from = random() % (keys.size() - size);
      const auto estimate = static_cast<double>(
          must(statistics_->entries_in_range(index, {keys[from], keys[from + size]})));
      const auto truth = static_cast<double>(size);
      if (estimate > factor * truth + 1 || estimate < truth / factor - 1) {
        ++off;
        worst += " " + std::to_string(estimate) + " for " + std::to_string(size) + ";";
      }
    }
    EXPECT_LE(off, kRanges / 20) << "ranges of index " << index << ":" << worst;
  }

  // At the table before a change is committed.
  bool others_look_ = false;
  static inline std::int64_t now_us = 1;
  kv::test::TestDirectory directory_;
  std::unique_ptr<kv::Database> database_ = kv::test::open_database(directory_ / "db");
  catalog::Catalog catalog_{*database_};
  KeyLayouts key_layouts_{catalog_, nullptr};
  catalog::TablePointer table_;
  const std::shared_ptr<ChangedRows> changes_ = std::make_shared<ChangedRows>();
  std::unique_ptr<TableStatistics> statistics_;
  std::map<std::uint32_t, Row> rows_;

 private:
  void put(kv::test::Batch& batch, std::uint32_t id, const Row& row) const {
    std::string value(40, 'v');
    append_be32(value, mixed(id));
    batch.put(key(0, id, row), value);
    for (std::size_t i = 1; i < 3; ++i) batch.put(key(i, id, row), "");
  }
  // As a transaction removes them: so that a flush finds put and removal to cancel out.
  void remove_entries(kv::test::Batch& batch, std::uint32_t id, const Row& row) const {
    for (std::size_t i = 1; i < 3; ++i) batch.remove_single(key(i, id, row));
  }
  template <typename Change>
  void change(std::uint32_t from, std::uint32_t to, Change change_row) {
    kv::test::Batch batch(*database_);
    for (std::uint32_t id = from; id < to; ++id) change_row(batch, id);
    if (others_look_) {
      now_us += 1'100'000;
      statistics_->rows_per_value(1, 1);
    }
    batch.write();
    changes_->commit(std::exchange(changed_rows_, 0), std::exchange(updated_rows_, 0));
  }

  // Not committed.
  std::int64_t changed_rows_ = 0;
  std::uint64_t updated_rows_ = 0;
};

TEST_P(EstimatesTest, AfterALoadOfAnEmptyTable) {
  insert(0, kRows);
  expect_good("in memtables");
  open();
  expect_good("in memtables, opened anew");
  flush();
  expect_good("in a file of level 0");
  compact();
  expect_good("compacted");
}

TEST_P(EstimatesTest, WhileATableGrowsFromNothing) {
  for (const std::uint32_t rows : {10u, 100u, 700u, 2000u, 3000u, 9000u, kRows}) {
    insert(0, rows);
    expect_good(std::to_string(rows) + " rows in memtables");
  }
}

TEST_P(EstimatesTest, OfWhatIsPartlyInMemtables) {
  insert(0, kRows / 2);
  flush();
  insert(kRows / 2, kRows);
  expect_good("half in a file");
  open();
  expect_good("half in a file, opened anew");
  flush();
  expect_good("in two files");
}

TEST_P(EstimatesTest, AfterDeletionsInMemtables) {
  insert(0, kRows);
  remove([](std::uint32_t id) { return id % 3 != 0; });
  expect_good("two thirds deleted", kAmongRemoved);
  remove([](std::uint32_t id) { return id % 30 != 0; });
  expect_good("nearly all deleted", kAmongRemoved);
  flush();
  expect_good("nearly all deleted, in a file");
  remove([](std::uint32_t) { return true; });
  expect_good("empty");
  insert(0, kRows);
  expect_good("filled again");
}

TEST_P(EstimatesTest, AfterDeletionsOfWhatIsInFiles) {
  insert(0, kRows);
  flush();
  remove([](std::uint32_t id) { return id > kRows / 2; });
  expect_good("half deleted in memtables", kAmongRemoved);
  flush();
  expect_good("half deleted in files", kAmongRemoved);
  compact();
  expect_good("half deleted, compacted");
}

TEST_P(EstimatesTest, AfterUpdatesInMemtables) {
  insert(0, kRows);
  expect_good("before");
  update([](std::uint32_t id, const Row& row) { return Row{row.a + 1'000'000, id % 20}; });
  expect_good("once updated", kAmongRemoved);
  for (std::uint32_t i = 0; i < 4; ++i) {
    update([&](std::uint32_t id, const Row& row) {
      return id < kRows / 10 ? Row{row.a + 1, row.b + i} : row;
    });
  }
  expect_good("some rows often updated", kAmongRemoved);
  flush();
  expect_good("updated, in a file", kAmongRemoved);
}

TEST_P(EstimatesTest, AfterUpdatesOfWhatIsInFiles) {
  insert(0, kRows);
  flush();
  compact();
  update([](std::uint32_t id, const Row&) { return Row{3, id % 4}; });
  expect_good("updated in memtables");
  flush();
  expect_good("updated in files");
  update([](std::uint32_t id, const Row&) { return Row{id, id}; });
  expect_good("updated to unique values");
  flush();
  expect_good("updated to unique values in files");
  compact();
  expect_good("compacted");
}

TEST_P(EstimatesTest, AfterCommitsOfWhatWasLookedAtBefore) {
  others_look_ = true;
  insert(0, kRows);
  expect_good("loaded");
  update([](std::uint32_t id, const Row&) { return Row{3, id % 4}; });
  expect_good("updated to few values", kAmongRemoved);
  update([](std::uint32_t id, const Row&) { return Row{id, id}; });
  expect_good("updated to unique values", kAmongRemoved);
  remove([](std::uint32_t id) { return id % 3 != 0; });
  expect_good("two thirds deleted", kAmongRemoved);
}

TEST_P(EstimatesTest, SizesAreThoseOfFilesBeforeThereAreAny) {
  insert(0, kRows);
  now_us += 900'000;
  const TableSize before = statistics_->size();
  flush();
  const TableSize in_file = statistics_->size();
  compact();
  const TableSize compacted = statistics_->size();
  expect_near(static_cast<double>(before.row_bytes), static_cast<double>(in_file.row_bytes),
              "bytes of rows");
  expect_near(static_cast<double>(before.index_bytes), static_cast<double>(in_file.index_bytes),
              "bytes of indexes");
  EXPECT_LE(compacted.row_bytes, before.row_bytes) << "more thoroughly compressed";
  EXPECT_LE(compacted.index_bytes, before.index_bytes);
  EXPECT_GT(before.row_bytes, kRows * 4) << "four bytes of each row do not compress";
}

INSTANTIATE_TEST_SUITE_P(Distributions, EstimatesTest, testing::ValuesIn(kDistributions),
                         [](const auto& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace basalt::stats
