#include "txn/run_merge.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "txn/run_writer.h"
#include "txn/spill_test_support.h"

// Goal: transactions of many runs are committed in few files of the same changes, and somebody who
// looks can tell; memory and KILL decide when one spills.
namespace basalt::txn {
namespace {

namespace fs = std::filesystem;

using basalt::test::must;
using test::commit;
using test::key_of;
using test::kFamily;
using test::kNumbers;
using test::kSingle;
using test::Map;

using RunMergeTest = test::SpillTest;

// A single deletion too many is seen in no result, but each must meet a put.
TEST(NetChange, KeepsAsManySingleDeletionsAsThereArePutsBelow) {
  const auto in_words = [](ChangeKind oldest, ChangeKind newest) {
    const NetChange change = net_change(oldest, newest);
    return std::string(change.has_removal_below ? "removal, " : "") +
           (change.has_newest ? "newest" : "nothing");
  };
  using enum ChangeKind;
  EXPECT_EQ(in_words(kPut, kPut), "newest");
  EXPECT_EQ(in_words(kPut, kRemoveSingle), "nothing");
  EXPECT_EQ(in_words(kRemoveSingle, kPut), "removal, newest");
  EXPECT_EQ(in_words(kRemoveSingle, kRemoveSingle), "newest");
  // Any number of these may follow each other.
  EXPECT_EQ(in_words(kPut, kRemove), "newest");
  EXPECT_EQ(in_words(kRemove, kPut), "newest");
  EXPECT_EQ(in_words(kRemove, kRemove), "newest");
}

// Removals and puts of a key follow each other. Compactions leave out what is lowest, so that an
// entry comes back that a merge has left without its removal.
TEST_F(RunMergeTest, ManyRunsAreMergedToFewFilesOfTheSameChanges) {
  Map rows = begin_with_rows();
  compact();
  stop_compactions();
  std::size_t most_runs = 0;
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE(round);
    const Map before = rows;
    const auto transaction = store_.begin();
    transaction->begin_statement(test::kRr);
    const test::Meanwhile meanwhile = any_of_it();
    for (std::uint32_t part = 1 + below(60); part != 0; --part) {
      for (std::uint32_t i = 1 + below(4); i != 0; --i) change(*transaction, rows);
      spill(*transaction, meanwhile);
      if (below(10) == 0) transaction->set_savepoint();
    }
    const std::size_t runs = info_of(*transaction).runs;
    most_runs = std::max(most_runs, runs);
    must(store_.database().flush());
    const std::uint64_t files = files_in_level_0();
    const bool is_prepared = below(3) == 0;
    if (is_prepared) must(transaction->prepare("x", kv::Durability::kSynced));
    if (is_prepared && below(2) == 0) {
      must(transaction->rollback());
      rows = before;
    } else {
      commit(*transaction);
    }
    // The rest of the batch may become two runs.
    EXPECT_LE(files_in_level_0(), files + (runs <= 6 ? runs + 2 : 16));
    EXPECT_EQ(committed(), rows);
    EXPECT_FALSE(has_directories());
    if (below(4) == 0 && files_in_level_0() != 0) compact_upper_levels();
    if (below(8) == 0) compact();
    EXPECT_EQ(committed(), rows) << "after a compaction";
  }
  EXPECT_GT(most_runs, 20u);
}

class MergeMeanwhileTest : public RunMergeTest {
 protected:
  MergeMeanwhileTest() {
    transaction_->begin_statement(test::kRr);
    change(*transaction_, rows_);
  }
  ~MergeMeanwhileTest() override {
    commit(*transaction_);
    EXPECT_EQ(committed(), rows_);
    EXPECT_FALSE(has_directories());
  }
  std::size_t runs() { return info_of(*transaction_).runs; }
  // A run may be a larger one than asked for; and none where all that was changed is undone.
  void make_run(bool writes_meanwhile = false) {
    for (const auto before = transaction_->spilled_bytes();
         before == transaction_->spilled_bytes();) {
      change(*transaction_, rows_);
      change(*transaction_, rows_);
      spill(*transaction_, {.writes = writes_meanwhile, .merges = true});
    }
  }
  void make_runs(std::size_t count) {
    for (; count != 0; --count) make_run();
  }
  // Behind `hold`, which keeps it.
  bool has_begun_merge(const basalt::test::Hold& /*hold*/) {
    return store_.transactions().merge_slot().take() == nullptr;
  }
  static int threads_named(const std::string& name) {
    int count = 0;
    for (const auto& thread : fs::directory_iterator("/proc/self/task")) {
      std::string line;
      std::getline(std::ifstream(thread.path() / "comm"), line);
      count += line == name ? 1 : 0;
    }
    return count;
  }
  // A run takes in what is merged by then.
  void await_merge() {
    basalt::test::await([&] {
      const std::size_t before = runs();
      make_run();
      return runs() < before;
    });
  }

  const std::unique_ptr<Transaction> transaction_ = store_.begin();
  Map rows_;
};

TEST_F(MergeMeanwhileTest, ManyRunsBecomeFewerWhileTheTransactionGoesOn) {
  const basalt::test::Hold hold("txn.spill.merge_behind");
  while (runs() < 11) make_run();
  // One more spill may make two.
  if (runs() == 11) {
    EXPECT_FALSE(has_begun_merge(hold)) << "so few that the commit would leave them";
  }
  hold.release();
  await_merge();
  for (int round = 0; round < 10; ++round) {
    make_runs(10);
    expect_reads(*transaction_, rows_);
    expect_walk(*transaction_, rows_);
  }
}

TEST_F(MergeMeanwhileTest, ASavepointLiesBetweenRunsAlsoWhenThoseBeforeItAreMerged) {
  const basalt::test::Hold hold("txn.spill.merge_behind");
  while (runs() < 15) make_run();
  const Map before = rows_;
  const std::size_t savepoint = transaction_->set_savepoint();
  make_runs(3);
  ASSERT_TRUE(has_begun_merge(hold));
  hold.release();
  await_merge();
  must(transaction_->rollback_to_savepoint(savepoint));
  rows_ = before;
  expect_reads(*transaction_, rows_);
  make_runs(20);
  expect_reads(*transaction_, rows_);
}

TEST_F(MergeMeanwhileTest, RunsWithASavepointBetweenThemAreNotMerged) {
  const basalt::test::Hold hold("txn.spill.merge_behind");
  std::vector<std::pair<std::size_t, Map>> savepoints;
  for (int i = 0; i < 5; ++i) {
    for (const std::size_t end = runs() + 4; runs() < end;) make_run();
    savepoints.emplace_back(transaction_->set_savepoint(), rows_);
  }
  make_run();
  EXPECT_FALSE(has_begun_merge(hold));
  for (; !savepoints.empty(); savepoints.pop_back()) {
    must(transaction_->rollback_to_savepoint(savepoints.back().first));
    rows_ = savepoints.back().second;
    expect_reads(*transaction_, rows_);
  }
}

TEST_F(MergeMeanwhileTest, AMergeOfRunsThatAreRolledBackIsGivenUp) {
  make_runs(2);
  const Map before = rows_;
  const std::size_t runs_before = runs();
  const std::size_t savepoint = transaction_->set_savepoint();
  const basalt::test::Hold hold("txn.spill.merge_behind");
  while (runs() < 14) make_run();
  ASSERT_TRUE(has_begun_merge(hold));
  hold.release();
  must(transaction_->rollback_to_savepoint(savepoint));
  rows_ = before;
  EXPECT_EQ(runs(), runs_before);
  EXPECT_EQ(file_count(load_directory()), runs_before);
  expect_reads(*transaction_, rows_);
  await_merge();
}

TEST_F(MergeMeanwhileTest, ReturnsToSavepointsUndoWhatCameAfterThemWhateverIsMerged) {
  std::size_t merges = 0;
  for (int round = 0; round < 10; ++round) {
    SCOPED_TRACE(round);
    std::vector<std::pair<std::size_t, Map>> savepoints;
    // With many more a run becomes a large one.
    for (int step = 0; step < 60 && runs() < 32; ++step) {
      const std::size_t before = runs();
      make_run(below(2) == 0);
      merges += runs() + 1 < before ? 1 : 0;
      if (below(20) == 0) savepoints.emplace_back(transaction_->set_savepoint(), rows_);
      if (below(30) == 0 && !savepoints.empty()) {
        savepoints.resize(1 + below(static_cast<std::uint32_t>(savepoints.size())));
        must(transaction_->rollback_to_savepoint(savepoints.back().first));
        rows_ = savepoints.back().second;
      }
      if (below(10) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(3));
      if (below(4) == 0) expect_reads(*transaction_, rows_);
    }
    commit(*transaction_);
    EXPECT_EQ(committed(), rows_);
    transaction_->begin_statement(test::kRr);
    change(*transaction_, rows_);
  }
  EXPECT_GT(merges, 5u);
}

TEST_F(MergeMeanwhileTest, AMergeThatFailsLeavesTheRunsToTheCommit) {
  while (runs() < 11) make_run();
  block_files(load_directory(), "merged");
  make_runs(30);
  EXPECT_GT(runs(), 30u);
  // The one that fails may not have come to that yet.
  basalt::test::await([&] { return store_.transactions().merge_slot().take() != nullptr; });
  const basalt::test::Hold hold("txn.spill.merge_behind");
  make_runs(3);
  EXPECT_FALSE(has_begun_merge(hold)) << "another one";
  expect_reads(*transaction_, rows_);
  unblock_files(load_directory());
}

TEST_F(MergeMeanwhileTest, ACommitWaitsForWhatIsBeingMergedOfMany) {
  const basalt::test::Hold hold("txn.spill.merge_behind");
  while (runs() < 14) make_run();
  std::thread committer([&] { commit(*transaction_); });
  basalt::test::await([&] { return info_of(*transaction_).step == TransactionStep::kMerging; });
  hold.release();
  committer.join();
}

TEST_F(MergeMeanwhileTest, OneTransactionMergesAtATime) {
  const basalt::test::Hold hold("txn.spill.merge_behind");
  while (runs() < 14) make_run();
  ASSERT_TRUE(has_begun_merge(hold));
  // A thread has its name when it runs.
  basalt::test::await([] { return threads_named("rocksdb:merge") == 1; });
  const auto other = store_.begin();
  other->begin_statement(test::kRr);
  for (std::uint32_t i = kNumbers; i < kNumbers + 20; ++i) {
    test::put(*other, key_of(i), std::string(1 << (i - kNumbers), 'v'));
    spill(*other, {.merges = true});
  }
  EXPECT_EQ(info_of(*other).runs, 20u);
  EXPECT_EQ(threads_named("rocksdb:merge"), 1);
  hold.release();
  must(other->rollback());
}

// RocksDB would write the memtable to a file while all writers wait.
TEST_F(RunMergeTest, AMemtableInTheWayOfRunsIsFlushedBeforeTheyAreTakenIn) {
  const auto transaction = store_.begin();
  transaction->begin_statement(test::kRr);
  for (const std::uint32_t i : {1, 9}) test::put(*transaction, key_of(i), "row");
  spill(*transaction);
  test::put_large_row(store_, key_of(5));
  const basalt::test::Hold hold("txn.load.ingest");
  std::thread committer([&] { commit(*transaction); });
  basalt::test::await([&] { return test::memtable_bytes(store_) < test::kLargeMemtable; });
  EXPECT_FALSE(committed().contains(key_of(1)));
  hold.release();
  committer.join();
  EXPECT_TRUE(committed().contains(key_of(1)));
}

// The file that it would write is where something else is.
TEST_F(RunMergeTest, ACommitWhoseMergeFailsCanBeDoneAgain) {
  const auto transaction = store_.begin();
  transaction->begin_statement(test::kRr);
  Map rows;
  for (int i = 0; i < 30; ++i) {
    change(*transaction, rows);
    change(*transaction, rows);
    spill(*transaction);
  }
  // What is left in memory would fail to become the next run.
  for (std::uint64_t before = transaction->spilled_bytes(); before == transaction->spilled_bytes();
       spill(*transaction)) {
    change(*transaction, rows);
  }
  const std::size_t runs = info_of(*transaction).runs;
  ASSERT_GT(runs, 12u);
  const fs::path directory = load_directory();
  const std::size_t files = file_count(directory);
  block_files(directory, "merged");
  EXPECT_TRUE(transaction->commit(kv::Durability::kSynced).is(ErrorCode::kIoError));
  EXPECT_EQ(info_of(*transaction).runs, runs);
  EXPECT_EQ(file_count(directory), files) << "nothing of the merge stays, and all that it has read";
  unblock_files(directory);
  commit(*transaction);
  EXPECT_EQ(committed(), rows);
  EXPECT_FALSE(has_directories());
}

TEST_F(RunMergeTest, AnInterruptedSpillLeavesTheChangesInMemory) {
  const auto transaction = store_.begin();
  transaction->begin_statement(test::kRr);
  for (std::uint32_t i = 0; i < 3000; ++i) test::put(*transaction, key_of(i), "row");
  store_.locks().interrupt(transaction->lock_owner());
  EXPECT_TRUE(try_spill(*transaction).is(ErrorCode::kInterrupted));
  EXPECT_EQ(file_count(load_directory()), 0u);
  EXPECT_GT(info_of(*transaction).bytes_in_memory, 3000u);
  store_.locks().clear_interrupt(transaction->lock_owner());
  EXPECT_EQ(all_of(*transaction, true).size(), 3000u);
  // Between two runs, as between two rows.
  const basalt::test::Hold hold("txn.spill.written");
  transaction->set_savepoint();
  test::put(*transaction, key_of(3000), "row");
  Status status;
  std::thread spilling([&] { status = try_spill(*transaction); });
  basalt::test::await([&] { return file_count(load_directory()) == 1; });
  store_.locks().interrupt(transaction->lock_owner());
  hold.release();
  spilling.join();
  EXPECT_TRUE(status.is(ErrorCode::kInterrupted));
  store_.locks().clear_interrupt(transaction->lock_owner());
  EXPECT_EQ(all_of(*transaction, true).size(), 3001u);
  // A commit is not given up for it.
  for (std::uint32_t i = 3001; i < 3040; ++i) {
    test::put(*transaction, key_of(i), "row");
    spill(*transaction);
  }
  test::put(*transaction, key_of(3040), "row");
  EXPECT_GT(info_of(*transaction).runs, 8u);
  store_.locks().interrupt(transaction->lock_owner());
  commit(*transaction);
  EXPECT_EQ(committed().size(), 3041u);
}

TEST_F(RunMergeTest, WhereOthersHaveTakenTheMemorySmallerTransactionsSpillToo) {
  const std::string value(100'000, 'v');
  const MemoryLimits limits{.spills_at = 5'000'000, .scarce_above = 4'000'000};
  const auto has_spilled = [&](std::uint32_t first) {
    const auto transaction = store_.begin();
    transaction->begin_statement(test::kRr);
    transaction->set_memory_limits(limits);
    for (std::uint32_t i = first; i < first + 12; ++i) test::put(*transaction, key_of(i), value);
    must(transaction->spill_if_large());
    const bool has_files = transaction->has_changes_in_files();
    must(transaction->rollback());
    return has_files;
  };
  EXPECT_FALSE(has_spilled(0));
  const auto large = store_.begin();
  large->begin_statement(test::kRr);
  large->set_memory_limits({});
  for (std::uint32_t i = 100; i < 145; ++i) test::put(*large, key_of(i), value);
  must(large->spill_if_large());
  EXPECT_TRUE(has_spilled(0));
  must(large->rollback());
  EXPECT_FALSE(has_spilled(0)) << "the memory is free again";
}

TEST_F(RunMergeTest, ReportsTellWhatChangesThereAreAndWhatIsDoneWithThem) {
  auto transaction = store_.begin();
  transaction->begin_statement(test::kRr);
  Map rows;
  for (int i = 0; i < 20; ++i) {
    change(*transaction, rows);
    change(*transaction, rows);
    spill(*transaction);
  }
  test::put(*transaction, key_of(kNumbers), "row");
  must(transaction->spill_if_large());
  TransactionInfo info = info_of(*transaction);
  EXPECT_GT(info.bytes_in_memory, 0u);
  EXPECT_LT(info.bytes_in_memory, 100u);
  EXPECT_GT(info.bytes_in_files, 0u);
  EXPECT_GT(info.runs, 8u);
  EXPECT_EQ(info.step, TransactionStep::kNone);
  const basalt::test::Hold hold("txn.spill.merge");
  std::thread committer([&] { commit(*transaction); });
  basalt::test::await([&] { return info_of(*transaction).step == TransactionStep::kMerging; });
  EXPECT_EQ(info_of(*transaction).step_percent, 0u);
  hold.release();
  committer.join();
  transaction->begin_statement(test::kRr);
  test::put(*transaction, key_of(1), "row");
  info = info_of(*transaction);
  EXPECT_EQ(info.bytes_in_files + info.runs, 0u);
  must(transaction->rollback());
}

}  // namespace
}  // namespace basalt::txn
