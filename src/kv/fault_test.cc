#include <rocksdb/utilities/transaction_db.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "base/log.h"
#include "base/test_support.h"
#include "kv/adjustments.h"
#include "kv/database.h"
#include "kv/test_directory.h"
#include "rdb/status_conversion.h"
#include "wal/faulty_file_system.h"

// Goal: a failing disk costs what could not be written and nothing else: no acknowledged write, no
// read, no hang; and what failed is nowhere to be found later. Method: every kind of failure of
// every kind of file, then reads, a resume, and a crash image that is opened on a sound disk.
namespace basalt::kv {
namespace {

namespace fs = std::filesystem;

using basalt::test::await;
using basalt::test::fails_with;
using basalt::test::must;
using basalt::test::succeeds;
using test::value_of;
using wal::test::Fault;
using wal::test::FaultyFileSystem;
using wal::test::Operation;

class FaultTest : public testing::Test {
 protected:
  FaultTest() { open(); }
  void open() {
    Result<std::unique_ptr<Database>> database = Database::open(test::small_options(path_), files_);
    ASSERT_TRUE(succeeds(database.status()));
    database_ = std::move(database.value());
  }
  Status put(std::string_view key, std::string_view value,
             Durability durability = Durability::kSynced) {
    WriteBatch batch;
    batch.put(kDefaultFamily, key, value);
    return database_->write(batch, durability);
  }
  // As an administrator does it.
  Status resume() {
    const std::uint64_t mark = database_->health().mark();
    BASALT_TRY(database_->resume());
    EXPECT_TRUE(database_->health().clear(mark));
    return Status::ok();
  }
  Status heal_and_resume() {
    files_->heal();
    return resume();
  }
  // Syncs so much so often that the WAL is preallocated.
  void preallocate_wal() {
    for (int i = 0; i < 20; ++i) must(put("filler" + std::to_string(i), std::string(16'000, 'x')));
  }
  // How many bytes of the newest WAL are zeros behind its records.
  std::size_t preallocated_bytes() {
    std::string newest;
    for (const auto& entry : fs::directory_iterator(path_)) {
      const std::string name = entry.path();
      if (name.ends_with(".log")) newest = std::max(newest, name);
    }
    std::ifstream file(newest, std::ios::binary);
    const std::string bytes(std::istreambuf_iterator<char>(file), {});
    return bytes.size() - (bytes.find_last_not_of('\0') + 1);
  }
  // What must be there whatever fails later.
  void put_acknowledged_rows() {
    must(put("synced", "1"));
    must(put("buffered", "1", Durability::kBuffered));
  }
  // Those, and nothing of a row "failed".
  void expect_acknowledged_rows() {
    EXPECT_EQ(read("synced"), "1");
    EXPECT_EQ(read("buffered"), "1");
    EXPECT_EQ(read("failed"), "(none)");
  }
  // And a row "later", also after a crash.
  void expect_all_rows_now_and_after_a_crash() {
    for (int i = 0; i < 2; ++i) {
      expect_acknowledged_rows();
      EXPECT_EQ(read("later"), "3");
      crash();
    }
  }
  // Goes on with what a crash at this moment leaves, on a sound disk.
  void crash() {
    const std::string image = path_ + "x";
    test::copy_crash_image(path_, image);
    database_.reset();
    files_->heal();
    path_ = image;
    open();
  }
  std::string read(std::string_view key) { return value_of(*database_, kDefaultFamily, key); }
  // Whether a flush was asked for and has not begun.
  bool is_flush_pending() {
    std::uint64_t pending = 0;
    EXPECT_TRUE(database_->rocksdb().GetAggregatedIntProperty(
        rdb::DB::Properties::kMemTableFlushPending, &pending));
    return pending > 0;
  }
  bool is_read_only() { return database_->health().access() == wal::Access::kReadOnly; }

  test::TestDirectory directory_;
  std::string path_ = directory_ / "db";
  std::shared_ptr<FaultyFileSystem> files_ = std::make_shared<FaultyFileSystem>();
  std::unique_ptr<Database> database_;
};

TEST_F(FaultTest, AWriteThatFailsNamesFileAndCauseAndMakesTheDatabaseReadOnly) {
  must(put("a", "1"));
  files_->set({.operation = Operation::kAppend, .part = ".log"});
  const Status failed = put("b", "2");
  EXPECT_TRUE(fails_with(ErrorCode::kIoError, failed));
  EXPECT_NE(failed.message().find(".log: Input/output error"), std::string::npos)
      << failed.message();
  EXPECT_TRUE(is_read_only());
  const Status refused = put("c", "3");
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, refused));
  for (const char* part : {".log", "Input/output error", "let the engine write again"}) {
    EXPECT_NE(refused.message().find(part), std::string::npos) << refused.message();
  }
  EXPECT_EQ(files_->failures(), 1) << "later writes fail without touching the disk";
  EXPECT_EQ(read("a"), "1");
  EXPECT_EQ(read("b"), "(none)");
}

TEST_F(FaultTest, AFullDeviceIsToldFromOtherErrors) {
  for (const Operation operation : {Operation::kAppend, Operation::kSync}) {
    files_->set({.operation = operation, .part = ".log", .cause = ENOSPC});
    const Status failed = put("b", "2");
    EXPECT_TRUE(fails_with(ErrorCode::kNoSpace, failed));
    EXPECT_NE(failed.message().find("No space left on device"), std::string::npos);
    ASSERT_TRUE(succeeds(heal_and_resume()));
  }
}

struct Case {
  const char* name;
  Fault fault;
};

// In a WAL that ends where it was written, and in one that is preallocated.
class WalFaultTest : public FaultTest, public testing::WithParamInterface<std::tuple<Case, bool>> {
 protected:
  WalFaultTest() {
    if (std::get<bool>(GetParam())) preallocate_wal();
  }
  static const Fault& fault() { return std::get<Case>(GetParam()).fault; }
};

INSTANTIATE_TEST_SUITE_P(
    All, WalFaultTest,
    testing::Combine(
        testing::Values(
            Case{"append", {.operation = Operation::kAppend, .part = ".log"}},
            Case{"tornappend", {.operation = Operation::kAppend, .part = ".log", .is_torn = true}},
            Case{"fullappend",
                 {.operation = Operation::kAppend,
                  .part = ".log",
                  .cause = ENOSPC,
                  .is_torn = true}},
            Case{"sync", {.operation = Operation::kSync, .part = ".log"}},
            Case{"fullsync", {.operation = Operation::kSync, .part = ".log", .cause = ENOSPC}}),
        testing::Bool()),
    [](const auto& test) {
      const bool is_preallocated = std::get<bool>(test.param);
      return std::string(std::get<Case>(test.param).name) + (is_preallocated ? "preallocated" : "");
    });

TEST_P(WalFaultTest, AfterAResumeWritesGoOnAndNothingIsLost) {
  put_acknowledged_rows();
  files_->set(fault());
  EXPECT_FALSE(put("failed", "2").is_ok());
  EXPECT_FALSE(resume().is_ok()) << "the cause is still there";
  EXPECT_TRUE(is_read_only());
  ASSERT_TRUE(succeeds(heal_and_resume()));
  must(put("later", "3"));
  expect_all_rows_now_and_after_a_crash();
}

TEST_P(WalFaultTest, AfterACrashWhatWasAcknowledgedIsThereAndWhatFailedIsNot) {
  put_acknowledged_rows();
  files_->set(fault());
  EXPECT_FALSE(put("failed", "2").is_ok());
  crash();
  expect_acknowledged_rows();
  EXPECT_TRUE(succeeds(put("later", "3")));
}

TEST_P(WalFaultTest, WritersThatCommitTogetherFailTogetherAndTheOthersStay) {
  constexpr int kThreads = 8;
  constexpr int kWrites = 200;
  Fault later = fault();
  later.skipped = 300;
  files_->set(later);
  std::vector<std::vector<bool>> acknowledged(kThreads, std::vector<bool>(kWrites, false));
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kWrites; ++i) {
        acknowledged[t][i] = put(std::to_string(t * kWrites + i), "v").is_ok();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(is_read_only());
  crash();
  for (int t = 0; t < kThreads; ++t) {
    for (int i = 0; i < kWrites; ++i) {
      EXPECT_EQ(read(std::to_string(t * kWrites + i)) == "v", acknowledged[t][i]) << t << ' ' << i;
    }
  }
}

TEST_F(FaultTest, ARemnantThatCannotBeRemovedAtOnceIsRemovedBeforeWritesGoOn) {
  put_acknowledged_rows();
  files_->set({{.operation = Operation::kSync, .part = ".log"},
               {.operation = Operation::kTruncate, .part = ".log"}});
  EXPECT_FALSE(put("failed", "2").is_ok());
  // The record is whole in the WAL; the failure of the resume comes after its removal.
  files_->set({.operation = Operation::kCreate, .part = ".sst"});
  EXPECT_FALSE(resume().is_ok());
  crash();
  expect_acknowledged_rows();
}

TEST_F(FaultTest, NobodyWritesAsLongAsARemnantCannotBeRemoved) {
  put_acknowledged_rows();
  const Fault truncation = {.operation = Operation::kTruncate, .part = ".log"};
  files_->set({{.operation = Operation::kSync, .part = ".log"}, truncation});
  EXPECT_FALSE(put("failed", "2").is_ok());
  for (const Fault& fault : {truncation, Fault{.operation = Operation::kSync, .part = ".log"}}) {
    files_->set(fault);
    const Status failed = resume();
    EXPECT_TRUE(fails_with(ErrorCode::kIoError, failed));
    EXPECT_NE(failed.message().find(".log', of a write that failed, cannot be removed"),
              std::string::npos)
        << failed.message();
    EXPECT_TRUE(is_read_only());
  }
  ASSERT_TRUE(succeeds(heal_and_resume()));
  must(put("later", "3"));
  expect_all_rows_now_and_after_a_crash();
}

TEST_F(FaultTest, AWalThatIsSyncedOftenIsPreallocatedUntilItIsClosed) {
  preallocate_wal();
  must(put("a", "1"));
  EXPECT_GT(preallocated_bytes(), 100'000u);
  crash();
  EXPECT_EQ(read("a"), "1");
  EXPECT_EQ(read("filler19"), std::string(16'000, 'x'));
  preallocate_wal();
  EXPECT_GT(preallocated_bytes(), 100'000u);
  database_.reset();
  EXPECT_EQ(preallocated_bytes(), 0u);
}

TEST_F(FaultTest, AWalThatIsSyncedSeldomIsNotPreallocated) {
  const std::string value(16'000, 'x');
  for (int i = 0; i < 100; ++i) {
    must(put(std::to_string(i), value, i % 10 == 0 ? Durability::kSynced : Durability::kBuffered));
  }
  EXPECT_EQ(preallocated_bytes(), 0u);
}

TEST_F(FaultTest, AWalThatCannotBePreallocatedIsWrittenAllTheSame) {
  files_->set({.operation = Operation::kRewrite, .part = ".log"});
  preallocate_wal();
  EXPECT_GT(files_->failures(), 0);
  EXPECT_FALSE(is_read_only());
  EXPECT_EQ(preallocated_bytes(), 0u);
  crash();
  EXPECT_EQ(read("filler19"), std::string(16'000, 'x'));
}

class BackgroundFaultTest : public FaultTest, public testing::WithParamInterface<Case> {};

INSTANTIATE_TEST_SUITE_P(
    All, BackgroundFaultTest,
    testing::Values(
        Case{"writeoffile", {.operation = Operation::kAppend, .part = ".sst"}},
        Case{"syncoffile", {.operation = Operation::kSync, .part = ".sst"}},
        Case{"fulldevice", {.operation = Operation::kAppend, .part = ".sst", .cause = ENOSPC}},
        Case{"creationoffile", {.operation = Operation::kCreate, .part = ".sst"}},
        Case{"manifest", {.operation = Operation::kAppend, .part = "MANIFEST"}},
        Case{"syncofmanifest", {.operation = Operation::kSync, .part = "MANIFEST"}},
        Case{"directory", {.operation = Operation::kDirectorySync, .part = "directory"}}),
    [](const auto& test) { return std::string(test.param.name); });

TEST_P(BackgroundFaultTest, AFlushThatFailsIsNoticedAndDoneAgainAtResume) {
  put_acknowledged_rows();
  files_->set(GetParam().fault);
  EXPECT_FALSE(database_->flush().is_ok());
  EXPECT_TRUE(is_read_only());
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, put("failed", "2")));
  EXPECT_EQ(read("synced"), "1");
  EXPECT_FALSE(resume().is_ok());
  ASSERT_TRUE(succeeds(heal_and_resume()));
  must(put("later", "3"));
  expect_all_rows_now_and_after_a_crash();
}

TEST_P(BackgroundFaultTest, ACrashAfterAFlushThatFailedLosesNothing) {
  put_acknowledged_rows();
  files_->set(GetParam().fault);
  EXPECT_FALSE(database_->flush().is_ok());
  crash();
  expect_acknowledged_rows();
}

// RocksDB does not do this by itself: tools/rocksdb/patches.
TEST_F(FaultTest, AResumeDoesNotWaitForAFlushThatWasToBeginWhenAWriteFailed) {
  must(put("a", "1"));
  // Databases of a process share the threads for flushes: the only one is busy with another's.
  auto slow = std::make_shared<FaultyFileSystem>();
  auto other = Database::open(test::small_options(directory_ / "other"), slow);
  must(other.take_status());
  WriteBatch batch;
  batch.put(kDefaultFamily, "o", "1");
  must(other.value()->write(batch, Durability::kSynced));
  slow->set({.operation = Operation::kSync, .part = ".sst", .cause = 0, .is_held = true});
  std::thread busy([&] { must(other.value()->flush()); });
  await([&] { return slow->held() > 0; });
  std::thread waiting([&] { EXPECT_FALSE(database_->flush().is_ok()); });
  await([&] { return is_flush_pending(); });
  files_->set({.operation = Operation::kAppend, .part = ".log"});
  EXPECT_FALSE(put("failed", "2").is_ok());
  slow->release();
  busy.join();
  waiting.join();
  files_->heal();
  // The flush that found writes stopped sleeps for a second.
  std::this_thread::sleep_for(std::chrono::milliseconds(1500));
  std::promise<void> done;
  std::thread resuming([&] {
    EXPECT_TRUE(succeeds(resume()));
    done.set_value();
  });
  if (done.get_future().wait_for(std::chrono::seconds(120)) != std::future_status::ready) {
    ADD_FAILURE() << "the resume waits forever";
    std::_Exit(1);
  }
  resuming.join();
  EXPECT_EQ(read("a"), "1");
  EXPECT_EQ(read("failed"), "(none)");
}

TEST_F(FaultTest, AResumeBeginsANewWalAlsoIfAFlushHasFailedBeside) {
  must(put("a", "1"));
  files_->set({{.operation = Operation::kAppend, .part = ".sst", .is_held = true},
               {.operation = Operation::kAppend, .part = ".log", .skipped = 1}});
  std::thread flushing([&] { EXPECT_FALSE(database_->flush().is_ok()); });
  await([&] { return files_->held() > 0; });
  // The first record of the WAL that the flush has begun; or the next.
  for (int i = 0; i < 3; ++i) put("failed", "2").ignore("one of them fails");
  files_->release();
  flushing.join();
  ASSERT_TRUE(succeeds(heal_and_resume()));
  EXPECT_TRUE(succeeds(put("later", "3")));
  crash();
  EXPECT_EQ(read("a"), "1");
  EXPECT_EQ(read("later"), "3");
}

TEST_F(FaultTest, ASyncThatMeetsAWalThatHasFailedDoesNotForbidAResume) {
  must(put("a", "1"));
  files_->set({.operation = Operation::kAppend, .part = ".log"});
  EXPECT_FALSE(put("failed", "2").is_ok());
  // As of a thread that has asked health() before.
  EXPECT_FALSE(database_->rocksdb().SyncWAL().ok());
  EXPECT_FALSE(database_->health().is_final()) << database_->health().cause();
  ASSERT_TRUE(succeeds(heal_and_resume()));
  EXPECT_TRUE(succeeds(put("later", "3")));
}

TEST_F(FaultTest, AWalWithoutRecordsWhoseSyncFailedIsNotUsedAfterAResume) {
  must(put("a", "1"));
  must(database_->flush());
  files_->set({.operation = Operation::kSync, .part = ".log"});
  EXPECT_FALSE(database_->sync_wal().is_ok());
  EXPECT_TRUE(is_read_only());
  ASSERT_TRUE(succeeds(heal_and_resume()));
  EXPECT_TRUE(succeeds(put("later", "3")));
  crash();
  EXPECT_EQ(read("a"), "1");
  EXPECT_EQ(read("later"), "3");
}

TEST_F(FaultTest, ACompactionThatFailsLeavesTheDatabaseWritableAndIsTriedAgain) {
  for (int i = 0; i < 3; ++i) {
    must(put("k" + std::to_string(i), "v"));
    must(database_->flush());
  }
  files_->set({.operation = Operation::kAppend, .part = ".sst", .cause = ENOSPC});
  EXPECT_FALSE(database_->compact(kDefaultFamily, {}).is_ok());
  EXPECT_EQ(database_->health().failures(), 1u);
  EXPECT_TRUE(succeeds(put("later", "3")));
  files_->heal();
  EXPECT_TRUE(succeeds(database_->compact(kDefaultFamily, {})));
  EXPECT_EQ(read("k0"), "v");
}

TEST_F(FaultTest, AFileThatCannotBeReadEndsReadsAndCompactionsAndNothingElse) {
  for (int i = 0; i < 3; ++i) {
    must(put("k" + std::to_string(i), std::string(20'000, 'v')));
    must(database_->flush());
  }
  files_->set({.operation = Operation::kRead, .part = ".sst"});
  const Status failed = database_->compact(kDefaultFamily, {});
  EXPECT_TRUE(fails_with(ErrorCode::kIoError, failed));
  EXPECT_NE(failed.message().find(".sst: Input/output error"), std::string::npos);
  PinnedValue value;
  bool found = false;
  EXPECT_TRUE(
      fails_with(ErrorCode::kIoError, database_->get(kDefaultFamily, "k1", {}, value, found)));
  EXPECT_TRUE(succeeds(put("later", "3")));
  files_->heal();
  EXPECT_TRUE(succeeds(database_->compact(kDefaultFamily, {})));
  EXPECT_EQ(read("k1"), std::string(20'000, 'v'));
}

TEST_F(FaultTest, ACheckpointThatFailsIsAnErrorAndNothingElse) {
  must(put("a", "1"));
  const auto data_files = [this] {
    return std::ranges::count_if(fs::directory_iterator(path_), [](const auto& entry) {
      return entry.path().extension() == ".sst";
    });
  };
  const auto compact = [this] {
    must(database_->flush());
    must(database_->compact(kDefaultFamily, {}));
  };
  const auto live_files = [this] {
    std::vector<rdb::LiveFileMetaData> files;
    database_->rocksdb().GetLiveFilesMetaData(&files);
    return std::ssize(files);
  };
  compact();
  for (const Fault& fault :
       {Fault{.operation = Operation::kCreate, .part = "copy"},
        Fault{.operation = Operation::kAppend, .part = "copy.unfinished.tmp/MANIFEST"},
        Fault{.operation = Operation::kSync, .part = "copy.unfinished.tmp/MANIFEST"}}) {
    files_->set(fault);
    EXPECT_FALSE(database_->create_checkpoint(directory_ / "copy").is_ok());
    EXPECT_GT(files_->failures(), 0);
    files_->heal();
    EXPECT_FALSE(is_read_only()) << database_->health().cause();
    EXPECT_TRUE(succeeds(put("b", "2")));
    EXPECT_FALSE(fs::exists(directory_ / "copy"));
    EXPECT_FALSE(fs::exists(directory_ / "copy.unfinished.tmp"));
  }
  compact();
  await([&] { return data_files() == live_files(); });
  must(database_->create_checkpoint(directory_ / "copy"));
}

// RocksDB forgets that it must keep the file when options are changed, and looks for files without
// use at the end of a resume; it gives them other names if it is to remove them slowly.
TEST_F(FaultTest, AFileOfAFlushIsKeptAsLongAsNobodyKnowsWhetherTheManifestNamesIt) {
  for (const std::uint64_t deletion_rate : {0, 1 << 20}) {
    put_acknowledged_rows();
    set_deletion_rate(*database_, deletion_rate);
    files_->set({.operation = Operation::kSync, .part = "MANIFEST"});
    EXPECT_FALSE(database_->flush().is_ok());
    must(database_->set_family_options("default={max_compaction_bytes=123456789}"));
    files_->set({.operation = Operation::kAppend, .part = ".sst"});
    EXPECT_FALSE(resume().is_ok());
    crash();
    expect_acknowledged_rows();
  }
}

TEST_F(FaultTest, AWriteThatMeetsAnEarlierFailureIsToldItsCause) {
  const rdb::Status consequence = rdb::Status::IOError("Seen error. Skip writing buffer.");
  const rdb::Status first = rdb::Status::IOError("No such device", "000004.log");
  EXPECT_EQ(database_->write_wal([&] { return first; }).message(),
            rdb::from_rocksdb(first).message());
  EXPECT_TRUE(succeeds(database_->write_wal([&] { return rdb::Status::OK(); })));
  database_->health().turn_read_only("a write to the WAL failed: /db/000004.log");
  const Status told = database_->write_wal([&] { return consequence; });
  EXPECT_TRUE(told.is(ErrorCode::kReadOnly)) << told.message();
  EXPECT_NE(told.message().find("000004.log"), std::string::npos) << told.message();
  EXPECT_EQ(database_->write_wal([&] { return first; }).message(),
            rdb::from_rocksdb(first).message());
}

TEST_F(FaultTest, AFailureIsLoggedOnce) {
  static int errors;
  errors = 0;
  set_log_sink([](LogLevel level, std::string_view) { errors += level == LogLevel::kError; });
  files_->set({.operation = Operation::kAppend, .part = ".log"});
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(put("b", "2").is_ok());
  set_log_sink(nullptr);
  EXPECT_EQ(errors, 1);
}

TEST_F(FaultTest, AWriteThatFailsBeforeTheWalIsTouchedLeavesTheDatabaseWritable) {
  must(put("a", "1"));
  EXPECT_TRUE(
      fails_with(ErrorCode::kNoSpace, database_->health().check_room_for(std::uint64_t{1} << 60)));
  EXPECT_TRUE(succeeds(put("b", "2")));
}

}  // namespace
}  // namespace basalt::kv
