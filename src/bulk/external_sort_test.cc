#include "bulk/external_sort.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/test_directory.h"
#include "base/test_support.h"
#include "wal/faulty_file_system.h"

// Goal: every entry comes back once, in the order of the keys, however many runs, sorts and ranges
// there are; and a disk that fails is an error and nothing else. Method: random entries against
// std::sort.
namespace basalt::bulk {
namespace {

using basalt::test::fails_with;
using basalt::test::must;
using basalt::test::succeeds;
using wal::test::Fault;
using wal::test::FaultyFileSystem;
using wal::test::Operation;
using Entries = std::vector<std::pair<std::string, std::string>>;

constexpr std::size_t kMemory = std::size_t{1} << 20;

class ExternalSortTest : public testing::Test {
 protected:
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
  std::unique_ptr<ExternalSort>& add_sort() {
    return sorts_.emplace_back(std::make_unique<ExternalSort>(
        *files_, health_, path_ + std::to_string(sorts_.size()), kMemory));
  }
  Status visit(const KeyRange& range, Entries& found) const {
    return visit_sorted(sorts_, range, kMemory, [&](std::string_view key, std::string_view value) {
      found.emplace_back(key, value);
      return Status::ok();
    });
  }
  // Sorts with a new sort, the only one.
  Status sort_all(const Entries& entries, Entries& found) {
    sorts_.clear();
    ExternalSort& sort = *add_sort();
    BASALT_TRY(add(sort, entries));
    BASALT_TRY(sort.finish());
    return visit({}, found);
  }
  bool has_file() const { return std::filesystem::exists(path_ + "0"); }

  basalt::test::TestDirectory directory_;
  std::shared_ptr<FaultyFileSystem> files_ = std::make_shared<FaultyFileSystem>();
  wal::Health health_{directory_.path(), 0};
  const std::string path_ = directory_ / "runs";
  std::vector<std::unique_ptr<ExternalSort>> sorts_;
};

TEST_F(ExternalSortTest, EntriesComeBackInTheOrderOfTheirKeys) {
  for (const std::size_t count : {0, 1, 2, 1000, 5'000, 60'000, 200'000}) {
    const Entries entries = random_entries(count);
    Entries found;
    ASSERT_TRUE(succeeds(sort_all(entries, found)));
    Entries expected = entries;
    std::sort(expected.begin(), expected.end());
    EXPECT_TRUE(found == expected) << count;
    EXPECT_EQ(sorts_[0]->run_count() > 0, count > 5'000) << count;
  }
}

TEST_F(ExternalSortTest, SeveralSortsAreVisitedAsOneRangeByRange) {
  // The first with runs, the second in memory, the third without entries.
  Entries entries = random_entries(70'000);
  for (int i = 0; i < 3; ++i) add_sort();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    must(sorts_[i % 20 == 0]->add(entries[i].first, entries[i].second));
  }
  for (const auto& sort : sorts_) must(sort->finish());
  ASSERT_GT(sorts_[0]->run_count(), 1u);
  ASSERT_EQ(sorts_[1]->run_count(), 0u);
  std::sort(entries.begin(), entries.end());
  std::vector<std::string> bounds = {"",
                                     entries[0].first,
                                     entries[34'567].first,
                                     entries[34'567].first + '\0',
                                     entries[69'999].first,
                                     "\xff"};
  for (const auto& sort : sorts_) {
    for (std::string& key : sort->samples()) bounds.push_back(std::move(key));
  }
  std::sort(bounds.begin(), bounds.end());
  Entries found;
  for (std::size_t i = 1; i < bounds.size(); ++i) {
    must(visit({bounds[i - 1], bounds[i]}, found));
  }
  EXPECT_TRUE(found == entries);
  found.clear();
  must(visit({entries[60'000].first, ""}, found));
  EXPECT_TRUE(found == Entries(entries.begin() + 60'000, entries.end()));
}

TEST_F(ExternalSortTest, SamplesDivideWhatIsInFilesAsWhatIsInMemory) {
  for (const std::size_t count : {5'000, 100'000}) {
    Entries entries = random_entries(count);
    Entries found;
    must(sort_all(entries, found));
    std::size_t bytes = 0;
    for (const auto& [key, value] : entries) bytes += key.size() + value.size() + 8;
    const double expected =
        static_cast<double>(bytes) / static_cast<double>(sorts_[0]->sample_bytes());
    const std::vector<std::string> samples = sorts_[0]->samples();
    EXPECT_GE(static_cast<double>(samples.size()), 0.9 * expected) << count;
    EXPECT_LE(samples.size(), expected + 1 + static_cast<double>(sorts_[0]->run_count())) << count;
    for (const std::string& sample : samples) {
      const auto at =
          std::lower_bound(found.begin(), found.end(), std::pair(sample, std::string()));
      EXPECT_TRUE(at != found.end() && at->first == sample);
    }
  }
}

TEST_F(ExternalSortTest, WhatFitsIntoMemoryIsInNoFile) {
  Entries found;
  ASSERT_TRUE(succeeds(sort_all(random_entries(5'000), found)));
  EXPECT_FALSE(has_file());
}

TEST_F(ExternalSortTest, SmallEntriesFillTheMemoryTheyAreGiven) {
  ExternalSort& sort = *add_sort();
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
  Entries found;
  ASSERT_TRUE(succeeds(sort_all(entries, found)));
  std::sort(entries.begin(), entries.end());
  EXPECT_TRUE(found == entries);
}

// Values that are read when their turn comes, among others, in runs and ranges of all kinds.
TEST_F(ExternalSortTest, LongValuesComeBackAmongShortOnes) {
  std::mt19937 random(1);
  Entries entries;
  for (int i = 0; i < 400; ++i) {
    const std::size_t size = random() % 3 == 0 ? ExternalSort::kReadBytesMin - 20 + random() % 40
                                               : random() % (3 * ExternalSort::kReadBytesMin);
    const std::string number = std::to_string(100'000 + random() % 800'000);
    entries.emplace_back("i000k" + number + std::string(random() % 200, 'k'),
                         std::string(size, static_cast<char>('a' + i % 26)));
  }
  Entries found;
  ASSERT_TRUE(succeeds(sort_all(entries, found)));
  std::sort(entries.begin(), entries.end());
  EXPECT_TRUE(found == entries);
  for (const char* lower : {"i000k2", "i000k5"}) {
    const KeyRange range{lower, "i000k7"};
    Entries expected;
    std::ranges::copy_if(entries, std::back_inserter(expected), [&](const auto& entry) {
      return entry.first >= range.lower && entry.first < range.upper;
    });
    Entries in_range;
    ASSERT_TRUE(succeeds(visit(range, in_range)));
    EXPECT_TRUE(in_range == expected);
  }
}

TEST_F(ExternalSortTest, AnErrorOfTheVisitorEndsTheVisits) {
  for (const std::size_t count : {100, 50'000}) {
    Entries found;
    must(sort_all(random_entries(count), found));
    int visits = 0;
    const Status status =
        visit_sorted(sorts_, {}, kMemory, [&](std::string_view, std::string_view) {
          return ++visits == 10 ? Status::of(ErrorCode::kInterrupted) : Status::ok();
        });
    EXPECT_TRUE(fails_with(ErrorCode::kInterrupted, status));
    EXPECT_EQ(visits, 10);
  }
}

TEST_F(ExternalSortTest, AFailingDiskIsAnErrorAndRowsMayStillBeChanged) {
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
    Entries found;
    EXPECT_TRUE(fails_with(code, sort_all(entries, found)));
    files_->heal();
    EXPECT_TRUE(succeeds(health_.check_writable()));
  }
}

TEST_F(ExternalSortTest, ADatabaseThatTakesNoRowsIsSpared) {
  health_.turn_read_only("a test");
  Entries found;
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, sort_all(random_entries(60'000), found)));
  EXPECT_FALSE(has_file());
}

TEST_F(ExternalSortTest, AFileThatIsCutIsCorruptionOrAnErrorAndNeverFewerEntries) {
  Entries found;
  must(sort_all(random_entries(60'000), found));
  ASSERT_GT(sorts_[0]->run_count(), 0u);
  bool is_cut = false;
  const Status status = visit_sorted(sorts_, {}, kMemory, [&](std::string_view, std::string_view) {
    if (!is_cut) std::filesystem::resize_file(path_ + "0", 100);
    is_cut = true;
    return Status::ok();
  });
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, status));
}

}  // namespace
}  // namespace basalt::bulk
