#include "txn/transaction.h"

#include <malloc.h>

#include <algorithm>
#include <string>
#include <vector>

#include "txn/test_support.h"

// Goal: who sees which changes, and what each kind of rollback undoes.
namespace basalt::txn {
namespace {

using basalt::test::fails_with;
using basalt::test::must;
using basalt::test::succeeds;
using test::commit;
using test::kNoWait;
using test::kRc;
using test::kRr;
using test::put;
using test::read;
using test::read_newest;
using test::remove;
using State = Transaction::State;

class TransactionTest : public testing::Test {
 protected:
  // One committed change by somebody else.
  void commit_put(std::string_view key, std::string_view value) {
    const auto other = store_.begin();
    put(*other, key, value);
    commit(*other);
  }
  bool is_locked(std::string_view key) {
    const auto other = store_.begin();
    return !other->lock(key, lock::LockMode::kShared, kNoWait).is_ok();
  }

  test::Store store_;
  std::unique_ptr<Transaction> a_ = store_.begin();
  std::unique_ptr<Transaction> b_ = store_.begin();
};

TEST_F(TransactionTest, OwnWritesAreVisibleAtOnceAndToOthersOnlyAfterCommit) {
  a_->begin_statement(kRr);
  put(*a_, "k", "v");
  EXPECT_EQ(read(*a_, "k"), "v");
  b_->begin_statement(kRc);
  EXPECT_EQ(read(*b_, "k"), "(none)");
  EXPECT_EQ(read_newest(*b_, "k"), "(none)");
  commit(*a_);
  EXPECT_EQ(read_newest(*b_, "k"), "v");
  b_->end_statement();
  b_->begin_statement(kRc);
  EXPECT_EQ(read(*b_, "k"), "v");
}

TEST_F(TransactionTest, ItsReadsLeaveTheCacheAsItIsIfTheyAreTo) {
  a_->begin_statement(kRc);
  EXPECT_TRUE(a_->consistent_view().fill_cache);
  a_->set_fill_cache(false);
  EXPECT_FALSE(a_->consistent_view().fill_cache);
}

TEST_F(TransactionTest, WhoseChangesTakeTooMuchMemoryMayChangeNoFurtherRowsAndCanCommit) {
  a_->set_memory_limits({.bytes_max = 10'000});
  put(*a_, "k", std::string(5'000, 'v'));
  const Status status = test::put_locked(*a_, "k", "w");
  EXPECT_TRUE(fails_with(ErrorCode::kTooLarge, status));
  EXPECT_NE(status.message().find("more than the 10000 that it may take"), std::string::npos);
  commit(*a_);
  EXPECT_EQ(read_newest(*b_, "k"), std::string(5'000, 'v'));
  EXPECT_TRUE(succeeds(test::put_locked(*a_, "k", "w"))) << "the next one begins with nothing";
}

// The memory of its own that the transaction takes before its commit, with what the batch takes for
// a moment when it has grown; of many small rows and of few large ones.
TEST_F(TransactionTest, ItsMemoryIsThatWhichTheAllocatorGave) {
  const auto in_use = [] {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  if (in_use() == 0) GTEST_SKIP() << "a sanitizer's allocator does not tell what is in use";
  for (const bool looks_up : {false, true}) {
    for (const std::size_t value_bytes : {20, 2000}) {
      const auto transaction = store_.begin();
      const std::size_t before = in_use();
      double greatest = 0;
      for (std::size_t i = 0; transaction->memory_bytes() < (std::uint64_t{24} << 20); ++i) {
        const std::string key = "row " + std::to_string(1'000'000 + i);
        test::put_noted(*transaction, key, std::string(value_bytes, 'v'));
        if (i == 0 && looks_up) read_newest(*transaction, key);
        if (i % 100 != 0 || transaction->memory_bytes() < (std::uint64_t{1} << 20)) continue;
        const auto allocated = static_cast<double>(in_use() - before);
        greatest = std::max(greatest, allocated / static_cast<double>(transaction->memory_bytes()));
      }
      EXPECT_GT(greatest, 0.8) << value_bytes << looks_up;
      EXPECT_LT(greatest, 1.2) << value_bytes << looks_up;
      must(transaction->rollback());
    }
  }
}

TEST_F(TransactionTest, ItsLocksAndTheCopyThatTwoPhasesMakeCountAsMemory) {
  put(*a_, "k", std::string(100'000, 'v'));
  const std::uint64_t one_phase = a_->memory_bytes();
  EXPECT_GT(one_phase, 200'000u);
  a_->set_memory_limits({.bytes_max = 1'000'000, .is_two_phase = true});
  EXPECT_GT(a_->memory_bytes(), one_phase + 100'000);
  const std::uint64_t without_locks = a_->memory_bytes();
  for (int i = 0; i < 1000; ++i) {
    must(a_->lock("row " + std::to_string(i), lock::LockMode::kShared, kNoWait));
  }
  EXPECT_GT(a_->memory_bytes(), without_locks + 64 * 1000);
  commit(*a_);
  EXPECT_LT(a_->memory_bytes(), 10'000u);
}

// Keys of two indexes, changed inwards and outwards of what was changed before; twice, because a
// transaction object is used again.
TEST_F(TransactionTest, OwnWritesAreFoundWhereverTheyAreInTheirIndex) {
  const std::vector<std::string> keys = {"idx1m", "idx2m", "idx1f", "idx2t", "idx1h",
                                         "idx2p", "idx1z", "idx2a", "id"};
  for (const std::string& key : keys) {
    if (key.ends_with('h') || key.ends_with('p') || key.ends_with('z')) commit_put(key, "old");
  }
  for (const char* value : {"1", "2"}) {
    test::Map expected;
    for (const std::string& key : keys) expected[key] = read_newest(*b_, key);
    for (const std::string& key : keys) {
      if (expected[key] == "old" && key.starts_with("idx1")) {
        remove(*a_, key);
        expected[key] = "(none)";
      } else {
        put(*a_, key, value);
        expected[key] = value;
      }
      std::vector<std::string> all;
      for (const auto& [one, seen] : expected) {
        EXPECT_EQ(read_newest(*a_, one), seen) << one << " after " << key;
        all.push_back(one);
      }
      kv::PinnedValues values;
      must(a_->get_many(test::kFamily, all, {}, values));
      for (std::size_t i = 0; i < all.size(); ++i) {
        const bool found = values.state(i) == kv::PinnedValues::State::kFound;
        EXPECT_EQ(found, expected[all[i]] != "(none)") << all[i] << " after " << key;
      }
    }
    commit(*a_);
  }
}

// Asked by the transaction itself or by another one, after each number of changes.
TEST_F(TransactionTest, ChangesAreFoundHoweverManyThereAreWhenSomebodyFirstAsks) {
  const auto insert = [this](std::string_view key) {
    must(a_->lock(key, lock::LockMode::kExclusive, kNoWait));
    must(test::put_locked(*a_, key, "v", test::kFamily, {&key, 1}));
  };
  const std::vector<std::string> keys = {"idx1d", "idx1b", "idx1e", "idx1a", "idx1c"};
  for (std::size_t first = 0; first < keys.size(); ++first) {
    for (const bool asks_itself : {true, false}) {
      SCOPED_TRACE(testing::Message() << "first " << first << ", itself " << asks_itself);
      test::Map expected;
      for (std::size_t i = 0; i < keys.size(); ++i) {
        a_->begin_statement(kRr);
        insert("idx10");
        must(a_->rollback_statement());
        a_->begin_statement(kRr);
        insert(keys[i]);
        a_->end_statement();
        expected[keys[i]] = "v";
        if (i < first) continue;
        if (asks_itself) {
          EXPECT_EQ(test::scan(*a_), expected);
        } else {
          std::string key;
          std::string value;
          EXPECT_TRUE(b_->find_pending_insert(test::kFamily, "idx1", "idx1z", key, value));
          EXPECT_EQ(key, expected.begin()->first);
        }
      }
      must(a_->rollback());
    }
  }
}

TEST_F(TransactionTest, RemovedKeysAreGoneForTheRemoverBeforeTheCommit) {
  commit_put("one", "v");
  commit_put("two", "v");
  remove(*a_, "one");
  test::remove_single(*a_, "two");
  for (const char* key : {"one", "two"}) {
    EXPECT_EQ(read(*a_, key), "(none)");
    EXPECT_EQ(read(*b_, key), "v");
  }
  commit(*a_);
  EXPECT_EQ(kv::test::count_entries(store_.database(), test::kFamily, {}), 0u);
}

TEST_F(TransactionTest, AtReadCommittedEachStatementHasItsOwnSnapshot) {
  commit_put("k", "1");
  a_->begin_statement(kRc);
  EXPECT_EQ(read(*a_, "k"), "1");
  commit_put("k", "2");
  EXPECT_EQ(read(*a_, "k"), "1") << "within the statement";
  EXPECT_EQ(read_newest(*a_, "k"), "2") << "a locking read";
  a_->end_statement();
  a_->begin_statement(kRc);
  EXPECT_EQ(read(*a_, "k"), "2") << "in the next statement";
}

TEST_F(TransactionTest, AtRepeatableReadTheFirstReadFixesTheSnapshotOfTheTransaction) {
  a_->begin_statement(kRr);
  commit_put("k", "1");
  EXPECT_EQ(read(*a_, "k"), "1") << "not the beginning of the statement, the first read";
  commit_put("k", "2");
  a_->end_statement();
  a_->begin_statement(kRr);
  EXPECT_EQ(read(*a_, "k"), "1");
  EXPECT_EQ(read_newest(*a_, "k"), "2");
  put(*a_, "own", "v");
  EXPECT_EQ(read(*a_, "own"), "v") << "own changes are newer than the snapshot";
  EXPECT_EQ(read(*a_, "k"), "1") << "writing leaves the snapshot as it is";
  commit(*a_);
  a_->begin_statement(kRr);
  EXPECT_EQ(read(*a_, "k"), "2") << "the next transaction";
}

TEST_F(TransactionTest, ASnapshotCanBeOpenedBeforeTheFirstRead) {
  commit_put("k", "1");
  a_->open_snapshot();
  EXPECT_EQ(a_->state(), State::kActive);
  commit_put("k", "2");
  a_->begin_statement(kRr);
  EXPECT_EQ(read(*a_, "k"), "1");
  EXPECT_NE(a_->consistent_view(false).snapshot, nullptr) << "an open snapshot is always used";
}

TEST_F(TransactionTest, AReadOfOneRowNeedsNoSnapshot) {
  for (const IsolationLevel level : {kRc, kRr}) {
    a_->begin_statement(level);
    EXPECT_EQ(a_->consistent_view(false).snapshot, nullptr);
    EXPECT_NE(a_->consistent_view(true).snapshot, nullptr);
    EXPECT_NE(a_->consistent_view(false).snapshot, nullptr);
    commit(*a_);
  }
}

TEST_F(TransactionTest, AtReadCommittedAReadWithoutASnapshotSeesOwnChangesAndTheNewestOfOthers) {
  commit_put("k", "1");
  put(*a_, "own", "v");
  const auto read_once = [this](std::string_view key) {
    kv::PinnedValue value;
    bool found = false;
    a_->begin_statement(kRc);
    must(a_->get(test::kFamily, key, a_->consistent_view(false), value, found));
    a_->end_statement();
    return found ? std::string(value.view()) : "(none)";
  };
  EXPECT_EQ(read_once("k"), "1");
  commit_put("k", "2");
  EXPECT_EQ(read_once("k"), "2");
  EXPECT_EQ(read_once("own"), "v");
  EXPECT_EQ(store_.database().property(test::kFamily, "rocksdb.num-snapshots"), "0");
}

TEST_F(TransactionTest, StatesFollowWhatTheTransactionDoes) {
  EXPECT_EQ(a_->state(), State::kIdle);
  a_->begin_statement(kRr);
  EXPECT_EQ(a_->state(), State::kIdle);
  a_->consistent_view(false);
  EXPECT_EQ(a_->state(), State::kActive);
  EXPECT_FALSE(a_->has_writes());
  put(*a_, "k", "v");
  EXPECT_TRUE(a_->has_writes());
  commit(*a_);
  EXPECT_EQ(a_->state(), State::kIdle);
  EXPECT_FALSE(a_->has_writes());
  must(a_->lock("k", lock::LockMode::kShared, kNoWait));
  EXPECT_EQ(a_->state(), State::kActive);
  must(a_->rollback());
  EXPECT_EQ(a_->state(), State::kIdle);
}

TEST_F(TransactionTest, EveryEndOfATransactionReleasesItsLocks) {
  put(*a_, "k", "v");
  EXPECT_TRUE(is_locked("k"));
  commit(*a_);
  EXPECT_FALSE(is_locked("k"));
  put(*a_, "k", "w");
  must(a_->rollback());
  EXPECT_FALSE(is_locked("k"));
  must(a_->lock("k", lock::LockMode::kExclusive, kNoWait));
  EXPECT_TRUE(is_locked("k"));
  a_->unlock("k");
  EXPECT_FALSE(is_locked("k"));
  put(*a_, "k", "x");
  a_.reset();
  EXPECT_FALSE(is_locked("k"));
  EXPECT_EQ(read(*b_, "k"), "v") << "what is destroyed is rolled back";
}

TEST_F(TransactionTest, AConflictingLockIsRefusedAndTheTransactionGoesOn) {
  put(*a_, "k", "a");
  put(*b_, "other", "b");
  EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, b_->lock("k", lock::LockMode::kShared, kNoWait)));
  commit(*b_);
  commit(*a_);
  EXPECT_EQ(read(*b_, "k"), "a");
  EXPECT_EQ(read(*b_, "other"), "b");
}

TEST_F(TransactionTest, AFailedStatementLeavesEarlierStatements) {
  a_->begin_statement(kRr);
  put(*a_, "first", "1");
  put(*a_, "both", "1");
  a_->end_statement();
  a_->begin_statement(kRr);
  put(*a_, "second", "2");
  put(*a_, "both", "2");
  remove(*a_, "first");
  ASSERT_TRUE(succeeds(a_->rollback_statement()));
  EXPECT_EQ(test::scan(*a_), (test::Map{{"both", "1"}, {"first", "1"}}));
  a_->begin_statement(kRr);
  put(*a_, "third", "3");
  commit(*a_);
  EXPECT_EQ(test::scan(*b_), (test::Map{{"both", "1"}, {"first", "1"}, {"third", "3"}}));
}

TEST_F(TransactionTest, AFailedFirstStatementLeavesNothing) {
  commit_put("k", "v");
  a_->begin_statement(kRr);
  put(*a_, "k", "w");
  must(a_->rollback_statement());
  EXPECT_EQ(read(*a_, "k"), "v");
  a_->begin_statement(kRr);
  must(a_->rollback_statement());
  commit(*a_);
  EXPECT_EQ(read(*b_, "k"), "v");
}

TEST_F(TransactionTest, NestedStatementsCountAsOne) {
  a_->begin_statement(kRr);
  put(*a_, "outer", "v");
  a_->begin_statement(kRc);
  put(*a_, "inner", "v");
  must(a_->rollback_statement());
  EXPECT_TRUE(test::scan(*a_).empty());
}

TEST_F(TransactionTest, AFailedStatementKeepsItsLocks) {
  a_->begin_statement(kRr);
  put(*a_, "k", "v");
  must(a_->rollback_statement());
  EXPECT_TRUE(is_locked("k"));
}

TEST_F(TransactionTest, RollingBackToASavepointUndoesWhatCameAfterIt) {
  put(*a_, "k", "0");
  EXPECT_EQ(a_->set_savepoint(), 1u);
  put(*a_, "k", "1");
  EXPECT_EQ(a_->set_savepoint(), 2u);
  put(*a_, "k", "2");
  ASSERT_TRUE(succeeds(a_->rollback_to_savepoint(2)));
  EXPECT_EQ(read(*a_, "k"), "1");
  put(*a_, "k", "3");
  ASSERT_TRUE(succeeds(a_->rollback_to_savepoint(2))) << "the savepoint stays";
  EXPECT_EQ(read(*a_, "k"), "1");
  ASSERT_TRUE(succeeds(a_->rollback_to_savepoint(1)));
  EXPECT_EQ(read(*a_, "k"), "0");
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, a_->rollback_to_savepoint(2)))
      << "later ones are gone";
  EXPECT_EQ(a_->set_savepoint(), 2u);
  commit(*a_);
  EXPECT_EQ(read(*b_, "k"), "0");
}

TEST_F(TransactionTest, SavepointsSetBeforeTheFirstWriteUndoIt) {
  EXPECT_EQ(a_->set_savepoint(), 1u);
  EXPECT_EQ(a_->set_savepoint(), 2u);
  a_->begin_statement(kRr);
  put(*a_, "k", "1");
  a_->end_statement();
  EXPECT_EQ(a_->set_savepoint(), 3u);
  a_->begin_statement(kRr);
  put(*a_, "k", "2");
  a_->end_statement();
  must(a_->rollback_to_savepoint(3));
  EXPECT_EQ(read(*a_, "k"), "1");
  must(a_->rollback_to_savepoint(2));
  EXPECT_EQ(read(*a_, "k"), "(none)");
  put(*a_, "k", "4");
  must(a_->rollback_to_savepoint(1));
  EXPECT_EQ(read(*a_, "k"), "(none)");
  put(*a_, "k", "5");
  commit(*a_);
  EXPECT_EQ(read(*b_, "k"), "5");
}

TEST_F(TransactionTest, SavepointsWithoutAnyWriteCanBeUsed) {
  a_->set_savepoint();
  a_->set_savepoint();
  EXPECT_TRUE(succeeds(a_->rollback_to_savepoint(1)));
  EXPECT_TRUE(succeeds(a_->release_savepoint(1)));
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, a_->release_savepoint(1)));
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, a_->rollback_to_savepoint(0)));
  commit(*a_);
}

TEST_F(TransactionTest, AReleasedSavepointLeavesTheChangesAndTheOthers) {
  for (int i = 1; i <= 4; ++i) {
    a_->set_savepoint();
    put(*a_, "k", std::to_string(i));
  }
  ASSERT_TRUE(succeeds(a_->release_savepoint(4)));
  EXPECT_EQ(read(*a_, "k"), "4");
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, a_->rollback_to_savepoint(4)));
  ASSERT_TRUE(succeeds(a_->release_savepoint(2))) << "not the last one";
  EXPECT_EQ(read(*a_, "k"), "4");
  must(a_->rollback_to_savepoint(3));
  EXPECT_EQ(read(*a_, "k"), "2");
  must(a_->rollback_to_savepoint(1));
  EXPECT_EQ(read(*a_, "k"), "(none)");
}

TEST_F(TransactionTest, AStatementThatFailsBetweenSavepointsLeavesThemUsable) {
  a_->begin_statement(kRr);
  put(*a_, "k", "1");
  a_->end_statement();
  a_->set_savepoint();
  a_->begin_statement(kRr);
  put(*a_, "k", "2");
  must(a_->rollback_statement());
  a_->begin_statement(kRr);
  put(*a_, "k", "3");
  a_->end_statement();
  EXPECT_EQ(read(*a_, "k"), "3");
  must(a_->rollback_to_savepoint(1));
  EXPECT_EQ(read(*a_, "k"), "1");
}

TEST_F(TransactionTest, ASavepointWithinAStatementLeavesTheStatementsWayBack) {
  put(*a_, "before", "1");
  a_->begin_statement(kRr);
  put(*a_, "k", "1");
  const std::size_t inside = a_->set_savepoint();
  put(*a_, "k", "2");
  must(a_->rollback_to_savepoint(inside));
  EXPECT_EQ(read(*a_, "k"), "1");
  put(*a_, "k", "3");
  must(a_->release_savepoints_from(inside));
  must(a_->rollback_statement());
  EXPECT_EQ(test::scan(*a_), (test::Map{{"before", "1"}}));
}

TEST_F(TransactionTest, ASavepointBeforeTheStatementsFirstWriteLeavesItsWayBack) {
  put(*a_, "before", "1");
  a_->begin_statement(kRr);
  const std::size_t inside = a_->set_savepoint();
  put(*a_, "k", "1");
  must(a_->release_savepoints_from(inside));
  put(*a_, "k", "2");
  must(a_->rollback_statement());
  EXPECT_EQ(test::scan(*a_), (test::Map{{"before", "1"}}));
}

TEST_F(TransactionTest, ASavepointWithinAStatementLeavesItsSnapshot) {
  commit_put("k", "old");
  a_->begin_statement(kRc);
  ASSERT_EQ(read(*a_, "k"), "old");
  a_->set_savepoint();
  commit_put("k", "new");
  EXPECT_EQ(read(*a_, "k"), "old");
}

TEST_F(TransactionTest, WithinAStatementOnlySavepointsSetThereCanBeReturnedTo) {
  const std::size_t outside = a_->set_savepoint();
  a_->begin_statement(kRr);
  put(*a_, "k", "1");
  const std::size_t inside = a_->set_savepoint();
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, a_->rollback_to_savepoint(outside)));
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, a_->release_savepoint(outside)));
  EXPECT_TRUE(succeeds(a_->rollback_to_savepoint(inside)));
  a_->end_statement();
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, a_->rollback_to_savepoint(inside)))
      << "gone with the statement";
  must(a_->rollback_to_savepoint(outside));
  EXPECT_TRUE(test::scan(*a_).empty());
}

TEST_F(TransactionTest, ReleasingASavepointWithTheLaterOnesLeavesTheEarlierOnes) {
  put(*a_, "k", "0");
  for (int i = 1; i <= 4; ++i) {
    a_->set_savepoint();
    put(*a_, "k", std::to_string(i));
  }
  must(a_->release_savepoint(1));
  must(a_->release_savepoints_from(3));
  EXPECT_EQ(read(*a_, "k"), "4");
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, a_->rollback_to_savepoint(3)));
  EXPECT_EQ(a_->set_savepoint(), 3u);
  must(a_->rollback_to_savepoint(2));
  EXPECT_EQ(read(*a_, "k"), "1");
  must(a_->release_savepoints_from(2));
  EXPECT_EQ(a_->set_savepoint(), 1u) << "one that was released goes with those above it";
}

TEST_F(TransactionTest, SavepointsEndWithTheTransaction) {
  a_->set_savepoint();
  put(*a_, "k", "1");
  commit(*a_);
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, a_->rollback_to_savepoint(1)));
  put(*a_, "k", "2");
  EXPECT_EQ(a_->set_savepoint(), 1u);
  put(*a_, "k", "3");
  must(a_->rollback_to_savepoint(1));
  commit(*a_);
  EXPECT_EQ(read(*b_, "k"), "2");
}

TEST_F(TransactionTest, ASavepointKeepsTheLocksTakenAfterIt) {
  a_->set_savepoint();
  put(*a_, "k", "v");
  must(a_->rollback_to_savepoint(1));
  EXPECT_TRUE(is_locked("k"));
}

TEST_F(TransactionTest, ChangedRowsAreTheWeightOfADeadlockVictim) {
  EXPECT_EQ(a_->lock_owner().weight(), 0u);
  put(*a_, "k", "1");
  put(*a_, "k", "2");
  EXPECT_EQ(a_->lock_owner().weight(), 3u) << "one lock and two writes";
  commit(*a_);
  EXPECT_EQ(a_->lock_owner().weight(), 0u);
}

TEST_F(TransactionTest, CommittedChangesSurviveACrash) {
  put(*a_, "committed", "v");
  commit(*a_);
  put(*b_, "open", "v");
  a_.reset();
  b_.reset();
  store_.crash();
  const auto later = store_.begin();
  EXPECT_EQ(read(*later, "committed"), "v");
  EXPECT_EQ(read(*later, "open"), "(none)");
}

TEST_F(TransactionTest, ATransactionIsUsedManyTimesOver) {
  for (int i = 0; i < 100; ++i) {
    a_->begin_statement(i % 2 == 0 ? kRr : kRc);
    put(*a_, "k", std::to_string(i));
    if (i % 5 == 0) a_->set_savepoint();
    if (i % 3 == 0) {
      must(a_->rollback());
      EXPECT_EQ(read(*b_, "k"), i == 0 ? "(none)" : std::to_string(i - 1));
    } else {
      commit(*a_);
      EXPECT_EQ(read(*b_, "k"), std::to_string(i));
    }
    must(b_->rollback());
  }
}

TEST_F(TransactionTest, ManyKeysAreReadTogetherWithOwnChangesOverTheView) {
  for (const char* key : {"a", "b", "c", "d", "e"}) commit_put(key, "first");
  must(store_.database().flush());
  a_->begin_statement(kRr);
  a_->open_snapshot();
  commit_put("b", "second");
  commit_put("f", "second");
  const std::vector<std::string> keys = {"f", "a", "missing", "c", "b", "d", "own", "a"};
  const auto read_all = [&](const kv::ReadView& view) {
    kv::PinnedValues values;
    must(a_->get_many(test::kFamily, keys, view, values));
    std::string all;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const bool found = values.state(i) == kv::PinnedValues::State::kFound;
      all += (found ? std::string(values.view(i)) : "-") + " ";
    }
    return all;
  };
  EXPECT_EQ(read_all(a_->consistent_view()), "- first - first first first - first ");
  put(*a_, "own", "mine");
  put(*a_, "c", "mine");
  remove(*a_, "d");
  EXPECT_EQ(read_all(a_->consistent_view()), "- first - mine first - mine first ");
  EXPECT_EQ(read_all({}), "second first - mine second - mine first ");
  for (const std::string& key : keys) {
    if (key != "own") put(*a_, key, "all");
  }
  EXPECT_EQ(read_all(a_->consistent_view()), "all all all all all all mine all ");
}

}  // namespace
}  // namespace basalt::txn
