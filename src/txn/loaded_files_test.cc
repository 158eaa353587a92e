#include "txn/loaded_files.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <utility>

#include "base/bytes.h"
#include "bulk/sst_writer.h"
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

std::string key_of(std::uint32_t number) {
  std::string key;
  append_be32(key, kIndex);
  append_be32(key, number);
  return key;
}

class LoadedFilesTest : public testing::Test {
 protected:
  // A load of the keys 10, 20, ... below 100.
  LoadedFiles load() {
    LoadedFiles loaded;
    loaded.directory = must(bulk::BuildDirectory::make_load(directory()));
    const auto files = store_.database().new_sst_writer(kFamily, loaded.directory->path() + "/0-");
    for (std::uint32_t i = 10; i < 100; i += 10) must(files->put(key_of(i), "loaded"));
    must(files->finish());
    loaded.files = {{kFamily, files->paths()}};
    loaded.row_key = key_of(10);
    loaded.keys = {{key_of(10), "loaded", key_of(90)}};
    return loaded;
  }
  std::unique_ptr<Transaction> begin_with_load() {
    auto transaction = store_.begin();
    transaction->begin_statement(test::kRr);
    test::put(*transaction, key_of(5), "row");
    must(transaction->add_loaded(load(), kNoWait));
    return transaction;
  }
  std::string directory() { return store_.database().options().directory; }
  bool has_directories() {
    return fs::exists(directory() + "/loads") && !fs::is_empty(directory() + "/loads");
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
  const LoadedFiles parsed = must(parse_loaded_files("/x", loaded_files_key(7), value));
  EXPECT_EQ(parsed.directory->number(), 7u);
  EXPECT_EQ(parsed.row_family, 2u);
  EXPECT_EQ(parsed.row_key, "key");
  ASSERT_EQ(parsed.files.size(), 2u);
  EXPECT_EQ(parsed.files[0].paths, loaded.files[0].paths);
  EXPECT_EQ(parsed.files[1].family, 3u);
  for (std::size_t size = 0; size < value.size(); ++size) {
    const std::string cut = value.substr(0, size);
    EXPECT_TRUE(fails_with(ErrorCode::kCorruption,
                           parse_loaded_files("/x", loaded_files_key(7), cut).take_status()))
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
  const std::string file = directory() + "/hold";
  std::ofstream(file).put('x');
  ASSERT_EQ(setenv("BASALT_HOLDPOINT", ("txn.load.ingest:" + file).c_str(), 1), 0);
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
  fs::remove(file);
  committer.join();
  ASSERT_EQ(unsetenv("BASALT_HOLDPOINT"), 0);
  EXPECT_EQ(rows(), kAll);
  EXPECT_EQ(test::read(*reader, key_of(5)), "(none)");
  EXPECT_EQ(test::read(*reader, key_of(50)), "(none)");
  // The transaction is usable again, and keeps nothing.
  transaction->begin_statement(test::kRr);
  test::put(*transaction, key_of(200), "row");
  test::commit(*transaction);
  EXPECT_EQ(rows(), std::string(kAll) + "200,");
}

TEST_F(LoadedFilesTest, RowsGoWithTheRollback) {
  must(begin_with_load()->rollback());
  begin_with_load().reset();
  EXPECT_EQ(rows(), "");
  EXPECT_FALSE(has_directories());
}

// Of a table that goes: nobody has seen it.
TEST_F(LoadedFilesTest, FilesThatCannotBeTakenInAreGivenUp) {
  auto transaction = begin_with_load();
  for (const auto& file : fs::recursive_directory_iterator(directory() + "/loads")) {
    if (file.path().extension() == ".sst") fs::remove(file);
  }
  EXPECT_FALSE(transaction->commit(kv::Durability::kSynced).is_ok());
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
    for (std::uint32_t i = 10; i < 100; i += 10) test::remove(*cleanup, key_of(i));
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
