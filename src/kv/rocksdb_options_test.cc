#include "kv/rocksdb_options.h"

#include <rocksdb/advanced_compression.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/test_support.h"
#include "block_cache/adaptive_compression.h"

// Goal: what our options promise about RocksDB's behaviour, where no other test would notice.
namespace basalt::kv {
namespace {

// RocksDB slows writers while only one more memtable may be waiting for its flush, but not with
// three or fewer: then the next full one stops them all, without warning.
TEST(RocksDbOptions, EveryFamilySlowsWritersBeforeItStopsThem) {
  const DatabaseOptions options = with_machine_defaults({});
  const auto tables = make_table_family_options(options, nullptr,
                                                std::make_shared<index_stats::KeyStructureSlot>());
  EXPECT_GT(tables.max_write_buffer_number, 3);
  const auto system = make_system_family_options(options);
  EXPECT_GT(system.max_write_buffer_number, 3);
}

TEST(RocksDbOptionsDeathTest, ADatabaseIsNotOpenedWithWhatWalsAreNotWrittenFor) {
  const auto with = [](auto change) {
    rdb::DBOptions options = make_db_options(with_machine_defaults({}), nullptr);
    change(options);
    return options;
  };
  check_relied_on(with([](rdb::DBOptions&) {}));
  EXPECT_DEATH(check_relied_on(with([](auto& options) { options.two_write_queues = true; })), "");
  EXPECT_DEATH(check_relied_on(with([](auto& options) { options.unordered_write = true; })), "");
  EXPECT_DEATH(check_relied_on(with([](auto& options) { options.manual_wal_flush = true; })), "");
  EXPECT_DEATH(check_relied_on(with([](auto& options) { options.recycle_log_file_num = 1; })), "");
  EXPECT_DEATH(check_relied_on(with([](auto& options) { options.enable_pipelined_write = true; })),
               "");
  EXPECT_DEATH(check_relied_on(with([](auto& options) { options.reuse_manifest_on_open = true; })),
               "");
  EXPECT_DEATH(check_relied_on(with([](auto& options) { options.max_bgerror_resume_count = 1; })),
               "");
}

// Digits and letters at random would take ZSTD three times as long.
TEST(RocksDbOptions, TablesAreCompressedAdaptively) {
  const auto tables = make_table_family_options(with_machine_defaults({}), nullptr,
                                                std::make_shared<index_stats::KeyStructureSlot>());
  ASSERT_NE(tables.compression_manager, nullptr);
  EXPECT_STREQ(tables.compression_manager->Name(),
               block_cache::make_adaptive_compression_manager()->Name());
}

// A file's blocks and the hashes of its keys are in memory while a compaction writes it.
TEST(RocksDbOptions, FilesAreSmallWhereMemoryIs) {
  const auto file_bytes = [](std::uint64_t memory_bytes) {
    const DatabaseOptions options =
        with_defaults_for({.memory_bytes = memory_bytes, .is_memory_ours = true, .cores = 2}, {});
    return make_table_family_options(options, nullptr,
                                     std::make_shared<index_stats::KeyStructureSlot>())
        .target_file_size_base;
  };
  EXPECT_EQ(file_bytes(128 << 20), 8u << 20);
  EXPECT_EQ(file_bytes(448 << 20), 14u << 20);
  EXPECT_EQ(file_bytes(std::uint64_t{64} << 30), 64u << 20);
}

}  // namespace
}  // namespace basalt::kv
