#include "wal/power_loss_file_system.h"

#include <rocksdb/utilities/transaction_db.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/test_support.h"
#include "kv/database.h"
#include "kv/test_directory.h"
#include "wal/faulty_file_system.h"

// Goal: the WALs have no hole. What a machine that stops leaves of them ends somewhere, and what
// comes later is not there; WALs with a hole that something else has made are an error. Method:
// images of what was on disk; WALs that are cut between two records. What whole workloads leave is
// the matter of table/power_loss_test.cc.
namespace basalt::kv {
namespace {

namespace fs = std::filesystem;
using basalt::test::await;
using basalt::test::fails_with;
using basalt::test::must;
using basalt::test::succeeds;
using test::value_of;
using wal::test::Fault;
using wal::test::FaultyFileSystem;
using wal::test::Operation;
using wal::test::PowerLossFileSystem;

std::vector<fs::path> wals_in(const std::string& directory) {
  std::set<fs::path> wals;
  for (const auto& entry : fs::directory_iterator(directory)) {
    if (entry.path().extension() == ".log") wals.insert(entry.path());
  }
  return {wals.begin(), wals.end()};
}

void put(Database& database, std::string_view key) {
  WriteBatch batch;
  batch.put(kDefaultFamily, key, "1");
  must(database.write(batch, Durability::kBuffered));
}

// The next record goes to a new WAL; the memtable is flushed by another thread.
void switch_wal(Database& database) {
  rdb::FlushOptions options;
  options.wait = false;
  ASSERT_TRUE(database.rocksdb().Flush(options, database.family_handle(kDefaultFamily)).ok());
}

TEST(PowerLossTest, AWalHasRecordsOnlyIfTheWalBeforeItIsOnDisk) {
  test::TestDirectory directory;
  const std::string path = directory / "db";
  const std::string image_path = directory / "image";
  auto files = std::make_shared<PowerLossFileSystem>(1);
  Result<std::unique_ptr<Database>> database = Database::open(test::small_options(path), files);
  must(database.status());
  put(*database.value(), "before");
  const std::string wal = wals_in(path).back();
  // The thread that flushes syncs the WAL; not before this one has written to the next.
  std::atomic<int> syncs = 0;
  std::atomic<bool> may_sync = false;
  files->set_hook([&](const std::string& synced) {
    if (synced == wal && ++syncs == 1) await([&] { return may_sync.load(); });
  });
  switch_wal(*database.value());
  await([&] { return syncs == 1; });
  put(*database.value(), "after");
  PowerLossFileSystem::Chance chance(1);
  const PowerLossFileSystem::Image image =
      files->draw(path, chance, [&](const std::string& file) { return file == wal ? 0.0 : 1.0; });
  may_sync = true;
  database.value().reset();

  PowerLossFileSystem::write(image, image_path);
  ASSERT_EQ(wals_in(image_path).size(), 2u);
  const std::unique_ptr<Database> found = test::open_database(image_path);
  EXPECT_EQ(value_of(*found, kDefaultFamily, "after"), "1") << "it had arrived";
  EXPECT_EQ(value_of(*found, kDefaultFamily, "before"), "1");
}

// Two WALs, of ten records each, and how long the first one was after each record.
class WalGapTest : public testing::Test {
 protected:
  WalGapTest() {
    auto files = std::make_shared<FaultyFileSystem>();
    Result<std::unique_ptr<Database>> database = Database::open(test::small_options(live_), files);
    must(database.status());
    // So that the first WAL is needed, and the manifest does not know its size.
    files->set({.operation = Operation::kAppend, .part = "MANIFEST", .cause = 0, .is_held = true});
    for (int i = 0; i < 10; ++i) {
      put(*database.value(), "first" + std::to_string(i));
      sizes_.push_back(fs::file_size(wals_in(live_).back()));
    }
    switch_wal(*database.value());
    for (int i = 0; i < 10; ++i) put(*database.value(), "second" + std::to_string(i));
    test::copy_crash_image(live_, path_);
    files->heal();
    files->release();
    EXPECT_EQ(wals_in(path_).size(), 2u);
  }
  // The first WAL loses all records but `kept`; it ends there, or in zeros.
  void lose_end(std::size_t kept, bool leaves_zeros) {
    const fs::path wal = wals_in(path_).front();
    fs::resize_file(wal, sizes_[kept - 1]);
    if (leaves_zeros) fs::resize_file(wal, sizes_.back() + 40'000);
  }
  Status open(bool accept_wal_damage) {
    DatabaseOptions options = test::small_options(path_);
    options.accept_wal_damage = accept_wal_damage;
    Result<std::unique_ptr<Database>> database = Database::open(options);
    if (!database.is_ok()) return database.take_status();
    first_ = count(*database.value(), "first");
    second_ = count(*database.value(), "second");
    later_ = count(*database.value(), "later");
    put(*database.value(), "later");
    return Status::ok();
  }
  static std::string contents_of(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static std::size_t count(Database& database, const std::string& prefix) {
    return test::count_entries(database, kDefaultFamily, {prefix, prefix + "~"});
  }
  // Sizes of the files that hold data.
  std::map<std::string, std::uintmax_t> data_files() {
    std::map<std::string, std::uintmax_t> files;
    for (const auto& entry : fs::directory_iterator(path_)) {
      const std::string name = entry.path().filename();
      if (name.find("LOG") == std::string::npos) files[name] = entry.file_size();
    }
    return files;
  }

  test::TestDirectory directory_;
  const std::string live_ = directory_ / "live";
  const std::string path_ = directory_ / "db";
  std::vector<std::uintmax_t> sizes_;
  std::size_t first_ = 0;
  std::size_t second_ = 0;
  std::size_t later_ = 0;
};

TEST_F(WalGapTest, WalsWithoutAHoleAreReplayed) {
  EXPECT_TRUE(succeeds(open(false)));
  EXPECT_EQ(first_, 10u);
  EXPECT_EQ(second_, 10u);
}

TEST_F(WalGapTest, AHoleIsAnErrorThatNamesPlaceAndRemedyAndChangesNothing) {
  for (const bool leaves_zeros : {false, true}) {
    lose_end(6, leaves_zeros);
    const auto before = data_files();
    const Status status = open(false);
    EXPECT_TRUE(fails_with(ErrorCode::kCorruption, status)) << leaves_zeros;
    for (const std::string& part :
         {wals_in(path_).back().string(), std::string("damage of the WAL accepted")}) {
      EXPECT_NE(status.message().find(part), std::string::npos) << status.message();
    }
    EXPECT_EQ(data_files(), before);
  }
}

TEST_F(WalGapTest, WhatIsBehindAHoleThatIsAcceptedIsNeverReplayedAndKept) {
  for (const bool leaves_zeros : {false, true}) {
    const test::TestDirectory again;
    fs::copy(path_, again / "db", fs::copy_options::recursive);
    lose_end(6, leaves_zeros);
    const fs::path behind = wals_in(path_).back();
    const std::string records = contents_of(behind);
    // From an earlier time, or of a copy.
    const fs::path other = fs::path(path_) / "damaged_wals" / behind.filename();
    if (leaves_zeros) {
      fs::create_directory(other.parent_path());
      std::ofstream(other) << "other";
    }
    EXPECT_TRUE(succeeds(open(true)));
    EXPECT_EQ(first_, 6u);
    EXPECT_EQ(second_, 0u);
    EXPECT_EQ(contents_of(leaves_zeros ? other.string() + ".2" : other.string()), records);
    EXPECT_TRUE(succeeds(open(false))) << "the next start finds no hole";
    EXPECT_EQ(first_, 6u);
    EXPECT_EQ(later_, 1u);
    fs::remove_all(path_);
    fs::copy(again / "db", path_, fs::copy_options::recursive);
  }
}

// The machine stops again before the removal of the torn WAL is on disk.
TEST(PowerLossTest, AWalWhoseFirstRecordIsTornHidesNothingOfTheNextOne) {
  test::TestDirectory directory;
  const std::string first = directory / "first";
  const std::string second = directory / "second";
  {
    const std::unique_ptr<Database> database = test::open_database(directory / "db");
    put(*database, "in a file");
    must(database->flush());
    put(*database, "torn");
    test::copy_crash_image(directory / "db", first);
  }
  const fs::path torn = wals_in(first).back();
  fs::resize_file(torn, 20);
  fs::copy_file(torn, directory / "torn.log");
  {
    const std::unique_ptr<Database> database = test::open_database(first);
    put(*database, "acknowledged");
    must(database->sync_wal());
    test::copy_crash_image(first, second);
  }
  fs::copy_file(directory / "torn.log", fs::path(second) / torn.filename(),
                fs::copy_options::overwrite_existing);
  const std::unique_ptr<Database> found = test::open_database(second);
  EXPECT_EQ(value_of(*found, kDefaultFamily, "in a file"), "1");
  EXPECT_EQ(value_of(*found, kDefaultFamily, "torn"), "(none)");
  EXPECT_EQ(value_of(*found, kDefaultFamily, "acknowledged"), "1");
}

// A process is killed, the next one recovers, and then the machine stops: of the first WAL the
// system had not written the end.
TEST(PowerLossTest, WhatWasRecoveredOfAWalIsOnDiskBeforeTheNextWalHasRecords) {
  test::TestDirectory directory;
  const std::string killed = directory / "killed";
  const std::string stopped = directory / "stopped";
  std::size_t written = 0;
  {
    const std::unique_ptr<Database> database = test::open_database(directory / "db");
    put(*database, "written");
    written = fs::file_size(wals_in(directory / "db").back());
    put(*database, "in memory");
    test::copy_crash_image(directory / "db", killed);
  }
  auto files = std::make_shared<PowerLossFileSystem>(1);
  files->adopt(killed);
  files->forget_sync(wals_in(killed).back(), written);
  {
    Result<std::unique_ptr<Database>> database = Database::open(test::small_options(killed), files);
    must(database.status());
    put(*database.value(), "later");
    must(database.value()->sync_wal());
    PowerLossFileSystem::Chance chance(1);
    PowerLossFileSystem::write(files->draw(killed, chance, [](const std::string&) { return 0.0; }),
                               stopped);
  }
  const std::unique_ptr<Database> found = test::open_database(stopped);
  for (const char* const key : {"written", "in memory", "later"}) {
    EXPECT_EQ(value_of(*found, kDefaultFamily, key), "1") << key;
  }
}

TEST(PowerLossTest, WhatIsCurrentIsThere) {
  test::TestDirectory directory;
  const std::string path = directory / "db";
  auto files = std::make_shared<PowerLossFileSystem>(1);
  PowerLossFileSystem::Chance chance(1);
  int seen = 0;
  files->set_hook([&](const std::string&) {
    for (int i = 0; i < 30; ++i) {
      const PowerLossFileSystem::Image image = files->draw(path, chance);
      const auto current = image.find("CURRENT");
      if (current == image.end()) continue;
      ++seen;
      const std::string manifest = current->second.substr(0, current->second.find('\n'));
      ASSERT_TRUE(image.contains(manifest)) << manifest;
    }
  });
  for (int i = 0; i < 2; ++i) must(Database::open(test::small_options(path), files).status());
  EXPECT_GT(seen, 0);
}

TEST(PowerLossTest, AManifestWhoseLastRecordWasNotWrittenEndsBeforeIt) {
  test::TestDirectory directory;
  const std::string image = directory / "image";
  {
    const std::unique_ptr<Database> database = test::open_database(directory / "db");
    put(*database, "kept");
    must(database->sync_wal());
    test::copy_crash_image(directory / "db", image);
  }
  for (const auto& entry : fs::directory_iterator(image)) {
    if (!entry.path().filename().string().starts_with("MANIFEST")) continue;
    // The header of a record of 10,000 bytes, and of these none.
    std::ofstream(entry.path(), std::ios::app | std::ios::binary)
        << std::string("\x5a\x5a\x5a\x5a\x10\x27\x01", 7) << std::string(10'000, '\0');
  }
  const std::unique_ptr<Database> found = test::open_database(image);
  EXPECT_EQ(value_of(*found, kDefaultFamily, "kept"), "1");
}

}  // namespace
}  // namespace basalt::kv
