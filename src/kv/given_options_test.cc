#include "kv/given_options.h"

#include <rocksdb/rate_limiter.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/transaction_db.h>

#include <memory>
#include <string>
#include <vector>

#include "base/test_support.h"
#include "index_stats/key_structure.h"
#include "kv/database.h"
#include "kv/rocksdb_library.h"
#include "kv/rocksdb_options.h"
#include "kv/test_directory.h"

// Goal: administrators get what they ask for in RocksDB's words, or an error that names it; nothing
// that they ask for does harm.
namespace basalt::kv {
namespace {

using basalt::test::must;
using basalt::test::succeeds;
using test::small_options;
using test::TestDirectory;

rdb::ColumnFamilyOptions chosen() {
  return make_table_family_options(with_machine_defaults({}), nullptr,
                                   std::make_shared<index_stats::KeyStructureSlot>());
}

const rdb::BlockBasedTableOptions& blocks_of(const rdb::ColumnFamilyOptions& family) {
  return *family.table_factory->GetOptions<rdb::BlockBasedTableOptions>();
}

GivenToRocksdb given_to_all(std::string options) {
  GivenToRocksdb given;
  given.default_family = std::move(options);
  return given;
}

Status read(const GivenToRocksdb& given, rdb::ColumnFamilyOptions& family,
            std::string_view name = "default") {
  FamilyOptions options;
  BASALT_TRY(options.read(given));
  return options.put_on_top(name, family);
}

// What the published benchmarks of MyRocks use.
constexpr const char* kPublished =
    "write_buffer_size=256m;max_write_buffer_number=4;target_file_size_base=32m;"
    "max_bytes_for_level_base=512m;level0_file_num_compaction_trigger=4;"
    "level0_slowdown_writes_trigger=20;level0_stop_writes_trigger=30;"
    "block_based_table_factory={cache_index_and_filter_blocks=1;"
    "filter_policy=bloomfilter:10:false;whole_key_filtering=0};prefix_extractor=capped:12;"
    "memtable_prefix_bloom_size_ratio=0.05;level_compaction_dynamic_level_bytes=true;"
    "optimize_filters_for_hits=true;compaction_pri=kMinOverlappingRatio;"
    "compression=kLZ4Compression;bottommost_compression=kLZ4Compression;compression_opts=-14:4:0";

TEST(GivenOptions, WhatPublishedConfigurationsSayIsPutOnTopOfWhatIsChosen) {
  rdb::ColumnFamilyOptions family = chosen();
  ASSERT_TRUE(succeeds(read(given_to_all(kPublished), family)));
  EXPECT_EQ(family.write_buffer_size, 256u << 20);
  EXPECT_EQ(family.max_bytes_for_level_base, 512u << 20);
  EXPECT_EQ(family.level0_stop_writes_trigger, 30);
  EXPECT_TRUE(family.optimize_filters_for_hits);
  EXPECT_EQ(family.bottommost_compression, rdb::kLZ4Compression);
  // The engine's choices stay where nothing is said.
  EXPECT_EQ(blocks_of(family).format_version, 6u);
  EXPECT_EQ(family.uncache_aggressiveness, chosen().uncache_aggressiveness);
}

TEST(GivenOptions, FiltersKeepWholeKeysWhateverIsSaid) {
  rdb::ColumnFamilyOptions family = chosen();
  ASSERT_TRUE(succeeds(read(given_to_all(kPublished), family)));
  EXPECT_EQ(family.prefix_extractor, nullptr);
  EXPECT_TRUE(blocks_of(family).whole_key_filtering);
  EXPECT_NE(blocks_of(family).filter_policy, nullptr);
}

TEST(GivenOptions, ASingleFamilyHasItsOwnOnTopOfThoseOfAll) {
  GivenToRocksdb given = given_to_all("target_file_size_base=2m;num_levels=6");
  given.blocks = {{"block_size", "16384"}};
  given.families = "cf1={target_file_size_base=4m};cf2={}";
  rdb::ColumnFamilyOptions first = chosen();
  ASSERT_TRUE(succeeds(read(given, first, "cf1")));
  EXPECT_EQ(first.target_file_size_base, 4u << 20);
  EXPECT_EQ(first.num_levels, 6);
  EXPECT_EQ(blocks_of(first).block_size, 16384u);
  rdb::ColumnFamilyOptions second = chosen();
  ASSERT_TRUE(succeeds(read(given, second, "cf2")));
  EXPECT_EQ(second.target_file_size_base, 2u << 20);
}

TEST(GivenOptions, WhatAFamilySaysOfBlocksGoesBeforeWhatAllBlocksAre) {
  GivenToRocksdb given = given_to_all("block_based_table_factory={block_size=4k}");
  given.blocks = {{"block_size", "16384"}, {"block_restart_interval", "4"}};
  rdb::ColumnFamilyOptions family = chosen();
  ASSERT_TRUE(succeeds(read(given, family)));
  EXPECT_EQ(blocks_of(family).block_size, 4096u);
  EXPECT_EQ(blocks_of(family).block_restart_interval, 4);
}

TEST(GivenOptions, AnOldNameOfACompressionMeansTheSame) {
  rdb::ColumnFamilyOptions family = chosen();
  ASSERT_TRUE(succeeds(
      read(given_to_all("compression_per_level=kNoCompression:kZSTDNotFinalCompression:kZSTD:"
                        "kZSTDNotFinalCompression;bottommost_compression=kZSTDNotFinalCompression"),
           family)));
  EXPECT_EQ(family.compression_per_level,
            (std::vector{rdb::kNoCompression, rdb::kZSTD, rdb::kZSTD, rdb::kZSTD}));
  EXPECT_EQ(family.bottommost_compression, rdb::kZSTD);
}

TEST(GivenOptions, AnOptionThatIsWrongIsNamed) {
  const auto message_of = [](const char* text) {
    rdb::ColumnFamilyOptions family = chosen();
    const Status status = read(given_to_all(text), family);
    EXPECT_EQ(status.code(), ErrorCode::kInvalidArgument) << text;
    return status.message();
  };
  EXPECT_NE(message_of("write_bufer_size=1m").find("write_bufer_size"), std::string::npos);
  EXPECT_NE(message_of("write_buffer_size=much").find("write_buffer_size"), std::string::npos);
  EXPECT_NE(message_of("aaaaa").find("'='"), std::string::npos);
  EXPECT_NE(message_of("block_based_table_factory={blok_size=1}").find("blok_size"),
            std::string::npos);
}

TEST(GivenOptions, WhatWouldDoHarmIsRefused) {
  for (const char* text :
       {"comparator=leveldb.BytewiseComparator", "merge_operator=uint64add",
        "compaction_filter=RemoveEmptyValueCompactionFilter",
        "compaction_style=kCompactionStyleFIFO", "compaction_style=kCompactionStyleNone",
        "inplace_update_support=true", "ttl=1000", "plain_table_factory={user_key_len=66}",
        "enable_blob_files=true"}) {
    rdb::ColumnFamilyOptions family = chosen();
    const Status status = read(given_to_all(text), family);
    EXPECT_EQ(status.code(), ErrorCode::kInvalidArgument) << text;
    const std::string option(text, std::string_view(text).find('='));
    EXPECT_NE(status.message().find(option), std::string::npos) << status.message();
    if (option == "compaction_style") continue;
    EXPECT_TRUE(succeeds(read(given_to_all(option + "=false"), family))) << "off is what it is";
  }
}

TEST(GivenOptions, MemtablesAreTheEnginesWhicheverAreGiven) {
  rdb::ColumnFamilyOptions family = chosen();
  const rdb::MemTableRepFactory* const engines = family.memtable_factory.get();
  for (const char* text : {"memtable=vector:1024", "memtable_factory=skip_list:16"}) {
    ASSERT_TRUE(succeeds(read(given_to_all(text), family))) << text;
    EXPECT_EQ(family.memtable_factory.get(), engines) << text;
  }
}

TEST(GivenOptions, TheDictionarysFamilyIsTheEnginesAlone) {
  GivenToRocksdb given;
  given.families = "__system__={write_buffer_size=1m}";
  FamilyOptions options;
  EXPECT_TRUE(succeeds(options.read(given))) << "configurations of MyRocks have it";
  const Status status = options.change(given.families, chosen(),
                                       [](const std::string&, const FamilyOptions::Options&) {
                                         ADD_FAILURE() << "nothing changes";
                                         return Status::ok();
                                       });
  EXPECT_EQ(status.code(), ErrorCode::kInvalidArgument);
}

TEST(GivenOptions, OptionsOfTheDatabaseAreHandedOnOrNamed) {
  rdb::DBOptions options = make_db_options(with_machine_defaults({}), nullptr);
  GivenToRocksdb given;
  given.database = {{"max_subcompactions", "3"}, {"use_fsync", "true"}};
  ASSERT_TRUE(succeeds(put_on_top(given, options)));
  EXPECT_EQ(options.max_subcompactions, 3u);
  EXPECT_TRUE(options.use_fsync);
  EXPECT_EQ(options.max_bgerror_resume_count, 0);
  given.database = {{"max_subcompaction", "3"}};
  EXPECT_NE(put_on_top(given, options).message().find("max_subcompaction"), std::string::npos);
}

TEST(GivenOptions, SizesThatFollowFromThatOfAMemtableFollowTheGivenOne) {
  DatabaseOptions options;
  options.rocksdb.default_family = "write_buffer_size=32m;target_file_size_base=1m";
  EXPECT_EQ(with_given_memtables(options).memtable_bytes, 32u << 20);
  options.memtable_bytes = 1;
  EXPECT_EQ(with_given_memtables(options).memtable_bytes, 1u);
}

TEST(GivenOptions, ADatabaseIsNotOpenedWithAnOptionThatIsWrong) {
  TestDirectory directory;
  DatabaseOptions options = small_options(directory.path());
  options.rocksdb.default_family = "write_bufer_size=1m";
  const auto opened = Database::open(options);
  ASSERT_FALSE(opened.is_ok());
  EXPECT_NE(opened.status().message().find("write_bufer_size"), std::string::npos);
}

class GivenOptionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    DatabaseOptions options = small_options(directory_.path());
    options.rate_limit_bytes = 1 << 20;
    database_ = must(Database::open(options));
  }

  TestDirectory directory_;
  std::unique_ptr<Database> database_;
};

TEST_F(GivenOptionsTest, OptionsOfFamiliesChangeWhileTheDatabaseIsOpen) {
  const auto current = [&] {
    return database_->rocksdb().GetOptions(database_->family_handle(kDefaultFamily));
  };
  ASSERT_TRUE(succeeds(database_->set_family_options(
      "default={write_buffer_size=8m};later={write_buffer_size=1m}")));
  EXPECT_EQ(current().write_buffer_size, 8u << 20);
  EXPECT_EQ(database_->set_family_options("default={foo=bar}").code(), ErrorCode::kInvalidArgument);
  const Status fixed = database_->set_family_options("default={num_levels=3}");
  EXPECT_NE(fixed.message().find("num_levels"), std::string::npos);
  // All of it is looked at before any of it is changed.
  EXPECT_FALSE(database_->set_family_options("default={write_buffer_size=1m};z={foo=1}").is_ok());
  EXPECT_EQ(current().write_buffer_size, 8u << 20);
}

TEST_F(GivenOptionsTest, ALimitOfTheRateChangesButDoesNotComeOrGo) {
  EXPECT_TRUE(database_->set_rate_limit(2 << 20));
  EXPECT_EQ(database_->rocksdb().GetDBOptions().rate_limiter->GetBytesPerSecond(), 2 << 20);
  EXPECT_FALSE(database_->set_rate_limit(0));
}

TEST_F(GivenOptionsTest, NobodyWaitsForWorkThatIsPaused) {
  ASSERT_TRUE(succeeds(database_->pause_background_work(true)));
  ASSERT_TRUE(succeeds(database_->pause_background_work(true)));
  EXPECT_EQ(database_->flush().code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(database_->compact(kDefaultFamily, {}).code(), ErrorCode::kInvalidArgument);
  ASSERT_TRUE(succeeds(database_->pause_background_work(false)));
  ASSERT_TRUE(succeeds(database_->flush()));
}

TEST(RocksdbLibrary, ItIsTheVersionWhoseCommitIsTold) {
  EXPECT_EQ(rocksdb_commit().size(), 40u);
  EXPECT_NE(supported_compressions().find("LZ4"), std::string::npos);
  EXPECT_EQ(log_level_name(3), "ERROR_LEVEL");
}

}  // namespace
}  // namespace basalt::kv
