#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/test_support.h"
#include "kv/expiry_clock.h"
#include "kv/test_directory.h"
#include "wal/faulty_file_system.h"

// Goal: a start knows what compactions of before may have taken, whatever the clock says, and no
// more: the limit is stored before one goes by it. Method: databases that are closed, or copied as
// a crash leaves them, at every step, under a clock that the test sets.
namespace basalt::kv {
namespace {

namespace fs = std::filesystem;

using basalt::test::must;
using wal::test::FaultyFileSystem;

const std::string kRecord = "\x0B";

class Lifetimes final : public LifetimeSource {
 public:
  bool has_lifetimes(std::uint32_t) override { return has_any; }
  std::optional<RowLifetime> lifetime_of(std::uint32_t) override {
    return RowLifetime{.seconds = 10};
  }

  bool has_any = true;
};

class ExpiryLimitTest : public testing::Test {
 protected:
  ExpiryLimitTest() { open(); }
  ~ExpiryLimitTest() override { close(); }

  void open() {
    DatabaseOptions options = test::small_options(path_);
    options.accept_wal_damage = accept_wal_damage_;
    database_ = must(Database::open(options, files_));
    clock().set_now([this] { return now_; });
    database_->set_lifetimes(&lifetimes_);
  }
  void close() {
    if (database_ != nullptr) database_->set_lifetimes(nullptr);
    database_.reset();
  }
  void reopen() {
    close();
    open();
  }
  void crash() {
    const std::string image = path_ + "x";
    test::copy_crash_image(path_, image);
    close();
    path_ = image;
    open();
  }
  ExpiryClock& clock() { return database_->expiry_clock(); }
  std::string stored() { return test::value_of(*database_, kSystemFamily, kRecord); }
  static std::string record_of(std::uint64_t limit) {
    std::string value;
    append_varint(value, limit);
    return value;
  }
  // As an engine leaves it that stores none.
  void remove_record() {
    WriteBatch batch;
    batch.remove(kSystemFamily, kRecord);
    must(database_->write(batch, Durability::kSynced));
  }
  // The newest manifest is of that time, to a second.
  void set_manifest_time(std::uint64_t time) {
    close();
    for (const auto& entry : fs::directory_iterator(path_)) {
      if (!entry.path().filename().string().starts_with("MANIFEST-")) continue;
      const std::chrono::sys_seconds since_1970{std::chrono::seconds(time)};
      fs::last_write_time(entry.path(), std::chrono::file_clock::from_sys(since_1970));
    }
    open();
  }

  test::TestDirectory directory_;
  std::string path_ = directory_ / "db";
  std::shared_ptr<FaultyFileSystem> files_ = std::make_shared<FaultyFileSystem>();
  bool accept_wal_damage_ = false;
  std::uint64_t now_ = 1'000'000;
  Lifetimes lifetimes_;
  std::unique_ptr<Database> database_;
};

TEST_F(ExpiryLimitTest, StoredFormatIsFrozen) {
  EXPECT_EQ(stored(), std::string(1, '\0')) << "a new database has one";
  now_ = 1'800'000'000;
  must(database_->renew_expiry_limit());
  EXPECT_EQ(stored(), "\x80\xA4\xA7\xDA\x06");
}

TEST_F(ExpiryLimitTest, ANewDatabaseHasTakenNothing) {
  EXPECT_EQ(clock().taken_until(), 0u);
  EXPECT_EQ(clock().begin_compaction(), 0u);
}

TEST_F(ExpiryLimitTest, AStartKnowsTheLimitAndNothingLaterWasTaken) {
  must(database_->renew_expiry_limit());
  EXPECT_EQ(clock().limit(), 1'000'000u);
  now_ += 1000;
  EXPECT_EQ(clock().begin_compaction(), 1'000'000u);
  must(database_->flush());
  for (int i = 0; i < 2; ++i) {
    now_ += 1000;
    if (i == 0) {
      crash();
    } else {
      reopen();
    }
    EXPECT_EQ(clock().taken_until(), 1'000'000u) << "whatever the time of the manifest is";
    EXPECT_EQ(clock().begin_compaction(), 1'000'000u);
  }
}

TEST_F(ExpiryLimitTest, AStopLeavesWhatWasTakenAsTheLimitAndACrashWhatMayHaveBeen) {
  now_ += 100'000;
  must(database_->renew_expiry_limit());
  now_ -= 100'000;
  crash();
  EXPECT_EQ(clock().taken_until(), 1'100'000u);
  now_ += 200'000;
  must(database_->renew_expiry_limit());
  EXPECT_EQ(clock().limit(), 1'200'000u);
  reopen();
  EXPECT_EQ(clock().taken_until(), 1'100'000u) << "no compaction has gone by the later one";
}

TEST_F(ExpiryLimitTest, AClockThatIsSetBackBeforeAStartIsNoLimit) {
  must(database_->renew_expiry_limit());
  EXPECT_EQ(clock().begin_compaction(), 1'000'000u);
  now_ = 5000;
  set_manifest_time(4000);
  EXPECT_EQ(clock().taken_until(), 1'000'000u);
  EXPECT_EQ(clock().begin_reading(), 1'000'000u);
  clock().end_reading(1'000'000);
}

TEST_F(ExpiryLimitTest, WhereNoneIsStoredTheTimeOfTheManifestIsTheLimitAndIsStored) {
  for (const std::string& damage : {std::string(), std::string("\x80"), std::string("\x01\x01")}) {
    remove_record();
    if (!damage.empty()) {
      WriteBatch batch;
      batch.put(kSystemFamily, kRecord, damage);
      must(database_->write(batch, Durability::kSynced));
    }
    set_manifest_time(900'000);
    EXPECT_EQ(clock().taken_until(), 900'001u);
    EXPECT_EQ(stored(), record_of(900'001));
    set_manifest_time(950'000);
    EXPECT_EQ(clock().taken_until(), 900'001u);
  }
}

// The limit may have been in what is missing.
TEST_F(ExpiryLimitTest, WhereTheWalMayBeDamagedTheTimeOfTheManifestIsALimitToo) {
  must(database_->renew_expiry_limit());
  accept_wal_damage_ = true;
  set_manifest_time(2'000'000);
  EXPECT_EQ(clock().taken_until(), 2'000'001u);
  set_manifest_time(900'000);
  EXPECT_EQ(clock().taken_until(), 2'000'001u);
}

TEST_F(ExpiryLimitTest, ItIsStoredOnceAMinuteAndAtOnceForWhoWantsThat) {
  must(database_->renew_expiry_limit());
  const std::uint64_t before = database_->newest_sequence();
  now_ += Database::kExpiryStep - 1;
  must(database_->renew_expiry_limit());
  EXPECT_EQ(database_->newest_sequence(), before);
  EXPECT_EQ(clock().limit(), 1'000'000u);
  now_ += 1;
  must(database_->renew_expiry_limit());
  EXPECT_EQ(stored(), record_of(now_));
  now_ += 1;
  must(database_->compact(kDefaultFamily, {}));
  EXPECT_EQ(stored(), record_of(now_));
  now_ += 1;
  must(database_->flush_and_compact_level0());
  EXPECT_EQ(stored(), record_of(now_));
  EXPECT_EQ(clock().begin_compaction(), now_);
}

TEST_F(ExpiryLimitTest, ItStaysWhereNothingExpiresOrIsTaken) {
  lifetimes_.has_any = false;
  must(database_->renew_expiry_limit());
  EXPECT_EQ(clock().limit(), 0u);
  lifetimes_.has_any = true;
  clock().set_takes_rows(false);
  must(database_->renew_expiry_limit());
  EXPECT_EQ(clock().limit(), 0u);
  clock().set_takes_rows(true);
  must(database_->pause_background_work(true));
  must(database_->renew_expiry_limit());
  EXPECT_EQ(clock().limit(), 0u);
  must(database_->pause_background_work(false));
  must(database_->renew_expiry_limit());
  EXPECT_EQ(clock().limit(), now_);
}

TEST_F(ExpiryLimitTest, OneThatCannotBeStoredIsNone) {
  must(database_->renew_expiry_limit());
  now_ += 1000;
  files_->set({.part = ".log"});
  EXPECT_FALSE(database_->renew_expiry_limit().is_ok());
  EXPECT_FALSE(database_->renew_expiry_limit().is_ok()) << "the database is read-only";
  EXPECT_EQ(clock().limit(), 1'000'000u);
  EXPECT_EQ(clock().begin_compaction(), 1'000'000u);
  files_->heal();
  const std::uint64_t mark = database_->health().mark();
  must(database_->resume());
  EXPECT_TRUE(database_->health().clear(mark));
  must(database_->renew_expiry_limit());
  EXPECT_EQ(clock().begin_compaction(), now_);
  crash();
  EXPECT_EQ(clock().taken_until(), now_);
}

TEST_F(ExpiryLimitTest, OneThatWasTooFarIsStoredAnew) {
  must(database_->renew_expiry_limit());
  EXPECT_EQ(clock().begin_compaction(), 1'000'000u);
  now_ = 9'000'000;
  must(database_->renew_expiry_limit());
  EXPECT_EQ(stored(), record_of(9'000'000));
  now_ = 2'000'000;
  must(database_->renew_expiry_limit());
  EXPECT_EQ(stored(), record_of(2'000'000)) << "no compaction has gone by it";
  EXPECT_EQ(clock().begin_compaction(), 2'000'000u);
  now_ = 500'000;
  must(database_->renew_expiry_limit());
  EXPECT_EQ(stored(), record_of(2'000'000));
}

TEST_F(ExpiryLimitTest, ACopyOfTheDatabaseHasIt) {
  must(database_->renew_expiry_limit());
  must(database_->create_checkpoint(directory_ / "copy"));
  close();
  path_ = directory_ / "copy";
  now_ += 1000;
  open();
  EXPECT_EQ(clock().taken_until(), 1'000'000u);
}

}  // namespace
}  // namespace basalt::kv
