#include <memory>
#include <random>
#include <string>

#include "base/test_support.h"
#include "kv/database.h"
#include "kv/test_directory.h"

// Goal: sizes that an administrator gives while the database is open are in force at once, are told
// as such, and 0 leaves them to the engine, whatever was given before.
namespace basalt::kv {
namespace {

using basalt::test::must;

constexpr std::uint64_t kMiB = 1024 * 1024;

class DatabaseSettingsTest : public testing::Test {
 protected:
  std::uint64_t property(const char* name) const {
    return std::stoull(database_->property(kDefaultFamily, name));
  }
  std::uint64_t cache_bytes() const { return property("rocksdb.block-cache-usage"); }
  void read_all() { EXPECT_EQ(test::count_entries(*database_, kDefaultFamily, {}), kKeys); }
  // What would be in force if nothing had been given but the memtables.
  DatabaseOptions chosen() const {
    DatabaseOptions options;
    options.directory = directory_.path();
    options.memtable_bytes = database_->options().memtable_bytes;
    options.direct_io = DirectIo::kOff;
    return with_defaults_for(database_->machine(), options);
  }

  static constexpr std::uint64_t kKeys = 30'000;
  test::TestDirectory directory_;
  // No limit of the test's memory changes the cache's size.
  static DatabaseOptions options_in(const std::string& directory) {
    DatabaseOptions options = test::small_options(directory);
    options.direct_io = DirectIo::kOff;
    return options;
  }
  std::unique_ptr<Database> database_ = must(Database::open(options_in(directory_.path())));
};

TEST_F(DatabaseSettingsTest, ALargerCacheKeepsMoreAndASmallerOneGivesItBack) {
  // Blocks that do not become smaller.
  std::mt19937_64 random(1);
  std::string value(1000, 'v');
  for (std::uint64_t i = 0; i < kKeys; ++i) {
    for (char& c : value) c = static_cast<char>(random());
    WriteBatch batch;
    batch.put(kDefaultFamily, "key" + std::to_string(1'000'000 + i), value);
    must(database_->write(batch, Durability::kBuffered));
  }
  must(database_->flush());
  database_->set_block_cache_bytes(2 * kMiB);
  read_all();
  const std::uint64_t memtables = database_->options().memtables_total_bytes;
  EXPECT_LE(cache_bytes(), 2 * kMiB + memtables);
  database_->set_block_cache_bytes(64 * kMiB);
  EXPECT_EQ(property("rocksdb.block-cache-capacity"), 64 * kMiB + memtables);
  // Compactions may go on, which make blocks anew, and the cache chooses its form meanwhile.
  basalt::test::await([this] {
    read_all();
    return cache_bytes() > 25 * kMiB;
  });
  database_->set_block_cache_bytes(2 * kMiB);
  EXPECT_LE(cache_bytes(), 2 * kMiB + memtables);
}

TEST_F(DatabaseSettingsTest, WhatIsGivenIsToldAndZeroIsTheEnginesChoiceAgain) {
  database_->set_block_cache_bytes(20 * kMiB);
  database_->set_reserved_disk_bytes(3 * kMiB);
  must(database_->set_background_jobs(6));
  EXPECT_EQ(database_->given_options().block_cache_bytes, 20 * kMiB);
  EXPECT_EQ(database_->current_options().block_cache_bytes, 20 * kMiB);
  EXPECT_EQ(database_->current_options().reserved_disk_bytes, 3 * kMiB);
  EXPECT_EQ(database_->current_options().background_jobs, 6);
  EXPECT_EQ(database_->health().reserved_bytes(), 3 * kMiB);

  database_->set_block_cache_bytes(0);
  database_->set_reserved_disk_bytes(0);
  must(database_->set_background_jobs(0));
  EXPECT_EQ(database_->given_options().block_cache_bytes, 0u);
  EXPECT_EQ(database_->current_options().block_cache_bytes, chosen().block_cache_bytes);
  EXPECT_EQ(database_->current_options().reserved_disk_bytes, chosen().reserved_disk_bytes);
  EXPECT_EQ(database_->health().reserved_bytes(), chosen().reserved_disk_bytes);
  EXPECT_EQ(database_->current_options().background_jobs, chosen().background_jobs);
}

}  // namespace
}  // namespace basalt::kv
