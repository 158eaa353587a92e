#include "kv/reports.h"

#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/table.h>
#include <rocksdb/thread_status.h>
#include <rocksdb/utilities/transaction_db.h>

#include <charconv>
#include <memory>
#include <optional>
#include <unordered_map>

#include "base/assert.h"
#include "rdb/slice.h"
#include "rdb/status_conversion.h"

namespace basalt::kv {
namespace {

constexpr std::string_view kTableOptionsPrefix = "table_factory::";

std::string file_name_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

void add_indexes(const rdb::TableProperties& properties, FileReport& report) {
  const rdb::UserCollectedProperties& collected = properties.user_collected_properties;
  const std::string prefix(index_stats::kIndexPropertyPrefix);
  for (auto at = collected.lower_bound(prefix);
       at != collected.end() && at->first.starts_with(prefix); ++at) {
    std::uint32_t id = 0;
    const char* const end = at->first.data() + at->first.size();
    const auto [rest, error] = std::from_chars(at->first.data() + prefix.size(), end, id, 16);
    std::optional<index_stats::IndexProperties> index =
        index_stats::parse_index_properties(at->second);
    if (error != std::errc() || rest != end || !index.has_value()) continue;
    BASALT_DEBUG_ASSERT(id != 0);
    report.indexes.push_back({id, std::move(*index)});
  }
}

FileReport report_of(const std::string& path, FamilyId family,
                     const rdb::TableProperties& properties) {
  BASALT_DEBUG_ASSERT(!path.empty());
  FileReport report;
  report.name = file_name_of(path);
  report.family = family;
  report.data_blocks = properties.num_data_blocks;
  report.entries = properties.num_entries;
  report.raw_key_bytes = properties.raw_key_size;
  report.raw_value_bytes = properties.raw_value_size;
  report.data_bytes = properties.data_size;
  report.index_bytes = properties.index_size;
  report.index_partitions = properties.index_partitions;
  report.top_level_index_bytes = properties.top_level_index_size;
  report.filter_bytes = properties.filter_size;
  report.compression = rdb::ParseCompressionNameForDisplay(properties.compression_name);
  report.compression_options = properties.compression_options;
  report.filter_policy = properties.filter_policy_name;
  report.created = properties.creation_time;
  report.file_created = properties.file_creation_time;
  report.oldest_key = properties.oldest_key_time;
  add_indexes(properties, report);
  return report;
}

void append_options(const std::string& text, std::string_view prefix,
                    std::vector<std::pair<std::string, std::string>>& options) {
  std::unordered_map<std::string, std::string> map;
  if (!rdb::StringToMap(text, &map).ok()) return;
  const std::map<std::string, std::string> sorted(map.begin(), map.end());
  for (const auto& [name, value] : sorted) {
    options.emplace_back(std::string(prefix) + name, value);
  }
}

// In the order of their names.
Status append_file_reports(Database& database, FamilyId family, std::vector<FileReport>& reports) {
  rdb::TablePropertiesCollection files;
  // One that was removed meanwhile has none.
  if (const FamilyHold hold = database.hold_family(family)) {
    BASALT_TRY(rdb::from_rocksdb(database.rocksdb().GetPropertiesOfAllTables(hold.get(), &files)));
  }
  std::map<std::string, FileReport> by_name;
  for (const auto& [path, properties] : files) {
    FileReport report = report_of(path, family, *properties);
    const bool is_new = by_name.emplace(report.name, std::move(report)).second;
    BASALT_DEBUG_ASSERT(is_new);
  }
  for (auto& [name, report] : by_name) reports.push_back(std::move(report));
  return Status::ok();
}

}  // namespace

std::vector<FamilyReport> family_reports(const Database& database) {
  std::vector<FamilyReport> reports;
  for (Family& family : database.families()) {
    BASALT_DEBUG_ASSERT(!family.name.empty());
    reports.push_back({family.id, std::move(family.name)});
  }
  BASALT_DEBUG_ASSERT(!reports.empty());
  return reports;
}

std::string family_name(const Database& database, FamilyId family) {
  for (FamilyReport& report : family_reports(database)) {
    if (report.id == family) return std::move(report.name);
  }
  return "";
}

Result<std::vector<FileReport>> file_reports(Database& database) {
  std::vector<FileReport> result;
  for (const Family& family : database.families()) {
    BASALT_TRY(append_file_reports(database, family.id, result));
  }
  return result;
}

std::map<std::string, std::string> map_property(Database& database, FamilyId family,
                                                std::string_view name) {
  std::map<std::string, std::string> figures;
  const FamilyHold hold = database.hold_family(family);
  if (hold == nullptr ||
      !database.rocksdb().GetMapProperty(hold.get(), rdb::slice_of(name), &figures)) {
    figures.clear();
  }
  return figures;
}

std::uint64_t number_property(Database& database, FamilyId family, std::string_view name) {
  std::uint64_t number = 0;
  const FamilyHold hold = database.hold_family(family);
  if (hold == nullptr ||
      !database.rocksdb().GetIntProperty(hold.get(), rdb::slice_of(name), &number)) {
    return 0;
  }
  return number;
}

std::vector<std::pair<std::string, std::string>> family_options(Database& database,
                                                                FamilyId family) {
  std::vector<std::pair<std::string, std::string>> options;
  const FamilyHold hold = database.hold_family(family);
  if (hold == nullptr) return options;
  const rdb::Options current = database.rocksdb().GetOptions(hold.get());
  const rdb::ConfigOptions config;
  std::string text;
  if (rdb::GetStringFromColumnFamilyOptions(config, rdb::ColumnFamilyOptions(current), &text)
          .ok()) {
    append_options(text, "", options);
  }
  std::string table_text;
  if (current.table_factory->GetOptionString(config, &table_text).ok()) {
    append_options(table_text, kTableOptionsPrefix, options);
  }
  return options;
}

std::vector<ThreadReport> thread_reports() {
  std::vector<rdb::ThreadStatus> threads;
  std::vector<ThreadReport> reports;
  if (!rdb::Env::Default()->GetThreadList(&threads).ok()) return reports;
  for (const rdb::ThreadStatus& thread : threads) {
    ThreadReport report;
    report.id = thread.thread_id;
    report.kind = rdb::ThreadStatus::GetThreadTypeName(thread.thread_type);
    report.family = thread.cf_name;
    report.operation = rdb::ThreadStatus::GetOperationName(thread.operation_type);
    report.stage = rdb::ThreadStatus::GetOperationStageName(thread.operation_stage);
    report.elapsed_ms = thread.op_elapsed_micros / 1000;
    report.state = rdb::ThreadStatus::GetStateName(thread.state_type);
    reports.push_back(std::move(report));
  }
  return reports;
}

MemoryReport memory_report(Database& database) {
  MemoryReport report;
  for (const FamilyReport& family : family_reports(database)) {
    const auto number = [&](std::string_view name) {
      return number_property(database, family.id, name);
    };
    report.memtables += number("rocksdb.size-all-mem-tables");
    report.memtables_unflushed += number("rocksdb.cur-size-all-mem-tables");
    report.table_readers += number("rocksdb.estimate-table-readers-mem");
  }
  report.block_cache = number_property(database, kDefaultFamily, "rocksdb.block-cache-usage");
  report.block_cache_capacity =
      number_property(database, kDefaultFamily, "rocksdb.block-cache-capacity");
  return report;
}

}  // namespace basalt::kv
