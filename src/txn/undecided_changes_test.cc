#include "txn/undecided_changes.h"

#include <array>
#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/bytes.h"
#include "txn/test_support.h"

// Goal: as long as a transaction may yet write to an index, whoever asks is told so, whatever has
// become of the transaction meanwhile; and no longer.
namespace basalt::txn {
namespace {

using basalt::test::must;
using test::commit;
using test::kNoWait;
using test::kRr;

constexpr std::uint32_t kIndex = 300;
constexpr std::uint32_t kOther = 301;

std::string key_of(std::uint32_t index, std::string_view rest = "row") {
  std::string key;
  append_be32(key, index);
  return key.append(rest);
}

TEST(ChangedIndexes, TellHowMuchOfAStepIsDoneWhileItLasts) {
  const lock::LockOwner owner(1);
  const Relaxed<TransactionState> state{TransactionState::kActive};
  TransactionProgress progress;
  const ChangedIndexes transaction(owner, state, progress);
  EXPECT_EQ(transaction.info().step_percent, 0u);
  {
    const StepScope scope(progress, TransactionStep::kMerging, 400);
    EXPECT_EQ(transaction.info().step_percent, 0u);
    progress.add_done(100);
    progress.add_done(30);
    EXPECT_EQ(transaction.info().step, TransactionStep::kMerging);
    EXPECT_EQ(transaction.info().step_percent, 32u);
  }
  EXPECT_EQ(transaction.info().step, TransactionStep::kNone);
  EXPECT_EQ(transaction.info().step_percent, 0u);
}

class UndecidedChangesTest : public testing::Test {
 protected:
  TransactionManager& manager() { return store_.transactions(); }
  bool has_changes(std::uint32_t index = kIndex, const void* user = nullptr) {
    return manager().undecided().exist_in(std::array{index}, user);
  }
  std::unique_ptr<Transaction> changed(std::uint32_t index = kIndex, void* user = nullptr) {
    auto transaction = manager().make_transaction(user);
    test::put(*transaction, key_of(index), "v");
    return transaction;
  }
  std::unique_ptr<Transaction> prepared(const std::string& name, void* user = nullptr) {
    auto transaction = changed(kIndex, user);
    must(transaction->prepare(name, kv::Durability::kSynced, /*keeps_value_locks=*/true));
    return transaction;
  }

  test::Store store_;
};

TEST_F(UndecidedChangesTest, AnIndexHasThemFromTheFirstChangeToTheEndOfTheTransaction) {
  const auto transaction = store_.begin();
  for (const bool commits : {true, false}) {
    EXPECT_FALSE(has_changes());
    test::put(*transaction, key_of(kIndex), "v");
    test::put(*transaction, key_of(kIndex, "row 2"), "v");
    EXPECT_TRUE(has_changes());
    EXPECT_FALSE(has_changes(kOther));
    EXPECT_TRUE(manager().undecided().exist_in(std::array{kOther, kIndex}));
    must(commits ? transaction->commit(kv::Durability::kBuffered) : transaction->rollback());
  }
  EXPECT_FALSE(has_changes());
}

TEST_F(UndecidedChangesTest, TheIndexesOfAllTransactionsAreListedOnce) {
  using Indexes = std::vector<std::uint32_t>;
  EXPECT_EQ(manager().undecided().indexes(), Indexes{});
  const auto first = changed(kOther);
  const auto second = store_.begin();
  test::put(*second, key_of(kOther, "row 2"), "v");
  test::put(*second, key_of(kIndex), "v");
  EXPECT_EQ(manager().undecided().indexes(), (Indexes{kIndex, kOther}));
}

TEST_F(UndecidedChangesTest, EveryKindOfChangeCounts) {
  const std::string key = key_of(kIndex);
  for (int kind = 0; kind < 3; ++kind) {
    const auto transaction = store_.begin();
    switch (kind) {
      case 0: test::put(*transaction, key, "v"); break;
      case 1: test::remove(*transaction, key); break;
      default: test::remove_single(*transaction, key);
    }
    EXPECT_TRUE(has_changes()) << kind;
  }
  EXPECT_FALSE(has_changes());
}

TEST_F(UndecidedChangesTest, WhatASavepointHasUndoneCountsUntilTheEnd) {
  const auto transaction = store_.begin();
  const std::size_t savepoint = transaction->set_savepoint();
  transaction->begin_statement(kRr);
  test::put(*transaction, key_of(kIndex), "v");
  must(transaction->rollback_statement());
  must(transaction->rollback_to_savepoint(savepoint));
  EXPECT_TRUE(has_changes());
  commit(*transaction);
  EXPECT_FALSE(has_changes());
}

TEST_F(UndecidedChangesTest, OnesOwnDoNotCount) {
  int me = 0;
  int you = 0;
  const auto transaction = changed(kIndex, &me);
  EXPECT_TRUE(has_changes());
  EXPECT_FALSE(has_changes(kIndex, &me));
  EXPECT_TRUE(has_changes(kIndex, &you));
}

TEST_F(UndecidedChangesTest, APreparedTransactionIsNobodysOwnFromTheEndOfItsSessionOn) {
  int me = 0;
  auto transaction = prepared("x", &me);
  EXPECT_TRUE(has_changes()) << "its session holds it";
  manager().detach_prepared(std::move(transaction));
  EXPECT_TRUE(has_changes(kIndex, &me));
  bool found = false;
  must(manager().commit_prepared("x", found));
  EXPECT_FALSE(has_changes());
}

// Somebody asks all the time while the transaction changes hands.
TEST_F(UndecidedChangesTest, ThereIsNoMomentAtWhichOneThatChangesHandsIsNobodys) {
  for (int round = 0; round < 100; ++round) {
    auto transaction = prepared("x");
    std::atomic<bool> is_asking = false;
    std::atomic<bool> stops = false;
    auto asking = std::async(std::launch::async, [&] {
      std::uint64_t missed = 0;
      while (!stops) {
        missed += has_changes() ? 0 : 1;
        is_asking = true;
      }
      return missed;
    });
    while (!is_asking) std::this_thread::yield();
    if (round % 2 == 0) {
      manager().detach_prepared(std::move(transaction));
    } else {
      manager().keep_decided(std::move(transaction), Decision::kRollback, test::failed_write());
    }
    stops = true;
    EXPECT_EQ(asking.get(), 0u);
    bool found = false;
    must(manager().rollback_prepared("x", found));
    store_.complete_decided();
  }
}

TEST_F(UndecidedChangesTest, OneThatIsDecidedCountsUntilThatIsWritten) {
  manager().keep_decided(prepared("commit"), Decision::kCommit, test::failed_write());
  EXPECT_TRUE(has_changes());
  store_.complete_decided();
  EXPECT_FALSE(has_changes());
}

TEST_F(UndecidedChangesTest, OneThatIsOrderedCountsUntilItIsCommitted) {
  const auto transaction = prepared("ordered");
  transaction->take_commit_ticket("bin.000001", 100);
  EXPECT_TRUE(has_changes());
  must(transaction->commit(kv::Durability::kBuffered));
  EXPECT_FALSE(has_changes());
}

TEST_F(UndecidedChangesTest, RecoveredOnesCountUntilTheyAreDecided) {
  for (const bool crashes : {true, false}) {
    manager().detach_prepared(prepared("x"));
    if (crashes) {
      store_.crash();
    } else {
      store_.reopen();
    }
    EXPECT_TRUE(has_changes());
    EXPECT_FALSE(has_changes(kOther));
    bool found = false;
    must(manager().rollback_prepared("x", found));
    EXPECT_FALSE(has_changes());
  }
}

TEST_F(UndecidedChangesTest, WhatAUsersPreparedTransactionHasOnlyLockedCountsToo) {
  auto transaction = changed();
  must(transaction->lock(key_of(kOther), lock::LockMode::kShared, kNoWait));
  EXPECT_FALSE(has_changes(kOther)) << "its session has the metadata lock";
  must(transaction->prepare("x", kv::Durability::kBuffered, /*keeps_value_locks=*/true));
  EXPECT_TRUE(has_changes(kOther));
  must(transaction->rollback());
  EXPECT_FALSE(has_changes(kOther));
}

TEST_F(UndecidedChangesTest, OneThatASessionHasTakenBackIsDecidedByNobodyElse) {
  manager().detach_prepared(prepared("x"));
  EXPECT_EQ(manager().take_prepared("y"), nullptr);
  auto taken = manager().take_prepared("x");
  ASSERT_NE(taken, nullptr);
  bool found = true;
  must(manager().rollback_prepared("x", found));
  EXPECT_FALSE(found);
  EXPECT_TRUE(manager().undecided().exist_in(std::vector<std::uint32_t>{kIndex}));
  must(taken->commit(kv::Durability::kBuffered));
  EXPECT_EQ(kv::test::value_of(store_.database(), test::kFamily, key_of(kIndex)), "v");
}

TEST_F(UndecidedChangesTest, OneThatItsOwnSessionDecidesIsNotFoundByOthers) {
  for (const bool commits : {true, false}) {
    auto transaction = prepared("x");
    must(commits ? transaction->commit(kv::Durability::kBuffered) : transaction->rollback());
    bool found = true;
    must(manager().rollback_prepared("x", found));
    EXPECT_FALSE(found);
  }
  manager().keep_decided(prepared("x"), Decision::kCommit, test::failed_write());
  bool found = true;
  must(manager().commit_prepared("x", found));
  EXPECT_FALSE(found);
}

TEST_F(UndecidedChangesTest, OpenTransactionsAreToldWithWhatTheyHaveDone) {
  const auto open = [this] { return manager().undecided().open_transactions(); };
  int user = 0;
  const auto idle = store_.begin();
  EXPECT_TRUE(open().empty());
  const auto first = changed(kOther, &user);
  const auto second = prepared("name");
  first->lock_owner().set_reported_timeout_ms(45000);
  ASSERT_EQ(open().size(), 2u);
  EXPECT_EQ(open()[0].id, first->id());
  EXPECT_EQ(open()[0].user, &user);
  EXPECT_EQ(open()[0].state, TransactionState::kActive);
  EXPECT_EQ(open()[0].changed_rows, 1u);
  EXPECT_EQ(open()[0].prepared_name, "");
  EXPECT_EQ(open()[0].lock_wait_timeout_ms, 45000);
  EXPECT_EQ(open()[1].id, second->id());
  EXPECT_EQ(open()[1].state, TransactionState::kPrepared);
  EXPECT_EQ(open()[1].prepared_name, "name");
  must(second->rollback());
  commit(*first);
  EXPECT_TRUE(open().empty());
}

// ---- numbers of commits, by which journals keep their changes apart

// Joins the journal kOther with a change of kIndex.
std::uint64_t join(Transaction& transaction) {
  std::uint64_t number = 0;
  must(change_row(transaction, {.locks = RowLocks::kNotNeeded}, [&](RowChange& change) {
    number = change.join_journal(kOther);
    return change.put(test::kFamily, key_of(kIndex), "v");
  }));
  return number;
}

TEST_F(UndecidedChangesTest, EachCommitHasANumberOfItsOwnAndNoneBelowTheFirstOpenOneComes) {
  const auto one = store_.begin();
  const auto two = store_.begin();
  const std::uint64_t first = join(*one);
  EXPECT_EQ(join(*one), first);
  EXPECT_TRUE(has_changes(kOther)) << "before anything is put there";
  const std::uint64_t second = join(*two);
  EXPECT_GT(second, first);
  EXPECT_EQ(manager().first_open_number(), first);
  must(one->commit_portion(kv::Durability::kBuffered));
  EXPECT_EQ(manager().first_open_number(), second) << "a portion is visible, too";
  const std::uint64_t third = join(*one);
  EXPECT_GT(third, second);
  must(two->rollback());
  EXPECT_EQ(manager().first_open_number(), third);
  commit(*one);
  EXPECT_GT(manager().first_open_number(), third);
  EXPECT_FALSE(has_changes(kOther));
  EXPECT_GT(join(*two), third);
}

// With the number that it has got in another one.
TEST_F(UndecidedChangesTest, ANumberIsOpenInJournalsThatItsTransactionHasNotJoinedYet) {
  const auto transaction = store_.begin();
  const std::uint64_t number = join(*transaction);
  join(*store_.begin());
  EXPECT_EQ(manager().first_open_number(), number);
  must(change_row(*transaction, {.locks = RowLocks::kNotNeeded}, [&](RowChange& change) {
    EXPECT_EQ(change.join_journal(kIndex + 10), number);
    return Status::ok();
  }));
  commit(*transaction);
  EXPECT_GT(manager().first_open_number(), number);
}

TEST_F(UndecidedChangesTest, APreparedTransactionHasItsNumberUntilItIsDecided) {
  auto transaction = store_.begin();
  const std::uint64_t number = join(*transaction);
  must(transaction->prepare("x", kv::Durability::kSynced, /*keeps_value_locks=*/true));
  manager().detach_prepared(std::move(transaction));
  EXPECT_EQ(manager().first_open_number(), number);
  bool found = false;
  must(manager().commit_prepared("x", found));
  EXPECT_GT(manager().first_open_number(), number);
}

}  // namespace
}  // namespace basalt::txn
