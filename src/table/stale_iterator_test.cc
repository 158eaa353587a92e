#include <cstddef>
#include <string>

#include "table/test_support.h"

// Goal: a scan that locks makes its iterator anew when others have overtaken it, and only then.
namespace basalt::table {
namespace {

using basalt::test::must;
using test::Row;

constexpr int kRows = 100;

Row row_of(int id, const std::string& note = "note") {
  return {id, "e" + std::to_string(id), "city", id, static_cast<std::uint32_t>(id), note};
}

class StaleIteratorTest : public testing::Test {
 protected:
  StaleIteratorTest() {
    for (int id = 1; id <= kRows; ++id) must(others_.insert(row_of(id)));
    others_.commit();
  }

  void open(Cursor& cursor, std::size_t index_number, std::uint32_t stale_rows_max) {
    LockingRead settings{.wait = {.may_wait = false}};
    settings.stale_rows_max = stale_rows_max;
    cursor.open(own_.transaction(), index_number, settings, codec::ColumnSet(test::kColumns, true),
                false);
  }
  // How often the cursor has made an iterator and sought in it.
  static std::uint64_t seeks(Cursor& cursor) {
    cursor.release();
    return cursor.take_read_counts().seeks;
  }

  test::Store store_{test::Keys::kId};
  test::Session own_{store_};
  test::Session others_{store_};
  test::Record record_;
  bool found_ = false;
};

// Rows that others have changed are read once more by their keys, but not all that follow.
TEST_F(StaleIteratorTest, AScanThatOthersOvertakeGoesOnWithAnIteratorMadeAnew) {
  std::string note = "note";
  int changes = 0;
  for (const std::size_t index : {test::kPrimary, test::kByCode}) {
    for (const bool is_forward : {true, false}) {
      Cursor cursor(store_.table());
      open(cursor, index, 7);
      must(is_forward ? cursor.seek_first(record_.data(), found_)
                      : cursor.seek_last(record_.data(), found_));
      const std::string changed = "changed " + std::to_string(++changes);
      for (int id = 2; id < kRows; ++id)
        must(others_.update(row_of(id, note), row_of(id, changed)));
      others_.commit();
      note = changed;
      for (int i = 2; i < kRows; ++i) {
        must(is_forward ? cursor.next(record_.data(), found_)
                        : cursor.previous(record_.data(), found_));
        ASSERT_TRUE(found_);
        EXPECT_EQ(record_.row(), row_of(is_forward ? i : kRows + 1 - i, note));
      }
      EXPECT_EQ(seeks(cursor), 2u) << "index " << index;
      own_.rollback();
    }
  }
}

TEST_F(StaleIteratorTest, AScanKeepsItsIteratorOverRowsThatItsTransactionHasChanged) {
  for (int id = 1; id <= kRows; ++id) must(own_.update(row_of(id), row_of(id, "own")));
  Cursor cursor(store_.table());
  open(cursor, test::kPrimary, 1);
  int rows = 0;
  for (must(cursor.seek_first(record_.data(), found_)); found_;
       must(cursor.next(record_.data(), found_))) {
    EXPECT_EQ(record_.row(), row_of(++rows, "own"));
  }
  EXPECT_EQ(rows, kRows);
  EXPECT_EQ(seeks(cursor), 1u);
}

// Of all buckets of the change tracker each has a change of a transaction that has not ended.
TEST_F(StaleIteratorTest, AScanKeepsItsIteratorWhereOthersMayYetUndoTheirChanges) {
  txn::ChangeTracker& changes = store_.transactions().changes();
  for (std::size_t i = 0; i < txn::ChangeTracker::kBuckets; ++i) changes.note_change(i);
  Cursor cursor(store_.table());
  open(cursor, test::kPrimary, 1);
  int rows = 0;
  for (must(cursor.seek_first(record_.data(), found_)); found_;
       must(cursor.next(record_.data(), found_))) {
    EXPECT_EQ(record_.row(), row_of(++rows));
  }
  EXPECT_EQ(rows, kRows);
  EXPECT_EQ(seeks(cursor), 1u);
}

}  // namespace
}  // namespace basalt::table
