#pragma once
#include <rocksdb/metadata.h>
#include <rocksdb/options.h>
#include <rocksdb/utilities/transaction_db.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "txn/test_support.h"

// What the tests of transactions share whose changes are in files: random changes beside a map,
// moved to files now and then.
namespace basalt::txn::test {

namespace fs = std::filesystem;

using basalt::test::must;

inline constexpr std::uint32_t kIndex = 300;
// Entries of this one are put once, and singly deleted, as those of secondary indexes are.
inline constexpr std::uint32_t kSingle = 301;
inline constexpr std::uint32_t kNumbers = 30;
inline constexpr int kLowestLevel = 6;

inline std::string key_of(std::uint32_t number, std::uint32_t index = kIndex) {
  std::string key;
  append_be32(key, index);
  append_be32(key, number);
  return key;
}

// What threads do with a transaction's runs.
struct Meanwhile {
  bool writes = false;
  bool merges = false;
};

class SpillTest : public ::testing::Test {
 protected:
  std::uint32_t below(std::uint32_t end) {
    return std::uniform_int_distribution<std::uint32_t>(0, end - 1)(random_);
  }
  // Changes one key, as engines do: what is not there is not removed, and an entry of kSingle that
  // is there is not put.
  void change(Transaction& transaction, Map& rows) {
    const bool is_single = below(2) == 0;
    const std::string key = key_of(below(kNumbers), is_single ? kSingle : kIndex);
    const bool is_there = rows.contains(key);
    if (is_there && (is_single || below(3) == 0)) {
      is_single ? remove_single(transaction, key) : remove(transaction, key);
      rows.erase(key);
    } else {
      rows[key] = std::to_string(next_value_++);
      must(transaction.lock(key, lock::LockMode::kExclusive, kNoWait));
      const std::string_view name = key;
      must(put_locked(transaction, key, rows[key], kFamily,
                      is_there ? std::span<const std::string_view>() : std::span(&name, 1)));
    }
  }
  // Moves what is in memory to files, or begins to.
  static void spill(Transaction& transaction, Meanwhile meanwhile = {}) {
    must(try_spill(transaction, meanwhile));
  }
  static Status try_spill(Transaction& transaction, Meanwhile meanwhile = {}) {
    transaction.set_memory_limits({.spills_at = 1,
                                   .writes_meanwhile = meanwhile.writes,
                                   .merges_meanwhile = meanwhile.merges});
    Status status = transaction.spill_if_large();
    transaction.set_memory_limits({});
    return status;
  }
  Meanwhile any_of_it() { return {.writes = below(4) != 0, .merges = below(4) != 0}; }
  void change_often(Transaction& transaction, Map& rows, std::uint32_t count) {
    for (; count != 0; --count) {
      change(transaction, rows);
      if (below(6) == 0) spill(transaction, any_of_it());
    }
  }

  static Map all_of(Transaction& transaction, bool forward) { return scan(transaction, forward); }
  static void expect_reads(Transaction& transaction, const Map& rows) {
    EXPECT_EQ(all_of(transaction, true), rows);
    EXPECT_EQ(all_of(transaction, false), rows);
    std::vector<std::string> keys;
    for (std::uint32_t number = 0; number < kNumbers; ++number) {
      for (const std::uint32_t index : {kIndex, kSingle}) keys.push_back(key_of(number, index));
    }
    kv::PinnedValues values;
    must(transaction.get_many(kFamily, keys, transaction.consistent_view(), values));
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const auto row = rows.find(keys[i]);
      const std::string expected = row == rows.end() ? "(none)" : row->second;
      EXPECT_EQ(read(transaction, keys[i]), expected);
      const bool is_found = values.state(i) == kv::PinnedValues::State::kFound;
      EXPECT_EQ(is_found ? std::string(values.view(i)) : "(none)", expected);
    }
  }
  // A random walk, with turns.
  void expect_walk(Transaction& transaction, const Map& rows) {
    if (rows.empty()) return;
    kv::Iterator iterator = transaction.new_iterator(kFamily, transaction.consistent_view(), {});
    const std::string start = key_of(below(kNumbers), below(2) == 0 ? kIndex : kSingle);
    auto at = rows.lower_bound(start);
    iterator.seek(start);
    for (int step = 0; step < 40 && at != rows.end(); ++step) {
      ASSERT_TRUE(iterator.is_valid());
      ASSERT_EQ(iterator.key(), at->first);
      ASSERT_EQ(iterator.value(), at->second);
      if (below(2) == 0) {
        iterator.next();
        ++at;
      } else {
        iterator.previous();
        at = at == rows.begin() ? rows.end() : std::prev(at);
      }
    }
    EXPECT_EQ(iterator.is_valid(), at != rows.end());
  }
  Map committed() {
    const auto reader = store_.begin();
    reader->begin_statement(kRr);
    Map rows = scan(*reader);
    commit(*reader);
    return rows;
  }
  void compact() {
    for (const std::uint32_t index : {kIndex, kSingle}) {
      must(store_.database().compact(kFamily, index_key_range(index)));
    }
  }
  // Files are compacted by compact_upper_levels() and compact() alone.
  void stop_compactions() {
    const rdb::Status status = store_.database().rocksdb().GetBaseDB()->SetOptions(
        store_.database().family_handle(kFamily), {{"disable_auto_compactions", "true"}});
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  // Of tables.
  std::uint64_t files_in_level_0() {
    std::string count;
    EXPECT_TRUE(store_.database().rocksdb().GetProperty(store_.database().family_handle(kFamily),
                                                        "rocksdb.num-files-at-level0", &count));
    return std::stoull(count);
  }
  TransactionInfo info_of(const Transaction& transaction) {
    for (TransactionInfo& info : store_.transactions().undecided().open_transactions()) {
      if (info.id == transaction.id()) return std::move(info);
    }
    ADD_FAILURE() << "the transaction is not open";
    return {};
  }
  // The only one that there is.
  fs::path load_directory() {
    const fs::directory_iterator loads(store_.database().options().directory + "/loads");
    return loads->path();
  }
  static std::size_t file_count(const fs::path& directory) {
    const fs::directory_iterator files(directory);
    return static_cast<std::size_t>(
        std::count_if(fs::begin(files), fs::end(files),
                      [](const fs::directory_entry& entry) { return entry.is_regular_file(); }));
  }
  // Puts something where the next files of `kind`, runs or merged ones, would be: they fail.
  static void block_files(const fs::path& directory, const std::string& kind) {
    for (int i = 0; i < 200; ++i) {
      const std::string numbers = std::to_string(i) + "-" + (kind == "run" ? "0-" : "");
      const fs::path file = directory / (kind + numbers + std::to_string(kFamily) + "-1.sst");
      if (!fs::exists(file)) fs::create_directory(file);
    }
  }
  static void unblock_files(const fs::path& directory) {
    std::vector<fs::path> blocks;
    for (const auto& entry : fs::directory_iterator(directory)) {
      if (entry.is_directory()) blocks.push_back(entry.path());
    }
    for (const fs::path& block : blocks) fs::remove(block);
  }
  // All files but those of the lowest level, together.
  void compact_upper_levels() {
    rdb::DB& rocksdb = *store_.database().rocksdb().GetBaseDB();
    std::vector<rdb::LiveFileMetaData> files;
    rocksdb.GetLiveFilesMetaData(&files);
    std::vector<std::string> upper;
    for (const rdb::LiveFileMetaData& file : files) {
      const bool is_of_tables = file.column_family_name == kv::kDefaultFamilyName;
      if (is_of_tables && file.level < kLowestLevel) upper.push_back(file.name);
    }
    ASSERT_FALSE(upper.empty());
    const rdb::Status status =
        rocksdb.CompactFiles(rdb::CompactionOptions(), upper, kLowestLevel - 1);
    ASSERT_TRUE(status.ok()) << status.ToString();
  }
  static void expect_image(const std::string& image, const Map& rows) {
    const auto database = kv::test::open_database(image);
    lock::LockManager locks{lock::LockManager::Options{}};
    TransactionManager manager(*database, locks);
    must(manager.recover());
    const auto reader = manager.make_transaction(nullptr);
    reader->begin_statement(kRr);
    EXPECT_EQ(scan(*reader), rows);
    commit(*reader);
    const fs::path loads = image + "/loads";
    EXPECT_TRUE(!fs::exists(loads) || fs::is_empty(loads));
  }
  bool has_directories() {
    const fs::path loads = store_.database().options().directory + "/loads";
    return fs::exists(loads) && !fs::is_empty(loads);
  }
  // Rows that are there, some in files and some in memory.
  Map begin_with_rows() {
    Map rows;
    const auto writer = store_.begin();
    for (int part = 0; part < 2; ++part) {
      writer->begin_statement(kRr);
      for (int i = 0; i < 20; ++i) change(*writer, rows);
      commit(*writer);
      if (part == 0) must(store_.database().flush());
    }
    return rows;
  }

  std::mt19937 random_{basalt::test::seed()};
  kv::test::TestDirectory directory_;
  Store store_;
  int next_value_ = 1;
};

}  // namespace basalt::txn::test
