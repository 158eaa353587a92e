#include "server/settings.h"

#include <map>
#include <string>
#include <utility>

#include "base/test_support.h"

// Goal: for each size, users find its value and the rule behind it, under the name that sets it.
namespace basalt::server {
namespace {

constexpr std::uint64_t kMiB = 1024 * 1024;

std::map<std::string, Setting> explained(const Machine& machine, const kv::DatabaseOptions& given,
                                         const kv::DatabaseOptions& used) {
  std::map<std::string, Setting> settings;
  for (Setting& setting : explain(machine, given, used)) {
    settings[setting.name] = std::move(setting);
  }
  return settings;
}

TEST(Settings, EverySettingIsExplainedAsItIsUsed) {
  const Machine machine{.memory_bytes = 1024 * kMiB, .is_memory_ours = true, .cores = 2};
  kv::DatabaseOptions given;
  given.memtable_bytes = 5 * kMiB;
  const kv::DatabaseOptions used = kv::with_defaults_for(machine, given);
  std::map<std::string, Setting> settings = explained(machine, given, used);
  EXPECT_EQ(settings["memory"].value, 1024 * kMiB);
  EXPECT_NE(settings["memory"].reason.find("control group"), std::string::npos);
  EXPECT_EQ(settings["cores"].value, 2u);
  EXPECT_EQ(settings["rocksdb_direct_io"].value, 0u);
  EXPECT_NE(settings["rocksdb_direct_io"].reason.find("file system"), std::string::npos);
  EXPECT_EQ(settings["rocksdb_block_cache_size"].value, used.block_cache_bytes);
  EXPECT_EQ(settings["rocksdb_max_total_wal_size"].value, used.max_total_wal_bytes);
  EXPECT_EQ(settings["rocksdb_max_background_jobs"].value, 3u);
  EXPECT_EQ(settings["rocksdb_write_batch_max_bytes"].value, 512 * kMiB);
  EXPECT_EQ(settings["rocksdb_reserved_disk_space"].value, used.reserved_disk_bytes);
  EXPECT_EQ(settings["rocksdb_write_buffer_size"].value, 5 * kMiB);
  for (const auto& [name, setting] : settings) {
    EXPECT_EQ(setting.is_given, name == "rocksdb_write_buffer_size") << name;
    EXPECT_EQ(setting.reason.empty(), setting.is_given) << name;
  }
}

TEST(Settings, ACacheThatHasLessThanItWasGivenSaysWhy) {
  const Machine machine{
      .memory_bytes = 1024 * kMiB, .is_memory_ours = true, .has_direct_io = true, .cores = 2};
  kv::DatabaseOptions given;
  given.block_cache_bytes = 800 * kMiB;
  kv::DatabaseOptions used = kv::with_defaults_for(machine, given);
  const auto reason = [&] {
    return explained(machine, given, used).at("rocksdb_block_cache_size").reason;
  };
  EXPECT_EQ(reason(), "");
  used.block_cache_bytes = 700 * kMiB;
  EXPECT_EQ(reason(), "all that the rest of the process leaves of the limit");
}

}  // namespace
}  // namespace basalt::server
