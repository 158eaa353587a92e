#include "kv/snapshot_pool.h"

#include <atomic>
#include <charconv>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/test_support.h"
#include "kv/database.h"
#include "kv/test_directory.h"

// Goal: RocksDB registers no more snapshots than are needed, none for longer than the pool says,
// and who takes one sees all that was committed before.
namespace basalt::kv {
namespace {

using basalt::test::must;
using test::open_database;
using test::value_of;

class SnapshotPoolTest : public testing::Test {
 protected:
  void put(std::string_view value) {
    WriteBatch batch;
    batch.put(kDefaultFamily, "k", value);
    must(database_->write(batch, Durability::kBuffered));
  }
  std::string value_in(const Snapshot& snapshot) {
    return value_of(*database_, kDefaultFamily, "k", ReadView{&snapshot});
  }
  std::string registered() { return database_->property(kDefaultFamily, "rocksdb.num-snapshots"); }

  test::TestDirectory directory_;
  std::unique_ptr<Database> database_ = open_database(directory_ / "db");
};

TEST_F(SnapshotPoolTest, ASnapshotIsTakenAgainWhileNothingIsCommitted) {
  put("v");
  const rdb::Snapshot* const first = database_->take_snapshot()->handle();
  EXPECT_EQ(registered(), "1");
  const std::unique_ptr<Snapshot> again = database_->take_snapshot();
  EXPECT_EQ(again->handle(), first);
  EXPECT_EQ(value_in(*again), "v");
  EXPECT_EQ(registered(), "1");
}

TEST_F(SnapshotPoolTest, TwoWhoReadAtOnceHaveSnapshotsOfTheirOwn) {
  put("v");
  const std::unique_ptr<Snapshot> one = database_->take_snapshot();
  {
    const std::unique_ptr<Snapshot> other = database_->take_snapshot();
    EXPECT_NE(one->handle(), other->handle());
    EXPECT_EQ(registered(), "2");
  }
  EXPECT_EQ(value_in(*one), "v");
}

TEST_F(SnapshotPoolTest, ASnapshotAfterACommitSeesIt) {
  put("old");
  database_->take_snapshot();
  put("new");
  const std::unique_ptr<Snapshot> later = database_->take_snapshot();
  EXPECT_EQ(value_in(*later), "new");
  EXPECT_EQ(registered(), "1");
}

TEST_F(SnapshotPoolTest, ASnapshotThatIsNotTheNewestAnyMoreIsReleasedAtOnce) {
  put("old");
  std::unique_ptr<Snapshot> snapshot = database_->take_snapshot();
  put("new");
  EXPECT_EQ(value_in(*snapshot), "old");
  snapshot.reset();
  EXPECT_EQ(registered(), "0");
}

TEST_F(SnapshotPoolTest, IdleSnapshotsGoWhenTheyAreReleased) {
  put("v");
  const std::unique_ptr<Snapshot> used = database_->take_snapshot();
  std::thread([&] { database_->take_snapshot(); }).join();
  EXPECT_EQ(registered(), "2");
  database_->release_idle();
  EXPECT_EQ(registered(), "1");
  EXPECT_EQ(value_in(*used), "v");
}

TEST_F(SnapshotPoolTest, ACompactionOnDemandHeedsNoIdleSnapshot) {
  put("old");
  database_->take_snapshot();
  put("new");
  must(database_->compact(kDefaultFamily, {}));
  EXPECT_EQ(registered(), "0");
}

// One thread counts up; the others must never see less than was committed when they asked, nor
// different values in one snapshot; one more releases what is idle all the time.
TEST_F(SnapshotPoolTest, ManyThreadsSeeWhatWasCommittedBefore) {
  constexpr int kValues = 3000;
  constexpr int kPause = 100;  // now and then nothing is committed, and snapshots are used again
  put("0");
  std::atomic<int> committed{0};
  std::atomic<int> wrong{0};
  std::atomic<int> again{0};
  const auto read = [&] {
    const rdb::Snapshot* last = nullptr;
    for (int seen = 0; seen < kValues;) {
      const int least = committed.load();
      const std::unique_ptr<Snapshot> snapshot = database_->take_snapshot();
      if (snapshot->handle() == last) ++again;
      last = snapshot->handle();
      const std::string value = value_in(*snapshot);
      std::from_chars(value.data(), value.data() + value.size(), seen);
      if (seen < least || value_in(*snapshot) != value) ++wrong;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(read);
  threads.emplace_back([&] {
    while (committed < kValues) database_->release_idle();
  });
  for (int value = 1; value <= kValues; ++value) {
    put(std::to_string(value));
    committed = value;
    const int before = again;
    while (value % kPause == 0 && value < kValues && again < before + 10) std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  database_->release_idle();
  EXPECT_EQ(registered(), "0");
}

}  // namespace
}  // namespace basalt::kv
