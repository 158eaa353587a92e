#include "txn/changed_tables.h"

#include <array>
#include <chrono>
#include <memory>
#include <random>
#include <vector>

#include "base/test_support.h"

// Goal: a table has what a transaction has left of its changes, counted at once, committed once,
// and taken back exactly where a rollback undoes them. Method: random changes of a few tables and
// random marks, beside a stack of what each table had.
namespace basalt::txn {
namespace {

using Table = std::shared_ptr<TableChanges>;

Table new_table() { return std::make_shared<TableChanges>(); }

TEST(ChangedTablesTest, RowsCountAtOnceAndAreCommittedWithTheTransaction) {
  const Table table = new_table();
  ChangedTables changed;
  changed.note(table, 1);
  changed.note(table, 1);
  changed.note(table, -1);
  EXPECT_EQ(table->rows.all(), 1);
  EXPECT_EQ(table->rows.committed(), 0);
  changed.commit();
  EXPECT_EQ(table->rows.all(), 1);
  EXPECT_EQ(table->rows.committed(), 1);
  changed.roll_back();
  EXPECT_EQ(table->rows.all(), 1) << "what is committed is not undone";
  changed.commit();
  EXPECT_EQ(table->rows.committed(), 1) << "nor committed again";
}

TEST(ChangedTablesTest, ARollbackTakesBackWhatOthersDidNotDo) {
  const Table table = new_table();
  ChangedTables a;
  ChangedTables b;
  a.note(table, 100);
  b.note(table, -3);
  a.roll_back();
  EXPECT_EQ(table->rows.all(), -3);
  b.commit();
  EXPECT_EQ(table->rows.committed(), -3);
}

TEST(ChangedTablesTest, OnlyACommitOfChangesSetsTheTime) {
  const Table undone = new_table();
  const Table updated = new_table();
  const Table untouched = new_table();
  ChangedTables changed;
  changed.note(updated, 0);
  changed.push_mark();
  changed.note(undone, 1);
  changed.roll_back_to_mark();
  EXPECT_EQ(updated->time, 0);
  changed.commit();
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::int64_t seconds = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  EXPECT_GT(updated->time, 0);
  EXPECT_LE(updated->time, seconds);
  EXPECT_EQ(undone->time, 0);
  EXPECT_EQ(untouched->time, 0);
}

TEST(ChangedTablesTest, MarksOutliveACommitAndHaveNothingBelowThemThen) {
  const Table table = new_table();
  ChangedTables changed;
  changed.note(table, 1);
  changed.push_mark();
  changed.note(table, 2);
  changed.commit();
  changed.note(table, 4);
  changed.roll_back_to_mark();
  EXPECT_EQ(table->rows.all(), 3);
  EXPECT_EQ(table->rows.committed(), 3);
}

TEST(ChangedTablesTest, ATableMayGoBeforeTheTransactionEnds) {
  const Table table = new_table();
  const std::weak_ptr<TableChanges> watched = table;
  ChangedTables changed;
  {
    const Table dropped = new_table();
    changed.note(dropped, 7);
  }
  changed.note(table, 1);
  changed.roll_back();
  EXPECT_EQ(table->rows.all(), 0);
  EXPECT_EQ(watched.use_count(), 1) << "an ended transaction holds no table";
}

constexpr std::size_t kTables = 5;
using Counts = std::array<std::int64_t, kTables>;

TEST(ChangedTablesTest, AnyHistoryLeavesEachTableWithWhatWasNotUndone) {
  std::mt19937 random(basalt::test::seed());
  const auto pick = [&](std::size_t choices) { return random() % choices; };
  std::array<Table, kTables> tables;
  for (Table& table : tables) table = new_table();
  ChangedTables changed;
  struct Totals {
    Counts rows{};
    std::array<std::uint64_t, kTables> updates{};
  };
  Totals committed;
  Totals all;
  std::vector<Totals> marks;
  for (int step = 0; step < 200'000; ++step) {
    const std::size_t kind = pick(40);
    if (kind < 6 && marks.size() < 12) {
      changed.push_mark();
      marks.push_back(all);
    } else if (kind < 9 && !marks.empty()) {
      changed.pop_mark();
      marks.pop_back();
    } else if (kind < 12 && !marks.empty()) {
      changed.roll_back_to_mark();
      all = marks.back();
      marks.pop_back();
    } else if (kind == 12) {
      changed.commit();
      committed = all;
      // Nobody returns to before a commit.
      for (Totals& mark : marks) mark = all;
    } else if (kind == 13) {
      changed.roll_back();
      all = committed;
      marks.clear();
    } else {
      const std::size_t table = pick(kTables);
      const auto rows = static_cast<std::int64_t>(pick(5)) - 2;
      changed.note(tables[table], rows);
      all.rows[table] += rows;
      if (rows == 0) ++all.updates[table];
    }
    for (std::size_t i = 0; i < kTables; ++i) {
      ASSERT_EQ(tables[i]->rows.all(), all.rows[i]) << "step " << step << ", table " << i;
      ASSERT_EQ(tables[i]->rows.committed(), committed.rows[i]) << "step " << step << ", " << i;
      ASSERT_EQ(tables[i]->rows.updates(), committed.updates[i]) << "step " << step << ", " << i;
    }
  }
}

}  // namespace
}  // namespace basalt::txn
