#include <signal.h>
#include <sys/resource.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "txn/test_support.h"
#include "wal/power_loss_file_system.h"

// Goal: a transaction that has its commit ticket is committed, whatever happens: by its
// session, after an error of the disk, or after a crash; and who waits for it sees it. Method: a
// file size limit of the process plays the disk that cannot be written.
namespace basalt::txn {
namespace {

using basalt::test::fails_with;
using basalt::test::must;
using basalt::test::succeeds;
using test::kNoWait;
using test::put;

const auto kForever = [] { return true; };
const auto kNotAtAll = [] { return false; };

// While it lives, no file of the process can be written beyond a byte.
class FullDisk {
 public:
  FullDisk() {
    previous_handler_ = signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &previous_);
    rlimit limit = previous_;
    limit.rlim_cur = 1;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &previous_);
    signal(SIGXFSZ, previous_handler_);
  }

 private:
  rlimit previous_{};
  sighandler_t previous_handler_;
};

class OrderedCommitTest : public testing::Test {
 protected:
  std::unique_ptr<Transaction> prepared(const std::string& name, std::string_view key) {
    auto transaction = store_.begin();
    put(*transaction, key, "v");
    must(transaction->prepare(name, kv::Durability::kSynced));
    return transaction;
  }
  std::unique_ptr<Transaction> ordered(const std::string& name, std::string_view key,
                                       std::uint64_t offset = 0) {
    auto transaction = prepared(name, key);
    transaction->take_commit_ticket(offset == 0 ? "" : "bin.000001", offset);
    return transaction;
  }
  bool is_locked(std::string_view key) {
    const auto other = store_.begin();
    return !other->lock(key, lock::LockMode::kShared, kNoWait).is_ok();
  }
  std::string committed(std::string_view key) {
    return kv::test::value_of(store_.database(), test::kFamily, key);
  }
  TransactionManager& manager() { return store_.transactions(); }

  test::Store store_;
};

TEST_F(OrderedCommitTest, ItIsInvisibleAndLockedUntilItsCommit) {
  const auto transaction = ordered("x", "k");
  EXPECT_EQ(transaction->state(), Transaction::State::kOrdered);
  EXPECT_EQ(committed("k"), "(none)");
  EXPECT_TRUE(is_locked("k"));
  must(transaction->commit(kv::Durability::kSynced));
  EXPECT_EQ(committed("k"), "v");
  EXPECT_FALSE(is_locked("k"));
}

TEST_F(OrderedCommitTest, APrepareSyncsOnceTogetherWithOthersAndACommitDoesNot) {
  const std::uint64_t before = store_.database().wal_sync_count();
  const auto transaction = ordered("x", "k");
  EXPECT_EQ(store_.database().wal_sync_count(), before + 1);
  must(transaction->commit(kv::Durability::kSynced));
  put(*transaction, "k", "w");
  must(transaction->prepare("y", kv::Durability::kBuffered));
  must(transaction->commit(kv::Durability::kBuffered));
  EXPECT_EQ(store_.database().wal_sync_count(), before + 1);
}

TEST_F(OrderedCommitTest, WhoWaitsForItSeesIt) {
  const auto transaction = ordered("x", "k");
  EXPECT_TRUE(fails_with(ErrorCode::kInterrupted, manager().wait_for_ordered(kNotAtAll)));
  std::thread waiter([&] {
    EXPECT_TRUE(succeeds(manager().wait_for_ordered(kForever)));
    EXPECT_EQ(committed("k"), "v");
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  must(transaction->commit(kv::Durability::kSynced));
  waiter.join();
  EXPECT_TRUE(succeeds(manager().wait_for_ordered(kNotAtAll))) << "nobody is left";
}

TEST_F(OrderedCommitTest, TheBinaryLogsPositionIsStoredWithTheCommit) {
  {
    const auto first = ordered("a", "1", 500);
    const auto second = ordered("b", "2", 700);
    must(second->commit(kv::Durability::kBuffered));
    EXPECT_EQ(manager().binlog_positions().newest(), (BinlogPosition{"bin.000001", 700}));
    must(first->commit(kv::Durability::kBuffered));
  }
  store_.crash();
  EXPECT_EQ(manager().binlog_positions().newest(), (BinlogPosition{"bin.000001", 700}));
  must(ordered("c", "3", 900)->commit(kv::Durability::kBuffered));
  store_.reopen();
  EXPECT_EQ(manager().binlog_positions().newest(), (BinlogPosition{"bin.000001", 900}));
}

TEST_F(OrderedCommitTest, AfterACrashItIsPreparedAgain) {
  auto transaction = ordered("x", "k", 500);
  store_.database().sync_wal().ignore("not needed for a crash of the process");
  manager().keep_decided(std::move(transaction), Decision::kCommit, test::failed_write());
  store_.crash();
  EXPECT_EQ(manager().prepared_names(), std::vector<std::string>{"x"});
  EXPECT_FALSE(manager().binlog_positions().newest());
  bool found = false;
  must(manager().commit_prepared("x", found));
  EXPECT_TRUE(found);
  EXPECT_EQ(committed("k"), "v");
}

TEST_F(OrderedCommitTest, WhatWasDecidedIsWrittenLater) {
  auto one = ordered("commit", "one", 500);
  auto two = prepared("XA COMMIT", "two");
  auto three = prepared("roll back", "three");
  manager().keep_decided(std::move(one), Decision::kCommit, test::failed_write());
  manager().keep_decided(std::move(two), Decision::kCommit, test::failed_write());
  manager().keep_decided(std::move(three), Decision::kRollback, test::failed_write());
  EXPECT_EQ(manager().decided_count(), 3u);
  for (const char* key : {"one", "two", "three"}) EXPECT_TRUE(is_locked(key)) << key;
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, manager().wait_for_ordered(kForever)));
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, store_.database().health().check_not_read_only()));
  store_.complete_decided();
  EXPECT_EQ(manager().decided_count(), 0u);
  EXPECT_TRUE(succeeds(manager().wait_for_ordered(kNotAtAll)));
  for (const bool after_crash : {false, true}) {
    if (after_crash) store_.crash();
    EXPECT_EQ(committed("one"), "v");
    EXPECT_EQ(committed("two"), "v");
    EXPECT_EQ(committed("three"), "(none)");
    for (const char* key : {"one", "two", "three"}) EXPECT_FALSE(is_locked(key)) << key;
    EXPECT_TRUE(manager().prepared_names().empty());
    EXPECT_EQ(manager().binlog_positions().newest(), (BinlogPosition{"bin.000001", 500}));
  }
}

TEST_F(OrderedCommitTest, ADecidedTransactionGoesWithTheLastWhoHasAShareOfIt) {
  std::shared_ptr<Transaction> committed_one = ordered("commit", "one", 500);
  std::shared_ptr<Transaction> rolled_back = prepared("roll back", "two");
  const std::weak_ptr<Transaction> first = committed_one;
  const std::weak_ptr<Transaction> second = rolled_back;
  manager().keep_decided(committed_one, Decision::kCommit, test::failed_write());
  manager().keep_decided(std::move(rolled_back), Decision::kRollback, test::failed_write());
  store_.complete_decided();
  EXPECT_TRUE(second.expired());
  EXPECT_FALSE(first.expired());
  EXPECT_EQ(committed_one->state(), Transaction::State::kIdle);
  committed_one.reset();
  EXPECT_TRUE(first.expired());
}

TEST_F(OrderedCommitTest, WhatCannotBeWrittenStaysAsItIsUntilTheNextStart) {
  auto to_commit = ordered("commit", "one", 500);
  auto to_roll_back = prepared("roll back", "two");
  {
    const FullDisk disk;
    for (int attempt = 0; attempt < 2; ++attempt) {
      EXPECT_FALSE(to_commit->commit(kv::Durability::kSynced).is_ok());
      EXPECT_EQ(to_commit->state(), Transaction::State::kOrdered);
    }
    EXPECT_FALSE(to_roll_back->rollback().is_ok());
    EXPECT_EQ(to_roll_back->state(), Transaction::State::kPrepared);
    manager().keep_decided(std::move(to_commit), Decision::kCommit, test::failed_write());
    manager().keep_decided(std::move(to_roll_back), Decision::kRollback, test::failed_write());
    EXPECT_FALSE(manager().write_decided(Status::ok).is_ok());
  }
  EXPECT_EQ(manager().decided_count(), 2u);
  EXPECT_TRUE(is_locked("one"));
  EXPECT_TRUE(is_locked("two"));
  store_.reopen();
  EXPECT_EQ(manager().prepared_names(), (std::vector<std::string>{"commit", "roll back"}));
  EXPECT_TRUE(is_locked("one"));
  EXPECT_TRUE(is_locked("two"));
  EXPECT_FALSE(manager().binlog_positions().newest());
}

TEST_F(OrderedCommitTest, AfterAFailedPrepareATransactionCanBeRolledBack) {
  const auto transaction = store_.begin();
  put(*transaction, "k", "v");
  {
    const FullDisk disk;
    EXPECT_FALSE(transaction->prepare("x", kv::Durability::kSynced).is_ok());
  }
  EXPECT_EQ(transaction->state(), Transaction::State::kActive);
  must(transaction->rollback());
  EXPECT_EQ(transaction->state(), Transaction::State::kIdle);
  EXPECT_FALSE(is_locked("k"));
  EXPECT_EQ(committed("k"), "(none)");
}

TEST_F(OrderedCommitTest, ARolledBackNameIsFreeForOtherSessions) {
  const auto first = prepared("x", "k");
  must(first->rollback());
  const auto second = prepared("x", "k");
  must(second->commit(kv::Durability::kSynced));
  EXPECT_EQ(committed("k"), "v");
}

// What a machine that stops leaves of a transaction that was told to be committed.
class OrderedCommitOnDiskTest : public testing::Test {
 protected:
  // Commits one, lets the machine stop, and recovers.
  void commit_and_stop(bool is_decided_by_user) {
    wal::test::PowerLossFileSystem::Image image;
    {
      Parts parts(must(kv::Database::open(kv::test::small_options(directory_ / "db"), files_)));
      const auto transaction = parts.manager.make_transaction(nullptr);
      put(*transaction, "k", "v");
      must(transaction->prepare("x", kv::Durability::kSynced, is_decided_by_user));
      transaction->take_commit_ticket("bin.000001", 500);
      must(transaction->commit(kv::Durability::kSynced));
      wal::test::PowerLossFileSystem::Chance chance(1);
      image = files_->draw(directory_ / "db", chance, [](const std::string&) { return 0.0; });
    }
    wal::test::PowerLossFileSystem::write(image, directory_ / "image");
    const Parts found(kv::test::open_database(directory_ / "image"));
    prepared_ = found.manager.prepared_names();
    value_ = kv::test::value_of(*found.database, test::kFamily, "k");
  }

  struct Parts {
    explicit Parts(std::unique_ptr<kv::Database> opened) : database(std::move(opened)) {
      must(manager.recover());
    }
    std::unique_ptr<kv::Database> database;
    lock::LockManager locks{lock::LockManager::Options{}};
    TransactionManager manager{*database, locks};
  };

  kv::test::TestDirectory directory_;
  const std::shared_ptr<wal::test::PowerLossFileSystem> files_ =
      std::make_shared<wal::test::PowerLossFileSystem>(1);
  std::vector<std::string> prepared_;
  std::string value_;
};

TEST_F(OrderedCommitOnDiskTest, WhoeverHasOrderedItDecidesItAgain) {
  commit_and_stop(false);
  EXPECT_EQ(prepared_, std::vector<std::string>{"x"});
  EXPECT_EQ(value_, "(none)");
}

TEST_F(OrderedCommitOnDiskTest, OneThatAUserHasDecidedIsNotUndecidedAgain) {
  commit_and_stop(true);
  EXPECT_TRUE(prepared_.empty());
  EXPECT_EQ(value_, "v");
}

}  // namespace
}  // namespace basalt::txn
