#include "txn/transaction_manager.h"

#include <algorithm>
#include <string>
#include <vector>

#include "txn/test_support.h"

// Goal: a prepared transaction is decided exactly once, by name, whatever happened since: a lost
// session, a clean stop, a crash. Method: prepare, then go on with a crash image of the database.
namespace basalt::txn {
namespace {

using basalt::test::fails_with;
using basalt::test::must;
using basalt::test::succeeds;
using test::commit;
using test::kNoWait;
using test::put;
using test::read;
using test::remove;
using Names = std::vector<std::string>;

class PreparedTest : public testing::Test {
 protected:
  void prepare(const std::string& name, std::string_view key, std::string_view value) {
    auto transaction = store_.begin();
    put(*transaction, key, value);
    must(transaction->prepare(name, kv::Durability::kBuffered));
    store_.transactions().detach_prepared(std::move(transaction));
  }
  bool is_locked(std::string_view key) {
    const auto other = store_.begin();
    return !other->lock(key, lock::LockMode::kShared, kNoWait).is_ok();
  }
  std::string committed(std::string_view key) {
    return kv::test::value_of(store_.database(), test::kFamily, key);
  }

  test::Store store_;
};

TEST_F(PreparedTest, ItsSessionCommitsOrRollsBackWhatItPrepared) {
  const auto transaction = store_.begin();
  for (const bool is_commit : {true, false}) {
    put(*transaction, is_commit ? "committed" : "rolled back", "v");
    must(transaction->prepare("x", kv::Durability::kSynced));
    EXPECT_EQ(transaction->state(), Transaction::State::kPrepared);
    EXPECT_EQ(transaction->prepared_name(), "x");
    EXPECT_TRUE(store_.transactions().prepared_names().empty()) << "its session holds it";
    must(is_commit ? transaction->commit(kv::Durability::kBuffered) : transaction->rollback());
    EXPECT_EQ(transaction->prepared_name(), "");
  }
  EXPECT_EQ(committed("committed"), "v");
  EXPECT_EQ(committed("rolled back"), "(none)");
  EXPECT_FALSE(is_locked("committed"));
  EXPECT_FALSE(is_locked("rolled back"));
}

TEST_F(PreparedTest, PreparedChangesAreInvisibleAndLockedUntilTheyAreDecided) {
  prepare("x", "k", "v");
  EXPECT_EQ(store_.transactions().prepared_names(), Names{"x"});
  EXPECT_EQ(committed("k"), "(none)");
  EXPECT_TRUE(is_locked("k"));
  EXPECT_TRUE(store_.decide(true, "x"));
  EXPECT_EQ(committed("k"), "v");
  EXPECT_FALSE(is_locked("k"));
  EXPECT_TRUE(store_.transactions().prepared_names().empty());
  EXPECT_FALSE(store_.decide(true, "x")) << "decided once";
}

TEST_F(PreparedTest, AnUnknownNameIsNotFoundAndNotAnError) {
  EXPECT_FALSE(store_.decide(true, "none"));
  EXPECT_FALSE(store_.decide(false, "none"));
}

TEST_F(PreparedTest, ItSurvivesACrashWithItsLocksAndIsDecidedAfterwards) {
  prepare("commit me", "one", "v");
  prepare("roll me back", "two", "v");
  store_.crash();
  Names names = store_.transactions().prepared_names();
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (Names{"commit me", "roll me back"}));
  EXPECT_TRUE(is_locked("one"));
  EXPECT_TRUE(is_locked("two"));
  EXPECT_EQ(committed("one"), "(none)");
  EXPECT_TRUE(store_.decide(true, "commit me"));
  EXPECT_TRUE(store_.decide(false, "roll me back"));
  store_.crash();
  EXPECT_TRUE(store_.transactions().prepared_names().empty());
  EXPECT_EQ(committed("one"), "v");
  EXPECT_EQ(committed("two"), "(none)");
  EXPECT_FALSE(is_locked("one"));
  EXPECT_FALSE(is_locked("two"));
}

TEST_F(PreparedTest, ItSurvivesSeveralRestartsAndAFlush) {
  prepare("x", "k", "v");
  must(store_.database().flush());
  store_.reopen();
  store_.crash();
  must(store_.database().flush());
  store_.reopen();
  EXPECT_EQ(store_.transactions().prepared_names(), Names{"x"});
  EXPECT_TRUE(is_locked("k"));
  EXPECT_TRUE(store_.decide(true, "x"));
  store_.reopen();
  EXPECT_EQ(committed("k"), "v");
}

TEST_F(PreparedTest, AfterACrashWhatChangedNothingButIndexesThatAreGoneIsRolledBack) {
  const auto key_of = [](char index) { return std::string("\0\0\0", 3) + index + "k"; };
  prepare("gone", key_of(1), "v");
  prepare("kept", key_of(2), "v");
  auto both = store_.begin();
  put(*both, key_of(1) + "2", "v");
  put(*both, key_of(2) + "2", "v");
  must(both->prepare("both", kv::Durability::kBuffered));
  store_.transactions().detach_prepared(std::move(both));
  auto nothing = store_.begin();
  must(nothing->lock("locked", lock::LockMode::kExclusive, kNoWait));
  must(nothing->prepare("nothing", kv::Durability::kBuffered));
  store_.transactions().detach_prepared(std::move(nothing));
  store_.crash();
  must(store_.transactions().rollback_prepared_in([](std::uint32_t index) { return index == 1; }));
  EXPECT_EQ(store_.transactions().prepared_names(), (Names{"both", "kept", "nothing"}));
  EXPECT_FALSE(is_locked(key_of(1)));
  EXPECT_TRUE(is_locked(key_of(2)));
  store_.reopen();
  EXPECT_EQ(store_.transactions().prepared_names(), (Names{"both", "kept", "nothing"}));
}

TEST_F(PreparedTest, AfterACrashEveryKindOfChangeIsLockedAndApplied) {
  auto transaction = store_.begin();
  put(*transaction, "removed", "old");
  put(*transaction, "single", "old");
  put(*transaction, "changed", "old");
  commit(*transaction);
  transaction->begin_statement(test::kRr);
  remove(*transaction, "removed");
  test::remove_single(*transaction, "single");
  put(*transaction, "changed", "1");
  put(*transaction, "changed", "2");
  const std::size_t savepoint = transaction->set_savepoint();
  put(*transaction, "undone", "v");
  must(transaction->rollback_to_savepoint(savepoint));
  must(test::put_locked(*transaction, "other family", "v", kv::kSystemFamily));
  must(transaction->prepare("x", kv::Durability::kBuffered));
  store_.transactions().detach_prepared(std::move(transaction));
  store_.crash();
  for (const char* key : {"removed", "single", "changed", "other family"}) {
    EXPECT_TRUE(is_locked(key)) << key;
  }
  EXPECT_FALSE(is_locked("undone"));
  EXPECT_TRUE(store_.decide(true, "x"));
  EXPECT_EQ(committed("removed"), "(none)");
  EXPECT_EQ(committed("single"), "(none)");
  EXPECT_EQ(committed("changed"), "2");
  EXPECT_EQ(committed("undone"), "(none)");
  EXPECT_EQ(kv::test::value_of(store_.database(), kv::kSystemFamily, "other family"), "v");
}

TEST_F(PreparedTest, WithoutWritesItSurvivesToo) {
  auto transaction = store_.begin();
  transaction->consistent_view();
  must(transaction->prepare("x", kv::Durability::kBuffered));
  store_.transactions().detach_prepared(std::move(transaction));
  store_.crash();
  EXPECT_EQ(store_.transactions().prepared_names(), Names{"x"});
  EXPECT_TRUE(store_.decide(true, "x"));
}

TEST_F(PreparedTest, ANameInUseIsRefusedAndTheTransactionCanStillEnd) {
  prepare("x", "k", "v");
  const auto second = store_.begin();
  put(*second, "other", "v");
  EXPECT_FALSE(second->prepare("x", kv::Durability::kBuffered).is_ok());
  EXPECT_EQ(second->state(), Transaction::State::kActive);
  EXPECT_TRUE(succeeds(second->rollback()));
  EXPECT_TRUE(store_.decide(true, "x"));
  EXPECT_EQ(committed("k"), "v");
  EXPECT_EQ(committed("other"), "(none)");
  EXPECT_FALSE(is_locked("other"));
}

TEST_F(PreparedTest, ANameThatWasDecidedIsFreeAgain) {
  for (int round = 0; round < 3; ++round) {
    prepare("x", "k", std::to_string(round));
    EXPECT_TRUE(store_.decide(round != 1, "x"));
  }
  EXPECT_EQ(committed("k"), "2");
}

TEST_F(PreparedTest, TheBytesOfANameDoNotMatter) {
  const std::string name("\0\xFF binary \n", 12);
  prepare(name, "k", "v");
  store_.crash();
  EXPECT_EQ(store_.transactions().prepared_names(), Names{name});
  EXPECT_TRUE(store_.decide(true, name));
}

TEST_F(PreparedTest, OtherTransactionsCommitBeforeAndAfterItsDecision) {
  prepare("x", "k", "v");
  const auto other = store_.begin();
  put(*other, "before", "v");
  commit(*other);
  must(store_.database().flush());
  EXPECT_TRUE(store_.decide(true, "x"));
  put(*other, "k", "newer");
  commit(*other);
  store_.transactions();
  EXPECT_EQ(committed("k"), "newer");
  EXPECT_EQ(committed("before"), "v");
}

TEST_F(PreparedTest, TransactionsHaveDifferentIds) {
  EXPECT_NE(store_.begin()->id(), store_.begin()->id());
}

}  // namespace
}  // namespace basalt::txn
