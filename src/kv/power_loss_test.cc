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
#include <thread>
#include <vector>

#include "base/test_support.h"
#include "bulk/build_directory.h"
#include "bulk/sst_writer.h"
#include "kv/database.h"
#include "kv/test_directory.h"
#include "rdb/status_conversion.h"
#include "wal/faulty_file_system.h"
#include "wal/wal_marks.h"

// Goal: the WALs have no hole. What a machine that stops leaves of them ends somewhere, and what
// comes later is not there; WALs with a hole that something else has made are an error. Method:
// images of what was on disk; WALs that are cut between two records. What whole workloads leave is
// the matter of table/power_loss_test.cc.
namespace basalt::kv {
namespace {

namespace fs = std::filesystem;
using basalt::test::await;
using basalt::test::fails_with;
using basalt::test::Hold;
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
  // `mark` is in the second WAL, behind a record.
  explicit WalGapTest(const wal::WalMark& mark = {}) {
    auto files = std::make_shared<FaultyFileSystem>();
    Result<std::unique_ptr<Database>> database = Database::open(test::small_options(live_), files);
    must(database.status());
    if (mark.kind != wal::WalMark::Kind::kNone) {
      // That of the opening is not replayed any more then.
      put(*database.value(), "before");
      must(database.value()->flush());
    }
    // So that the first WAL is needed, and the manifest does not know its size.
    files->set({.operation = Operation::kAppend, .part = "MANIFEST", .cause = 0, .is_held = true});
    for (int i = 0; i < 10; ++i) {
      put(*database.value(), "first" + std::to_string(i));
      sizes_.push_back(fs::file_size(wals_in(live_).back()));
    }
    switch_wal(*database.value());
    put(*database.value(), "second0");
    rdb::WriteBatch batch;
    must(rdb::from_rocksdb(batch.PutLogData(wal::encode(mark))));
    must(rdb::from_rocksdb(database.value()->rocksdb().GetBaseDB()->Write({}, &batch)));
    for (int i = 1; i < 10; ++i) put(*database.value(), "second" + std::to_string(i));
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

// The ingestion has begun in a WAL that is not replayed any more.
class IngestedGapTest : public WalGapTest {
 protected:
  IngestedGapTest() : WalGapTest({wal::WalMark::Kind::kIngested, 2}) {}
};

TEST_F(IngestedGapTest, NumbersThatIngestedFilesHaveTakenBetweenTwoWalsAreNoHole) {
  lose_end(8, /*leaves_zeros=*/false);
  EXPECT_TRUE(succeeds(open(/*accept_wal_damage=*/false)));
  EXPECT_EQ(first_, 8u);
  EXPECT_EQ(second_, 10u);
}

TEST_F(IngestedGapTest, MoreThanTheyMayHaveTakenIsAHole) {
  lose_end(7, /*leaves_zeros=*/false);
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, open(/*accept_wal_damage=*/false)));
}

class IngestingGapTest : public WalGapTest {
 protected:
  IngestingGapTest() : WalGapTest({wal::WalMark::Kind::kIngesting, 2}) {}
};

TEST_F(IngestingGapTest, AnIngestionThatBeginsLaterExplainsNothing) {
  lose_end(8, /*leaves_zeros=*/false);
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, open(/*accept_wal_damage=*/false)));
}

// Files are ingested whose mark before is in a WAL that is not replayed any more, and the process
// ends, or all but that fails, before there is one behind.
class UntoldIngestionTest : public testing::Test {
 protected:
  UntoldIngestionTest() {
    database_ = must(Database::open(test::small_options(live_), files_));
    other_ = must(database_->ensure_family("other"));
    unlocked_.skip_concurrency_control = true;
    build_ = must(bulk::BuildDirectory::make(database_->build_place(), 300));
    writer_ = database_->new_sst_writer(kDefaultFamily, build_->path() + "/");
    must(writer_->put("b", "of a file"));
    must(writer_->put("d", "of a file"));
    must(writer_->finish());
  }
  void put_other(const std::string& key) {
    WriteBatch batch;
    batch.put(other_, key, "1");
    must(database_->write(batch, Durability::kBuffered));
  }
  // Calls `before` in it before anything is done, and `behind` before it is told of.
  template <typename Before, typename Behind>
  void ingest(Status& status, const Before& before, const Behind& behind) {
    const Hold begun("kv.ingest.begun");
    const FamilyFiles files{kDefaultFamily, writer_->paths()};
    const std::uintmax_t size = fs::file_size(wals_in(live_).back());
    std::jthread thread([&] {
      status = database_->ingest({&files, 1}, Ingested::kNewToSnapshots);
    });
    await([&] { return fs::file_size(wals_in(live_).back()) > size; });
    // The WAL with the mark goes, and the next one stays when the ingestion has flushed a memtable.
    const fs::path with_mark = wals_in(live_).back();
    put(*database_, "flushed");
    must(database_->flush());
    await([&] { return !fs::exists(with_mark); });
    put_other("before");
    prepared_.reset(database_->rocksdb().BeginTransaction({}, unlocked_));
    must(rdb::from_rocksdb(prepared_->SetName("prepared")));
    must(rdb::from_rocksdb(prepared_->Put(database_->family_handle(other_), "prepared", "1")));
    must(rdb::from_rocksdb(prepared_->Prepare()));
    put(*database_, "c");
    before();
    const Hold done("kv.ingest.done");
    begun.release();
    behind();
  }

  test::TestDirectory directory_;
  const std::string live_ = directory_ / "live";
  const std::string image_ = directory_ / "image";
  std::shared_ptr<FaultyFileSystem> files_ = std::make_shared<FaultyFileSystem>();
  std::unique_ptr<Database> database_;
  rdb::TransactionOptions unlocked_;
  FamilyId other_ = 0;
  std::unique_ptr<bulk::BuildDirectory> build_;
  std::unique_ptr<bulk::SstWriter> writer_;
  // Keeps its WAL when all memtables have been flushed.
  std::unique_ptr<rdb::Transaction> prepared_;
};

TEST_F(UntoldIngestionTest, NumbersThatFilesOfTheManifestHaveAreNoHole) {
  Status status;
  const auto nothing = [] {};
  ingest(status, nothing, [&] {
    await([&] { return value_of(*database_, kDefaultFamily, "b") != "(none)"; });
    put_other("after");
    test::copy_crash_image(live_, image_);
  });
  must(std::move(status));
  ASSERT_EQ(wals_in(image_).size(), 2u);
  const std::string later = directory_ / "later";
  for (const std::string& path : {image_, later}) {
    Result<std::unique_ptr<Database>> found = Database::open(test::small_options(path));
    ASSERT_TRUE(succeeds(found.take_status())) << path;
    EXPECT_EQ(value_of(*found.value(), kDefaultFamily, "b"), "of a file");
    EXPECT_EQ(value_of(*found.value(), other_, "before"), "1");
    EXPECT_EQ(value_of(*found.value(), other_, "after"), "1");
    if (path == later) break;
    // The WALs are kept by what is prepared in the older one; the file goes.
    must(found.value()->compact(kDefaultFamily, {"", "~"}));
    test::copy_crash_image(image_, later);
  }
}

TEST_F(UntoldIngestionTest, NumbersThatAFailedOneHasTakenAreToldOfWhenTheDatabaseIsResumed) {
  std::uint64_t number = 0;
  Status status;
  ingest(
      status,
      [&] {
        number = database_->newest_sequence();
        // Those of the flush succeed.
        files_->set({.operation = Operation::kSync, .part = "MANIFEST", .skipped = 3});
      },
      [] {});
  EXPECT_TRUE(fails_with(ErrorCode::kIoError, status));
  ASSERT_EQ(database_->newest_sequence(), number + 1);
  files_->heal();
  const std::uint64_t mark = database_->health().mark();
  must(database_->resume());
  ASSERT_TRUE(database_->health().clear(mark));
  put_other("after");
  test::copy_crash_image(live_, image_);
  Result<std::unique_ptr<Database>> found = Database::open(test::small_options(image_));
  ASSERT_TRUE(succeeds(found.take_status()));
  EXPECT_EQ(value_of(*found.value(), other_, "after"), "1");
}

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

// What a sync of the manifest finds. Of other files some of what was not synced may be there.
struct ManifestWrite {
  PowerLossFileSystem::Image image;  // with the manifest as it was
  std::string manifest;              // its name
  std::string written;               // the manifest as it is
  std::string acknowledged;          // the last key that was committed, and synced
};

// Workloads whose writes of the manifest are of all kinds: records of one sector and of many, one
// record and several to a sync, across a block of 32 KB.
class ManifestTearTest : public testing::Test {
 protected:
  void SetUp() override {
    files_->set_hook([this](const std::string& path) { note_sync(path); });
    Result<std::unique_ptr<Database>> database = Database::open(test::small_options(live_), files_);
    must(database.status());
    // Nothing but the flushes below is to write the manifest.
    must(rdb::from_rocksdb(database.value()->rocksdb().SetOptions(
        database.value()->family_handle(kDefaultFamily), {{"disable_auto_compactions", "true"}})));
    for (int i = 0; i < 12; ++i) {
      // The manifest has the smallest and the largest key of a file.
      const std::string key(1 + static_cast<std::size_t>(i % 4) * 1500, static_cast<char>('a' + i));
      WriteBatch batch;
      for (const char* const end : {"1", "2"}) batch.put(kDefaultFamily, key + end, "1");
      must(database.value()->write(batch, Durability::kBuffered));
      must(database.value()->sync_wal());
      acknowledged_ = key + "1";
      must(database.value()->flush());
    }
    files_->set_hook(nullptr);
    ASSERT_FALSE(writes_.empty());
    EXPECT_GT(writes_.back().written.size(), kBlockBytes) << "records lie across blocks";
  }

  // The image with those sectors of what was not synced of its manifest that have arrived.
  static PowerLossFileSystem::Image torn(const ManifestWrite& write,
                                         const std::function<bool(std::size_t sector)>& arrives) {
    constexpr std::size_t kSector = PowerLossFileSystem::kSectorBytes;
    PowerLossFileSystem::Image image = write.image;
    std::string& manifest = image[write.manifest];
    const std::size_t synced = manifest.size();
    manifest.resize(write.written.size(), '\0');
    for (std::size_t sector = synced / kSector; sector * kSector < manifest.size(); ++sector) {
      if (!arrives(sector)) continue;
      const std::size_t bytes = std::min(kSector, manifest.size() - sector * kSector);
      manifest.replace(sector * kSector, bytes, write.written, sector * kSector, bytes);
    }
    return image;
  }
  static std::size_t first_sector(const ManifestWrite& write) {
    return write.image.at(write.manifest).size() / PowerLossFileSystem::kSectorBytes;
  }
  static std::size_t end_sector(const ManifestWrite& write) {
    return (write.written.size() - 1) / PowerLossFileSystem::kSectorBytes + 1;
  }
  void expect_opens(const ManifestWrite& write, const PowerLossFileSystem::Image& image) {
    const test::TestDirectory directory;
    const std::string path = directory / "image";
    PowerLossFileSystem::write(image, path);
    Result<std::unique_ptr<Database>> found = Database::open(test::small_options(path));
    ASSERT_TRUE(succeeds(found.status()));
    if (write.acknowledged.empty()) return;
    EXPECT_EQ(value_of(*found.value(), kDefaultFamily, write.acknowledged), "1");
  }

  static constexpr std::size_t kBlockBytes = 32768;
  std::vector<ManifestWrite> writes_;

 private:
  // In the thread that flushes, while the test waits for it. A manifest that is not current is not
  // read by anybody.
  void note_sync(const std::string& path) {
    if (!fs::path(path).filename().string().starts_with("MANIFEST-")) return;
    ManifestWrite write;
    write.manifest = fs::path(path).filename();
    PowerLossFileSystem::Chance chance(1);
    write.image = files_->draw(live_, chance,
                               [&](const std::string& file) { return file == path ? 0.0 : 1.0; });
    const auto current = write.image.find("CURRENT");
    if (current == write.image.end() || current->second != write.manifest + "\n") return;
    std::ifstream in(path, std::ios::binary);
    write.written.assign(std::istreambuf_iterator<char>(in), {});
    write.acknowledged = acknowledged_;
    writes_.push_back(std::move(write));
  }

  test::TestDirectory directory_;
  const std::string live_ = directory_ / "live";
  std::shared_ptr<PowerLossFileSystem> files_ = std::make_shared<PowerLossFileSystem>(1);
  std::string acknowledged_;
};

TEST_F(ManifestTearTest, AManifestIsReadWithAnyOneSectorOfItsLastWriteMissing) {
  std::size_t images = 0;
  for (const ManifestWrite& write : writes_) {
    for (std::size_t lost = first_sector(write); lost < end_sector(write); ++lost) {
      SCOPED_TRACE("sync " + std::to_string(&write - writes_.data()) + ", sector " +
                   std::to_string(lost));
      expect_opens(write, torn(write, [&](std::size_t sector) { return sector != lost; }));
      ++images;
    }
  }
  EXPECT_GT(images, 50u);
}

TEST_F(ManifestTearTest, AManifestIsReadWhicheverSectorsOfItsLastWriteHaveArrived) {
  PowerLossFileSystem::Chance chance(7);
  for (const ManifestWrite& write : writes_) {
    for (int i = 0; i < 6; ++i) {
      const PowerLossFileSystem::Image image =
          torn(write, [&](std::size_t) { return chance() % 2 == 0; });
      SCOPED_TRACE("sync " + std::to_string(&write - writes_.data()) + ", draw " +
                   std::to_string(i));
      expect_opens(write, image);
    }
  }
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
