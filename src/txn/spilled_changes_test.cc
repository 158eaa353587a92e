#include "txn/spilled_changes.h"

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "bulk/sst_writer.h"
#include "txn/batch_sections.h"
#include "txn/spill_test_support.h"

// Goal: nobody can tell whether a transaction's changes are in memory or in files: neither its own
// reads, nor returns to savepoints, nor others, nor what is there after its commit, its rollback or
// a crash. Method: random transactions that move their changes to files now and then, beside a map
// that knows what each savepoint had.
namespace basalt::txn {
namespace {

namespace fs = std::filesystem;

using basalt::test::must;
using test::commit;
using test::key_of;
using test::kFamily;
using test::kIndex;
using test::kNoWait;
using test::kNumbers;
using test::kSingle;
using test::Map;

using SpilledChangesTest = test::SpillTest;

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

// Sorting takes much more than these.
TEST_F(SpilledChangesTest, ManyShortChangesSpillThoughTheyAreFewBytes) {
  const auto transaction = store_.begin();
  transaction->begin_statement(test::kRr);
  transaction->set_memory_limits({.bytes_max = 1 << 20, .spills_at = 1 << 20});
  std::uint32_t count = 0;
  while (!transaction->has_changes_in_files() && count < 10'000) {
    test::put(*transaction, key_of(count++), "");
    must(transaction->spill_if_large());
  }
  EXPECT_LE(count * sizeof(BatchEntry), std::size_t{1 << 20} / 8 + sizeof(BatchEntry));
  EXPECT_EQ(all_of(*transaction, true).size(), count);
}

TEST_F(SpilledChangesTest, FilesWithALoadAreMergedAsOthers) {
  const auto transaction = store_.begin();
  transaction->begin_statement(test::kRr);
  Map rows;
  for (int i = 0; i < 40; ++i) {
    change(*transaction, rows);
    spill(*transaction);
  }
  ASSERT_GT(info_of(*transaction).runs, 16u);
  LoadedFiles loaded;
  loaded.directory = must(bulk::BuildDirectory::make_load(store_.database().build_place()));
  const auto files = store_.database().new_sst_writer(kFamily, loaded.directory->path() + "/load-");
  const std::string key = key_of(kNumbers + 1, kIndex + 10);
  must(files->put(key, "loaded"));
  must(files->finish());
  loaded.files = {{kFamily, files->paths()}};
  loaded.row_key = key;
  loaded.keys.push_back({key, "loaded", key});
  must(transaction->add_loaded(std::move(loaded), kNoWait));
  commit(*transaction);
  rows[key] = "loaded";
  EXPECT_EQ(committed(), rows);
  EXPECT_LE(files_in_level_0(), 16u);
}

}  // namespace
}  // namespace basalt::txn
