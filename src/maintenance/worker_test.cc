#include "maintenance/worker.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/bytes.h"
#include "base/log.h"
#include "base/test_support.h"
#include "kv/test_directory.h"

// Goal: dropped indexes are given back in the background, but not before it is safe, and nothing
// else is touched.
namespace basalt::maintenance {
namespace {

using namespace std::chrono_literals;
using basalt::test::must;

class WorkerTest : public testing::Test {
 protected:
  WorkerTest() { must(catalog_->load()); }

  catalog::TablePointer create_filled(const std::string& name) {
    catalog::TableDefinition definition;
    definition.name = name;
    definition.columns = {{"id", codec::ColumnKind::kSignedInteger, 4, 0, false, true}};
    definition.indexes = {{"PRIMARY", 0, 0, true, {{0, 0, false, 4}}},
                          {"more", 0, 0, false, {{0, 0, false, 4}}}};
    const catalog::TablePointer table = must(catalog_->create(definition));
    kv::WriteBatch batch;
    for (const catalog::IndexDefinition& index : table->indexes) {
      for (std::uint32_t i = 0; i < 500; ++i) {
        std::string key;
        append_be32(key, index.id);
        append_be32(key, i);
        batch.put(kv::kDefaultFamily, key, std::string(100, 'v'));
      }
    }
    must(database_->write(batch, kv::Durability::kBuffered));
    return table;
  }
  std::uint64_t entries(const catalog::TableDefinition& table) {
    std::uint64_t count = 0;
    for (const catalog::IndexDefinition& index : table.indexes) {
      const KeyRange range = index_key_range(index.id);
      count += kv::test::count_entries(*database_, kv::kDefaultFamily, range);
    }
    return count;
  }
  // What is left in the files when compaction has come by.
  std::uint64_t entries_for_good(const catalog::TableDefinition& table) {
    must(database_->flush());
    must(database_->compact(kv::kDefaultFamily, {}));
    return entries(table);
  }
  bool queue_empties() const {
    const auto deadline = std::chrono::steady_clock::now() + 120s;
    while (!catalog_->dropped_indexes().empty()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(1ms);
    }
    return true;
  }

  kv::test::TestDirectory directory_;
  std::unique_ptr<kv::Database> database_ = kv::test::open_database(directory_ / "db");
  std::unique_ptr<catalog::Catalog> catalog_ = std::make_unique<catalog::Catalog>(*database_);
};

TEST_F(WorkerTest, DroppedIndexesStayUntilReclaimingIsStarted) {
  const catalog::TablePointer dropped = create_filled("test/dropped");
  const catalog::TablePointer kept = create_filled("test/kept");
  must(database_->flush());
  Worker worker(*database_, *catalog_);
  must(catalog_->drop("test/dropped"));
  for (int i = 0; i < 5; ++i) {
    worker.wake();
    std::this_thread::sleep_for(20ms);
  }
  EXPECT_EQ(catalog_->dropped_indexes().size(), 2u);
  EXPECT_EQ(entries(*dropped), 1000u);
  worker.start_reclaiming();
  ASSERT_TRUE(queue_empties());
  EXPECT_EQ(entries_for_good(*dropped), 0u);
  EXPECT_EQ(entries(*kept), 1000u);
}

TEST_F(WorkerTest, IndexesDroppedLaterAreReclaimedWithinARound) {
  Worker worker(*database_, *catalog_);
  worker.start_reclaiming();
  const catalog::TablePointer table = create_filled("test/t");
  must(catalog_->truncate("test/t"));
  ASSERT_TRUE(queue_empties()) << "nobody woke the worker";
  EXPECT_EQ(entries_for_good(*table), 0u);
}

TEST_F(WorkerTest, AnIndexThatIsInUseIsPassedOverUntilItIsNot) {
  const catalog::TablePointer used = create_filled("test/used");
  const catalog::TablePointer other = create_filled("test/other");
  std::atomic<bool> is_used = true;
  using Indexes = std::vector<catalog::IndexId>;
  Worker worker(*database_, *catalog_,
                [&] { return is_used ? Indexes{used->indexes.front().id} : Indexes(); });
  worker.start_reclaiming();
  must(catalog_->drop("test/used"));
  must(catalog_->drop("test/other"));
  basalt::test::await([&] { return catalog_->dropped_indexes().size() == 1; });
  EXPECT_EQ(catalog_->dropped_indexes().front().id, used->indexes.front().id);
  EXPECT_EQ(entries_for_good(*used), 500u);
  is_used = false;
  ASSERT_TRUE(queue_empties());
  EXPECT_EQ(entries_for_good(*used), 0u);
}

TEST_F(WorkerTest, WhatWasNotReclaimedBeforeAStopIsReclaimedAfterIt) {
  const catalog::TablePointer table = create_filled("test/t");
  must(catalog_->drop("test/t"));
  { const Worker worker(*database_, *catalog_); }
  catalog_.reset();
  database_.reset();
  database_ = kv::test::open_database(directory_ / "db");
  catalog_ = std::make_unique<catalog::Catalog>(*database_);
  must(catalog_->load());
  EXPECT_EQ(entries(*table), 1000u);
  Worker worker(*database_, *catalog_);
  worker.start_reclaiming();
  ASSERT_TRUE(queue_empties());
  EXPECT_EQ(entries_for_good(*table), 0u);
}

TEST_F(WorkerTest, AReclaimedIndexStaysGoneAfterAStop) {
  const catalog::TablePointer table = create_filled("test/t");
  must(catalog_->drop("test/t"));
  {
    Worker worker(*database_, *catalog_);
    worker.start_reclaiming();
    ASSERT_TRUE(queue_empties());
  }
  catalog_.reset();
  database_.reset();
  database_ = kv::test::open_database(directory_ / "db");
  catalog_ = std::make_unique<catalog::Catalog>(*database_);
  must(catalog_->load());
  EXPECT_TRUE(catalog_->dropped_indexes().empty());
  EXPECT_EQ(entries_for_good(*table), 0u);
}

TEST_F(WorkerTest, StoppingDoesNotWaitForTheNextRound) {
  // A round takes a second. The machine may hold up one stop or another, but not most of them.
  constexpr int kStops = 15;
  int quick = 0;
  for (int i = 0; i < kStops; ++i) {
    const auto start = std::chrono::steady_clock::now();
    {
      Worker worker(*database_, *catalog_);
      worker.set_sync_wal(true);
      worker.wake();
    }
    if (std::chrono::steady_clock::now() - start < 500ms) ++quick;
  }
  EXPECT_GT(quick, kStops / 3);
}

TEST_F(WorkerTest, TasksAreDoneInOrderAndAFailedOneIsTriedAgainBeforeThoseBehindIt) {
  std::atomic<int> attempts{0};
  std::atomic<int> done{0};
  Worker worker(*database_, *catalog_);
  worker.run_soon("a task that fails twice", [&]() -> Status {
    if (++attempts < 3) return Status(ErrorCode::kIoError, "not yet");
    return Status::ok();
  });
  worker.run_soon("a task behind it", [&]() -> Status {
    EXPECT_EQ(attempts, 3);
    ++done;
    return Status::ok();
  });
  const auto deadline = std::chrono::steady_clock::now() + 120s;
  while (done == 0 && std::chrono::steady_clock::now() < deadline) {
    worker.wake();
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_EQ(attempts, 3);
  EXPECT_EQ(done, 1);
}

TEST_F(WorkerTest, ATaskThatWaitsForOthersIsNoErrorAndIsLoggedAfterManyRoundsOnce) {
  static std::atomic<int> warnings;
  static std::atomic<int> errors;
  warnings = errors = 0;
  set_log_sink([](LogLevel level, std::string_view) {
    warnings += level == LogLevel::kWarning;
    errors += level == LogLevel::kError;
  });
  std::atomic<int> attempts{0};
  std::atomic<int> warnings_of_the_patient{0};
  {
    Worker worker(*database_, *catalog_);
    worker.run_soon("a task that waits", [&]() -> Status {
      const int attempt = ++attempts;
      if (attempt == Worker::kPatientRounds) warnings_of_the_patient = warnings.load();
      if (attempt <= Worker::kPatientRounds + 2) return Status(ErrorCode::kLockTimeout, "not yet");
      return Status::ok();
    });
    const auto deadline = std::chrono::steady_clock::now() + 120s;
    while (attempts < Worker::kPatientRounds + 3 && std::chrono::steady_clock::now() < deadline) {
      worker.wake();
      std::this_thread::sleep_for(1ms);
    }
  }
  set_log_sink(nullptr);
  EXPECT_EQ(attempts, Worker::kPatientRounds + 3);
  EXPECT_EQ(warnings_of_the_patient, 0);
  EXPECT_EQ(warnings, 1);
  EXPECT_EQ(errors, 0);
}

TEST_F(WorkerTest, AStopDoesTheTasksThatAreLeft) {
  int done = 0;
  {
    Worker worker(*database_, *catalog_);
    for (int i = 0; i < 100; ++i) {
      worker.run_soon("a task", [&] {
        ++done;
        return Status::ok();
      });
    }
  }
  EXPECT_EQ(done, 100);
}

TEST_F(WorkerTest, WhatHasExpiredMeanwhileCompactionsMayTake) {
  catalog::TableDefinition definition;
  definition.name = "test/t";
  definition.columns = {{"id", codec::ColumnKind::kSignedInteger, 4, 0, false, true}};
  definition.indexes = {{"PRIMARY", 0, 0, true, {{0, 0, false, 4}}}};
  definition.expiry = catalog::RowExpiry{{.seconds = 100}};
  must(catalog_->create(definition));
  database_->set_lifetimes(catalog_.get());
  const kv::ExpiryClock& clock = database_->expiry_clock();
  const std::uint64_t before = clock.now();
  {
    const Worker worker(*database_, *catalog_);
    basalt::test::await([&] { return clock.limit() >= before; });
  }
  database_->set_lifetimes(nullptr);
}

}  // namespace
}  // namespace basalt::maintenance
