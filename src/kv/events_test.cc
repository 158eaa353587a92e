#include "kv/events.h"

#include <algorithm>
#include <string>
#include <thread>

#include "base/bytes.h"
#include "base/test_support.h"
#include "kv/reports.h"
#include "kv/test_directory.h"

// Goal: what is shown of the database is what has happened in it.
namespace basalt::kv {
namespace {

using basalt::test::must;

constexpr std::uint32_t kIndex = 300;
constexpr int kRows = 1000;

std::string key_of(int row) {
  std::string key;
  append_be32(key, kIndex);
  append_be32(key, static_cast<std::uint32_t>(row));
  return key;
}

class EventsTest : public testing::Test {
 protected:
  void fill() {
    WriteBatch batch;
    for (int row = 0; row < kRows; ++row) batch.put(kDefaultFamily, key_of(row), "value");
    must(database_->write(batch, Durability::kBuffered));
  }
  bool get(int row, ReadCounts* counts = nullptr) {
    ReadView view;
    view.counts = counts;
    PinnedValue value;
    bool found = false;
    must(database_->get(kDefaultFamily, key_of(row), view, value, found));
    return found;
  }
  std::uint64_t count(Event event) { return database_->events().count(event); }

  test::TestDirectory directory_;
  std::unique_ptr<Database> database_ = test::open_database(directory_ / "db");
};

TEST_F(EventsTest, ReadsOfMemtablesAndFilesAreToldApart) {
  const std::uint64_t written = count(Event::kKeyWritten);
  fill();
  EXPECT_TRUE(get(1));
  EXPECT_EQ(1u, count(Event::kFoundInMemtable));
  must(database_->flush());
  const std::uint64_t missed = count(Event::kNotInMemtable);
  EXPECT_TRUE(get(1));
  EXPECT_FALSE(get(kRows + 1));
  EXPECT_EQ(missed + 2, count(Event::kNotInMemtable));
  EXPECT_EQ(
      1u, count(Event::kFoundInLevel0) + count(Event::kFoundInLevel1) + count(Event::kFoundBelow));
  EXPECT_GE(count(Event::kKeyRead), 3u);
  EXPECT_TRUE(get(1));
  EXPECT_GT(count(Event::kCacheHit), 0u);
  EXPECT_EQ(static_cast<std::uint64_t>(kRows), count(Event::kKeyWritten) - written);
}

TEST_F(EventsTest, MovesOfAnIteratorAreCountedForAllAndForTheReader) {
  fill();
  ReadCounts counts;
  {
    ReadView view;
    view.counts = &counts;
    Iterator iterator = database_->new_iterator(kDefaultFamily, view, index_key_range(kIndex));
    int rows = 0;
    for (iterator.seek_to_first(); iterator.is_valid(); iterator.next()) ++rows;
    EXPECT_EQ(kRows, rows);
    iterator.seek_to_last();
    iterator.previous();
    Iterator moved = std::move(iterator);
    moved.next();
  }
  EXPECT_EQ(2u, count(Event::kSeek));
  EXPECT_EQ(2u, count(Event::kSeekFound));
  EXPECT_EQ(kRows + 1u, count(Event::kNext));
  EXPECT_EQ(static_cast<std::uint64_t>(kRows), count(Event::kNextFound));
  EXPECT_EQ(1u, count(Event::kPrevious));
  EXPECT_EQ(1u, count(Event::kPreviousFound));
  const std::uint64_t entry_bytes = key_of(0).size() + 5;
  EXPECT_EQ((kRows + 3) * entry_bytes, count(Event::kIteratorBytes));
  EXPECT_EQ(2u, counts.seeks);
  EXPECT_EQ(kRows + 1u, counts.nexts);
  EXPECT_EQ(1u, counts.previouses);
  EXPECT_EQ((kRows + 3) * entry_bytes, counts.iterator_bytes);
  EXPECT_TRUE(get(1, &counts));
  EXPECT_FALSE(get(kRows, &counts));
  EXPECT_EQ(2u, counts.gets);
  EXPECT_EQ(5u, counts.get_bytes);
}

TEST_F(EventsTest, SeeksAreToldOfBeforeTheirIteratorEnds) {
  fill();
  Iterator iterator = database_->new_iterator(kDefaultFamily, {}, index_key_range(kIndex));
  for (int i = 0; i < 100; ++i) iterator.seek(key_of(i % kRows));
  EXPECT_GT(count(Event::kSeek), 80u);
  EXPECT_LE(count(Event::kSeek), 100u);
  EXPECT_EQ(count(Event::kSeek), count(Event::kSeekFound));
}

TEST_F(EventsTest, EntriesOfFilesAreCountedByKind) {
  fill();
  must(database_->flush());
  EXPECT_EQ(static_cast<std::uint64_t>(kRows), count(Event::kFilePut));
  WriteBatch removal;
  removal.remove(kDefaultFamily, key_of(1));
  must(database_->write(removal, Durability::kBuffered));
  must(database_->flush());
  EXPECT_EQ(1u, count(Event::kFileDelete));
  EXPECT_EQ(0u, count(Event::kManualCompaction));
  must(database_->compact(kDefaultFamily, index_key_range(kIndex)));
  EXPECT_EQ(1u, count(Event::kManualCompaction));
  EXPECT_EQ(1u, count(Event::kManualCompactionEnd));
  EXPECT_GT(count(Event::kFlushBytesWritten), 0u);
  EXPECT_GT(count(Event::kCompactionBytesRead), 0u);
  EXPECT_GT(count(Event::kCompactionBytesWritten), 0u);
}

TEST_F(EventsTest, WhatOtherThreadsDoIsCountedAlsoWhenTheyHaveEnded) {
  fill();
  std::thread([this] { EXPECT_TRUE(get(1)); }).join();
  EXPECT_EQ(1u, count(Event::kFoundInMemtable));
  EXPECT_NE(std::string::npos,
            database_->events().describe().find("rocksdb.memtable.hit COUNT : 1\n"));
}

TEST_F(EventsTest, TwoDatabasesCountApart) {
  const auto other = test::open_database(directory_ / "other");
  fill();
  EXPECT_TRUE(get(1));
  EXPECT_EQ(0u, other->events().count(Event::kFoundInMemtable));
  EXPECT_EQ(1u, count(Event::kFoundInMemtable));
}

TEST_F(EventsTest, FilesFamiliesAndMemoryAreReported) {
  fill();
  const MemoryReport full = memory_report(*database_);
  EXPECT_GT(full.memtables_unflushed, 0u);
  EXPECT_GE(full.memtables, full.memtables_unflushed);
  must(database_->flush());
  std::vector<FileReport> files = must(file_reports(*database_));
  std::erase_if(files, [](const FileReport& file) { return file.family != kDefaultFamily; });
  ASSERT_EQ(1u, files.size());
  EXPECT_TRUE(files[0].name.ends_with(".sst")) << files[0].name;
  EXPECT_EQ(static_cast<std::uint64_t>(kRows), files[0].entries);
  EXPECT_GT(files[0].data_blocks, 0u);
  EXPECT_GT(files[0].data_bytes, 0u);
  ASSERT_EQ(1u, files[0].indexes.size());
  EXPECT_EQ(kIndex, files[0].indexes[0].id);
  EXPECT_EQ(static_cast<std::uint64_t>(kRows), files[0].indexes[0].properties.puts);
  EXPECT_EQ("default", family_name(*database_, kDefaultFamily));
  EXPECT_EQ("", family_name(*database_, 12345));
  const auto options = family_options(*database_, kDefaultFamily);
  const auto value_of = [&](std::string_view name) {
    const auto found = std::ranges::find(
        options, name, [](const auto& option) -> std::string_view { return option.first; });
    return found == options.end() ? "none" : found->second;
  };
  EXPECT_EQ("4", value_of("max_write_buffer_number"));
  EXPECT_EQ("6", value_of("table_factory::format_version"));
  EXPECT_FALSE(map_property(*database_, kDefaultFamily, "rocksdb.cfstats").empty());
  EXPECT_TRUE(map_property(*database_, kDefaultFamily, "rocksdb.no-such").empty());
  const std::vector<ThreadReport> threads = thread_reports();
  EXPECT_TRUE(
      std::ranges::any_of(threads, [](const auto& thread) { return thread.kind == "High Pri"; }));
}

}  // namespace
}  // namespace basalt::kv
