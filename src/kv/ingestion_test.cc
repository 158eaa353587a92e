#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/utilities/transaction.h>
#include <rocksdb/utilities/transaction_db.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/test_support.h"
#include "bulk/build_directory.h"
#include "bulk/external_sort.h"
#include "bulk/sst_writer.h"
#include "kv/test_directory.h"
#include "wal/faulty_file_system.h"

// Goal: entries that are ingested are there, all or none, now and after a crash, for readers who
// came later, and files tell of them what other files tell; a disk that fails leaves the database
// as it was.
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

constexpr std::uint32_t kIndex = 300;

std::string key_of(std::uint32_t number) {
  std::string key;
  append_be32(key, kIndex);
  append_be32(key, number);
  return key;
}

KeyRange whole_index() { return index_key_range(kIndex); }

// Keys of one part of 4 bytes.
class OnePart final : public index_stats::KeyStructure {
 public:
  std::size_t count() const override { return 1; }
  bool are_overwritten() const override { return false; }
  void split(std::string_view, std::size_t, std::uint32_t* ends) const override { ends[0] = 8; }
};
class OneIndex final : public index_stats::KeyStructureSource {
 public:
  std::shared_ptr<const index_stats::KeyStructure> find(std::uint32_t index_id) override {
    return index_id == kIndex ? std::make_shared<OnePart>() : nullptr;
  }
};

class IngestionTest : public testing::Test {
 protected:
  IngestionTest() { open(); }
  ~IngestionTest() override {
    if (database_ != nullptr) database_->set_key_structures(nullptr);
  }
  void open() {
    build_.reset();
    if (database_ != nullptr) database_->set_key_structures(nullptr);
    database_.reset();
    database_ = must(Database::open(test::small_options(path_), files_));
    database_->set_key_structures(&index_);
  }
  // Goes on with what a crash at this moment leaves.
  void crash() {
    const std::string image = path_ + "x";
    test::copy_crash_image(path_, image);
    path_ = image;
    open();
  }
  std::string build_path() { return path_ + "/build/" + std::to_string(kIndex); }
  // Files with `count` entries, whose values do not get smaller.
  Status write(bulk::SstWriter& files, std::uint32_t count, std::size_t value_bytes = 10) {
    std::mt19937_64 random(1);
    for (std::uint32_t i = 0; i < count; ++i) {
      std::string value = std::to_string(i);
      while (value.size() < value_bytes) append_be64(value, random());
      BASALT_TRY(files.put(key_of(i), value));
    }
    return files.finish();
  }
  std::unique_ptr<bulk::SstWriter> begin() {
    build_.reset();
    build_ = must(bulk::BuildDirectory::make(database_->build_place(), kIndex));
    return database_->new_sst_writer(kDefaultFamily, build_->path() + "/");
  }
  std::uint64_t entries() { return test::count_entries(*database_, kDefaultFamily, whole_index()); }
  Status put(std::string_view key, std::string_view value) {
    WriteBatch batch;
    batch.put(kDefaultFamily, key, value);
    return database_->write(batch, Durability::kSynced);
  }

  test::TestDirectory directory_;
  OneIndex index_;
  std::string path_ = directory_ / "db";
  std::shared_ptr<FaultyFileSystem> files_ = std::make_shared<FaultyFileSystem>();
  std::unique_ptr<Database> database_;
  std::unique_ptr<bulk::BuildDirectory> build_;
};

TEST_F(IngestionTest, IngestedEntriesAreThereAlsoAfterACrash) {
  must(put(key_of(0).replace(3, 1, "\x2B"), "another index's"));
  const auto files = begin();
  ASSERT_TRUE(succeeds(write(*files, 1000)));
  EXPECT_EQ(entries(), 0u);
  ASSERT_TRUE(succeeds(database_->ingest(kDefaultFamily, files->paths())));
  EXPECT_TRUE(fs::is_empty(build_->path())) << "the files were moved";
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(entries(), 1000u);
    EXPECT_TRUE(value_of(*database_, kDefaultFamily, key_of(77)).starts_with("77"));
    crash();
  }
}

TEST_F(IngestionTest, NothingIsDoneWithoutEntries) {
  const auto files = begin();
  ASSERT_TRUE(succeeds(files->finish()));
  EXPECT_TRUE(files->paths().empty());
  EXPECT_TRUE(succeeds(database_->ingest(kDefaultFamily, files->paths())));
}

TEST_F(IngestionTest, FilesAreNoLargerThanThoseOfCompactions) {
  const auto files = begin();
  ASSERT_TRUE(succeeds(write(*files, 30'000, 1000)));
  ASSERT_GE(files->paths().size(), 3u);
  for (const std::string& path : files->paths()) EXPECT_LT(fs::file_size(path), 10u << 20);
  ASSERT_TRUE(succeeds(database_->ingest(kDefaultFamily, files->paths())));
  EXPECT_EQ(entries(), 30'000u);
}

// Its reader would read a dictionary anew with each block.
TEST_F(IngestionTest, AFileThatMayBeReadBeforeHasNoDictionary) {
  for (const WrittenFiles kind :
       {WrittenFiles::kOneFile, WrittenFiles::kExported, WrittenFiles::kIngested}) {
    begin();
    const auto files = database_->new_sst_writer(kDefaultFamily, build_->path() + "/one-", kind);
    must(write(*files, 30'000, 100));
    rdb::SstFileReader reader{rdb::Options()};
    ASSERT_TRUE(reader.Open(files->paths().front()).ok());
    const std::string options = reader.GetTableProperties()->compression_options;
    EXPECT_EQ(options.find("max_dict_bytes=0;") != std::string::npos,
              kind != WrittenFiles::kIngested)
        << options;
  }
}

TEST_F(IngestionTest, TheFilesTellWhatTheyHold) {
  const auto files = begin();
  must(write(*files, 1000));
  must(database_->ingest(kDefaultFamily, files->paths()));
  const IndexFiles told = must(database_->index_files(kDefaultFamily, kIndex));
  EXPECT_FALSE(told.has_unknown);
  ASSERT_EQ(told.properties.size(), 1u);
  EXPECT_EQ(told.properties[0].puts, 1000u);
  EXPECT_EQ(told.properties[0].distinct, (std::vector<std::uint64_t>{1000}));
}

TEST_F(IngestionTest, WayIsMadeOfLargeMemtablesThatHaveKeysInTheRange) {
  const auto memtable_bytes = [this] {
    return std::stoull(database_->property(kDefaultFamily, "rocksdb.cur-size-all-mem-tables"));
  };
  const auto make_way = [this](std::uint32_t first, std::uint32_t last) {
    return database_->make_way(std::array{kDefaultFamily}, {key_of(first), key_of(last)});
  };
  must(put(key_of(0), "small"));
  const std::uint64_t small = memtable_bytes();
  must(make_way(0, 1));
  EXPECT_EQ(memtable_bytes(), small);
  for (std::uint32_t i = 0; i < 200; ++i) must(put(key_of(i), std::string(8'000, 'x')));
  const std::uint64_t large = memtable_bytes();
  must(make_way(200, 300));
  EXPECT_EQ(memtable_bytes(), large);
  must(database_->pause_background_work(true));
  EXPECT_TRUE(succeeds(make_way(100, 300))) << "no flush begins";
  EXPECT_EQ(memtable_bytes(), large);
  must(database_->pause_background_work(false));
  must(make_way(100, 300));
  EXPECT_LE(memtable_bytes(), small);
  EXPECT_EQ(entries(), 200u);
}

// RocksDB stops reading WALs where one has a torn end and the next does not begin with the sequence
// number that follows.
TEST_F(IngestionTest, IngestionTakesNoSequenceNumberThatTheWalDoesNotHaveAlsoWithSnapshots) {
  must(put("a", "1"));
  const std::unique_ptr<Snapshot> snapshot = database_->take_snapshot();
  must(put("a", "2"));
  const std::uint64_t before = database_->newest_sequence();
  const auto files = begin();
  must(write(*files, 10));
  must(database_->ingest(kDefaultFamily, files->paths()));
  EXPECT_EQ(database_->newest_sequence(), before);
  EXPECT_EQ(value_of(*database_, kDefaultFamily, "a", {snapshot.get()}), "1");
  EXPECT_EQ(entries(), 10u);
}

// Files over others take a sequence number each that no record of the WAL has. A WAL that goes on
// behind them might look as if it had lost its end.
class NumberedFilesTest : public IngestionTest {
 protected:
  NumberedFilesTest() {
    // Keeps the first WAL.
    prepared_.reset(database_->rocksdb().BeginTransaction(rdb::WriteOptions()));
    EXPECT_TRUE(prepared_->SetName("prepared").ok());
    EXPECT_TRUE(prepared_->Put(key_of(1'000'000), "1").ok());
    EXPECT_TRUE(prepared_->Prepare().ok());
    ingest_over();
  }
  static constexpr std::uint32_t kFiles = 3;

  std::string newest_wal() const {
    std::set<std::string> wals;
    for (const auto& entry : fs::directory_iterator(path_)) {
      if (entry.path().extension() == ".log") wals.insert(entry.path().filename());
    }
    return *wals.rbegin();
  }

  std::vector<std::string> make_files(const std::string& directory) {
    std::vector<std::string> paths;
    for (std::uint32_t i = 0; i < kFiles; ++i) {
      const std::unique_ptr<bulk::SstWriter> files =
          database_->new_sst_writer(kDefaultFamily, directory + "/part" + std::to_string(i) + "-");
      must(files->put(key_of(i), "value"));
      must(files->finish());
      paths.push_back(files->paths().at(0));
    }
    return paths;
  }
  void ingest_over() {
    build_.reset();
    build_ = must(bulk::BuildDirectory::make(database_->build_place(), kIndex));
    must(database_->ingest(kDefaultFamily, make_files(build_->path())));
  }
  // Goes on with what is there while ingestions wait for the records behind them: the second that
  // each of them writes.
  void crash_during(const std::function<void()>& ingest) {
    const std::string image = path_ + "x";
    files_->set({.operation = Operation::kAppend,
                 .part = ".log",
                 .cause = 0,
                 .skipped = 1,
                 .is_held = true});
    {
      const std::jthread first(ingest);
      await([&] { return files_->held() > 0; });
      // Time for a second ingestion, if it does not wait for the first one.
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      test::copy_crash_image(path_, image);
      files_->release();
    }
    files_->heal();
    prepared_.reset();
    path_ = image;
    open();
  }

  std::unique_ptr<rdb::Transaction> prepared_;
};

TEST_F(NumberedFilesTest, TheFirstFilesAfterACrashOfAnIngestionLeaveNoHole) {
  const std::uint64_t before = database_->newest_sequence();
  crash_during([&] { ingest_over(); });
  EXPECT_EQ(database_->newest_sequence(), before + kFiles) << "they have taken numbers";
  ingest_over();
  crash();
  EXPECT_EQ(entries(), kFiles);
}

TEST_F(NumberedFilesTest, TwoIngestionsAtOnceLeaveNoHole) {
  crash_during([&] {
    const auto other = must(bulk::BuildDirectory::make(database_->build_place(), kIndex + 1));
    const std::vector<std::string> others = make_files(other->path());
    const std::jthread second([&] { must(database_->ingest(kDefaultFamily, others)); });
    ingest_over();
  });
  crash();
  EXPECT_EQ(entries(), kFiles);
}

TEST_F(NumberedFilesTest, AWalThatBeginsBetweenFilesAndTheRecordBehindThemHasNoHole) {
  const std::string wal_before = newest_wal();
  crash_during([&] { ingest_over(); });
  // Others write behind the files, first of all to a new WAL.
  must(put("a", "1"));
  crash();
  EXPECT_NE(newest_wal(), wal_before);
  EXPECT_EQ(entries(), kFiles);
}

TEST_F(IngestionTest, EntriesAreChangedAndRemovedAsOthers) {
  const auto snapshot = database_->take_snapshot();
  const auto files = begin();
  must(write(*files, 10));
  must(database_->ingest(kDefaultFamily, files->paths()));
  WriteBatch batch;
  batch.put(kDefaultFamily, key_of(3), "new");
  batch.remove(kDefaultFamily, key_of(4));
  must(database_->write(batch, Durability::kBuffered));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(value_of(*database_, kDefaultFamily, key_of(3)), "new");
    EXPECT_EQ(entries(), 9u);
    must(database_->flush());
    must(database_->compact(kDefaultFamily, {}));
  }
}

TEST_F(IngestionTest, AFailingDiskIsAnErrorAndTheDatabaseGoesOn) {
  const std::pair<Fault, ErrorCode> cases[] = {
      {{.operation = Operation::kCreate, .part = "/build/"}, ErrorCode::kIoError},
      {{.operation = Operation::kAppend, .part = "/build/"}, ErrorCode::kIoError},
      {{.operation = Operation::kAppend, .part = "/build/", .cause = ENOSPC}, ErrorCode::kNoSpace},
      {{.operation = Operation::kSync, .part = "/build/"}, ErrorCode::kIoError},
  };
  for (const auto& [fault, code] : cases) {
    files_->set(fault);
    const auto files = begin();
    EXPECT_TRUE(fails_with(code, write(*files, 1000)));
    files_->heal();
    EXPECT_TRUE(succeeds(put("a", "1")));
    EXPECT_EQ(entries(), 0u);
  }
}

TEST_F(IngestionTest, ASortWhoseDiskFailsIsAnErrorAndTheDatabaseGoesOn) {
  files_->set({.operation = Operation::kAppend, .part = "runs"});
  const auto sort = database_->new_external_sort(path_ + "/runs", std::size_t{1} << 20);
  Status status;
  for (std::uint32_t i = 0; i < 60'000 && status.is_ok(); ++i)
    status = sort->add(key_of(i), "value");
  EXPECT_TRUE(fails_with(ErrorCode::kIoError, status));
  files_->heal();
  EXPECT_TRUE(succeeds(put("a", "1")));
}

TEST_F(IngestionTest, AReadOnlyDatabaseTakesNothingIn) {
  const auto files = begin();
  must(write(*files, 1000));
  database_->health().turn_read_only("a test");
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, database_->ingest(kDefaultFamily, files->paths())));
  EXPECT_EQ(entries(), 0u);
  const auto more = begin();
  EXPECT_TRUE(fails_with(ErrorCode::kReadOnly, write(*more, 1000)));
}

// RocksDB writes to it twice: to reserve numbers for the files, and to take them in.
TEST_F(IngestionTest, AManifestThatCannotBeWrittenIsAnErrorAndNothingIsLost) {
  for (const int skipped : {0, 1}) {
    must(put("before", "1"));
    const auto files = begin();
    must(write(*files, 1000));
    files_->set({.operation = Operation::kAppend, .part = "MANIFEST", .skipped = skipped});
    EXPECT_TRUE(fails_with(ErrorCode::kIoError, database_->ingest(kDefaultFamily, files->paths())));
    EXPECT_EQ(database_->health().access() == wal::Access::kReadOnly, skipped == 1);
    files_->heal();
    const std::uint64_t mark = database_->health().mark();
    ASSERT_TRUE(succeeds(database_->resume()));
    ASSERT_TRUE(database_->health().clear(mark));
    EXPECT_EQ(entries(), 0u);
    EXPECT_TRUE(succeeds(put("after", "2")));
    crash();
    EXPECT_EQ(value_of(*database_, kDefaultFamily, "before"), "1");
    EXPECT_EQ(value_of(*database_, kDefaultFamily, "after"), "2");
    EXPECT_EQ(entries(), 0u);
  }
}

// RocksDB removes the files, and the next start may find their names in the manifest.
TEST_F(IngestionTest, FilesWhoseManifestCouldNotBeSyncedAreThereAtTheNextStartAndGoWithAResume) {
  const auto data_files = [this] {
    std::size_t count = 0;
    for (const auto& entry : fs::directory_iterator(path_)) {
      count += entry.path().extension() == ".sst" ? 1 : 0;
    }
    return count;
  };
  for (const bool resumes : {true, false}) {
    must(put("before", "1"));
    must(database_->flush());
    const std::size_t files_before = data_files();
    const auto files = begin();
    must(write(*files, 1000));
    files_->set({.operation = Operation::kSync, .part = "MANIFEST", .skipped = 1});
    EXPECT_TRUE(fails_with(ErrorCode::kIoError, database_->ingest(kDefaultFamily, files->paths())));
    EXPECT_EQ(database_->health().access(), wal::Access::kReadOnly);
    EXPECT_EQ(entries(), 0u);
    files_->heal();
    if (resumes) {
      const std::uint64_t mark = database_->health().mark();
      ASSERT_TRUE(succeeds(database_->resume()));
      ASSERT_TRUE(database_->health().clear(mark));
      EXPECT_EQ(data_files(), files_before);
    }
    crash();
    EXPECT_EQ(value_of(*database_, kDefaultFamily, "before"), "1");
    EXPECT_TRUE(entries() == 0u || (entries() == 1000u && !resumes)) << entries();
    must(database_->flush());
  }
}

TEST_F(IngestionTest, WhatIsBuiltIsRemovedAtTheEndAndAfterACrash) {
  auto files = begin();
  must(write(*files, 1000));
  const std::string image = path_ + "y";
  test::copy_crash_image(path_, image);
  EXPECT_TRUE(fs::exists(image + "/build/300/1.sst"));
  files.reset();
  build_.reset();
  EXPECT_FALSE(fs::exists(build_path()));
  path_ = image;
  open();
  EXPECT_FALSE(fs::exists(path_ + "/build"));
}

}  // namespace
}  // namespace basalt::kv
