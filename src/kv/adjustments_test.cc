#include "kv/adjustments.h"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

#include "base/test_support.h"
#include "kv/reports.h"
#include "kv/test_directory.h"

// Goal: what an administrator changes while the database is open has its effect from then on.
namespace basalt::kv {
namespace {

using basalt::test::await;
using basalt::test::must;
using test::open_database;

class AdjustmentsTest : public testing::Test {
 protected:
  static std::string key_of(int number) {
    char key[16];
    std::snprintf(key, sizeof key, "key%06d", number);
    return key;
  }
  // Keys from `first` on.
  void put(int count, int first = 0, FamilyId family = kDefaultFamily) {
    WriteBatch batch;
    for (int i = first; i < first + count; ++i) batch.put(family, key_of(i), "value");
    must(database_->write(batch, Durability::kBuffered));
  }
  void remove(int count, FamilyId family = kDefaultFamily) {
    WriteBatch batch;
    for (int i = 0; i < count; ++i) batch.remove(family, key_of(i));
    must(database_->write(batch, Durability::kBuffered));
  }
  // Files of which a tenth of the entries removes one, which nobody would compact for that.
  void remove_some(FamilyId family) {
    put(1000, 0, family);
    must(database_->flush());
    remove(110, family);
    put(990, 1000, family);
    must(database_->flush());
  }
  std::string newest_files(FamilyId family) {
    return database_->property(family, "rocksdb.num-files-at-level0");
  }
  // Makes files that nobody needs any more.
  void replace_files() {
    for (int i = 0; i < 2; ++i) {
      put(1000);
      must(database_->flush());
      must(database_->compact(kDefaultFamily, {}));
    }
  }
  bool has_waiting_files() const {
    for (const auto& file : std::filesystem::directory_iterator(path_)) {
      if (file.path().extension() == ".trash") return true;
    }
    return false;
  }

  test::TestDirectory directory_;
  const std::string path_ = directory_ / "db";
  std::unique_ptr<Database> database_ = open_database(path_);
};

// One byte a second: the first of the files waits for longer than the test.
TEST_F(AdjustmentsTest, FilesAreDeletedAsSlowlyAsIsSaid) {
  replace_files();
  EXPECT_FALSE(has_waiting_files());
  set_deletion_rate(*database_, 1);
  replace_files();
  await([&] { return has_waiting_files(); });
  database_.reset();
  EXPECT_TRUE(has_waiting_files());
  database_ = open_database(path_);
  EXPECT_FALSE(has_waiting_files());
}

TEST_F(AdjustmentsTest, FilesAreCompactedEarlyForAsManyRemovalsInARowAsIsSaid) {
  remove_some(kDefaultFamily);
  EXPECT_NE(newest_files(kDefaultFamily), "0");
  must(database_->compact(kDefaultFamily, {}));
  const FamilyId other = must(database_->ensure_family("other"));
  set_early_compaction(*database_, {.removals = 100, .window = 100});
  const FamilyId later = must(database_->ensure_family("later"));
  for (const FamilyId family : {kDefaultFamily, other, later}) {
    remove_some(family);
    await([&] { return newest_files(family) == "0"; });
  }
}

TEST_F(AdjustmentsTest, StatisticsBeginAtZeroAgainAndGoOn) {
  const auto written = [&] { return database_->events().count(Event::kKeyWritten); };
  const auto jobs = [&] {
    return std::stod(
        map_property(*database_, kDefaultFamily, "rocksdb.cfstats").at("compaction.Sum.CompCount"));
  };
  put(100);
  must(database_->flush());
  const std::uint64_t in_files = database_->events().count(Event::kFilePut);
  EXPECT_GE(in_files, 100u);
  EXPECT_GE(written(), 100u);
  EXPECT_GT(jobs(), 0);
  for (int i = 0; i < 2; ++i) {
    must(reset_statistics(*database_));
    EXPECT_EQ(written(), 0u);
    EXPECT_EQ(jobs(), 0);
    EXPECT_NE(database_->events().describe().find("rocksdb.number.keys.written COUNT : 0\n"),
              std::string::npos);
    put(3);
    EXPECT_EQ(written(), 3u);
  }
  EXPECT_EQ(database_->events().count(Event::kFilePut), in_files) << "is counted by us";
}

}  // namespace
}  // namespace basalt::kv
