#include "txn/loaded_files.h"

#include <rocksdb/file_system.h>

#include <array>
#include <filesystem>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "bulk/sst_writer.h"
#include "txn/recovered_locks.h"
#include "txn/test_support.h"

// Goal: rows in files come with their transaction's commit, once and all together, whenever the
// database crashes, and not without it; who locks ranges waits for them, and they for him.
namespace basalt::txn {
namespace {

namespace fs = std::filesystem;

using basalt::test::fails_with;
using basalt::test::must;
using basalt::test::succeeds;
using test::kFamily;
using test::kNoWait;
using test::Store;

constexpr std::uint32_t kIndex = 300;

constexpr std::uint32_t kSecond = 301;

std::string key_of(std::uint32_t number, std::uint32_t index = kIndex) {
  std::string key;
  append_be32(key, index);
  append_be32(key, number);
  return key;
}

const bulk::BuildPlace kNowhere{rdb::FileSystem::Default(), "/x"};

class LoadedFilesTest : public testing::Test {
 protected:
  // A load of the keys step, 2 * step, ... up to `last`, of two indexes.
  LoadedFiles load(std::uint32_t last = 90, std::uint32_t step = 10) {
    LoadedFiles loaded;
    loaded.directory = must(bulk::BuildDirectory::make_load(store_.database().build_place()));
    loaded.files = {{kFamily, {}}};
    loaded.row_key = key_of(step);
    for (const std::uint32_t index : {kIndex, kSecond}) {
      const auto files = store_.database().new_sst_writer(
          kFamily, loaded.directory->path() + "/" + std::to_string(index) + "-");
      for (std::uint32_t i = step; i <= last; i += step)
        must(files->put(key_of(i, index), "loaded"));
      must(files->finish());
      for (const std::string& path : files->paths()) loaded.files[0].paths.push_back(path);
      loaded.keys.push_back({key_of(step, index), "loaded", key_of(last, index)});
    }
    return loaded;
  }
  std::unique_ptr<Transaction> begin_with_load() {
    auto transaction = store_.begin();
    transaction->begin_statement(test::kRr);
    test::put(*transaction, key_of(5), "row");
    must(transaction->add_loaded(load(), kNoWait));
    return transaction;
  }
  void leave_prepared(std::unique_ptr<Transaction> transaction, const std::string& name,
                      bool is_users = false) {
    must(transaction->prepare(name, kv::Durability::kSynced, is_users));
    store_.transactions().detach_prepared(std::move(transaction));
  }
  static bool is_locked(Transaction& other, const std::string& key) {
    return !other.lock(key, lock::LockMode::kShared, kNoWait).is_ok();
  }
  std::string directory() { return store_.database().options().directory; }
  bool has_directories() {
    return fs::exists(directory() + "/loads") && !fs::is_empty(directory() + "/loads");
  }
  std::set<fs::path> database_files() {
    std::set<fs::path> files;
    for (const auto& file : fs::directory_iterator(directory())) {
      if (file.path().extension() == ".sst") files.insert(file.path());
    }
    return files;
  }
  // Removes those that are about to be ingested from the database, where they are linked.
  void lose_files(const std::set<fs::path>& before) {
    for (const fs::path& file : database_files()) {
      if (!before.contains(file)) fs::remove(file);
    }
  }
  static void remove_files(const std::string& directory) {
    for (const auto& file : fs::recursive_directory_iterator(directory)) {
      if (file.path().extension() == ".sst") fs::remove(file);
    }
  }
  // The rows that are there, "5,10,...", and whether a record is left.
  std::string rows() {
    std::string rows;
    kv::Iterator iterator = store_.database().new_iterator(kFamily, {}, index_key_range(kIndex));
    for (iterator.seek_to_first(); iterator.is_valid(); iterator.next()) {
      rows += std::to_string(load_be32(iterator.key().data() + 4)) + ",";
    }
    kv::Iterator records = store_.database().new_iterator(kv::kSystemFamily, {}, {"\x09", "\x0a"});
    records.seek_to_first();
    return rows + (records.is_valid() ? "record" : "");
  }

  Store store_;
};

constexpr const char* kAll = "5,10,20,30,40,50,60,70,80,90,";

TEST_F(LoadedFilesTest, StoredFormatIsFrozen) {
  LoadedFiles loaded;
  loaded.files = {{0, {"/x/loads/7/0-0-1.sst", "/x/loads/7/1-0-1.sst"}}, {3, {"a.sst"}}};
  loaded.row_family = 2;
  loaded.row_key = "key";
  EXPECT_EQ(loaded_files_key(7), std::string("\x09\0\0\0\x07", 5));
  std::string value("\x01\x02\x03key\x02\0\x02", 9);
  value +=
      "\x09"
      "0-0-1.sst"
      "\x09"
      "1-0-1.sst"
      "\x03\x01\x05"
      "a.sst";
  EXPECT_EQ(pack_loaded_files(loaded), value);
  const LoadedFiles parsed = must(parse_loaded_files(kNowhere, loaded_files_key(7), value));
  EXPECT_EQ(parsed.directory->number(), 7u);
  EXPECT_EQ(parsed.row_family, 2u);
  EXPECT_EQ(parsed.row_key, "key");
  ASSERT_EQ(parsed.files.size(), 2u);
  EXPECT_EQ(parsed.files[0].paths, loaded.files[0].paths);
  EXPECT_EQ(parsed.files[1].family, 3u);
  for (std::size_t size = 0; size < value.size(); ++size) {
    const std::string cut = value.substr(0, size);
    EXPECT_TRUE(fails_with(ErrorCode::kCorruption,
                           parse_loaded_files(kNowhere, loaded_files_key(7), cut).take_status()))
        << size;
  }
}

TEST_F(LoadedFilesTest, StoredFormatOfChangesIsFrozen) {
  LoadedFiles loaded;
  loaded.indexes = {300, 7};
  loaded.files = {{1, {"/x/loads/7/m.sst"}}};
  loaded.row_family = 1;
  loaded.row_key = ingested_files_key(7);
  EXPECT_EQ(loaded.row_key, std::string("\x0e\0\0\0\x07", 5));
  const std::string value(
      "\x02\x02\xac\x02\x07\x01\x05\x0e\0\0\0\x07\x01\x01\x01\x05"
      "m.sst",
      21);
  EXPECT_EQ(pack_loaded_files(loaded), value);
  const LoadedFiles parsed = must(parse_loaded_files(kNowhere, loaded_files_key(7), value));
  EXPECT_EQ(parsed.indexes, loaded.indexes);
  EXPECT_EQ(parsed.row_family, 1u);
  EXPECT_EQ(parsed.row_key, loaded.row_key);
  ASSERT_EQ(parsed.files.size(), 1u);
  EXPECT_EQ(parsed.files[0].paths, loaded.files[0].paths);
  for (std::size_t size = 0; size < value.size(); ++size) {
    const std::string cut = value.substr(0, size);
    EXPECT_TRUE(fails_with(ErrorCode::kCorruption,
                           parse_loaded_files(kNowhere, loaded_files_key(7), cut).take_status()))
        << size;
  }
}

TEST_F(LoadedFilesTest, RowsComeWithTheCommit) {
  auto reader = store_.begin();
  reader->begin_statement(test::kRr);
  reader->open_snapshot();
  {
    const auto transaction = begin_with_load();
    EXPECT_EQ(rows(), "");
    test::commit(*transaction);
  }
  EXPECT_EQ(rows(), kAll);
  EXPECT_FALSE(has_directories());
  EXPECT_EQ(test::read(*reader, key_of(50)), "(none)") << "the snapshot is older";
  reader.reset();
  store_.crash();
  EXPECT_EQ(rows(), kAll);
}

// A thread that commits is held where the commit is written and the files are not taken in.
TEST_F(LoadedFilesTest, NobodySeesAPartOfTheTransaction) {
  const basalt::test::Hold hold("txn.load.ingest");
  auto transaction = begin_with_load();
  std::thread committer([&] { test::commit(*transaction); });
  basalt::test::await([this] { return rows().ends_with("record"); });
  EXPECT_EQ(rows(), "record");
  auto reader = store_.begin();
  reader->begin_statement(test::kRr);
  reader->open_snapshot();
  std::string key;
  std::string value;
  EXPECT_TRUE(reader->find_pending_insert(kFamily, key_of(5), key_of(6), key, value));
  hold.release();
  committer.join();
  EXPECT_EQ(rows(), kAll);
  EXPECT_EQ(test::read(*reader, key_of(5)), "(none)");
  EXPECT_EQ(test::read(*reader, key_of(50)), "(none)");
  // The transaction is usable again, and keeps nothing.
  transaction->begin_statement(test::kRr);
  test::put(*transaction, key_of(200), "row");
  test::commit(*transaction);
  EXPECT_EQ(rows(), std::string(kAll) + "200,");
}

TEST_F(LoadedFilesTest, AMemtableInTheWayIsFlushedBeforeTheFilesAreTakenIn) {
  auto transaction = begin_with_load();
  test::put_large_row(store_, key_of(55));
  const basalt::test::Hold hold("txn.load.ingest");
  std::thread committer([&] { test::commit(*transaction); });
  basalt::test::await([&] { return test::memtable_bytes(store_) < test::kLargeMemtable; });
  EXPECT_EQ(rows().find("50,"), std::string::npos);
  hold.release();
  committer.join();
  EXPECT_NE(rows().find("50,"), std::string::npos);
}

TEST_F(LoadedFilesTest, RowsGoWithTheRollback) {
  must(begin_with_load()->rollback());
  begin_with_load().reset();
  EXPECT_EQ(rows(), "");
  EXPECT_FALSE(has_directories());
}

TEST_F(LoadedFilesTest, FilesThatAreMissingFailTheCommitBeforeItIsWritten) {
  auto transaction = begin_with_load();
  remove_files(directory() + "/loads");
  EXPECT_TRUE(fails_with(ErrorCode::kIoError, transaction->commit(kv::Durability::kSynced)));
  must(transaction->rollback());
  EXPECT_EQ(rows(), "");
  EXPECT_FALSE(has_directories());
}

TEST_F(LoadedFilesTest, APreparedLoadThatIsRolledBackLeavesNoFile) {
  const std::size_t before = database_files().size();
  auto transaction = begin_with_load();
  must(transaction->prepare("x", kv::Durability::kSynced));
  must(transaction->prepare_ingestion());
  EXPECT_GT(database_files().size(), before);
  must(transaction->rollback());
  EXPECT_EQ(database_files().size(), before);
  EXPECT_EQ(rows(), "");
  EXPECT_FALSE(has_directories());
}

// Of a table that goes: nobody has seen it.
TEST_F(LoadedFilesTest, FilesThatCannotBeTakenInAreGivenUp) {
  auto transaction = begin_with_load();
  const std::set<fs::path> before = database_files();
  const basalt::test::Hold hold("txn.load.ingest");
  std::thread committer(
      [&] { EXPECT_FALSE(transaction->commit(kv::Durability::kSynced).is_ok()); });
  basalt::test::await([this] { return rows().ends_with("record"); });
  lose_files(before);
  hold.release();
  committer.join();
  ASSERT_EQ(transaction->state(), Transaction::State::kOrdered);
  EXPECT_NE(rows().find("record"), std::string::npos);
  must(transaction->cancel_loaded());
  EXPECT_EQ(transaction->state(), Transaction::State::kIdle);
  EXPECT_EQ(rows().find("record"), std::string::npos);
  EXPECT_FALSE(has_directories());
  transaction->begin_statement(test::kRr);
  test::put(*transaction, key_of(7), "row");
  test::commit(*transaction);
  transaction.reset();
  store_.crash();
  EXPECT_NE(rows().find("7,"), std::string::npos);
}

TEST_F(LoadedFilesTest, APreparedLoadSurvivesACrash) {
  for (const bool commits : {false, true}) {
    {
      auto transaction = begin_with_load();
      must(transaction->prepare("x", kv::Durability::kSynced));
      store_.transactions().detach_prepared(std::move(transaction));
    }
    store_.crash();
    EXPECT_EQ(rows(), "");
    EXPECT_TRUE(has_directories());
    bool found = false;
    if (commits) {
      must(store_.transactions().commit_prepared("x", found));
    } else {
      must(store_.transactions().rollback_prepared("x", found));
    }
    EXPECT_TRUE(found);
    EXPECT_EQ(rows(), commits ? kAll : "");
    EXPECT_FALSE(has_directories());
    store_.crash();
    EXPECT_EQ(rows(), commits ? kAll : "");
  }
}

// Another session is told what it was told before the crash.
TEST_F(LoadedFilesTest, ARecoveredLoadKeepsOthersFromItsKeys) {
  for (const bool commits : {true, false}) {
    leave_prepared(begin_with_load(), "x");
    store_.crash();
    const auto other = store_.begin();
    for (const std::uint32_t i : {5, 10, 50, 90}) {
      EXPECT_TRUE(is_locked(*other, key_of(i))) << i;
      EXPECT_TRUE(is_locked(*other, key_of(i, kSecond)) || i == 5) << i;
      std::string key;
      std::string value;
      EXPECT_TRUE(other->find_pending_insert(kFamily, key_of(i), key_of(i + 1), key, value)) << i;
    }
    for (const std::uint32_t i : {1, 11, 91}) {
      EXPECT_FALSE(is_locked(*other, key_of(i))) << i;
      EXPECT_FALSE(store_.locks().is_insert_blocked(other->lock_owner(), key_of(i))) << i;
    }
    for (const std::uint32_t index : {kIndex, kSecond}) {
      EXPECT_TRUE(store_.transactions().undecided().exist_in(std::array{index}));
    }
    must(other->rollback());
    EXPECT_TRUE(store_.decide(commits));
    for (const std::uint32_t i : {5, 10, 90}) EXPECT_FALSE(is_locked(*other, key_of(i))) << i;
    EXPECT_TRUE(store_.transactions().undecided().indexes().empty());
    EXPECT_EQ(rows(), kAll);
  }
}

// Of so many keys the ranges of the files are locked, whatever others have prepared between them.
TEST_F(LoadedFilesTest, ARecoveredLoadOfManyKeysKeepsOthersFromTheRangesOfItsFiles) {
  constexpr std::uint32_t kMany = 20'000;
  store_.set_most_recovered_keys(2 * kMany - 1);  // of two indexes
  auto transaction = store_.begin();
  must(transaction->add_loaded(load(2 * kMany, 2), kNoWait));
  auto between = store_.begin();
  test::put(*between, key_of(501), "row");
  leave_prepared(std::move(between), "between");
  leave_prepared(std::move(transaction), "x");
  store_.crash();
  auto other = store_.begin();
  for (const std::uint32_t i : {2U, 3U, 500U, 501U, 2 * kMany}) {
    EXPECT_TRUE(is_locked(*other, key_of(i))) << i;
    EXPECT_TRUE(store_.locks().is_insert_blocked(other->lock_owner(), key_of(i))) << i;
  }
  EXPECT_TRUE(is_locked(*other, key_of(11, kSecond)));
  for (const std::uint32_t i : {1U, 2 * kMany + 1}) {
    EXPECT_FALSE(is_locked(*other, key_of(i))) << i;
    EXPECT_FALSE(store_.locks().is_insert_blocked(other->lock_owner(), key_of(i))) << i;
  }
  must(other->rollback());
  EXPECT_TRUE(store_.decide(true));
  EXPECT_FALSE(is_locked(*other, key_of(500)));
  EXPECT_TRUE(is_locked(*other, key_of(501))) << "the other one is not decided";
  EXPECT_TRUE(store_.decide(false, "between"));
  EXPECT_FALSE(is_locked(*other, key_of(501)));
}

TEST_F(LoadedFilesTest, AUsersPreparedLoadKeepsTheValuesThatItHasLocked) {
  auto transaction = begin_with_load();
  must(transaction->lock_value(kFamily, key_of(7) + "value", kNoWait));
  leave_prepared(std::move(transaction), "x", true);
  store_.crash();
  EXPECT_TRUE(is_locked(*store_.begin(), key_of(7) + "value"));
  EXPECT_TRUE(is_locked(*store_.begin(), key_of(50)));
  EXPECT_TRUE(store_.decide(true));
  EXPECT_EQ(rows(), kAll);
  EXPECT_FALSE(is_locked(*store_.begin(), key_of(7) + "value"));
}

// As in a copy of the database, which has what is prepared but no files of others.
TEST_F(LoadedFilesTest, APreparedLoadWithoutItsFilesCanOnlyBeRolledBack) {
  leave_prepared(begin_with_load(), "x");
  fs::remove_all(directory() + "/loads");
  store_.crash();
  EXPECT_TRUE(is_locked(*store_.begin(), key_of(50)));
  bool found = false;
  EXPECT_TRUE(
      fails_with(ErrorCode::kCorruption, store_.transactions().commit_prepared("x", found)));
  EXPECT_TRUE(found);
  EXPECT_EQ(store_.transactions().prepared_names(), std::vector<std::string>{"x"});
  store_.crash();
  EXPECT_TRUE(store_.decide(false));
  EXPECT_EQ(rows(), "");
  EXPECT_FALSE(is_locked(*store_.begin(), key_of(50)));
  store_.crash();
  EXPECT_EQ(rows(), "");
}

TEST_F(LoadedFilesTest, APreparedLoadWithADamagedFileCanOnlyBeRolledBack) {
  leave_prepared(begin_with_load(), "x");
  for (const auto& file : fs::recursive_directory_iterator(directory() + "/loads")) {
    if (!file.is_regular_file()) continue;
    // The first block of data; what the file says of itself is at its end.
    std::fstream damaged(file.path(), std::ios::binary | std::ios::in | std::ios::out);
    damaged.seekp(8);
    damaged.write("\xFF\xFF\xFF\xFF\xFF\xFF", 6);
  }
  store_.crash();
  EXPECT_TRUE(is_locked(*store_.begin(), key_of(50)));
  bool found = false;
  EXPECT_TRUE(
      fails_with(ErrorCode::kCorruption, store_.transactions().commit_prepared("x", found)));
  EXPECT_TRUE(store_.decide(false));
  EXPECT_EQ(rows(), "");
  EXPECT_FALSE(is_locked(*store_.begin(), key_of(50)));
}

// Of so many rows recovery reads the ends of the files alone.
TEST_F(LoadedFilesTest, APreparedLoadWithDamageAmongManyRowsIsNotCommitted) {
  constexpr std::uint32_t kMany = 70'000;
  store_.set_most_recovered_keys(2 * kMany - 1);  // of two indexes
  auto transaction = store_.begin();
  must(transaction->add_loaded(load(2 * kMany, 2), kNoWait));
  leave_prepared(std::move(transaction), "x");
  for (const auto& file : fs::recursive_directory_iterator(directory() + "/loads")) {
    if (!file.is_regular_file() || file.file_size() < 100'000) continue;
    std::fstream damaged(file.path(), std::ios::binary | std::ios::in | std::ios::out);
    damaged.seekp(static_cast<std::streamoff>(file.file_size() / 2));
    damaged.write("\xFF\xFF\xFF\xFF\xFF\xFF", 6);
  }
  store_.crash();
  bool found = false;
  EXPECT_TRUE(
      fails_with(ErrorCode::kCorruption, store_.transactions().commit_prepared("x", found)));
  EXPECT_EQ(store_.transactions().prepared_names(), std::vector<std::string>{"x"});
  EXPECT_TRUE(is_locked(*store_.begin(), key_of(500)));
  EXPECT_TRUE(store_.decide(false));
  EXPECT_EQ(rows(), "");
}

// The commit is written: the rows come when they can.
TEST_F(LoadedFilesTest, ARecoveredLoadWhoseFilesCannotBeTakenInIsCommittedLater) {
  for (const bool crashes : {false, true}) {
    leave_prepared(begin_with_load(), "x");
    store_.crash();
    // Gone when they have been looked at.
    const std::set<fs::path> before = database_files();
    const basalt::test::Hold hold("txn.load.ingest");
    std::thread committer([&] {
      bool found = false;
      EXPECT_FALSE(store_.transactions().commit_prepared("x", found).is_ok());
    });
    basalt::test::await([this] { return rows().ends_with("record"); });
    lose_files(before);
    fs::rename(directory() + "/loads", directory() + "/elsewhere");
    hold.release();
    committer.join();
    EXPECT_EQ(store_.transactions().decided_count(), 1u);
    EXPECT_TRUE(is_locked(*store_.begin(), key_of(50)));
    EXPECT_FALSE(store_.transactions().write_decided(Status::ok).is_ok());
    fs::rename(directory() + "/elsewhere", directory() + "/loads");
    if (crashes) {
      store_.crash();
    } else {
      store_.complete_decided();
    }
    EXPECT_EQ(rows(), kAll);
    EXPECT_FALSE(is_locked(*store_.begin(), key_of(50)));
    auto cleanup = store_.begin();
    for (const std::uint32_t i : {5, 10, 20, 30, 40, 50, 60, 70, 80, 90}) {
      test::remove(*cleanup, key_of(i));
      if (i != 5) test::remove(*cleanup, key_of(i, kSecond));
    }
    test::commit(*cleanup);
  }
}

TEST_F(LoadedFilesTest, WhatACrashHasLeftCommittedIsFinishedOnce) {
  for (const bool is_ingested : {false, true}) {
    SCOPED_TRACE(is_ingested);
    LoadedFiles loaded = load();
    kv::WriteBatch record;
    record.put(kv::kSystemFamily, loaded_files_key(loaded.directory->number()),
               pack_loaded_files(loaded));
    must(store_.database().write(record, kv::Durability::kSynced));
    if (is_ingested) must(store_.database().ingest(loaded.files, kv::Ingested::kNewToSnapshots));
    loaded.directory->leave();
    store_.crash();
    EXPECT_EQ(rows(), std::string(kAll).substr(2));
    EXPECT_FALSE(has_directories());
    auto cleanup = store_.begin();
    for (std::uint32_t i = 10; i < 100; i += 10) {
      for (const std::uint32_t index : {kIndex, kSecond}) test::remove(*cleanup, key_of(i, index));
    }
    test::commit(*cleanup);
    cleanup.reset();
    store_.crash();
    EXPECT_EQ(rows(), "");
  }
}

TEST_F(LoadedFilesTest, DirectoriesOfNobodyGoAtTheNextStart) {
  LoadedFiles loaded = load();
  loaded.directory->leave();
  store_.crash();
  EXPECT_EQ(rows(), "");
  EXPECT_FALSE(has_directories());
}

TEST_F(LoadedFilesTest, FilesThatAreMissingFailTheStart) {
  LoadedFiles loaded = load();
  kv::WriteBatch record;
  record.put(kv::kSystemFamily, loaded_files_key(loaded.directory->number()),
             pack_loaded_files(loaded));
  must(store_.database().write(record, kv::Durability::kSynced));
  loaded.directory.reset();
  EXPECT_FALSE(recover_loaded_files(store_.database(), {}).is_ok());
  EXPECT_EQ(rows(), "record");
}

TEST_F(LoadedFilesTest, RangesThatOthersHaveLockedAreWaitedFor) {
  const auto other = store_.begin();
  other->lock_gap(key_of(45), key_of(46));
  const auto transaction = store_.begin();
  EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, transaction->add_loaded(load(), kNoWait)));
  must(transaction->rollback());
  must(other->rollback());
  EXPECT_TRUE(succeeds(transaction->add_loaded(load(), kNoWait)));
  test::commit(*transaction);
}

TEST_F(LoadedFilesTest, WhoLocksARangeFindsThem) {
  const auto transaction = begin_with_load();
  const auto other = store_.begin();
  std::string key;
  std::string value;
  EXPECT_TRUE(other->find_pending_insert(kFamily, key_of(45), key_of(46), key, value));
  EXPECT_EQ(key, key_of(10));
  EXPECT_EQ(value, "loaded");
  EXPECT_FALSE(other->find_pending_insert(kFamily, key_of(91), key_of(99), key, value));
  const std::uint64_t before = other->newest_sequence();
  test::commit(*transaction);
  EXPECT_FALSE(other->find_pending_insert(kFamily, key_of(45), key_of(46), key, value));
  EXPECT_TRUE(other->may_lack_inserts(key_of(45), before));
  EXPECT_FALSE(other->is_unchanged_since(key_of(50), before));
}

TEST_F(LoadedFilesTest, APortionIsCommittedAndTheTransactionGoesOn) {
  const auto transaction = store_.begin();
  transaction->begin_statement(test::kRr);
  EXPECT_EQ(test::read(*transaction, key_of(1)), "(none)");
  test::put_noted(*transaction, key_of(1), "a");
  must(transaction->commit_portion(kv::Durability::kBuffered));
  test::put_noted(*transaction, key_of(2), "b");
  const auto other = store_.begin();
  EXPECT_EQ(test::read_newest(*other, key_of(1)), "a");
  EXPECT_EQ(test::read_newest(*other, key_of(2)), "(none)");
  EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout,
                         other->lock(key_of(1), lock::LockMode::kShared, kNoWait)));
  must(transaction->rollback_statement());
  transaction->begin_statement(test::kRr);
  EXPECT_EQ(test::read(*transaction, key_of(1)), "a") << "its snapshot is newer than the portion";
  EXPECT_EQ(test::read(*transaction, key_of(2)), "(none)");
  must(transaction->rollback());
  EXPECT_EQ(test::read_newest(*other, key_of(1)), "a");
  EXPECT_TRUE(succeeds(other->lock(key_of(1), lock::LockMode::kShared, kNoWait)));
}

}  // namespace
}  // namespace basalt::txn
