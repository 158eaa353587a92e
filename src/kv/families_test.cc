#include "kv/families.h"

#include <filesystem>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/test_support.h"
#include "bulk/build_directory.h"
#include "bulk/sst_writer.h"
#include "kv/database.h"
#include "kv/test_batch.h"
#include "kv/test_directory.h"
#include "wal/faulty_file_system.h"

// Goal: column families come, go and are kept as their header says, and whatever is said of writes,
// crashes, copies and failures holds for all of them together.
namespace basalt::kv {
namespace {

namespace fs = std::filesystem;

using basalt::test::fails_with;
using basalt::test::must;
using basalt::test::succeeds;
using test::count_entries;
using test::open_database;
using test::value_of;
using wal::test::FaultyFileSystem;
using wal::test::Operation;

class FamiliesTest : public testing::Test {
 protected:
  FamiliesTest() { open(); }
  void open() {
    database_.reset();
    database_ = must(Database::open(test::small_options(path_), files_));
  }
  // Goes on with what a crash at this moment leaves, on a sound disk.
  void crash() {
    const std::string image = path_ + "x";
    test::copy_crash_image(path_, image);
    database_.reset();
    files_->heal();
    path_ = image;
    open();
  }
  Status put(FamilyId family, std::string_view key, std::string_view value) {
    WriteBatch batch;
    batch.put(family, key, value);
    return database_->write(batch, Durability::kBuffered);
  }
  FamilyId make(std::string_view name) { return must(database_->ensure_family(name)); }
  std::vector<std::string> names() {
    std::vector<std::string> names;
    for (const Family& family : database_->families()) names.push_back(family.name);
    return names;
  }

  using Names = std::vector<std::string>;

  test::TestDirectory directory_;
  std::string path_ = directory_ / "db";
  std::shared_ptr<FaultyFileSystem> files_ = std::make_shared<FaultyFileSystem>();
  std::unique_ptr<Database> database_;
};

TEST_F(FamiliesTest, AFamilyIsMadeOnceAndIsThereAfterACrashAlsoWhenNothingIsInIt) {
  const FamilyId hot = make("hot");
  EXPECT_EQ(make("hot"), hot);
  EXPECT_EQ(make("default"), kDefaultFamily);
  const FamilyId empty = make("empty");
  must(put(hot, "k", "of hot"));
  must(put(kDefaultFamily, "k", "of default"));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(names(), (Names{"default", "__system__", "hot", "empty"}));
    EXPECT_EQ(database_->find_family("hot"), hot);
    EXPECT_EQ(database_->find_family("empty"), empty);
    EXPECT_EQ(value_of(*database_, hot, "k"), "of hot");
    EXPECT_EQ(value_of(*database_, kDefaultFamily, "k"), "of default");
    EXPECT_EQ(count_entries(*database_, empty, {}), 0u);
    crash();
  }
}

TEST_F(FamiliesTest, ANameThatCannotBeIsRefusedWithTheReason) {
  for (const std::string& name : {std::string("__system__"), std::string("rev:__system__"),
                                  std::string(), std::string("rev:"), std::string("two words"),
                                  std::string("a=b"), std::string("a;b"), std::string(65, 'x')}) {
    const auto made = database_->ensure_family(name);
    if (name == "__system__") continue;  // it exists
    EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, made)) << name;
    EXPECT_NE(made.status().message().find("'" + name + "'"), std::string::npos);
  }
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, check_family_name("__system__")));
  for (const std::string& name : {std::string("rev:hot"), std::string("cf-1.a_b"),
                                  std::string("\xC3\xA4"), std::string(64, 'x')}) {
    EXPECT_TRUE(succeeds(check_family_name(name))) << name;
  }
  EXPECT_EQ(names(), (Names{"default", "__system__"}));
}

TEST_F(FamiliesTest, ThereAreSoManyAndNoMore) {
  for (std::size_t i = 1; i < Families::kFamiliesMax; ++i) make("f" + std::to_string(i));
  const auto made = database_->ensure_family("more");
  EXPECT_TRUE(fails_with(ErrorCode::kUnsupported, made));
  EXPECT_NE(made.status().message().find("'more'"), std::string::npos);
  EXPECT_NE(made.status().message().find("64"), std::string::npos);
  must(database_->remove_family(*database_->find_family("f7")));
  make("more");
}

TEST_F(FamiliesTest, ARemovedFamilyIsGoneForeverAndItsNameIsFree) {
  const FamilyId old = make("hot");
  must(put(old, "k", "old"));
  must(database_->remove_family(old));
  EXPECT_EQ(database_->find_family("hot"), std::nullopt);
  EXPECT_EQ(database_->hold_family(old), nullptr);
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, database_->remove_family(old)));
  crash();
  EXPECT_EQ(names(), (Names{"default", "__system__"}));
  const FamilyId later = make("hot");
  EXPECT_GT(later, old);
  EXPECT_EQ(count_entries(*database_, later, {}), 0u);
  must(put(later, "k", "new"));
  crash();
  EXPECT_EQ(value_of(*database_, later, "k"), "new");
}

TEST_F(FamiliesTest, ARemovedFamilyStaysForWhoeverHoldsItAndItsFilesGoThen) {
  const FamilyId hot = make("hot");
  must(put(hot, "k", std::string(100'000, 'x')));
  must(database_->flush());
  const auto files = [&] {
    return std::ranges::count_if(fs::directory_iterator(path_), [](const auto& entry) {
      return entry.path().extension() == ".sst";
    });
  };
  const auto before = files();
  FamilyHold hold = database_->hold_family(hot);
  must(database_->remove_family(hot));
  EXPECT_FALSE(database_->property(hot, "rocksdb.cfstats").empty());
  EXPECT_TRUE(succeeds(database_->flush())) << "of those that are left";
  EXPECT_EQ(value_of(*database_, hot, "k").size(), 100'000u);
  hold.reset();
  basalt::test::await([&] { return files() == before - 1; });
}

// Cuts the WAL of a crash image at many places; each must open with whole batches, the first ones.
TEST_F(FamiliesTest, ABatchIsWholeInAllFamiliesOrInNoneHoweverTheWalIsCut) {
  const FamilyId hot = make("hot");
  const auto key = [](int number) { return std::string(1, static_cast<char>('a' + number)); };
  for (int i = 0; i < 10; ++i) {
    WriteBatch batch;
    batch.put(kDefaultFamily, key(i), "v");
    batch.put(hot, key(i), "v");
    must(database_->write(batch, Durability::kBuffered));
    // So that files of one family are ahead of the other's.
    if (i == 4) must(database_->compact(hot, {}));
  }
  for (int twelfth = 12; twelfth >= 0; --twelfth) {
    const std::string image = directory_ / "image";
    test::copy_crash_image(path_, image);
    std::string newest;
    for (const fs::directory_entry& file : fs::directory_iterator(image)) {
      if (file.path().extension() == ".log") newest = std::max(newest, file.path().string());
    }
    fs::resize_file(newest, fs::file_size(newest) * static_cast<std::uint64_t>(twelfth) / 12);
    std::unique_ptr<Database> recovered = open_database(image);
    const std::uint64_t count = count_entries(*recovered, kDefaultFamily, {});
    EXPECT_EQ(count, count_entries(*recovered, hot, {})) << twelfth;
    EXPECT_EQ(count, count_entries(*recovered, hot, {"", key(static_cast<int>(count))}));
    EXPECT_TRUE(twelfth != 12 || count == 10) << count;
    recovered.reset();
    fs::remove_all(image);
  }
}

// Else the opening of a database whose WALs have a hole would believe that files have what came
// behind it: RocksDB notes with a new family that no WAL before the current one is needed.
TEST_F(FamiliesTest, WhatWasWrittenBeforeAFamilyWasMadeIsInFiles) {
  must(put(kDefaultFamily, "k", "v"));
  const auto in_memory = [&] {
    return database_->estimate_memtable_entries(kDefaultFamily, {"", "~"});
  };
  EXPECT_GT(in_memory(), 0u);
  make("hot");
  EXPECT_EQ(in_memory(), 0u);
}

TEST_F(FamiliesTest, FlushesAndFiguresAreOfOneFamilyOrOfAll) {
  const FamilyId hot = make("hot");
  std::string key;
  append_be32(key, 300);
  must(put(hot, key + "k", std::string(50'000, 'x')));
  const KeyRange range = index_key_range(300);
  EXPECT_EQ(database_->estimate(hot, range).memtable_entries, 1u);
  EXPECT_EQ(database_->estimate(kDefaultFamily, range).memtable_entries, 0u);
  EXPECT_EQ(must(database_->stored_indexes(hot)), std::vector<std::uint32_t>{300});
  EXPECT_EQ(must(database_->stored_indexes(kDefaultFamily)), std::vector<std::uint32_t>{});
  const std::uint64_t version = database_->structure_version(hot);
  must(database_->flush());
  EXPECT_NE(database_->structure_version(hot), version);
  EXPECT_GT(database_->estimate(hot, range).bytes, 0u);
  EXPECT_EQ(must(database_->index_files(hot, 300)).properties.size(), 1u)
      << "files of all families tell what they hold";
  must(database_->reclaim(hot, range));
  must(database_->compact(hot, {}));
  EXPECT_EQ(must(database_->stored_indexes(hot)), std::vector<std::uint32_t>{});
}

TEST_F(FamiliesTest, ACopyHasAllFamilies) {
  const FamilyId hot = make("hot");
  must(put(hot, "k", "v"));
  const std::string copy = directory_ / "checkpoint";
  must(database_->create_checkpoint(copy));
  const std::unique_ptr<Database> opened = open_database(copy);
  EXPECT_EQ(opened->find_family("hot"), hot);
  EXPECT_EQ(value_of(*opened, hot, "k"), "v");
}

TEST_F(FamiliesTest, FilesAreIngestedIntoAFamily) {
  const FamilyId hot = make("hot");
  const auto build = must(bulk::BuildDirectory::make(database_->build_place(), 300));
  const auto files = database_->new_sst_writer(hot, build->path() + "/");
  must(files->put("a", "1"));
  must(files->put("b", "2"));
  must(files->finish());
  must(database_->ingest(hot, files->paths()));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(count_entries(*database_, hot, {}), 2u);
    EXPECT_EQ(count_entries(*database_, kDefaultFamily, {}), 0u);
    crash();
  }
}

TEST_F(FamiliesTest, AFlushThatFailsInOneFamilyIsNoticedAndNothingOfAnyIsLost) {
  const FamilyId hot = make("hot");
  must(put(kDefaultFamily, "k", "1"));
  must(put(hot, "k", "2"));
  files_->set({.operation = Operation::kAppend, .part = ".sst", .cause = EIO});
  EXPECT_FALSE(database_->flush().is_ok());
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, put(hot, "k", "3")));
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, database_->ensure_family("more")));
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, database_->remove_family(hot)));
  EXPECT_EQ(value_of(*database_, hot, "k"), "2");
  files_->heal();
  const std::uint64_t mark = database_->health().mark();
  must(database_->resume());
  EXPECT_TRUE(database_->health().clear(mark));
  must(put(hot, "later", "3"));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(value_of(*database_, kDefaultFamily, "k"), "1");
    EXPECT_EQ(value_of(*database_, hot, "k"), "2");
    EXPECT_EQ(value_of(*database_, hot, "later"), "3");
    crash();
  }
}

TEST_F(FamiliesTest, AFamilyThatCannotBeWrittenDownIsAnErrorAndNothingIsLost) {
  must(put(kDefaultFamily, "k", "1"));
  files_->set({.operation = Operation::kAppend, .part = "MANIFEST", .cause = EIO});
  EXPECT_FALSE(database_->ensure_family("hot").is_ok());
  crash();
  EXPECT_EQ(value_of(*database_, kDefaultFamily, "k"), "1");
  const FamilyId hot = make("hot");
  must(put(hot, "k", "2"));
  crash();
  EXPECT_EQ(value_of(*database_, hot, "k"), "2");
}

// All memtables together stay within their bound: that of one may fill it, and those of many share
// it.
TEST_F(FamiliesTest, TheMemtablesOfAllFamiliesShareTheirMemory) {
  std::vector<FamilyId> families;
  for (int i = 0; i < 6; ++i) families.push_back(make("f" + std::to_string(i)));
  const std::uint64_t bound = database_->options().memtables_total_bytes;
  const std::string value(64 << 10, 'x');
  std::uint64_t most = 0;
  for (std::uint64_t written = 0; written < 3 * bound;) {
    for (const FamilyId family : families) {
      must(put(family, "k" + std::to_string(written), value));
      written += value.size();
    }
    std::uint64_t sum = 0;
    for (const Family& family : database_->families()) {
      sum += std::stoull(database_->property(family.id, "rocksdb.cur-size-all-mem-tables"));
    }
    most = std::max(most, sum);
  }
  EXPECT_GT(most, bound / 4);
  EXPECT_LT(most, 2 * bound) << "one that is being flushed may still be there";
}

}  // namespace
}  // namespace basalt::kv
