#include "kv/iterator_pool.h"

#include <rocksdb/db.h>
#include <rocksdb/utilities/transaction_db.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/test_support.h"
#include "kv/database.h"
#include "kv/rocksdb_reads.h"
#include "kv/test_directory.h"

// Goal: an iterator that is used again shows what a new one would, and one that nobody uses keeps
// nothing for long. Walks over random changes: batched_iteration_test.cc.
namespace basalt::kv {
namespace {

using basalt::test::must;
using test::open_database;

constexpr IteratorKind kKind{kDefaultFamily, true, 0, 0};

class IteratorPoolTest : public testing::Test {
 protected:
  void put(std::string_view key, std::string_view value) {
    WriteBatch batch;
    batch.put(kDefaultFamily, key, value);
    must(database_->write(batch, Durability::kBuffered));
  }
  // Not with Database::flush(), which releases what is idle itself.
  void flush_beside() {
    ASSERT_TRUE(database_->rocksdb().GetBaseDB()->Flush(rdb::FlushOptions()).ok());
  }
  std::unique_ptr<IteratorParts> new_parts(const IteratorKind& kind = kKind) {
    auto parts = std::make_unique<IteratorParts>();
    parts->kind = kind;
    parts->round = pool_.round();
    parts->bounds = std::make_unique<IteratorBounds>(KeyRange{"a", "z"});
    parts->iterator.reset(database_->rocksdb().GetBaseDB()->NewIterator(
        make_read_options({nullptr, true, kind.skipped_max}, parts->bounds.get()),
        database_->family_handle(kind.family)));
    return parts;
  }
  std::string live_versions() {
    return database_->property(kDefaultFamily, "rocksdb.num-live-versions");
  }
  // What a walk by an iterator of the database shows.
  std::string walk(const KeyRange& range, const Snapshot* snapshot = nullptr) {
    Iterator iterator = database_->new_iterator(kDefaultFamily, {snapshot}, range);
    std::string seen;
    for (iterator.seek_to_first(); iterator.is_valid(); iterator.next()) {
      seen.append(iterator.key()).append("=").append(iterator.value()).append(" ");
    }
    must(iterator.status());
    return seen;
  }

  test::TestDirectory directory_;
  std::unique_ptr<Database> database_ = open_database(directory_ / "db");
  IteratorPool pool_;
};

TEST_F(IteratorPoolTest, AThreadGetsTheIteratorThatItGaveBackLast) {
  std::unique_ptr<IteratorParts> parts = new_parts();
  const rdb::Iterator* const iterator = parts->iterator.get();
  pool_.give_back(std::move(parts));
  const std::unique_ptr<IteratorParts> again = pool_.take(kKind, nullptr, {"b", "c"});
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(again->iterator.get(), iterator);
  EXPECT_EQ(again->bounds->range.lower, "b");
  EXPECT_FALSE(again->iterator->Valid());
  EXPECT_EQ(pool_.take(kKind, nullptr, {"b", "c"}), nullptr);
}

TEST_F(IteratorPoolTest, AnIteratorOfAnotherKindIsNotTaken) {
  for (const IteratorKind& other :
       {IteratorKind{kSystemFamily, true, 0, 0}, IteratorKind{kDefaultFamily, false, 0, 0},
        IteratorKind{kDefaultFamily, true, 7, 0}, IteratorKind{kDefaultFamily, true, 0, 8192}}) {
    pool_.give_back(new_parts());
    EXPECT_EQ(pool_.take(other, nullptr, {"a", "z"}), nullptr);
  }
}

// An estimate of a range, and then a scan of it, statement by statement.
TEST_F(IteratorPoolTest, OneThatGivesUpAndOneThatDoesNotAreKeptSideBySide) {
  constexpr IteratorKind kGivesUp{kDefaultFamily, true, 7, 0};
  std::unique_ptr<IteratorParts> scan = new_parts();
  std::unique_ptr<IteratorParts> estimate = new_parts(kGivesUp);
  const rdb::Iterator* const of_scan = scan->iterator.get();
  const rdb::Iterator* const of_estimate = estimate->iterator.get();
  for (int statement = 0; statement < 3; ++statement) {
    pool_.give_back(std::move(estimate));
    pool_.give_back(std::move(scan));
    estimate = pool_.take(kGivesUp, nullptr, {"a", "z"});
    scan = pool_.take(kKind, nullptr, {"a", "z"});
    ASSERT_NE(estimate, nullptr);
    ASSERT_NE(scan, nullptr);
    EXPECT_EQ(estimate->iterator.get(), of_estimate);
    EXPECT_EQ(scan->iterator.get(), of_scan);
  }
  pool_.give_back(std::move(estimate));
  pool_.give_back(std::move(scan));
  pool_.release_idle();
  EXPECT_EQ(pool_.take(kGivesUp, nullptr, {"a", "z"}), nullptr);
  EXPECT_EQ(pool_.take(kKind, nullptr, {"a", "z"}), nullptr);
}

TEST_F(IteratorPoolTest, AnIteratorWithAnErrorIsNotKept) {
  for (const std::string key : {"b", "c", "d"}) {
    put(key, "v");
    WriteBatch batch;
    batch.remove(kDefaultFamily, key);
    must(database_->write(batch, Durability::kBuffered));
  }
  constexpr IteratorKind kGivesUp{kDefaultFamily, true, 1, 0};
  std::unique_ptr<IteratorParts> parts = new_parts(kGivesUp);
  parts->iterator->SeekToFirst();
  ASSERT_FALSE(parts->iterator->status().ok());
  pool_.give_back(std::move(parts));
  EXPECT_EQ(pool_.take(kGivesUp, nullptr, {"a", "z"}), nullptr);
}

TEST_F(IteratorPoolTest, AnIteratorThatIsUsedAgainShowsItsSnapshotAndNoOther) {
  put("k", "old");
  EXPECT_EQ(walk({"a", "z"}), "k=old ");
  const std::unique_ptr<Snapshot> snapshot = database_->take_snapshot();
  put("k", "new");
  put("l", "new");
  EXPECT_EQ(walk({"a", "z"}), "k=new l=new ");
  EXPECT_EQ(walk({"a", "z"}, snapshot.get()), "k=old ");
  EXPECT_EQ(walk({"l", "m"}), "l=new ");
  EXPECT_EQ(walk({"l", "m"}, snapshot.get()), "");
  EXPECT_EQ(walk({"", ""}), "k=new l=new ");
}

TEST_F(IteratorPoolTest, AnIteratorThatIsUsedAgainSeesFilesThatCameMeanwhile) {
  put("k", "of a file");
  pool_.give_back(new_parts());
  flush_beside();
  put("l", "of a new memtable");
  const std::unique_ptr<IteratorParts> parts = pool_.take(kKind, nullptr, {"a", "z"});
  ASSERT_NE(parts, nullptr);
  parts->iterator->SeekToFirst();
  ASSERT_TRUE(parts->iterator->Valid());
  EXPECT_EQ(parts->iterator->value(), "of a file");
  parts->iterator->Next();
  ASSERT_TRUE(parts->iterator->Valid());
  EXPECT_EQ(parts->iterator->value(), "of a new memtable");
}

// Versions stand for all that an iterator was made over, memtables included.
TEST_F(IteratorPoolTest, WhatAnIdleIteratorWasMadeOverGoesWhenAFlushHasEnded) {
  put("k", "v");
  pool_.give_back(new_parts());
  flush_beside();
  EXPECT_EQ(live_versions(), "2");
  pool_.release_idle();
  EXPECT_EQ(live_versions(), "1");
  walk({"a", "z"});
  put("k", "v");
  flush_beside();
  basalt::test::await([this] { return live_versions() == "1"; });
}

TEST_F(IteratorPoolTest, WhatAnIdleIteratorWasMadeOverGoesWhenACompactionHasEnded) {
  put("k", "v");
  flush_beside();
  walk({"a", "z"});
  // Not with Database::compact(), which releases what is idle itself.
  rdb::CompactRangeOptions forced;
  forced.bottommost_level_compaction = rdb::BottommostLevelCompaction::kForce;
  ASSERT_TRUE(database_->rocksdb().GetBaseDB()->CompactRange(forced, nullptr, nullptr).ok());
  basalt::test::await([this] { return live_versions() == "1"; });
}

TEST_F(IteratorPoolTest, WhatAnIteratorWasMadeOverGoesWithItIfAFlushEndedWhileItWasUsed) {
  put("k", "v");
  walk({"a", "z"});
  {
    const Iterator in_use = database_->new_iterator(kDefaultFamily, {}, {"a", "z"});
    flush_beside();
    // Ends the round for certain: the flush's listener may come later than the flush returns.
    database_->release_idle();
    EXPECT_EQ(live_versions(), "2");
  }
  EXPECT_EQ(live_versions(), "1");
}

TEST_F(IteratorPoolTest, FilesOfAReclaimedRangeGoThoughAnIdleIteratorWasMadeOverThem) {
  put("k", "v");
  must(database_->flush());
  walk({"a", "z"});
  EXPECT_EQ(live_versions(), "1");
  must(database_->reclaim(kDefaultFamily, {"a", "z"}));
  EXPECT_EQ(live_versions(), "1");
}

TEST_F(IteratorPoolTest, IdleIteratorsGoWhenTheyAreReleased) {
  pool_.give_back(new_parts());
  std::thread([this] { pool_.give_back(new_parts()); }).join();
  pool_.release_idle();
  EXPECT_EQ(pool_.take(kKind, nullptr, {"a", "z"}), nullptr);
}

// Writers change all keys to the same value, in one batch; readers must see one value in all of
// them, while memtables are flushed and what is idle is released all the time.
TEST_F(IteratorPoolTest, ManyThreadsSeeWholeBatches) {
  constexpr int kBatches = 2000;
  const std::vector<std::string> keys{"b", "c", "d", "e", "f", "g", "h", "i", "j", "k"};
  std::atomic<bool> has_ended{false};
  std::atomic<int> wrong{0};
  std::atomic<int> walks{0};
  const auto read = [&] {
    while (!has_ended) {
      Iterator iterator = database_->new_iterator(kDefaultFamily, {}, {"a", "z"});
      std::string value;
      std::size_t entries = 0;
      for (iterator.seek_to_first(); iterator.is_valid(); iterator.next(), ++entries) {
        if (entries == 0) value = iterator.value();
        if (iterator.value() != value) ++wrong;
      }
      if (!iterator.status().is_ok()) ++wrong;
      if (entries != 0 && entries != keys.size()) ++wrong;
      ++walks;
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(read);
  threads.emplace_back([&] {
    while (!has_ended) {
      database_->release_idle();
      std::this_thread::yield();
    }
  });
  for (int i = 0; i < kBatches || walks < 100; ++i) {
    WriteBatch batch;
    for (const std::string& key : keys) batch.put(kDefaultFamily, key, std::to_string(i));
    must(database_->write(batch, Durability::kBuffered));
    if (i % 100 == 0) flush_beside();
  }
  has_ended = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace basalt::kv
