#include "table/row_writer.h"

#include <functional>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "table/test_support.h"

// Goal: a row and its entries change together or not at all, and unique values stay unique.
namespace basalt::table {
namespace {

using basalt::test::fails_with;
using basalt::test::must;
using basalt::test::succeeds;
using test::Keys;
using test::Row;
using Problems = std::vector<std::string>;
using Rows = std::vector<Row>;

const Row kAnn{1, "ann", "Rome", 10, 100, "first"};
const Row kBob{2, "bob", "Oslo", std::nullopt, 200, std::nullopt};

class RowWriterTest : public testing::TestWithParam<Keys> {
 protected:
  void insert(std::vector<Row> rows) {
    for (const Row& row : rows) {
      must(a_.insert(row));
      keys_[row.id] = a_.writer().primary_key();
    }
    a_.commit();
  }
  Status update(const Row& from, const Row& to) { return a_.update(from, to, keys_[from.id]); }
  Status remove(const Row& row) { return a_.remove(row, keys_[row.id]); }
  void expect_rows(Rows expected) {
    std::sort(expected.begin(), expected.end());
    for (std::size_t i = 0; i < test::kIndexes; ++i) {
      Rows rows = test::Session(store_).rows(i);
      std::sort(rows.begin(), rows.end());
      EXPECT_EQ(rows, expected) << "index " << i;
      EXPECT_EQ(store_.entries(i), expected.size()) << "index " << i;
    }
    EXPECT_EQ(store_.check(), Problems());
  }

  test::Store store_{GetParam()};
  test::Session a_{store_};
  test::Session b_{store_};
  std::map<int, std::string> keys_;  // primary keys, by id
};

INSTANTIATE_TEST_SUITE_P(AllKeys, RowWriterTest, testing::ValuesIn(test::kAllKeys), test::name_of);

TEST_P(RowWriterTest, AnInsertedRowIsInEveryIndex) {
  insert({kAnn, kBob});
  expect_rows({kAnn, kBob});
}

TEST_P(RowWriterTest, AnUpdateMovesEveryEntry) {
  insert({kAnn, kBob});
  const Row changed{1, "zoe", "Bonn", -5, 99, std::string(5000, 'n')};
  must(update(kAnn, changed));
  a_.commit();
  expect_rows({kBob, changed});
}

TEST_P(RowWriterTest, AnUpdateOfNothingIsOne) {
  insert({kAnn});
  must(update(kAnn, kAnn));
  a_.commit();
  expect_rows({kAnn});
}

TEST_P(RowWriterTest, ARefusedRowGivesBackTheLocksOfTheKeysThatItWouldHaveGot) {
  insert({kAnn, kBob});
  const Row refused{5, "eve", "Rome", 1, kAnn.code, std::nullopt};
  EXPECT_TRUE(fails_with(ErrorCode::kDuplicateKey, a_.insert(refused)));
  Row moved = refused;
  moved.id = 6;
  EXPECT_TRUE(fails_with(ErrorCode::kDuplicateKey, update(kBob, moved)));
  Row other = refused;
  other.code = 300;
  EXPECT_TRUE(succeeds(b_.insert(other)));
  b_.rollback();
  other.id = 6;
  EXPECT_TRUE(succeeds(b_.insert(other)));
  other.id = 7;
  other.email = "joe";
  other.code = kAnn.code;
  EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, b_.insert(other))) << "the value was looked at";
  a_.commit();
  b_.rollback();
  expect_rows({kAnn, kBob});
}

TEST_P(RowWriterTest, ARefusedRowLeavesTheLocksThatItsTransactionHadBefore) {
  const Row gone{5, "eve", "Rome", 1, 300, std::nullopt};
  insert({kAnn, gone});
  must(remove(gone));
  Row refused = gone;
  refused.code = kAnn.code;
  EXPECT_TRUE(fails_with(ErrorCode::kDuplicateKey, a_.insert(refused)));
  Row other = gone;
  other.code = 400;
  EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, b_.insert(other)));
  b_.rollback();
  a_.rollback();
  expect_rows({kAnn, gone});
}

TEST_P(RowWriterTest, RowsAreTheSameOnlyByteForByte) {
  const auto is_same = [&](const Row& from, const Row& to) {
    return a_.writer().is_same_row(test::Record(from).data(), test::Record(to).data());
  };
  EXPECT_TRUE(is_same(kAnn, kAnn));
  EXPECT_TRUE(is_same(kBob, kBob));
  for (const Row& other :
       {Row{3, "ann", "Rome", 10, 100, "first"}, Row{1, "Ann", "Rome", 10, 100, "first"},
        Row{1, "ann", "Rome", std::nullopt, 100, "first"},
        Row{1, "ann", "Rome", 10, 100, "First"}}) {
    EXPECT_FALSE(is_same(kAnn, other));
  }
}

TEST_P(RowWriterTest, ARemovedRowIsInNoIndex) {
  insert({kAnn, kBob});
  must(remove(kAnn));
  a_.commit();
  expect_rows({kBob});
  must(remove(kBob));
  a_.commit();
  expect_rows({});
}

TEST_P(RowWriterTest, AChangedPrimaryKeyTakesItsEntriesAlong) {
  insert({kAnn, kBob});
  Row moved = kAnn;
  moved.id = 7;
  must(update(kAnn, moved));
  a_.commit();
  expect_rows({kBob, moved});
}

TEST_P(RowWriterTest, ADuplicateUniqueValueIsRefusedAndNamesTheRowThatHasIt) {
  insert({kAnn, kBob});
  Row row{3, "x", "Rome", 1, 200, "n"};
  EXPECT_TRUE(fails_with(ErrorCode::kDuplicateKey, a_.insert(row)));
  EXPECT_EQ(a_.writer().duplicate_index(), std::size_t{test::kByCode});
  EXPECT_EQ(a_.writer().duplicate_primary_key(), keys_[2]);
  row = {3, "ANN ", "Rome", 1, 300, "n"};
  EXPECT_TRUE(fails_with(ErrorCode::kDuplicateKey, a_.insert(row))) << "equal in the collation";
  EXPECT_EQ(a_.writer().duplicate_index(), std::size_t{test::kByEmail});
  EXPECT_EQ(a_.writer().duplicate_primary_key(), keys_[1]);
  a_.commit();
  expect_rows({kAnn, kBob});
}

TEST_P(RowWriterTest, ADuplicatePrimaryKeyIsRefusedButForHiddenOnes) {
  insert({kAnn});
  const Row row{1, "x", "ROME", 1, 300, "n"};
  if (GetParam() == Keys::kHidden) {
    ASSERT_TRUE(succeeds(a_.insert(row)));
    a_.commit();
    expect_rows({kAnn, row});
    return;
  }
  EXPECT_TRUE(fails_with(ErrorCode::kDuplicateKey, a_.insert(row)));
  EXPECT_EQ(a_.writer().duplicate_index(), 0u);
  EXPECT_EQ(a_.writer().duplicate_primary_key(), keys_[1]);
  a_.commit();
  expect_rows({kAnn});
}

TEST_P(RowWriterTest, AnUpdateToAUniqueValueOfAnotherRowLeavesNothingBehind) {
  insert({kAnn, kBob});
  // The e-mail address is free and comes first; the code is taken.
  const Row wanted{1, "new", "Bonn", 11, 200, "changed"};
  EXPECT_TRUE(fails_with(ErrorCode::kDuplicateKey, update(kAnn, wanted)));
  a_.commit();
  expect_rows({kAnn, kBob});
}

TEST_P(RowWriterTest, AnUpdateOntoAnotherRowsPrimaryKeyLeavesNothingBehind) {
  if (GetParam() == Keys::kHidden) GTEST_SKIP() << "its primary keys do not change";
  Row bob = kBob;
  bob.city = "rome";
  insert({kAnn, bob});
  Row wanted = kAnn;
  wanted.id = 2;
  EXPECT_TRUE(fails_with(ErrorCode::kDuplicateKey, update(kAnn, wanted)));
  EXPECT_EQ(a_.writer().duplicate_index(), 0u);
  a_.commit();
  expect_rows({kAnn, bob});
}

TEST_P(RowWriterTest, NullsInAUniqueIndexAreNoDuplicates) {
  Rows rows;
  for (int i = 1; i <= 4; ++i) {
    rows.push_back({i, std::nullopt, "Rome", i, static_cast<std::uint32_t>(i), "n"});
  }
  insert(rows);
  expect_rows(rows);
  Row named = rows[0];
  named.email = "ann";
  must(update(rows[0], named));
  Row unnamed = rows[1];
  unnamed.city = "Bonn";
  keys_[1] = a_.writer().primary_key();
  must(update(rows[1], unnamed));
  a_.commit();
  rows[0] = named;
  rows[1] = unnamed;
  expect_rows(rows);
  rows[0].email = std::nullopt;
  must(update(named, rows[0]));
  a_.commit();
  must(remove(rows[3]));
  a_.commit();
  rows.pop_back();
  expect_rows(rows);
}

TEST_P(RowWriterTest, AUniqueValueMovesBetweenRowsWithinATransaction) {
  insert({kAnn, kBob});
  Row ann = kAnn;
  ann.email = "free";
  ann.code = 1;
  Row bob = kBob;
  bob.email = "ann";
  bob.code = 100;
  must(update(kAnn, ann));
  must(update(kBob, bob));
  EXPECT_TRUE(fails_with(ErrorCode::kDuplicateKey, update(ann, kAnn)));
  a_.commit();
  expect_rows({ann, bob});
  must(remove(bob));
  Row next{3, "Ann", "Rome", 1, 100, "n"};
  must(a_.insert(next));
  a_.commit();
  expect_rows({ann, next});
}

TEST_P(RowWriterTest, ValuesThatOnlyLookDifferentCanReplaceEachOther) {
  insert({kAnn});
  Row changed = kAnn;
  changed.email = "ANN";
  changed.city = "ROME";
  must(update(kAnn, changed));
  a_.commit();
  expect_rows({changed});
}

TEST_P(RowWriterTest, AFailedStatementLeavesTheRowsOfEarlierOnes) {
  a_.transaction().begin_statement(txn::IsolationLevel::kRepeatableRead);
  must(a_.insert(kAnn));
  keys_[1] = a_.writer().primary_key();
  a_.transaction().end_statement();
  a_.transaction().begin_statement(txn::IsolationLevel::kRepeatableRead);
  must(a_.insert(kBob));
  must(remove(kAnn));
  must(a_.transaction().rollback_statement());
  a_.commit();
  expect_rows({kAnn});
}

TEST_P(RowWriterTest, ARowThatIsBeingWrittenIsLockedForOthers) {
  insert({kAnn});
  must(update(kAnn, {1, "zoe", "Rome", 10, 101, "n"}));
  EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, b_.remove(kAnn, keys_[1])));
  const Row wants_old_code{5, "x", "Rome", 1, 100, "n"};
  EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, b_.insert(wants_old_code)))
      << "a value that is about to go is taken until the commit";
  const Row wants_new_code{5, "x", "Rome", 1, 101, "n"};
  EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, b_.insert(wants_new_code)));
  a_.rollback();
  EXPECT_TRUE(fails_with(ErrorCode::kDuplicateKey, b_.insert(wants_old_code)));
  EXPECT_TRUE(succeeds(b_.insert(wants_new_code)));
  b_.commit();
  expect_rows({kAnn, wants_new_code});
}

TEST_P(RowWriterTest, TheValueOfARemovedRowIsTakenUntilTheCommit) {
  insert({kAnn});
  must(remove(kAnn));
  const Row same_code{5, "x", "Rome", 1, 100, "n"};
  EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, b_.insert(same_code)));
  a_.commit();
  EXPECT_TRUE(succeeds(b_.insert(same_code)));
  b_.commit();
  expect_rows({same_code});
}

TEST_P(RowWriterTest, RowsOfAPrivateTableAreWrittenWithoutLocks) {
  a_.writer().set_private(true);
  insert({kAnn});
  must(a_.insert(kBob));
  EXPECT_FALSE(a_.transaction().lock_owner().holds_locks());
  for (const std::uint32_t taken : {100u, 200u}) {
    EXPECT_TRUE(fails_with(ErrorCode::kDuplicateKey, a_.insert({5, "x", "Rome", 1, taken, "n"})))
        << "committed or own: " << taken;
  }
  EXPECT_FALSE(a_.transaction().lock_owner().holds_locks());
  a_.commit();
  expect_rows({kAnn, kBob});
  a_.writer().set_private(false);
  must(a_.insert({5, "x", "Rome", 1, 300, "n"}));
  EXPECT_TRUE(a_.transaction().lock_owner().holds_locks());
}

TEST_P(RowWriterTest, ARefusedDuplicateLocksTheRowThatIsThere) {
  insert({kAnn});
  EXPECT_TRUE(fails_with(ErrorCode::kDuplicateKey, a_.insert({5, "x", "Rome", 1, 100, "n"})));
  EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, b_.remove(kAnn, keys_[1])));
}

// Two sessions and a table whose index by_amount guards its first part.
class GuardedPartsTest : public testing::Test {
 protected:
  test::Store store_{Keys::kId, 1};
  test::Session a_{store_};
  test::Session b_{store_};
};

TEST_F(GuardedPartsTest, OnlyOneTransactionAtATimeInsertsAGuardedValue) {
  must(a_.insert({1, "a", "Rome", 10, 1, {}}));
  EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, b_.insert({2, "b", "Oslo", 10, 2, {}})));
  must(b_.insert({3, "c", "Oslo", 11, 3, {}}));
  a_.commit();
  must(b_.insert({2, "b", "Oslo", 10, 2, {}}));
}

TEST_F(GuardedPartsTest, AGuardedValueThatLeavesStaysLockedUntilTheCommit) {
  const Row ann{1, "a", "Rome", 10, 1, {}};
  const Row bob{2, "b", "Rome", 20, 2, {}};
  must(a_.insert(ann));
  must(a_.insert(bob));
  a_.commit();
  must(a_.remove(ann));
  must(a_.update(bob, {2, "b", "Rome", 21, 2, {}}));
  for (const int amount : {10, 20, 21}) {
    EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, b_.insert({3, "c", "Oslo", amount, 3, {}})));
  }
  a_.rollback();
  must(b_.insert({3, "c", "Oslo", 21, 3, {}}));
}

TEST(GuardedParts, APreparedTransactionHoldsItsGuardedValuesAfterARestart) {
  test::Store store(Keys::kId, 1);
  {
    test::Session session(store);
    must(session.insert({1, "a", "Rome", 10, 1, {}}));
    session.transaction().end_statement();
    must(session.transaction().prepare("theirs", kv::Durability::kSynced, true));
    store.transactions().detach_prepared(session.take_transaction());
  }
  store.crash();
  {
    test::Session session(store);
    EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, session.insert({2, "b", "Oslo", 10, 2, {}})));
    must(session.insert({3, "c", "Oslo", 11, 3, {}}));
    session.commit();
  }
  bool found = false;
  must(store.transactions().commit_prepared("theirs", found));
  EXPECT_TRUE(found);
  EXPECT_EQ(test::Session(store).rows().size(), 2U);
  EXPECT_EQ(store.check(), Problems());
}

TEST_F(GuardedPartsTest, NullsAreNotGuarded) {
  must(a_.insert({1, "a", "Rome", {}, 1, {}}));
  must(b_.insert({2, "b", "Oslo", {}, 2, {}}));
}

// Two sessions: one takes a row away from under its unique values, the other inserts them.
class VacatedValuesTest : public testing::Test {
 protected:
  VacatedValuesTest() {
    must(a_.insert(kAnn));
    a_.commit();
  }
  // Inserts, in another transaction, while this one waits for a lock and then goes on with `rest`.
  Status insert_during(const Row& row, const std::function<void()>& rest) {
    b_.writer().set_wait_policy({.may_wait = true, .timeout_ms = 300'000});
    lock::LockManager& locks = store_.transactions().locks();
    std::thread other([&] {
      basalt::test::await([&] { return locks.waiting_count() != 0; });
      rest();
      a_.commit();
    });
    Status status = b_.insert(row);
    other.join();
    return status;
  }
  std::string primary_key_of(const Row& row) {
    std::string key;
    store_.table().primary().make_key(test::Record(row).data(), 0, key);
    return key;
  }

  test::Store store_{Keys::kId};
  test::Session a_{store_};
  test::Session b_{store_};
};

TEST_F(VacatedValuesTest, ADuplicateIsTheRowThatHasTheValueWhenTheWaitIsOver) {
  Row before = kAnn;
  for (const Row& row : {Row{5, "Ann", "Oslo", 1, 5, {}}, Row{5, "eve", "Oslo", 1, 100, {}}}) {
    Row moved = before;
    moved.id += 100;
    must(a_.update(before, moved));
    EXPECT_TRUE(fails_with(ErrorCode::kDuplicateKey, insert_during(row, [] {})));
    EXPECT_EQ(b_.writer().duplicate_primary_key(), primary_key_of(moved));
    EXPECT_TRUE(store_.transactions().locks().holds(
        b_.transaction().lock_owner(), primary_key_of(moved), lock::LockMode::kExclusive));
    b_.rollback();
    before = moved;
  }
}

TEST_F(VacatedValuesTest, AValueWhoseRowMovesAndGoesDuringTheWaitIsFree) {
  Row moved = kAnn;
  moved.id = 100;
  must(a_.update(kAnn, moved));
  const Row row{5, "ann", "Oslo", 1, 100, {}};
  EXPECT_TRUE(succeeds(insert_during(row, [&] { must(a_.remove(moved)); })));
  b_.commit();
  EXPECT_EQ(b_.rows(), Rows{row});
  EXPECT_EQ(store_.check(), Problems());
}

TEST_F(VacatedValuesTest, AValueWhoseRowMovesAndTakesAnotherOneDuringTheWaitIsFree) {
  Row moved = kAnn;
  moved.id = 100;
  must(a_.update(kAnn, moved));
  Row renamed = moved;
  renamed.email = "zoe";
  renamed.code = 101;
  const Row row{5, "ann", "Oslo", 1, 100, {}};
  EXPECT_TRUE(succeeds(insert_during(row, [&] { must(a_.update(moved, renamed)); })));
  b_.commit();
  EXPECT_EQ(b_.rows(), (Rows{row, renamed}));
  EXPECT_EQ(store_.check(), Problems());
}

// Keys above all others are not looked for: GreatestKey.
TEST(IntegerKeys, AKeyThatIsTakenIsRefusedWhateverWasInsertedRemovedOrUndoneBefore) {
  test::Store store(Keys::kId);
  auto session = std::make_unique<test::Session>(store);
  std::mt19937 random(20261122);
  std::set<int> ids;
  for (int step = 0; step < 3000 && !testing::Test::HasFailure(); ++step) {
    const std::set<int> before = ids;
    // Mostly upwards, as sequences go; negative ones too.
    const int id = random() % 2 == 0 ? step / 4 - 300 : static_cast<int>(random() % 800) - 300;
    const auto code = static_cast<std::uint32_t>(id + 1000);
    if (random() % 3 == 0 && ids.contains(id)) {
      must(session->remove({id, {}, "Rome", {}, code, {}}));
      ids.erase(id);
    } else if (ids.insert(id).second) {
      EXPECT_TRUE(succeeds(session->insert({id, {}, "Rome", {}, code, {}}))) << id;
    } else {
      EXPECT_TRUE(fails_with(ErrorCode::kDuplicateKey,
                             session->insert({id, {}, "Rome", {}, code + 5000, {}})))
          << id << " at step " << step;
    }
    if (random() % 4 == 0) {
      session->rollback();
      ids = before;
    } else {
      session->commit();
    }
    if (random() % 200 != 0) continue;
    session.reset();
    random() % 2 == 0 ? store.reopen() : store.crash();
    session = std::make_unique<test::Session>(store);
  }
  EXPECT_EQ(session->rows().size(), ids.size());
}

TEST(IntegerKeys, AKeyOfAPreparedTransactionIsTakenOnceItIsCommittedAfterARestart) {
  test::Store store(Keys::kId);
  {
    test::Session session(store);
    must(session.insert({7, {}, "Rome", {}, 1, {}}));
    session.transaction().end_statement();
    must(session.transaction().prepare("theirs", kv::Durability::kSynced, true));
    store.transactions().detach_prepared(session.take_transaction());
  }
  store.crash();
  test::Session session(store);
  EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, session.insert({7, {}, "Oslo", {}, 2, {}})));
  bool found = false;
  must(store.transactions().commit_prepared("theirs", found));
  EXPECT_TRUE(fails_with(ErrorCode::kDuplicateKey, session.insert({7, {}, "Oslo", {}, 2, {}})));
}

TEST(IntegerKeys, TheLowerOfTwoKeysThatAreInsertedAtOnceIsLookedFor) {
  GreatestKey greatest;
  EXPECT_FALSE(greatest.raise(5)) << "nothing is known";
  greatest.load(4);
  EXPECT_TRUE(greatest.raise(7));
  EXPECT_FALSE(greatest.raise(5));
  EXPECT_FALSE(greatest.raise(7));
  EXPECT_TRUE(greatest.raise(8));
}

}  // namespace
}  // namespace basalt::table
