#include "txn/pending_write.h"

#include <rocksdb/write_batch.h>

#include <atomic>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "rdb/status_conversion.h"
#include "txn/spill_test_support.h"

// Goal: nobody can tell whether a transaction's changes are in its batch, in runs that a thread is
// writing, or in files; and what cannot be written stays, and is written later. Method: what is in
// memory beside the files that are made of it, and transactions that are held in between.
namespace basalt::txn {
namespace {

namespace fs = std::filesystem;

using basalt::test::must;
using test::commit;
using test::key_of;
using test::kFamily;
using test::kIndex;
using test::kNumbers;
using test::kSingle;
using test::Map;

class PendingRunTest : public test::SpillTest {
 protected:
  std::string any_key() { return key_of(below(kNumbers), below(2) == 0 ? kIndex : kSingle); }
  // Of each key the changes that an engine makes of it.
  std::shared_ptr<const PendingRun> make(std::uint32_t count) {
    const auto batch = std::make_shared<rdb::WriteBatch>();
    rdb::ColumnFamilyHandle* const handle = store_.database().family_handle(kFamily);
    Map rows;
    for (std::uint32_t i = 0; i < kNumbers; i += 3) rows[key_of(i, kSingle)] = "old";
    for (; count != 0; --count) {
      const std::string key = any_key();
      const bool is_single = KeySpans::index_of(key) == kSingle;
      rdb::Status status;
      if (rows.contains(key) && (is_single || below(3) == 0)) {
        status = is_single ? batch->SingleDelete(handle, key) : batch->Delete(handle, key);
        rows.erase(key);
      } else {
        rows[key] = std::to_string(next_value_++);
        status = batch->Put(handle, key, rows[key]);
      }
      must(rdb::from_rocksdb(status));
    }
    auto sections = must(BatchSections::of(store_.database(), *batch, {}));
    return std::make_shared<PendingRun>(batch, std::move(sections.take().front()));
  }
  static std::string at(const ChangeSource& source) {
    if (!source.is_valid()) return "(none)";
    return std::string(source.key()) + "=" + (source.is_put() ? std::string(source.value()) : "-");
  }
};

TEST_F(PendingRunTest, HasTheSameChangesAsTheFileThatIsMadeOfIt) {
  const auto directory = must(bulk::BuildDirectory::make_load(store_.database().build_place()));
  for (int round = 0; round < 40; ++round) {
    SCOPED_TRACE(round);
    const auto run = make(1 + below(60));
    WrittenRuns written;
    must(write_pending_runs(
        store_.database(), {run}, directory->path() + "/" + std::to_string(round) + "-",
        [] { return false; }, written));
    ASSERT_EQ(written.ends, std::vector<std::size_t>{written.runs.size()});
    if (written.runs.empty()) continue;
    const SpilledRun& file = *written.runs.back();
    for (int i = 0; i < 20; ++i) {
      const std::string key = any_key();
      std::string in_memory;
      std::string in_file;
      OwnVersion version = OwnVersion::kNone;
      OwnVersion version_in_file = OwnVersion::kNone;
      run->find(kFamily, key, version, in_memory);
      must(file.find(kFamily, key, version_in_file, in_file));
      ASSERT_EQ(version, version_in_file);
      ASSERT_EQ(in_memory, in_file);
    }
    const auto changes = run->changes(kFamily, {}, {});
    const auto changes_in_file = file.changes(kFamily);
    const auto both = [&](auto move) {
      move(*changes);
      move(*changes_in_file);
      ASSERT_EQ(at(*changes), at(*changes_in_file));
    };
    for (int i = 0; i < 200; ++i) {
      const std::string key = any_key();
      switch (below(changes->is_valid() ? 8 : 4)) {
        case 0: both([](ChangeSource& source) { source.seek_to_first(); }); break;
        case 1: both([](ChangeSource& source) { source.seek_to_last(); }); break;
        case 2: both([&](ChangeSource& source) { source.seek(key); }); break;
        case 3: both([&](ChangeSource& source) { source.seek_for_previous(key); }); break;
        case 4:
        case 5: both([](ChangeSource& source) { source.previous(); }); break;
        default: both([](ChangeSource& source) { source.next(); });
      }
    }
  }
}

// Who reads waits for the entries to be sorted, which a scan that goes on behind them need not.
TEST_F(PendingRunTest, AScanBehindItsKeysFindsNoneAndOneWithinThemIsBounded) {
  const auto batch = std::make_shared<rdb::WriteBatch>();
  for (const std::uint32_t i : {4, 6, 8}) {
    must(rdb::from_rocksdb(
        batch->Put(store_.database().family_handle(kFamily), key_of(i), std::to_string(i))));
  }
  auto sections = must(BatchSections::of(store_.database(), *batch, {}));
  const auto run = std::make_shared<PendingRun>(batch, std::move(sections.take().front()));
  EXPECT_EQ(run->entry_count(), 3u);
  const auto behind = run->changes(kFamily, key_of(6), key_of(20));
  behind->seek(key_of(9));
  EXPECT_FALSE(behind->is_valid());
  behind->seek_for_previous(key_of(12));
  EXPECT_EQ(behind->value(), "8");
  behind->seek_for_previous(key_of(3));
  EXPECT_FALSE(behind->is_valid());
  behind->seek(key_of(7));
  EXPECT_EQ(behind->value(), "8");
  const auto before = run->changes(kFamily, key_of(1), key_of(3));
  before->seek(key_of(1));
  EXPECT_FALSE(before->is_valid());
}

TEST(Renumbering, RunsBehindThoseThatHaveBecomeOthersKeepTheirPlace) {
  // Of runs 2, 3 and 4: one, none and two.
  const Renumbering written{.begin = 2, .ends = {3, 3, 5}};
  EXPECT_EQ(written.of(0), 0u);
  EXPECT_EQ(written.of(2), 2u);
  EXPECT_EQ(written.of(3), 3u);
  EXPECT_EQ(written.of(4), 3u);
  EXPECT_EQ(written.of(5), 5u);
  EXPECT_EQ(written.of(7), 7u);
}

class WriteMeanwhileTest : public test::SpillTest {
 protected:
  WriteMeanwhileTest() : rows_(begin_with_rows()), transaction_(store_.begin()) {
    transaction_->begin_statement(test::kRr);
  }
  void change_and_spill(std::uint32_t changes = 20) {
    for (; changes != 0; --changes) change(*transaction_, rows_);
    spill(*transaction_, {.writes = true});
  }
  void expect_committed() {
    commit(*transaction_);
    EXPECT_EQ(committed(), rows_);
    EXPECT_FALSE(has_directories());
  }
  bool is_in_memory() { return info_of(*transaction_).bytes_in_memory != 0; }
  // Ends the statement, too: that takes in what is written.
  void await_files() {
    basalt::test::await([&] {
      transaction_->end_statement();
      return !is_in_memory();
    });
  }
  void put(std::uint32_t number, const std::string& value) {
    const std::string key = key_of(number);
    const std::string_view new_key = key;
    must(transaction_->lock(key, lock::LockMode::kExclusive, test::kNoWait));
    must(test::put_locked(*transaction_, key, value, kFamily, std::span(&new_key, 1)));
    rows_[key] = value;
  }

  Map rows_;
  const std::unique_ptr<Transaction> transaction_;
};

TEST_F(WriteMeanwhileTest, WhatIsBeingWrittenIsReadAsIfItWereInTheBatch) {
  for (int round = 0; round < 20; ++round) {
    SCOPED_TRACE(round);
    const basalt::test::Hold hold("txn.spill.written");
    change_and_spill();
    ASSERT_TRUE(is_in_memory());
    for (std::uint32_t i = below(8); i != 0; --i) change(*transaction_, rows_);
    expect_reads(*transaction_, rows_);
    expect_walk(*transaction_, rows_);
    hold.release();
    spill(*transaction_, {.writes = below(2) == 0});
    expect_committed();
    transaction_->begin_statement(test::kRr);
  }
}

TEST_F(WriteMeanwhileTest, OthersFindInsertsThatAreBeingWritten) {
  const auto other = store_.begin();
  const auto find = [&](std::uint32_t number, std::string& value) {
    std::string key;
    return other->find_pending_insert(kFamily, key_of(number), key_of(number) + '\xff', key, value);
  };
  const basalt::test::Hold hold("txn.spill.written");
  put(kNumbers + 1, "inserted");
  put(kNumbers + 2, "taken back");
  test::remove(*transaction_, key_of(kNumbers + 2));
  rows_.erase(key_of(kNumbers + 2));
  change_and_spill(0);
  ASSERT_TRUE(is_in_memory());
  std::string value;
  EXPECT_TRUE(find(kNumbers + 1, value));
  EXPECT_EQ(value, "inserted");
  EXPECT_FALSE(find(kNumbers + 2, value));
  hold.release();
  await_files();
  EXPECT_TRUE(find(kNumbers + 1, value));
  EXPECT_FALSE(find(kNumbers + 2, value));
  expect_committed();
}

TEST_F(WriteMeanwhileTest, OthersMayLookAtAnyTime) {
  put(kNumbers, "inserted");
  std::atomic<bool> is_over = false;
  std::thread looking([&] {
    const auto other = store_.begin();
    while (!is_over) {
      std::string key;
      std::string value;
      EXPECT_TRUE(
          other->find_pending_insert(kFamily, key_of(kNumbers), key_of(kNumbers + 1), key, value));
      EXPECT_EQ(value, "inserted");
    }
  });
  for (int i = 0; i < 50; ++i) change_and_spill(1 + below(20));
  is_over = true;
  looking.join();
  expect_committed();
}

TEST_F(WriteMeanwhileTest, AnIteratorGoesOnWhereItsRunHasGoneToFiles) {
  const basalt::test::Hold hold("txn.spill.written");
  change_and_spill(40);
  kv::Iterator iterator = transaction_->new_iterator(kFamily, transaction_->consistent_view(), {});
  Map seen;
  for (iterator.seek_to_first(); iterator.is_valid(); iterator.next()) {
    seen.emplace(iterator.key(), iterator.value());
    hold.release();
    await_files();
  }
  EXPECT_EQ(seen, rows_);
  expect_committed();
}

TEST_F(WriteMeanwhileTest, AReturnToASavepointWithinWhatIsBeingWrittenKeepsWhatCameBefore) {
  transaction_->end_statement();
  for (int round = 0; round < 10; ++round) {
    SCOPED_TRACE(round);
    const basalt::test::Hold hold("txn.spill.written");
    std::vector<std::pair<std::size_t, Map>> savepoints;
    for (int part = 0; part < 4; ++part) {
      for (std::uint32_t i = below(6); i != 0; --i) change(*transaction_, rows_);
      savepoints.emplace_back(transaction_->set_savepoint(), rows_);
    }
    change(*transaction_, rows_);
    change_and_spill(3);
    hold.release();
    if (below(2) == 0) await_files();
    savepoints.resize(1 + below(4));
    must(transaction_->rollback_to_savepoint(savepoints.back().first));
    rows_ = savepoints.back().second;
    expect_reads(*transaction_, rows_);
    change(*transaction_, rows_);
    if (below(2) == 0) change_and_spill(3);
    must(transaction_->rollback_to_savepoint(savepoints.front().first));
    rows_ = savepoints.front().second;
    expect_reads(*transaction_, rows_);
    expect_committed();
  }
}

// The whole batch stays for what is left of it.
TEST_F(WriteMeanwhileTest, WhatAReturnToASavepointLeavesOfARunIsWrittenToo) {
  const std::string value(1'000'000, 'v');
  const basalt::test::Hold hold("txn.spill.written");
  transaction_->end_statement();
  put(kNumbers, "kept");
  const std::size_t savepoint = transaction_->set_savepoint();
  test::put(*transaction_, key_of(1), value);
  spill(*transaction_, {.writes = true});
  EXPECT_GT(transaction_->memory_bytes(), value.size());
  hold.release();
  transaction_->set_memory_limits({.writes_meanwhile = true});
  must(transaction_->rollback_to_savepoint(savepoint));
  await_files();
  EXPECT_LT(transaction_->memory_bytes(), value.size());
  EXPECT_EQ(file_count(load_directory()), 1u);
  expect_reads(*transaction_, rows_);
  expect_committed();
}

TEST_F(WriteMeanwhileTest, FilesOfWhatIsUndoneWhileItIsWrittenAreRemoved) {
  const basalt::test::Hold hold("txn.spill.written");
  const Map before = rows_;
  const std::size_t savepoint = transaction_->set_savepoint();
  change_and_spill();
  basalt::test::await([&] { return file_count(load_directory()) != 0; });
  hold.release();
  must(transaction_->rollback_to_savepoint(savepoint));
  EXPECT_EQ(file_count(load_directory()), 0u);
  EXPECT_FALSE(is_in_memory());
  rows_ = before;
  expect_reads(*transaction_, rows_);
  change_and_spill();
  must(transaction_->rollback());
  EXPECT_FALSE(has_directories());
  EXPECT_EQ(committed(), before);
}

TEST_F(WriteMeanwhileTest, TheNextRunWaitsForTheOneThatIsBeingWritten) {
  const basalt::test::Hold hold("txn.spill.written");
  change_and_spill();
  const std::uint64_t before = info_of(*transaction_).runs;
  std::thread spilling([&] { change_and_spill(); });
  basalt::test::await([&] { return info_of(*transaction_).step == TransactionStep::kSpilling; });
  EXPECT_EQ(info_of(*transaction_).runs, before);
  hold.release();
  spilling.join();
  EXPECT_GT(info_of(*transaction_).runs, before);
  expect_reads(*transaction_, rows_);
  expect_committed();
}

TEST_F(WriteMeanwhileTest, WhoIsKilledDoesNotWaitForWhatIsBeingWritten) {
  const basalt::test::Hold hold("txn.spill.written");
  change_and_spill();
  const Map before = rows_;
  transaction_->end_statement();
  transaction_->begin_statement(test::kRr);
  Status status;
  std::thread spilling([&] {
    change(*transaction_, rows_);
    change(*transaction_, rows_);
    status = try_spill(*transaction_, {.writes = true});
  });
  basalt::test::await([&] { return info_of(*transaction_).step == TransactionStep::kSpilling; });
  store_.locks().interrupt(transaction_->lock_owner());
  spilling.join();
  EXPECT_TRUE(status.is(ErrorCode::kInterrupted));
  expect_reads(*transaction_, rows_);
  hold.release();
  must(transaction_->rollback_statement());
  rows_ = before;
  store_.locks().clear_interrupt(transaction_->lock_owner());
  expect_reads(*transaction_, rows_);
  expect_committed();
}

// Behind what is being written the next batch may grow until little is left.
TEST_F(WriteMeanwhileTest, MemoryThatIsLimitedIsWaitedForAndNotExceeded) {
  constexpr std::uint64_t kMost = 4'000'000;
  const std::string value(50'000, 'v');
  transaction_->set_memory_limits(
      {.bytes_max = kMost, .spills_at = kMost / 3, .writes_meanwhile = true});
  put(kNumbers, value);
  std::uint64_t most = 0;
  {
    const basalt::test::Hold hold("txn.spill.written");
    std::thread changing([&] {
      for (std::uint32_t i = 1; i < 200; ++i) {
        put(kNumbers + i, value);
        must(transaction_->spill_if_large());
        most = std::max(most, transaction_->memory_bytes());
      }
    });
    basalt::test::await([&] { return info_of(*transaction_).step == TransactionStep::kSpilling; });
    EXPECT_EQ(info_of(*transaction_).bytes_in_files, 0u);
    EXPECT_GT(info_of(*transaction_).bytes_in_memory, kMost / 3);
    hold.release();
    changing.join();
  }
  EXPECT_LE(most, kMost);
  EXPECT_GT(most, kMost / 2);
  expect_reads(*transaction_, rows_);
  expect_committed();
}

TEST_F(WriteMeanwhileTest, WhatCouldNotBeWrittenStaysAndIsWrittenLater) {
  change_and_spill();
  await_files();
  const fs::path directory = load_directory();
  const std::size_t files = file_count(directory);
  block_files(directory, "run");
  change_and_spill();
  EXPECT_TRUE(is_in_memory());
  expect_reads(*transaction_, rows_);
  const Map before = rows_;
  transaction_->end_statement();
  const std::size_t savepoint = transaction_->set_savepoint();
  put(kNumbers, "more");
  EXPECT_TRUE(try_spill(*transaction_, {.writes = true}).is(ErrorCode::kIoError));
  expect_reads(*transaction_, rows_);
  EXPECT_TRUE(transaction_->commit(kv::Durability::kSynced).is(ErrorCode::kIoError));
  EXPECT_EQ(file_count(directory), files) << "nothing of what has failed";
  must(transaction_->rollback_to_savepoint(savepoint));
  rows_ = before;
  expect_reads(*transaction_, rows_);
  unblock_files(directory);
  expect_committed();
}

TEST_F(WriteMeanwhileTest, WhatIsBeingWrittenIsInThePreparedTransaction) {
  const basalt::test::Hold hold("txn.spill.written");
  const Map before = rows_;
  change_and_spill();
  std::thread preparing([&] { must(transaction_->prepare("x", kv::Durability::kSynced)); });
  basalt::test::await([&] { return info_of(*transaction_).step == TransactionStep::kSpilling; });
  hold.release();
  preparing.join();
  EXPECT_EQ(committed(), before);
  expect_committed();
}

// Before it is written as much again may come.
TEST_F(WriteMeanwhileTest, MemoryOfWhatIsBeingWrittenIsCounted) {
  const basalt::test::Hold hold("txn.spill.written");
  const std::string value(1'000'000, 'v');
  const std::uint64_t others = store_.transactions().batch_memory();
  put(kNumbers, value);
  spill(*transaction_, {.writes = true});
  EXPECT_GT(transaction_->memory_bytes(), value.size());
  EXPECT_GT(store_.transactions().batch_memory(), others + value.size());
  hold.release();
  await_files();
  EXPECT_LT(transaction_->memory_bytes(), value.size());
  EXPECT_LT(store_.transactions().batch_memory(), others + value.size());
  expect_committed();
}

}  // namespace
}  // namespace basalt::txn
