#include "table/index_iterator.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "table/test_support.h"

// Goal: an iterator moves over what its read may see, and keeps its place when own changes go.
namespace basalt::table {
namespace {

using basalt::test::must;
using test::row_of;

class IndexIteratorTest : public testing::Test {
 protected:
  IndexIteratorTest() {
    for (int id = 10; id <= 50; id += 10) must(other_.insert(row_of(id)));
    other_.commit();
    session_.transaction().begin_statement(txn::IsolationLevel::kRepeatableRead);
  }

  std::string key_of(int id) {
    return test::search_prefix(store_.table(), test::kPrimary, row_of(id), 1);
  }
  void open(const ReadSettings& settings = {}) {
    iterator_.open(session_.transaction(), test::kPrimary, settings);
  }
  void start(Direction direction = Direction::kForward) {
    iterator_.start(store_.table().whole_range(test::kPrimary), direction);
  }
  bool is_on(int id) { return iterator_.is_valid() && iterator_.key() == key_of(id); }

  test::Store store_{test::Keys::kId};
  test::Session session_{store_};
  test::Session other_{store_};
  IndexIterator iterator_{store_.table()};
};

TEST_F(IndexIteratorTest, ARangeIsCutToTheConfines) {
  open();
  iterator_.confine(key_of(20), key_of(40), 0);
  start();
  EXPECT_TRUE(is_on(20));
  start(Direction::kBackward);
  EXPECT_TRUE(is_on(30));
  iterator_.start({key_of(50), key_of(10)}, Direction::kForward);
  EXPECT_FALSE(iterator_.is_valid());
  iterator_.confine({}, {}, 0);
  start();
  EXPECT_TRUE(is_on(10));
}

TEST_F(IndexIteratorTest, OneThatWasLaidAsideShowsNothingThatTheNextScanMustNotSee) {
  open();
  start();
  iterator_.lay_aside();
  EXPECT_FALSE(iterator_.has_iterator());
  must(other_.insert(row_of(5)));
  other_.commit();
  start();
  EXPECT_TRUE(is_on(10));  // the snapshot's
  must(session_.insert(row_of(7)));
  iterator_.lay_aside();
  iterator_.end_scan();
  start();
  EXPECT_TRUE(is_on(7));  // own
}

TEST_F(IndexIteratorTest, AnIteratorOverOwnChangesOrOneThatLocksDoesNotTurn) {
  open();
  start();
  EXPECT_TRUE(iterator_.can_step(Direction::kBackward));
  must(session_.insert(row_of(60)));
  EXPECT_FALSE(iterator_.can_step(Direction::kBackward));
  EXPECT_TRUE(iterator_.can_step(Direction::kForward));
  session_.rollback();
  open(LockingRead{});
  start();
  EXPECT_FALSE(iterator_.can_step(Direction::kBackward));
  session_.rollback();
}

TEST_F(IndexIteratorTest, WhenOwnChangesAreRolledBackItKeepsItsEntry) {
  must(session_.insert(row_of(15)));
  open();
  start();
  iterator_.step(Direction::kForward);
  ASSERT_TRUE(is_on(15));
  const std::size_t savepoint = session_.transaction().set_savepoint();
  must(session_.insert(row_of(16)));
  must(session_.transaction().rollback_to_savepoint(savepoint));
  EXPECT_TRUE(iterator_.must_resume());
  EXPECT_FALSE(iterator_.has_iterator());
  EXPECT_EQ(iterator_.entry_key(), key_of(15));
  EXPECT_EQ(iterator_.resumption(), key_of(15));
  iterator_.close();
}

TEST_F(IndexIteratorTest, AScanOfOneRangeRemembersNewKeysOfItAlone) {
  open(LockingRead{.wait = {}, .new_own_keys = NewOwnKeys::kPassedInRange});
  iterator_.start({key_of(20), key_of(40)}, Direction::kForward);
  must(session_.insert(row_of(45)));
  EXPECT_TRUE(iterator_.hides_nothing());
  must(session_.insert(row_of(25)));
  EXPECT_FALSE(iterator_.hides_nothing());
  session_.rollback();
  iterator_.close();
}

TEST_F(IndexIteratorTest, OneMadeAnewBeyondAnEdgeShowsWhatWasCommittedThere) {
  open(LockingRead{});
  start();
  ASSERT_TRUE(is_on(10));
  must(other_.insert(row_of(5)));
  must(other_.insert(row_of(15)));
  other_.commit();
  iterator_.reopen_beyond(key_of(11));
  EXPECT_TRUE(is_on(15));
  iterator_.close();
}

}  // namespace
}  // namespace basalt::table
