#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/test_support.h"
#include "kv/test_directory.h"
#include "lock/lock_manager.h"
#include "txn/test_support.h"
#include "txn/transaction.h"
#include "txn/transaction_manager.h"
#include "wal/faulty_file_system.h"

// Goal: a transaction whose end fails is afterwards either as if it had never been or whole, and
// who was told that it is committed or prepared can rely on it: at once, after a resume, and after
// a crash before or behind the resume. Method: each write and sync of the WAL fails, one at a time.
namespace basalt::txn {
namespace {

using basalt::test::fails_with;
using basalt::test::must;
using basalt::test::succeeds;
using test::kNoWait;
using test::put;
using wal::test::FaultyFileSystem;
using wal::test::Operation;

class TransactionFaultTest : public testing::Test {
 protected:
  TransactionFaultTest() {
    set_log_sink([](LogLevel, std::string_view) {});
    open();
  }
  ~TransactionFaultTest() override {
    close();
    set_log_sink(nullptr);
  }
  void open() {
    auto database = kv::Database::open(kv::test::small_options(path_), files_);
    must(database.take_status());
    database_ = std::move(database.value());
    locks_ = std::make_unique<lock::LockManager>(lock::LockManager::Options{});
    transactions_ = std::make_unique<TransactionManager>(*database_, *locks_);
    must(transactions_->recover());
  }
  void close() {
    transactions_.reset();
    locks_.reset();
    database_.reset();
  }
  void crash() {
    kv::test::copy_crash_image(path_, path_ + "x");
    files_->heal();
    close();
    path_ += "x";
    open();
  }
  void fail(Operation operation) { files_->set({.operation = operation, .part = ".log"}); }
  Status resume() {
    files_->heal();
    const std::uint64_t mark = database_->health().mark();
    BASALT_TRY(database_->resume());
    return transactions_->write_decided([&] {
      EXPECT_TRUE(database_->health().clear(mark));
      return Status::ok();
    });
  }
  std::unique_ptr<Transaction> changed(std::string_view key, std::string_view value) {
    auto transaction = transactions_->make_transaction(nullptr);
    put(*transaction, key, value);
    return transaction;
  }
  std::string read(std::string_view key) {
    return kv::test::value_of(*database_, test::kFamily, key);
  }
  bool is_locked(std::string_view key) {
    const auto other = transactions_->make_transaction(nullptr);
    return !other->lock(key, lock::LockMode::kShared, kNoWait).is_ok();
  }
  // As the binary log does at a start: every prepared transaction is committed or rolled back.
  void decide_all(Decision decision) {
    for (const std::string& name : transactions_->prepared_names()) {
      bool found = false;
      must(decision == Decision::kCommit ? transactions_->commit_prepared(name, found)
                                         : transactions_->rollback_prepared(name, found));
    }
  }

  kv::test::TestDirectory directory_;
  std::string path_ = directory_ / "db";
  std::shared_ptr<FaultyFileSystem> files_ = std::make_shared<FaultyFileSystem>();
  std::unique_ptr<kv::Database> database_;
  std::unique_ptr<lock::LockManager> locks_;
  std::unique_ptr<TransactionManager> transactions_;
};

TEST_F(TransactionFaultTest, ACommitThatFailsIsRolledBackAndLeavesNoLock) {
  for (const Operation operation : {Operation::kAppend, Operation::kSync}) {
    auto transaction = changed("k", "v");
    fail(operation);
    EXPECT_FALSE(transaction->commit(kv::Durability::kSynced).is_ok());
    ASSERT_TRUE(succeeds(transaction->rollback()));
    EXPECT_EQ(transaction->state(), Transaction::State::kIdle);
    EXPECT_FALSE(is_locked("k"));
    ASSERT_TRUE(succeeds(resume()));
    EXPECT_EQ(read("k"), "(none)");
    crash();
    EXPECT_EQ(read("k"), "(none)");
    // The session's object is of use again.
    auto again = changed("again", "v");
    ASSERT_TRUE(succeeds(again->commit(kv::Durability::kSynced)));
  }
}

TEST_F(TransactionFaultTest, WhileReadOnlyChangesFailAtOnceAndReadsGoOn) {
  must(changed("k", "v")->commit(kv::Durability::kSynced));
  auto transaction = changed("l", "w");
  fail(Operation::kAppend);
  EXPECT_FALSE(changed("m", "x")->commit(kv::Durability::kSynced).is_ok());
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, test::put_locked(*transaction, "l", "x")));
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, transaction->commit(kv::Durability::kSynced)));
  ASSERT_TRUE(succeeds(transaction->rollback()));
  EXPECT_EQ(test::read(*transaction, "k"), "v");
}

TEST_F(TransactionFaultTest, APrepareThatFailsCanBeRolledBackAndIsGone) {
  auto transaction = changed("k", "v");
  fail(Operation::kAppend);
  EXPECT_FALSE(transaction->prepare("x", kv::Durability::kSynced).is_ok());
  ASSERT_TRUE(succeeds(transaction->rollback()));
  EXPECT_FALSE(is_locked("k"));
  ASSERT_TRUE(succeeds(resume()));
  // Another one changes the row and is prepared: both would be, if the first were found again.
  must(changed("k", "w")->commit(kv::Durability::kSynced));
  auto other = changed("k", "u");
  must(other->prepare("y", kv::Durability::kSynced));
  transactions_->detach_prepared(std::move(other));
  crash();
  EXPECT_EQ(transactions_->prepared_names(), std::vector<std::string>{"y"});
  decide_all(Decision::kRollback);
  EXPECT_EQ(read("k"), "w");
}

TEST_F(TransactionFaultTest, ADecisionThatCannotBeWrittenIsWrittenAtResume) {
  for (const bool is_commit : {true, false}) {
    auto transaction = changed("k", is_commit ? "v" : "w");
    must(transaction->prepare("x", kv::Durability::kSynced));
    fail(Operation::kAppend);
    EXPECT_FALSE(
        (is_commit ? transaction->commit(kv::Durability::kBuffered) : transaction->rollback())
            .is_ok());
    transactions_->keep_decided(std::move(transaction),
                                is_commit ? Decision::kCommit : Decision::kRollback,
                                test::failed_write());
    EXPECT_TRUE(is_locked("k"));
    EXPECT_FALSE(transactions_->write_decided(Status::ok).is_ok());
    ASSERT_TRUE(succeeds(resume()));
    EXPECT_EQ(transactions_->decided_count(), 0u);
    EXPECT_FALSE(is_locked("k"));
    EXPECT_EQ(read("k"), "v");
    crash();
    EXPECT_TRUE(transactions_->prepared_names().empty());
    EXPECT_EQ(read("k"), "v");
  }
}

TEST_F(TransactionFaultTest, ADecisionThatCannotBeWrittenIsOpenAgainAfterACrash) {
  auto transaction = changed("k", "v");
  must(transaction->prepare("x", kv::Durability::kSynced));
  fail(Operation::kAppend);
  EXPECT_FALSE(transaction->commit(kv::Durability::kBuffered).is_ok());
  transactions_->keep_decided(std::move(transaction), Decision::kCommit, test::failed_write());
  crash();
  EXPECT_EQ(transactions_->prepared_names(), std::vector<std::string>{"x"});
  EXPECT_TRUE(is_locked("k"));
  decide_all(Decision::kCommit);
  EXPECT_EQ(read("k"), "v");
}

// The commit's record is whole in the WAL when its sync fails. The WAL is kept, because it has the
// prepared transaction, and at the next start RocksDB would take the record for the end of the
// transaction, but not its changes: those of that WAL are in files, it thinks.
TEST_F(TransactionFaultTest, ACommitWhoseSyncFailedIsNotTakenForDoneAfterAResumeAndACrash) {
  for (const bool is_decided_before_the_crash : {true, false}) {
    const std::string key = is_decided_before_the_crash ? "k" : "l";
    auto transaction = changed(key, "v");
    must(transaction->prepare(key, kv::Durability::kSynced));
    fail(Operation::kSync);
    EXPECT_FALSE(transaction->commit(kv::Durability::kSynced).is_ok());
    EXPECT_EQ(transaction->state(), Transaction::State::kPrepared);
    transactions_->detach_prepared(std::move(transaction));
    ASSERT_TRUE(succeeds(resume()));
    EXPECT_EQ(read(key), "(none)");
    if (is_decided_before_the_crash) decide_all(Decision::kCommit);
    crash();
    EXPECT_EQ(transactions_->prepared_names().empty(), is_decided_before_the_crash);
    decide_all(Decision::kCommit);
    EXPECT_EQ(read(key), "v");
  }
}

TEST_F(TransactionFaultTest, AWalThatIsKeptAfterAFailureIsAcceptedAtTheNextStart) {
  auto kept = changed("kept", "v");
  must(kept->prepare("x", kv::Durability::kSynced));
  transactions_->detach_prepared(std::move(kept));
  for (int i = 0; i < 3; ++i) {
    const std::string key = "failed" + std::to_string(i);
    auto transaction = changed(key, std::string(2 << 20, 'f'));
    fail(i == 0 ? Operation::kAppend : Operation::kSync);
    EXPECT_FALSE(transaction->commit(kv::Durability::kSynced).is_ok());
    must(transaction->rollback());
    ASSERT_TRUE(succeeds(resume()));
    must(changed("later" + std::to_string(i), "v")->commit(kv::Durability::kSynced));
    must(database_->flush());
  }
  crash();
  EXPECT_EQ(transactions_->prepared_names(), std::vector<std::string>{"x"});
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(read("failed" + std::to_string(i)), "(none)");
    EXPECT_EQ(read("later" + std::to_string(i)), "v");
  }
  decide_all(Decision::kCommit);
  EXPECT_EQ(read("kept"), "v");
}

TEST_F(TransactionFaultTest, APrepareWhoseSyncFailedIsUndecidedAndCanBeRolledBackLater) {
  auto transaction = changed("k", "v");
  fail(Operation::kSync);
  EXPECT_FALSE(transaction->prepare("x", kv::Durability::kSynced).is_ok());
  if (!transaction->rollback().is_ok()) {
    transactions_->keep_decided(std::move(transaction), Decision::kRollback, test::failed_write());
  }
  ASSERT_TRUE(succeeds(resume()));
  EXPECT_FALSE(is_locked("k"));
  must(changed("k", "w")->commit(kv::Durability::kSynced));
  crash();
  EXPECT_TRUE(transactions_->prepared_names().empty());
  EXPECT_EQ(read("k"), "w");
}

// What is among the committed entries decides which own ones replace them.
TEST_F(TransactionFaultTest, AViewOfOwnAndCommittedEntriesHasNoneIfACommittedOneCannotBeRead) {
  must(changed("k", "committed")->commit(kv::Durability::kSynced));
  must(database_->flush());
  close();
  open();
  auto transaction = changed("k", "own");
  const auto same_row = [](std::string_view, std::string_view, std::string_view) { return true; };
  const auto view_of_both = [&] {
    kv::Iterator iterator = transaction->new_union_iterator(
        test::kFamily, transaction->consistent_view(), {"a", "z"}, same_row);
    iterator.seek_to_first();
    return iterator;
  };
  files_->set({.operation = Operation::kRead, .part = ".sst", .count = 1});
  {
    const kv::Iterator iterator = view_of_both();
    ASSERT_EQ(files_->failures(), 1);
    EXPECT_FALSE(iterator.is_valid());
    EXPECT_TRUE(fails_with(ErrorCode::kIoError, iterator.status()));
  }
  files_->heal();
  kv::Iterator iterator = view_of_both();
  ASSERT_TRUE(iterator.is_valid());
  EXPECT_EQ(iterator.value(), "own");
  iterator.next();
  EXPECT_FALSE(iterator.is_valid());
  EXPECT_TRUE(succeeds(iterator.status()));
}

// With more runs than level 0 takes it is refused, so that its space can be given back.
TEST_F(TransactionFaultTest, WhereThereIsNoRoomForAMergeFewRunsAreCommittedAndManyAreNot) {
  for (const std::size_t runs : {12, 24}) {
    SCOPED_TRACE(runs);
    const std::string value(1000, 'v');
    const std::string first = "first of " + std::to_string(runs);
    const auto transaction = transactions_->make_transaction(nullptr);
    transaction->begin_statement(test::kRr);
    put(*transaction, first, value);
    const auto run_count = [&] { return transactions_->undecided().open_transactions()[0].runs; };
    for (int i = 0; run_count() < runs; ++i) {
      put(*transaction, "more " + std::to_string(i), value);
      transaction->set_memory_limits({.spills_at = 1});
      must(transaction->spill_if_large());
    }
    files_->set({.operation = Operation::kCreate, .part = "/merged", .cause = ENOSPC});
    const Status status = transaction->commit(kv::Durability::kSynced);
    EXPECT_GT(files_->failures(), 0);
    files_->heal();
    if (runs < 16) {
      EXPECT_TRUE(status.is_ok()) << status.message();
    } else {
      EXPECT_TRUE(fails_with(ErrorCode::kNoSpace, status));
      EXPECT_EQ(run_count(), runs);
      must(transaction->rollback());
    }
    EXPECT_EQ(read(first), runs < 16 ? value : "(none)");
    EXPECT_TRUE(database_->health().check_writable().is_ok());
  }
}

}  // namespace
}  // namespace basalt::txn
