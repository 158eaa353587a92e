#include "kv/external_sort.h"

#include <rocksdb/utilities/transaction_db.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/test_support.h"
#include "kv/faulty_file_system.h"
#include "kv/test_directory.h"

// Goal: every entry comes back once, in the order of the keys, however many runs there are; and a
// disk that fails is an error and nothing else. Method: random entries against std::sort.
namespace basalt::kv {
namespace {

using basalt::test::fails_with;
using basalt::test::must;
using basalt::test::succeeds;
using test::Fault;
using test::FaultyFileSystem;
using test::Operation;
using Entries = std::vector<std::pair<std::string, std::string>>;

constexpr std::size_t kMemory = std::size_t{1} << 20;

class ExternalSortTest : public testing::Test {
 protected:
  ExternalSortTest()
      : database_(must(Database::open(test::small_options(directory_ / "db"), files_))) {}

  // Keys of one index, of many lengths, beginnings and ends of each other among them.
  static Entries random_entries(std::size_t count) {
    std::mt19937_64 random(7);
    Entries entries;
    for (std::size_t i = 0; i < count; ++i) {
      std::string key;
      append_be32(key, 300);
      append_be64(key, random() % 5 == 0 ? 77 : random());
      key.resize(4 + random() % 9);
      if (random() % 2 == 0) key.append(random() % 200, static_cast<char>(random() % 3));
      append_be32(key, static_cast<std::uint32_t>(i));
      entries.emplace_back(std::move(key), std::string(random() % 50, static_cast<char>(i)));
    }
    return entries;
  }
  static Status add(ExternalSort& sort, const Entries& entries) {
    for (const auto& [key, value] : entries) BASALT_TRY(sort.add(key, value));
    return Status::ok();
  }
  static Status drain(ExternalSort& sort, Entries& found) {
    return sort.drain([&](std::string_view key, std::string_view value) {
      found.emplace_back(key, value);
      return Status::ok();
    });
  }
  static Status sort_all(ExternalSort& sort, const Entries& entries) {
    Entries found;
    BASALT_TRY(add(sort, entries));
    return drain(sort, found);
  }

  test::TestDirectory directory_;
  std::shared_ptr<FaultyFileSystem> files_ = std::make_shared<FaultyFileSystem>();
  std::unique_ptr<Database> database_;
  const std::string path_ = directory_ / "runs";
};

TEST_F(ExternalSortTest, EntriesComeBackInTheOrderOfTheirKeys) {
  for (const std::size_t count : {0, 1, 2, 1000, 5'000, 60'000, 200'000}) {
    const Entries entries = random_entries(count);
    ExternalSort sort(*database_, path_, kMemory);
    ASSERT_TRUE(succeeds(add(sort, entries)));
    Entries found;
    ASSERT_TRUE(succeeds(drain(sort, found)));
    Entries expected = entries;
    std::sort(expected.begin(), expected.end());
    EXPECT_TRUE(found == expected) << count;
    EXPECT_EQ(sort.run_count() > 0, count > 5'000) << count;
  }
}

TEST_F(ExternalSortTest, WhatFitsIntoMemoryIsInNoFile) {
  ExternalSort sort(*database_, path_, kMemory);
  ASSERT_TRUE(succeeds(sort_all(sort, random_entries(5'000))));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(ExternalSortTest, SmallEntriesFillTheMemoryTheyAreGiven) {
  ExternalSort sort(*database_, path_, kMemory);
  std::string key(8, '\0');
  for (std::uint32_t i = 0; i < 100'000; ++i) {
    store_be32(key.data() + 4, i * 2'654'435'761U);
    must(sort.add(key, ""));
  }
  // 16 bytes each, and 16 to find it, of which there may be room for twice as many.
  EXPECT_GE(sort.run_count(), 3u);
  EXPECT_LE(sort.run_count(), 7u);
}

TEST_F(ExternalSortTest, EntriesLargerThanMemoryAreSorted) {
  Entries entries;
  for (int i = 0; i < 5; ++i) {
    entries.emplace_back("i000k" + std::to_string(9 - i), std::string(3 * kMemory, 'x'));
  }
  ExternalSort sort(*database_, path_, kMemory);
  ASSERT_TRUE(succeeds(add(sort, entries)));
  Entries found;
  ASSERT_TRUE(succeeds(drain(sort, found)));
  std::sort(entries.begin(), entries.end());
  EXPECT_TRUE(found == entries);
}

TEST_F(ExternalSortTest, AnErrorOfTheVisitorEndsTheVisits) {
  for (const std::size_t count : {100, 50'000}) {
    ExternalSort sort(*database_, path_, kMemory);
    must(add(sort, random_entries(count)));
    int visits = 0;
    const Status status = sort.drain([&](std::string_view, std::string_view) {
      return ++visits == 10 ? Status::of(ErrorCode::kInterrupted) : Status::ok();
    });
    EXPECT_TRUE(fails_with(ErrorCode::kInterrupted, status));
    EXPECT_EQ(visits, 10);
  }
}

TEST_F(ExternalSortTest, AFailingDiskIsAnErrorAndTheDatabaseGoesOn) {
  const Entries entries = random_entries(60'000);
  const std::pair<Fault, ErrorCode> cases[] = {
      {{.operation = Operation::kCreate, .part = "runs"}, ErrorCode::kIoError},
      {{.operation = Operation::kAppend, .part = "runs"}, ErrorCode::kIoError},
      {{.operation = Operation::kAppend, .part = "runs", .cause = ENOSPC, .skipped = 3},
       ErrorCode::kNoSpace},
      {{.operation = Operation::kRead, .part = "runs", .skipped = 5}, ErrorCode::kIoError},
  };
  for (const auto& [fault, code] : cases) {
    files_->set(fault);
    ExternalSort sort(*database_, path_, kMemory);
    EXPECT_TRUE(fails_with(code, sort_all(sort, entries)));
    files_->heal();
    WriteBatch batch;
    batch.put(kDefaultFamily, "a", "1");
    EXPECT_TRUE(succeeds(database_->write(batch, Durability::kSynced)));
  }
}

TEST_F(ExternalSortTest, ADatabaseThatTakesNoRowsIsSpared) {
  database_->health().turn_read_only("a test");
  ExternalSort sort(*database_, path_, kMemory);
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, sort_all(sort, random_entries(60'000))));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(ExternalSortTest, AFileThatIsCutIsCorruptionOrAnErrorAndNeverFewerEntries) {
  ExternalSort sort(*database_, path_, kMemory);
  must(add(sort, random_entries(60'000)));
  ASSERT_GT(sort.run_count(), 0u);
  Entries found;
  const Status status = sort.drain([&](std::string_view key, std::string_view value) {
    if (found.empty()) std::filesystem::resize_file(path_, 100);
    found.emplace_back(key, value);
    return Status::ok();
  });
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, status));
}

}  // namespace
}  // namespace basalt::kv
