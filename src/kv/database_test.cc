#include "kv/database.h"

#include <rocksdb/metadata.h>
#include <rocksdb/utilities/transaction_db.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/test_support.h"
#include "kv/database_directory.h"
#include "kv/test_directory.h"

// Goal: what the header promises of opening, writing, snapshots, sizes and errors.
namespace basalt::kv {
namespace {

namespace fs = std::filesystem;
using basalt::test::await;
using basalt::test::fails_with;
using basalt::test::must;
using basalt::test::succeeds;
using test::count_entries;
using test::open_database;
using test::small_options;
using test::value_of;

std::string numbered(std::string_view prefix, int number) {
  char digits[16];
  std::snprintf(digits, sizeof digits, "%06d", number);
  return std::string(prefix) + digits;
}

// Bytes that do not compress.
std::string noise(int seed, std::size_t size) {
  std::string bytes(size, '\0');
  auto state = static_cast<std::uint64_t>(seed) * 2654435761u + 1;
  for (char& byte : bytes) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<char>(state >> 56);
  }
  return bytes;
}

class DatabaseTest : public testing::Test {
 protected:
  void put(std::string_view key, std::string_view value, FamilyId family = kDefaultFamily) {
    WriteBatch batch;
    batch.put(family, key, value);
    must(database_->write(batch, Durability::kBuffered));
  }
  void put_many(std::string_view prefix, int count, std::size_t value_size) {
    WriteBatch batch;
    for (int i = 0; i < count; ++i) {
      batch.put(kDefaultFamily, numbered(prefix, i), noise(i, value_size));
    }
    must(database_->write(batch, Durability::kBuffered));
  }
  void reopen() {
    database_.reset();
    database_ = open_database(path_);
  }

  test::TestDirectory directory_;
  const std::string path_ = directory_ / "db";
  std::unique_ptr<Database> database_ = open_database(path_);
};

TEST_F(DatabaseTest, ANewDatabaseHasAFamilyForTablesAndOneForTheDictionary) {
  EXPECT_EQ(database_->families(),
            (std::vector<Family>{{kDefaultFamily, "default"}, {kSystemFamily, "__system__"}}));
  EXPECT_EQ(count_entries(*database_, kDefaultFamily, {}), 0u);
  EXPECT_EQ(count_entries(*database_, kSystemFamily, {}), 1u) << "the limit of expiry";
}

TEST_F(DatabaseTest, WhatWasWrittenIsThereAfterReopening) {
  put("k", "of a table");
  put("k", "of the dictionary", kSystemFamily);
  put("", "the empty key");
  put("empty value", "");
  reopen();
  EXPECT_EQ(value_of(*database_, kDefaultFamily, "k"), "of a table");
  EXPECT_EQ(value_of(*database_, kSystemFamily, "k"), "of the dictionary");
  EXPECT_EQ(value_of(*database_, kDefaultFamily, ""), "the empty key");
  EXPECT_EQ(value_of(*database_, kDefaultFamily, "empty value"), "");
}

TEST_F(DatabaseTest, AMissingKeyIsNotAnErrorAndLeavesNoValue) {
  put("k", "v");
  PinnedValue value;
  bool found = false;
  ASSERT_TRUE(succeeds(database_->get(kDefaultFamily, "k", {}, value, found)));
  ASSERT_TRUE(found);
  ASSERT_TRUE(succeeds(database_->get(kDefaultFamily, "other", {}, value, found)));
  EXPECT_FALSE(found);
  EXPECT_EQ(value.view(), "");
}

TEST_F(DatabaseTest, LaterChangesOfABatchWinOverEarlierOnes) {
  WriteBatch batch;
  EXPECT_TRUE(batch.is_empty());
  batch.put(kDefaultFamily, "a", "1");
  batch.remove(kDefaultFamily, "a");
  batch.put(kDefaultFamily, "b", "1");
  batch.put(kDefaultFamily, "b", "2");
  batch.remove(kDefaultFamily, "c");
  batch.put(kDefaultFamily, "c", "1");
  EXPECT_FALSE(batch.is_empty());
  ASSERT_TRUE(succeeds(database_->write(batch, Durability::kSynced)));
  EXPECT_EQ(value_of(*database_, kDefaultFamily, "a"), "(none)");
  EXPECT_EQ(value_of(*database_, kDefaultFamily, "b"), "2");
  EXPECT_EQ(value_of(*database_, kDefaultFamily, "c"), "1");
}

TEST_F(DatabaseTest, NobodySeesHalfABatch) {
  std::atomic<bool> stop{false};
  std::thread writer([&] {
    for (int i = 0; !stop; ++i) {
      WriteBatch batch;
      batch.put(kDefaultFamily, "left", std::to_string(i));
      batch.put(kSystemFamily, "right", std::to_string(i));
      must(database_->write(batch, Durability::kBuffered));
    }
  });
  for (int i = 0; i < 2000; ++i) {
    const std::unique_ptr<Snapshot> snapshot = database_->take_snapshot();
    const ReadView view{snapshot.get(), true};
    EXPECT_EQ(value_of(*database_, kDefaultFamily, "left", view),
              value_of(*database_, kSystemFamily, "right", view));
  }
  stop = true;
  writer.join();
}

// Cuts the WAL of a crash image at many places; each must open with whole batches, the first ones.
TEST_F(DatabaseTest, AWalThatIsCutAnywhereGivesBackWholeBatchesInOrder) {
  for (int i = 1; i <= 10; ++i) {
    WriteBatch batch;
    batch.put(kDefaultFamily, numbered("left", i), "v");
    batch.put(kSystemFamily, numbered("right", i), "v");
    must(database_->write(batch, Durability::kBuffered));
  }
  for (int twelfth = 12; twelfth >= 0; --twelfth) {
    const std::string image = directory_ / "image";
    test::copy_crash_image(path_, image);
    for (const fs::directory_entry& file : fs::directory_iterator(image)) {
      if (file.path().extension() != ".log") continue;
      fs::resize_file(file, file.file_size() * static_cast<std::uint64_t>(twelfth) / 12);
    }
    std::unique_ptr<Database> recovered = open_database(image);
    const std::uint64_t left = count_entries(*recovered, kDefaultFamily, {});
    EXPECT_EQ(left, count_entries(*recovered, kSystemFamily, {"right", ""})) << twelfth;
    const std::string behind = numbered("left", static_cast<int>(left) + 1);
    EXPECT_EQ(left, count_entries(*recovered, kDefaultFamily, {"", behind})) << twelfth;
    EXPECT_TRUE(twelfth != 12 || left == 10) << left;
    recovered.reset();
    fs::remove_all(image);
  }
}

TEST_F(DatabaseTest, ASyncedWriteAndASyncedWalSurviveWithoutClosing) {
  WriteBatch batch;
  batch.put(kDefaultFamily, "k", "v");
  ASSERT_TRUE(succeeds(database_->write(batch, Durability::kSynced)));
  ASSERT_TRUE(succeeds(database_->sync_wal()));
  test::copy_crash_image(path_, directory_ / "image");
  EXPECT_EQ(value_of(*open_database(directory_ / "image"), kDefaultFamily, "k"), "v");
}

TEST_F(DatabaseTest, ASnapshotSeesWhatWasCommittedWhenItWasTaken) {
  put("changed", "old");
  put("removed", "old");
  const std::unique_ptr<Snapshot> snapshot = database_->take_snapshot();
  WriteBatch batch;
  batch.put(kDefaultFamily, "changed", "new");
  batch.remove(kDefaultFamily, "removed");
  batch.put(kDefaultFamily, "inserted", "new");
  must(database_->write(batch, Durability::kBuffered));
  const std::unique_ptr<Snapshot> later = database_->take_snapshot();
  EXPECT_GT(later->sequence(), snapshot->sequence());
  for (const bool is_compacted : {false, true}) {
    if (is_compacted) {
      must(database_->flush());
      must(database_->compact(kDefaultFamily, {}));
    }
    const ReadView view{snapshot.get(), false};
    EXPECT_EQ(value_of(*database_, kDefaultFamily, "changed", view), "old");
    EXPECT_EQ(value_of(*database_, kDefaultFamily, "removed", view), "old");
    EXPECT_EQ(value_of(*database_, kDefaultFamily, "inserted", view), "(none)");
    EXPECT_EQ(value_of(*database_, kDefaultFamily, "changed"), "new");
    EXPECT_EQ(value_of(*database_, kDefaultFamily, "removed"), "(none)");
    Iterator iterator = database_->new_iterator(kDefaultFamily, view, {});
    iterator.seek_to_last();
    ASSERT_TRUE(iterator.is_valid());
    EXPECT_EQ(iterator.key(), "removed");
  }
}

TEST_F(DatabaseTest, APinnedValueOutlivesItsKey) {
  put("k", "first");
  PinnedValue value;
  bool found = false;
  must(database_->get(kDefaultFamily, "k", {}, value, found));
  put("k", "second");
  must(database_->flush());
  must(database_->compact(kDefaultFamily, {}));
  EXPECT_EQ(value.view(), "first");
  PinnedValue moved = std::move(value);
  EXPECT_EQ(moved.view(), "first");
  moved.reset();
  EXPECT_EQ(moved.view(), "");
}

TEST_F(DatabaseTest, AnEstimateGrowsWithTheRangeInFilesAndInMemory) {
  put_many("a", 2000, 200);
  const RangeSize memory = database_->estimate(kDefaultFamily, {"a", "b"});
  EXPECT_EQ(memory.bytes, 0u);
  EXPECT_GT(memory.memtable_entries, 1000u);
  EXPECT_LT(memory.memtable_entries, 4000u);
  must(database_->flush());
  const std::uint64_t whole = database_->estimate(kDefaultFamily, {"a", "b"}).bytes;
  const std::uint64_t half = database_->estimate(kDefaultFamily, {"a", numbered("a", 1000)}).bytes;
  EXPECT_GT(whole, 2000u * 150);
  EXPECT_LT(whole, 2000u * 300);
  EXPECT_NEAR(static_cast<double>(half) / static_cast<double>(whole), 0.5, 0.1);
  EXPECT_EQ(database_->estimate(kDefaultFamily, {"b", "c"}).bytes, 0u);
  EXPECT_EQ(database_->estimate(kDefaultFamily, {"a", "b"}).memtable_entries, 0u);
}

TEST_F(DatabaseTest, TheExpansionTellsHowManyBytesAStoredByteHolds) {
  EXPECT_EQ(database_->expansion(kDefaultFamily, {"a", "b"}), 1) << "nothing is in files";
  put_many("a", 5000, 100);
  must(database_->flush());
  for (int i = 0; i < 5000; ++i) put(numbered("b", i), std::string(100, 'x'));
  must(database_->flush());
  EXPECT_NEAR(database_->expansion(kDefaultFamily, {"a", "b"}), 1, 0.2);
  EXPECT_GT(database_->expansion(kDefaultFamily, {"b", "c"}), 3);
  EXPECT_EQ(database_->expansion(kDefaultFamily, {"c", "d"}), 1);
}

TEST_F(DatabaseTest, AReclaimedRangeIsGoneAndItsNeighboursStay) {
  put_many("a", 300, 100);
  put_many("b", 3000, 100);
  put_many("c", 300, 100);
  must(database_->flush());
  put_many("b", 200, 100);
  ASSERT_TRUE(succeeds(database_->reclaim(kDefaultFamily, {"b", "c"})));
  for (const bool is_compacted : {false, true}) {
    if (is_compacted) {
      must(database_->flush());
      must(database_->compact(kDefaultFamily, {}));
      EXPECT_LT(database_->estimate(kDefaultFamily, {"b", "c"}).bytes, 10'000u);
      EXPECT_EQ(count_entries(*database_, kDefaultFamily, {"b", "c"}), 0u);
    }
    EXPECT_EQ(count_entries(*database_, kDefaultFamily, {"a", "b"}), 300u);
    EXPECT_EQ(count_entries(*database_, kDefaultFamily, {"c", "d"}), 300u);
  }
  reopen();
  EXPECT_EQ(count_entries(*database_, kDefaultFamily, {"b", "c"}), 0u);
}

// To look for them would cost every read of other ranges.
TEST_F(DatabaseTest, NoReadLooksForReclaimedRanges) {
  put_many("b", 200, 100);
  ASSERT_TRUE(succeeds(database_->reclaim(kDefaultFamily, {"b", "c"})));
  EXPECT_EQ(count_entries(*database_, kDefaultFamily, {"b", "c"}), 200u);
  EXPECT_NE(value_of(*database_, kDefaultFamily, numbered("b", 7)), "(none)");
  const std::vector<std::string> keys{numbered("b", 1), numbered("b", 2)};
  PinnedValues values;
  must(database_->get_many(kDefaultFamily, keys, {}, values));
  EXPECT_EQ(values.state(0), PinnedValues::State::kFound);
  EXPECT_EQ(values.state(1), PinnedValues::State::kFound);
}

TEST_F(DatabaseTest, CompactingLeavesOneVersionOfEachKey) {
  for (int round = 0; round < 3; ++round) {
    put_many("a", 1000, 100);
    must(database_->flush());
  }
  must(database_->compact(kDefaultFamily, {}));
  EXPECT_LT(database_->estimate(kDefaultFamily, {"a", "b"}).bytes, 1000u * 150);
  EXPECT_EQ(count_entries(*database_, kDefaultFamily, {}), 1000u);
}

TEST_F(DatabaseTest, ACheckpointIsADatabaseOfItsOwn) {
  put("k", "old");
  put("k", "old", kSystemFamily);
  const std::string copy = directory_ / "checkpoint";
  ASSERT_TRUE(succeeds(database_->create_checkpoint(copy)));
  put("k", "new");
  const std::unique_ptr<Database> opened = open_database(copy);
  EXPECT_EQ(value_of(*opened, kDefaultFamily, "k"), "old");
  EXPECT_EQ(value_of(*opened, kSystemFamily, "k"), "old");
  EXPECT_EQ(value_of(*database_, kDefaultFamily, "k"), "new");
}

TEST_F(DatabaseTest, ACheckpointDoesNotOverwriteADirectory) {
  const std::string taken = directory_ / "taken";
  fs::create_directory(taken);
  const Status status = database_->create_checkpoint(taken);
  EXPECT_FALSE(status.is_ok());
  EXPECT_TRUE(fs::is_empty(taken));
}

TEST_F(DatabaseTest, PropertiesAreTextsAndUnknownOnesAreEmpty) {
  EXPECT_EQ(database_->property(kDefaultFamily, "rocksdb.num-files-at-level0"), "0");
  EXPECT_NE(database_->property(kSystemFamily, "rocksdb.stats"), "");
  EXPECT_EQ(database_->property(kDefaultFamily, "rocksdb.no-such-property"), "");
}

TEST_F(DatabaseTest, ADatabaseThatIsOpenAlreadyIsRefusedWithItsPath) {
  const auto second = Database::open(small_options(path_));
  EXPECT_TRUE(fails_with(ErrorCode::kIoError, second));
  EXPECT_NE(second.status().message().find(path_), std::string::npos) << second.status().message();
}

TEST_F(DatabaseTest, AMissingDatabaseIsNotMadeUnlessWanted) {
  DatabaseOptions options = small_options(directory_ / "missing");
  options.create_if_missing = false;
  const auto opened = Database::open(options);
  ASSERT_FALSE(opened.is_ok());
  EXPECT_NE(opened.status().message().find(options.directory), std::string::npos)
      << opened.status().message();
  options.create_if_missing = true;
  EXPECT_TRUE(succeeds(Database::open(options)));
}

TEST_F(DatabaseTest, ADirectoryThatCannotBeMadeIsAnErrorWithItsPath) {
  std::ofstream(directory_ / "file") << "not a directory";
  const auto opened = Database::open(small_options(directory_ / "file/db"));
  EXPECT_TRUE(fails_with(ErrorCode::kIoError, opened));
  EXPECT_NE(opened.status().message().find(directory_ / "file"), std::string::npos)
      << opened.status().message();
}

// More rows than the cache has room for, read past the page cache where the file system can.
TEST_F(DatabaseTest, WhatIsReadPastThePageCacheThroughASmallCacheIsWhatWasWritten) {
  constexpr int kRows = 21'000;
  DatabaseOptions options = small_options(directory_ / "large");
  options.direct_io =
      this_machine(directory_.path()).has_direct_io ? DirectIo::kOn : DirectIo::kOff;
  options.block_cache_bytes = 1 << 20;
  options.memtables_total_bytes = 1 << 20;
  const auto value = [](int row, int round) {
    return numbered("value", round) + noise(row % 7, 60) + std::string(200, 'x') +
           numbered("row", row);
  };
  std::unique_ptr<Database> database = must(Database::open(options));
  for (int round = 0; round < 3; ++round) {
    for (int row = 0; row < kRows; row += 100) {
      WriteBatch batch;
      for (int i = row; i < row + 100; ++i) {
        if (round == 0 || i % 3 == round) {
          batch.put(kDefaultFamily, numbered("key", i), value(i, round));
        }
      }
      ASSERT_TRUE(succeeds(database->write(batch, Durability::kBuffered)));
    }
    ASSERT_TRUE(succeeds(database->flush()));
  }
  ASSERT_TRUE(succeeds(database->compact(kDefaultFamily, {})));
  for (int opening = 0; opening < 2; ++opening) {
    {
      Iterator scan = database->new_iterator(kDefaultFamily, {}, {});
      int row = 0;
      for (scan.seek_to_first(); scan.is_valid(); scan.next(), ++row) {
        ASSERT_EQ(scan.value(), value(row, row % 3));
      }
      ASSERT_TRUE(succeeds(scan.status()));
      EXPECT_EQ(row, kRows);
    }
    for (int i = 0; i < 5'000; ++i) {
      const int any = static_cast<int>(std::int64_t{i} * 7919 % kRows);
      ASSERT_EQ(value_of(*database, kDefaultFamily, numbered("key", any)), value(any, any % 3));
    }
    database.reset();
    database = must(Database::open(options));
  }
}

// The parameter: rows of 500 bytes. All of them have room in the cache of 8 MiB, or a quarter.
class CacheWarmerTest : public testing::TestWithParam<int> {};

TEST_P(CacheWarmerTest, WhatHasRoomIsInTheCacheSoonAfterTheStartIfThereIsNoPageCache) {
  const test::TestDirectory directory;
  if (!this_machine(directory.path()).has_direct_io)
    GTEST_SKIP() << "the file system has no direct I/O";
  DatabaseOptions options = small_options(directory / "direct");
  options.direct_io = DirectIo::kOn;
  std::uint64_t all = 0;
  {
    const std::unique_ptr<Database> database = must(Database::open(options));
    for (int row = 0; row < GetParam(); ++row) {
      WriteBatch batch;
      batch.put(kDefaultFamily, numbered("key", row), noise(row, 500));
      ASSERT_TRUE(succeeds(database->write(batch, Durability::kBuffered)));
    }
    ASSERT_TRUE(succeeds(database->flush()));
    all = database->estimate(kDefaultFamily, {"key", "kez"}).bytes;
    ASSERT_GT(all, 1u << 20);
  }
  const std::unique_ptr<Database> database = must(Database::open(options));
  const std::uint64_t expected = std::min(all, options.block_cache_bytes) * 3 / 4;
  await([&] {
    return std::stoull(database->property(kDefaultFamily, "rocksdb.block-cache-usage")) > expected;
  });
}

INSTANTIATE_TEST_SUITE_P(Rows, CacheWarmerTest, testing::Values(4'000, 60'000));

TEST_F(DatabaseTest, ADamagedBlockIsCorruptionAndNamesItsFile) {
  put_many("a", 100, 100);
  must(database_->flush());
  std::vector<rdb::LiveFileMetaData> files;
  database_->rocksdb().GetLiveFilesMetaData(&files);
  database_.reset();
  for (const rdb::LiveFileMetaData& file : files) {
    // Without the other family it would not be opened.
    if (file.column_family_name != kDefaultFamilyName) continue;
    std::fstream bytes(path_ + "/" + file.relative_filename,
                       std::ios::in | std::ios::out | std::ios::binary);
    bytes.seekp(100);
    bytes.write("damage", 6);
  }
  database_ = open_database(path_);
  PinnedValue value;
  bool found = true;
  const Status status = database_->get(kDefaultFamily, numbered("a", 1), {}, value, found);
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, status));
  EXPECT_FALSE(found);
  EXPECT_NE(status.message().find(".sst"), std::string::npos) << status.message();
  Iterator iterator = database_->new_iterator(kDefaultFamily, {}, {});
  iterator.seek_to_first();
  EXPECT_FALSE(iterator.is_valid());
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, iterator.status()));
}

TEST_F(DatabaseTest, ManyKeysAreReadTogetherAsTheyAreOneByOne) {
  put_many("file", 200, 30);
  must(database_->flush());
  put_many("memory", 200, 30);
  const std::unique_ptr<Snapshot> snapshot = database_->take_snapshot();
  put(numbered("file", 7), "after the snapshot");
  put(numbered("memory", 300), "after the snapshot");
  std::vector<std::string> keys;
  for (int i = 0; i < 400; ++i) {
    keys.push_back(numbered(i % 3 == 0 ? "file" : "memory", (i * 37) % 301));
  }
  PinnedValues values;
  for (const ReadView view : {ReadView{}, ReadView{snapshot.get()}}) {
    for (const std::size_t count : {400u, 1u, 0u, 33u}) {
      must(database_->get_many(kDefaultFamily, std::span(keys).first(count), view, values));
      for (std::size_t i = 0; i < count; ++i) {
        PinnedValue value;
        bool found = false;
        must(database_->get(kDefaultFamily, keys[i], view, value, found));
        ASSERT_EQ(values.state(i),
                  found ? PinnedValues::State::kFound : PinnedValues::State::kMissing)
            << keys[i];
        if (found) {
          ASSERT_EQ(values.view(i), value.view()) << keys[i];
        }
      }
    }
  }
}

TEST_F(DatabaseTest, AReadOfManyKeysEndsAtABoundOfMemory) {
  put_many("large", 20, 300000);
  must(database_->flush());
  std::vector<std::string> keys;
  for (int i = 0; i < 20; ++i) keys.push_back(numbered("large", i));
  PinnedValues values;
  must(database_->get_many(kDefaultFamily, keys, {}, values));
  std::size_t read = 0;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (values.state(i) == PinnedValues::State::kFound) {
      ++read;
      EXPECT_EQ(values.view(i), noise(static_cast<int>(i), 300000));
    } else {
      EXPECT_EQ(values.state(i), PinnedValues::State::kUnread);
    }
  }
  EXPECT_GE(read, 1u);
  EXPECT_LE(read, 10u);
}

}  // namespace
}  // namespace basalt::kv
