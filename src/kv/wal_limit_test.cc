#include "kv/wal_limit.h"

#include <rocksdb/utilities/transaction_db.h>

#include <algorithm>
#include <filesystem>
#include <random>
#include <string>

#include "base/test_support.h"
#include "kv/test_directory.h"

// Goal: the WAL is in proportion to the data, also where a family keeps it that is hardly written.
namespace basalt::kv {
namespace {

using basalt::test::await;
using basalt::test::must;

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kGiB = 1 << 30;

TEST(WalLimitTest, ThereMayBeAQuarterOfTheDataOrTheFloorButNeverMoreThanTheMost) {
  EXPECT_EQ(wal_limit(0, 256 * kMiB, kGiB), 192 * kMiB);
  EXPECT_EQ(wal_limit(kGiB, 256 * kMiB, kGiB), 192 * kMiB);
  EXPECT_EQ(wal_limit(2 * kGiB, 256 * kMiB, kGiB), 384 * kMiB);
  EXPECT_EQ(wal_limit(100 * kGiB, 256 * kMiB, kGiB), kGiB);
  EXPECT_EQ(wal_limit(kGiB, 256 * kMiB, 64 * kMiB), 64 * kMiB);
}

class WalLimitDatabaseTest : public testing::Test {
 protected:
  // Changes a family that is hardly written, and `count` MiB of another one.
  void write(std::uint64_t count) {
    WriteBatch rare;
    rare.put(kSystemFamily, "rare", std::to_string(++written_));
    must(database_->write(rare, Durability::kBuffered));
    for (std::uint64_t i = 0; i < count; ++i) {
      WriteBatch batch;
      batch.put(kDefaultFamily, std::to_string(++written_), std::string(kMiB, 'x'));
      must(database_->write(batch, Durability::kBuffered));
    }
  }
  // Files, whoever needs them.
  std::size_t wal_count() {
    return static_cast<std::size_t>(
        std::ranges::count_if(std::filesystem::directory_iterator(path_),
                              [](const auto& file) { return file.path().extension() == ".log"; }));
  }
  void crash() {
    const std::string image = path_ + "x";
    test::copy_crash_image(path_, image);
    database_.reset();
    path_ = image;
    database_ = test::open_database(path_);
  }

  test::TestDirectory directory_;
  std::string path_ = directory_ / "db";
  std::unique_ptr<Database> database_ = test::open_database(path_);
  int written_ = 0;
  std::minstd_rand random_;
};

TEST_F(WalLimitDatabaseTest, AFamilyThatIsHardlyWrittenDoesNotKeepWals) {
  // Each has the contents of one memtable.
  constexpr std::size_t kFew = 3;
  write(40);
  await([&] { return wal_count() > kFew; });
  WalLimit limit(*database_, 16 * kMiB);
  must(limit.renew());
  write(1);
  await([&] { return wal_count() <= kFew; });
}

TEST_F(WalLimitDatabaseTest, AnAdministratorsLimitStays) {
  database_.reset();
  DatabaseOptions options = test::small_options(path_);
  options.max_total_wal_bytes = 50 * kMiB;
  database_ = must(Database::open(options));
  WalLimit limit(*database_, 16 * kMiB);
  must(limit.renew());
  EXPECT_EQ(database_->rocksdb().GetDBOptions().max_total_wal_size, 50 * kMiB);
}

TEST_F(WalLimitDatabaseTest, TheLimitIsChangedWhenTheDataHasGrownMuch) {
  const auto limit_of_rocksdb = [&] {
    return database_->rocksdb().GetDBOptions().max_total_wal_size;
  };
  WalLimit limit(*database_, 4 * kMiB);
  must(limit.renew());
  EXPECT_EQ(limit_of_rocksdb(), 3 * kMiB);
  // What compression leaves as it is.
  for (int i = 0; i < 40; ++i) {
    std::string noise(kMiB, ' ');
    for (char& letter : noise) letter = static_cast<char>(random_());
    WriteBatch batch;
    batch.put(kDefaultFamily, std::to_string(i), noise);
    must(database_->write(batch, Durability::kBuffered));
  }
  must(database_->flush());
  must(limit.renew());
  EXPECT_GE(limit_of_rocksdb(), 6 * kMiB);
}

TEST_F(WalLimitDatabaseTest, ReplayedWalsGoAndNothingIsLost) {
  write(10);
  crash();
  const std::size_t replayed = wal_count();
  EXPECT_GT(replayed, 1u) << "RocksDB removes them by itself: release_replayed() may go";
  WalLimit limit(*database_);
  must(limit.release_replayed());
  await([&] { return wal_count() == 1; });
  crash();
  EXPECT_EQ(test::value_of(*database_, kSystemFamily, "rare"), "1");
  EXPECT_EQ(test::value_of(*database_, kDefaultFamily, "2"), std::string(kMiB, 'x'));
}

}  // namespace
}  // namespace basalt::kv
