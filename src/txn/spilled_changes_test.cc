#include "txn/spilled_changes.h"

#include <rocksdb/metadata.h>
#include <rocksdb/options.h>
#include <rocksdb/utilities/transaction_db.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "txn/test_support.h"

// Goal: nobody can tell whether a transaction's changes are in memory or in files: neither its own
// reads, nor returns to savepoints, nor others, nor what is there after its commit, its rollback or
// a crash. Method: random transactions that move their changes to files now and then, beside a map
// that knows what each savepoint had.
namespace basalt::txn {
namespace {

namespace fs = std::filesystem;

using basalt::test::must;
using test::commit;
using test::kFamily;
using test::kNoWait;
using test::Map;

constexpr std::uint32_t kIndex = 300;
// Entries of this one are put once, and singly deleted, as those of secondary indexes are.
constexpr std::uint32_t kSingle = 301;
constexpr std::uint32_t kNumbers = 30;
constexpr int kLowestLevel = 6;

std::string key_of(std::uint32_t number, std::uint32_t index = kIndex) {
  std::string key;
  append_be32(key, index);
  append_be32(key, number);
  return key;
}

class SpilledChangesTest : public testing::Test {
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
      is_single ? test::remove_single(transaction, key) : test::remove(transaction, key);
      rows.erase(key);
    } else {
      rows[key] = std::to_string(next_value_++);
      must(transaction.lock(key, lock::LockMode::kExclusive, kNoWait));
      const std::string_view name = key;
      must(test::put_locked(transaction, key, rows[key], kFamily,
                            is_there ? std::span<const std::string_view>() : std::span(&name, 1)));
    }
  }
  // Moves what is in memory to files.
  static void spill(Transaction& transaction) {
    transaction.set_memory_max(std::uint64_t{1} << 40, 1, false);
    must(transaction.spill_if_large());
    transaction.set_memory_max(std::uint64_t{1} << 40, 0, false);
  }
  void change_often(Transaction& transaction, Map& rows, std::uint32_t count) {
    for (; count != 0; --count) {
      change(transaction, rows);
      if (below(6) == 0) spill(transaction);
    }
  }

  static Map all_of(Transaction& transaction, bool forward) {
    return test::scan(transaction, forward);
  }
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
      EXPECT_EQ(test::read(transaction, keys[i]), expected);
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
    reader->begin_statement(test::kRr);
    Map rows = test::scan(*reader);
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
    reader->begin_statement(test::kRr);
    EXPECT_EQ(test::scan(*reader), rows);
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
      writer->begin_statement(test::kRr);
      for (int i = 0; i < 20; ++i) change(*writer, rows);
      commit(*writer);
      if (part == 0) must(store_.database().flush());
    }
    return rows;
  }

  std::mt19937 random_{basalt::test::seed()};
  kv::test::TestDirectory directory_;
  test::Store store_;
  int next_value_ = 1;
};

TEST_F(SpilledChangesTest, ReadsSeeTheNewestOfAllChangesWhereverTheyAre) {
  Map rows = begin_with_rows();
  for (int round = 0; round < 30; ++round) {
    SCOPED_TRACE(round);
    const auto transaction = store_.begin();
    transaction->begin_statement(below(2) == 0 ? test::kRr : test::kRc);
    change_often(*transaction, rows, below(40));
    expect_reads(*transaction, rows);
    expect_walk(*transaction, rows);
    commit(*transaction);
    EXPECT_EQ(committed(), rows);
    EXPECT_FALSE(has_directories());
    if (below(4) == 0) must(store_.database().flush());
    if (below(4) == 0) compact();
    EXPECT_EQ(committed(), rows) << "after a compaction";
  }
}

TEST_F(SpilledChangesTest, ReturnsToSavepointsUndoWhatCameAfterThemInMemoryAndInFiles) {
  struct Mark {
    std::size_t number;
    Map rows;
  };
  Map rows = begin_with_rows();
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    const Map before = rows;
    const auto transaction = store_.begin();
    std::vector<Mark> marks;
    for (int part = 0; part < 8; ++part) {
      transaction->begin_statement(test::kRr);
      const Map at_statement = rows;
      change_often(*transaction, rows, below(12));
      if (below(4) == 0) {
        must(transaction->rollback_statement());
        rows = at_statement;
      } else {
        transaction->end_statement();
      }
      if (below(2) == 0) marks.push_back({transaction->set_savepoint(), rows});
      if (below(8) == 0) spill(*transaction);
      if (!marks.empty() && below(4) == 0) {
        marks.resize(1 + below(static_cast<std::uint32_t>(marks.size())));
        must(transaction->rollback_to_savepoint(marks.back().number));
        rows = marks.back().rows;
      }
      expect_reads(*transaction, rows);
    }
    if (below(3) == 0) {
      must(transaction->rollback());
      rows = before;
    } else {
      commit(*transaction);
    }
    EXPECT_EQ(committed(), rows);
    EXPECT_FALSE(has_directories());
  }
}

TEST_F(SpilledChangesTest, OthersFindInsertsInFilesUntilTheyAreRemovedOrCommitted) {
  const auto writer = store_.begin();
  const auto other = store_.begin();
  writer->begin_statement(test::kRr);
  Map rows;
  for (int i = 0; i < 200; ++i) {
    change(*writer, rows);
    if (below(6) == 0) spill(*writer);
    const std::string lower = key_of(below(kNumbers));
    const std::string upper = lower + '\xff';
    std::string key;
    std::string value;
    const bool is_found = other->find_pending_insert(kFamily, lower, upper, key, value);
    const auto row = rows.lower_bound(lower);
    const bool is_there = row != rows.end() && row->first < upper;
    ASSERT_EQ(is_found, is_there) << i;
    if (is_found) {
      EXPECT_EQ(value, row->second);
    }
  }
  commit(*writer);
  std::string key;
  std::string value;
  EXPECT_FALSE(other->find_pending_insert(kFamily, key_of(0), key_of(kNumbers), key, value));
}

TEST_F(SpilledChangesTest, SnapshotsOfBeforeTheCommitSeeNothingOfIt) {
  Map rows = begin_with_rows();
  const Map before = rows;
  const auto reader = store_.begin();
  reader->begin_statement(test::kRr);
  reader->open_snapshot();
  const auto writer = store_.begin();
  writer->begin_statement(test::kRr);
  change_often(*writer, rows, 60);
  spill(*writer);
  commit(*writer);
  EXPECT_EQ(test::scan(*reader), before);
  EXPECT_EQ(committed(), rows);
}

// In between: tests/crash/failpoints.py.
TEST_F(SpilledChangesTest, ACrashBeforeTheCommitLeavesNothingOfItAndOneBehindItAll) {
  Map rows = begin_with_rows();
  for (int round = 0; round < 8; ++round) {
    SCOPED_TRACE(round);
    const Map before = rows;
    auto transaction = store_.begin();
    transaction->begin_statement(test::kRr);
    change_often(*transaction, rows, 40);
    spill(*transaction);
    transaction->end_statement();
    const std::string image = directory_ / std::to_string(round);
    kv::test::copy_crash_image(store_.database().options().directory, image);
    expect_image(image, before);
    must(transaction->commit(kv::Durability::kSynced));
    transaction.reset();
    store_.crash();
    EXPECT_EQ(committed(), rows);
    EXPECT_FALSE(has_directories());
  }
}

// A copy of the database has what is prepared, and not its files.
TEST_F(SpilledChangesTest, ADirectoryOfWhatIsPreparedIsNotTakenByOthersWhereItsFilesAreMissing) {
  auto prepared = store_.begin();
  test::put(*prepared, key_of(1), "prepared");
  spill(*prepared);
  must(prepared->prepare("x", kv::Durability::kSynced, true));
  store_.transactions().detach_prepared(std::move(prepared));
  const std::string loads = store_.database().options().directory + "/loads";
  store_.close();
  fs::remove_all(loads);
  store_.open();
  const auto other = store_.begin();
  test::put(*other, key_of(2, kSingle), "kept");
  spill(*other);
  bool found = false;
  must(store_.transactions().rollback_prepared("x", found));
  EXPECT_TRUE(found);
  commit(*other);
  EXPECT_EQ(committed(), (Map{{key_of(2, kSingle), "kept"}}));
  EXPECT_FALSE(has_directories());
}

TEST_F(SpilledChangesTest, PreparedChangesAreDecidedAfterACrash) {
  Map rows = begin_with_rows();
  for (int round = 0; round < 8; ++round) {
    SCOPED_TRACE(round);
    const Map before = rows;
    auto transaction = store_.begin();
    transaction->begin_statement(test::kRr);
    change_often(*transaction, rows, 40);
    spill(*transaction);
    Map changed;
    for (const auto& [key, value] : rows) {
      if (!before.contains(key) || before.at(key) != value) changed[key] = value;
    }
    must(transaction->prepare("x", kv::Durability::kSynced, true));
    store_.transactions().detach_prepared(std::move(transaction));
    if (round % 3 != 0) store_.crash();
    EXPECT_EQ(committed(), before);
    const auto other = store_.begin();
    for (const auto& [key, value] : changed) {
      EXPECT_FALSE(other->lock(key, lock::LockMode::kShared, kNoWait).is_ok());
    }
    for (const auto& [key, value] : before) {
      if (rows.contains(key)) continue;
      EXPECT_FALSE(other->lock(key, lock::LockMode::kShared, kNoWait).is_ok()) << "removed";
    }
    bool found = false;
    if (round % 2 == 0) {
      must(store_.transactions().commit_prepared("x", found));
    } else {
      must(store_.transactions().rollback_prepared("x", found));
      rows = before;
    }
    EXPECT_TRUE(found);
    EXPECT_EQ(committed(), rows);
    EXPECT_FALSE(has_directories());
    must(other->rollback());
    if (round % 4 == 0) store_.crash();
    EXPECT_EQ(committed(), rows) << "after another crash";
  }
}

// Compactions that leave out the oldest put: it must not come back when the newer ones are gone.
TEST_F(SpilledChangesTest, AnEntryThatIsRemovedAndPutAgainDoesNotComeBackWhenItIsRemoved) {
  const std::string key = key_of(1, kSingle);
  stop_compactions();
  for (const bool is_put_in_files : {true, false}) {
    SCOPED_TRACE(is_put_in_files);
    const auto transaction = store_.begin();
    const auto end = [&] {
      commit(*transaction);
      must(store_.database().flush());
      compact_upper_levels();
      transaction->begin_statement(test::kRr);
    };
    test::put(*transaction, key, "old");
    commit(*transaction);
    compact();
    transaction->begin_statement(test::kRr);
    test::remove_single(*transaction, key);
    if (is_put_in_files) test::put(*transaction, key, "new");
    spill(*transaction);
    end();
    if (!is_put_in_files) test::put(*transaction, key, "new");
    if (!is_put_in_files) end();
    test::remove_single(*transaction, key);
    end();
    must(transaction->rollback());
    EXPECT_EQ(committed(), Map());
    compact();
    EXPECT_EQ(committed(), Map());
  }
}

TEST_F(SpilledChangesTest, SavepointsOfBeforeAPortionThatIsCommittedUndoWhatCameAfterIt) {
  const auto transaction = store_.begin();
  transaction->begin_statement(test::kRr);
  for (std::uint32_t i = 0; i < 5; ++i) test::put(*transaction, key_of(i), "portion");
  transaction->end_statement();
  const std::size_t savepoint = transaction->set_savepoint();
  transaction->begin_statement(test::kRr);
  must(transaction->commit_portion(kv::Durability::kBuffered));
  const Map portion = committed();
  EXPECT_EQ(portion.size(), 5u);
  for (std::uint32_t i = 5; i < 15; ++i) test::put(*transaction, key_of(i), "undone");
  spill(*transaction);
  test::put(*transaction, key_of(20), "undone");
  transaction->end_statement();
  must(transaction->rollback_to_savepoint(savepoint));
  commit(*transaction);
  EXPECT_EQ(committed(), portion);
}

TEST_F(SpilledChangesTest, FilesOfChangesThatAreUndoneAreRemovedAtOnce) {
  const auto transaction = store_.begin();
  transaction->begin_statement(test::kRr);
  test::put(*transaction, key_of(1), "kept");
  spill(*transaction);
  transaction->end_statement();
  const std::size_t savepoint = transaction->set_savepoint();
  const auto count = [&] {
    std::size_t files = 0;
    const fs::path loads = store_.database().options().directory + "/loads";
    for (const auto& entry : fs::recursive_directory_iterator(loads)) {
      files += entry.is_regular_file() ? 1 : 0;
    }
    return files;
  };
  EXPECT_EQ(count(), 1u);
  transaction->begin_statement(test::kRr);
  test::put(*transaction, key_of(2), "undone");
  spill(*transaction);
  transaction->end_statement();
  EXPECT_EQ(count(), 2u);
  must(transaction->rollback_to_savepoint(savepoint));
  EXPECT_EQ(count(), 1u);
  must(transaction->rollback());
  EXPECT_FALSE(has_directories());
}

TEST_F(SpilledChangesTest, AReadThatMayMeetTwoRowsOfOneValueSeesThoseInFilesToo) {
  const auto writer = store_.begin();
  test::put(*writer, key_of(1), "a");
  test::put(*writer, key_of(2), "b");
  commit(*writer);
  writer->begin_statement(test::kRr);
  test::put(*writer, key_of(1), "own a");
  spill(*writer);
  test::put(*writer, key_of(2), "same b");
  test::put(*writer, key_of(3), "own c");
  spill(*writer);
  test::remove(*writer, key_of(3));
  test::put(*writer, key_of(4), "own d");
  const auto same_row = [](std::string_view, std::string_view, std::string_view own) {
    return own.starts_with("same");
  };
  kv::Iterator both = writer->new_union_iterator(kFamily, writer->consistent_view(),
                                                 {key_of(0), key_of(kNumbers)}, same_row);
  std::string forward;
  for (both.seek_to_first(); both.is_valid(); both.next()) {
    forward += std::string(both.value()) + ";";
  }
  EXPECT_EQ(forward, "a;own a;same b;own d;");
  std::string backward;
  for (both.seek_to_last(); both.is_valid(); both.previous()) {
    backward += std::string(both.value()) + ";";
  }
  EXPECT_EQ(backward, "own d;same b;own a;a;");
}

}  // namespace
}  // namespace basalt::txn
