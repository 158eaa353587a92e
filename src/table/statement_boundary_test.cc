#include "table/statement_boundary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include "table/test_support.h"

// Goal: a scan meets each row once, whatever its own transaction writes or takes back meanwhile.
namespace basalt::table {
namespace {

using basalt::test::must;
using test::Row;

enum class Own : std::uint8_t { kNothing, kSomeRows, kAllRows };
enum class Way : std::uint8_t { kForward, kBackward };

Row row_of(int number) {
  Row row;
  row.id = number;
  row.email = "e" + std::to_string(1000 + number);
  row.city = "rome";
  row.amount = -number;  // the index's order is the opposite
  row.code = static_cast<std::uint32_t>(1000 + number);
  return row;
}

// The same row with every key ahead of all others.
Row moved(const Row& row, Way way) {
  return row_of(way == Way::kForward ? row.id + 100 : row.id - 100);
}

class StatementBoundaryTest
    : public testing::TestWithParam<std::tuple<std::size_t, Way, Own, bool>> {
 protected:
  static constexpr int kRows = 40;

  StatementBoundaryTest() {
    const Own own = std::get<2>(GetParam());
    for (int i = 1; i <= kRows; ++i) {
      const bool is_own = own == Own::kAllRows || (own == Own::kSomeRows && i % 3 == 0);
      test::Session& writer = is_own ? session_ : other_;
      must(writer.insert(row_of(i)));
    }
    other_.commit();
    session_.transaction().end_statement();
    session_.transaction().begin_statement(txn::IsolationLevel::kRepeatableRead);
  }

  std::size_t index() const { return std::get<0>(GetParam()); }
  Way way() const { return std::get<1>(GetParam()); }

  void open() {
    ReadSettings settings;
    if (std::get<3>(GetParam())) {
      settings = LockingRead{.wait = {.may_wait = false}, .locks_gaps = true};
    }
    cursor_.open(session_.transaction(), index(), settings, codec::ColumnSet(test::kColumns, true),
                 false);
  }
  bool move() {
    bool found = false;
    if (is_first_) {
      must(way() == Way::kForward ? cursor_.seek_first(record_.data(), found)
                                  : cursor_.seek_last(record_.data(), found));
    } else {
      must(way() == Way::kForward ? cursor_.next(record_.data(), found)
                                  : cursor_.previous(record_.data(), found));
    }
    is_first_ = false;
    return found;
  }
  // What the scan meets if `visit` is called at each row; it ends at three times as many as there
  // are.
  template <typename Visit>
  std::vector<int> scan(Visit visit) {
    std::vector<int> ids;
    open();
    while (ids.size() < 3 * kRows && move()) {
      const Row row = record_.row();
      ids.push_back(row.id);
      visit(row);
    }
    std::sort(ids.begin(), ids.end());
    return ids;
  }
  static std::vector<int> all() {
    std::vector<int> ids;
    for (int i = 1; i <= kRows; ++i) ids.push_back(i);
    return ids;
  }
  // What a function called within the statement may do.
  void write_and_take_back(int number) {
    txn::Transaction& transaction = session_.transaction();
    const std::size_t savepoint = transaction.set_savepoint();
    must(session_.insert(row_of(1000 + number)));
    must(session_.insert(row_of(-1000 - number)));
    must(transaction.rollback_to_savepoint(savepoint));
    must(transaction.release_savepoints_from(savepoint));
  }

  test::Store store_{test::Keys::kId};
  test::Session session_{store_};
  test::Session other_{store_};
  test::Record record_;
  Cursor cursor_{store_.table()};
  bool is_first_ = true;
};

INSTANTIATE_TEST_SUITE_P(
    All, StatementBoundaryTest,
    testing::Combine(testing::Values(test::kPrimary, test::kByCity, test::kByCode, test::kByAmount),
                     testing::Values(Way::kForward, Way::kBackward),
                     testing::Values(Own::kNothing, Own::kSomeRows, Own::kAllRows),
                     testing::Bool()));

TEST_P(StatementBoundaryTest, ARowThatMovesAheadOfTheScanIsNotMetAgain) {
  const Way ahead = index() == test::kByAmount
                        ? (way() == Way::kForward ? Way::kBackward : Way::kForward)
                        : way();
  EXPECT_EQ(scan([&](const Row& row) { must(session_.update(row, moved(row, ahead))); }), all());
}

TEST_P(StatementBoundaryTest, ARowThatIsInsertedAheadOfTheScanIsNotMet) {
  EXPECT_EQ(scan([&](const Row& row) {
              must(session_.insert(row_of(row.id + 100)));
              must(session_.insert(row_of(row.id - 100)));
            }),
            all());
}

TEST_P(StatementBoundaryTest, TheNextScanMeetsWhatWasWrittenDuringTheOneBefore) {
  scan([&](const Row& row) { must(session_.insert(row_of(row.id + 100))); });
  is_first_ = true;
  EXPECT_EQ(scan([](const Row&) {}).size(), std::size_t{2 * kRows});
}

TEST_P(StatementBoundaryTest, ChangesThatAreTakenBackLeaveTheScanAtItsPlace) {
  EXPECT_EQ(scan([&](const Row& row) { write_and_take_back(row.id); }), all());
}

TEST_P(StatementBoundaryTest, RowsThatMoveBesideChangesThatAreTakenBackAreMetOnce) {
  EXPECT_EQ(scan([&](const Row& row) {
              must(session_.update(row, moved(row, Way::kForward)));
              write_and_take_back(row.id);
            }),
            all());
  must(session_.transaction().rollback_statement());
  is_first_ = true;
  session_.transaction().begin_statement(txn::IsolationLevel::kRepeatableRead);
  EXPECT_EQ(scan([](const Row&) {}), all());
}

TEST_P(StatementBoundaryTest, ATurnAfterChangesWereTakenBackLeadsToTheNeighbour) {
  open();
  ASSERT_TRUE(move());
  ASSERT_TRUE(move());
  const Row second = record_.row();
  ASSERT_TRUE(move());
  write_and_take_back(1);
  bool found = false;
  must(way() == Way::kForward ? cursor_.previous(record_.data(), found)
                              : cursor_.next(record_.data(), found));
  ASSERT_TRUE(found);
  EXPECT_EQ(record_.row().id, second.id);
}

TEST_P(StatementBoundaryTest, ARowWhoseEntriesGetOtherValuesAheadOfTheScanIsMet) {
  const auto capitals = [](Row row) {
    row.city = "ROME";  // the same key, another value
    return row;
  };
  std::vector<int> changed;
  const std::vector<int> ids = scan([&](const Row& row) {
    if (!changed.empty()) return;
    for (int i = 1; i <= kRows; ++i) {
      if (i == row.id) continue;
      must(session_.update(row_of(i), capitals(row_of(i))));
      changed.push_back(i);
    }
  });
  EXPECT_EQ(ids, all());
}

// In unique indexes, where a row is found by its key.
class StatementBoundaryWithLookupTest : public StatementBoundaryTest {};

INSTANTIATE_TEST_SUITE_P(All, StatementBoundaryWithLookupTest,
                         testing::Combine(testing::Values(test::kPrimary, test::kByCode),
                                          testing::Values(Way::kForward, Way::kBackward),
                                          testing::Values(Own::kNothing, Own::kSomeRows,
                                                          Own::kAllRows),
                                          testing::Bool()));

TEST_P(StatementBoundaryWithLookupTest, AMoveAfterALookupGoesOnBehindItAlsoIfChangesWereTakenBack) {
  open();
  ASSERT_TRUE(move());
  write_and_take_back(1);
  const test::Record sought(row_of(20));
  std::string key;
  if (index() == test::kPrimary) {
    store_.table().primary().make_key(sought.data(), 0, key);
  } else {
    store_.table().secondary(index()).make_unique_prefix(sought.data(), key);
  }
  bool found = false;
  must(cursor_.find_unique(key, record_.data(), found));
  ASSERT_TRUE(found);
  ASSERT_TRUE(move());
  EXPECT_EQ(record_.row().id, way() == Way::kForward ? 21 : 19);
}

TEST_P(StatementBoundaryTest, TheNextTransactionDoesNotTellAScanThatWasLeftOpen) {
  open();
  ASSERT_TRUE(move());
  session_.commit();
  must(session_.insert(row_of(500)));
  session_.rollback();
  session_.take_transaction().reset();
  cursor_.close();
}

TEST(StatementBoundary, HidesNewKeysOfItsIndexUntilItIsCleared) {
  const std::string own("\0\0\1\1key", 7);
  const std::string foreign("\0\0\1\2key", 7);
  StatementBoundary boundary;
  boundary.note_new_key(own, 257);
  boundary.note_new_key(foreign, 257);
  EXPECT_TRUE(boundary.hides(own));
  EXPECT_FALSE(boundary.hides(foreign));
  boundary.clear();
  EXPECT_FALSE(boundary.hides(own));
}

TEST(StatementBoundary, NotesNothingAtTheEndOfTheRange) {
  const std::string key("\0\0\1\1key", 7);
  StatementBoundary boundary;
  boundary.set_at_end(true);
  boundary.note_new_key(key, 257);
  EXPECT_TRUE(boundary.hides_nothing());
  boundary.set_at_end(false);
  boundary.note_new_key(key, 257);
  EXPECT_TRUE(boundary.hides(key));
}

}  // namespace
}  // namespace basalt::table
