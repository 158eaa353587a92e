#include "kv/rocksdb_options.h"

#include <memory>

#include "base/test_support.h"

// Goal: what our options promise about RocksDB's behaviour, where no other test would notice.
namespace basalt::kv {
namespace {

// RocksDB slows writers while only one more memtable may be waiting for its flush, but not with
// three or fewer: then the next full one stops them all, without warning.
TEST(RocksDbOptions, EveryFamilySlowsWritersBeforeItStopsThem) {
  const DatabaseOptions options = with_machine_defaults({});
  const auto tables = make_table_family_options(options, std::make_shared<KeyPartsSlot>());
  EXPECT_GT(tables.max_write_buffer_number, 3);
  const auto system = make_system_family_options(options);
  EXPECT_GT(system.max_write_buffer_number, 3);
}

}  // namespace
}  // namespace basalt::kv
