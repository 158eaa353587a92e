#include "kv/given_options.h"

#include <rocksdb/convenience.h>
#include <rocksdb/table.h>

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "base/assert.h"
#include "base/log.h"
#include "rdb/status_conversion.h"

namespace basalt::kv {
namespace {

constexpr std::string_view kBlocks = "block_based_table_factory";
constexpr std::string_view kWholeKeys = "whole_key_filtering";
constexpr std::string_view kSystemFamily = "__system__";
// What MyRocks' configurations may call ZSTD: RocksDB knows only one of it any more.
constexpr std::string_view kOldZstd = "kZSTDNotFinalCompression";
constexpr std::string_view kZstd = "kZSTD";

struct Reason {
  std::string_view option;
  std::string_view why;
};

// What would lose or falsify data, or what the engine relies on: docs/rocksdb.md.
constexpr Reason kRefused[] = {
    {"comparator", "keys are in the order of their bytes"},
    {"merge_operator", "nothing is merged"},
    {"compaction_filter", "the engine has its own"},
    {"compaction_filter_factory", "the engine has its own"},
    {"compaction_options_fifo", "it deletes the oldest rows"},
    {"table_factory", "files have the format of blocks: set block_based_table_factory"},
    {"plain_table_factory", "files have the format of blocks: set block_based_table_factory"},
    {"inplace_update_support", "snapshots need what it overwrites"},
    {"table_properties_collectors", "the optimizer's figures come from the engine's"},
    {"compression_manager", "compression chooses among the engine's"},
    {"persist_user_defined_timestamps", "keys have no timestamps"},
    {"enable_blob_files", "rows are in the files of their indexes"},
    {"disallow_memtable_writes", "rows are written to memtables"},
    {"cf_allow_ingest_behind", "rows are never behind others"},
    {"default_temperature", "there is one kind of storage"},
    {"preclude_last_level_data_seconds", "there is one kind of storage"},
    {"ttl", "RocksDB's is no time of rows: see ttl_duration in a table's COMMENT"},
};
constexpr Reason kUnusedOptions[] = {
    {"prefix_extractor", "ranges are read without filters, single keys by whole keys"},
    {"memtable", "memtables are the engine's"},
    {"memtable_factory", "memtables are the engine's"},
    {"memtable_insert_with_hint_prefix_extractor", "memtables are the engine's"},
    {"memtable_huge_page_size", "memtables are the engine's"},
    {"inplace_update_num_locks", "nothing is overwritten"},
    {"max_successive_merges", "nothing is merged"},
    {"bloom_locality", "memtables are the engine's"},
};
constexpr Reason kUnusedBlockOptions[] = {
    {"block_cache", "all families share the engine's, rocksdb_block_cache_size"},
    {"block_cache_compressed", "the engine's cache has compressed blocks, too"},
    {"persistent_cache", "blocks are cached in memory"},
    {"no_block_cache", "all memory for blocks is in the cache"},
    {kWholeKeys, "filters hold whole keys: lookups of missing ones end there"},
    {"hash_index_allow_collision", "RocksDB has it no more"},
    {"flush_block_policy_factory", "a block ends by its size"},
};

template <std::size_t count>
const Reason* find(const Reason (&reasons)[count], std::string_view option) {
  const auto found = std::ranges::find(reasons, option, &Reason::option);
  return found == std::end(reasons) ? nullptr : found;
}

Status wrong(std::string_view where, std::string_view what) {
  return Status(ErrorCode::kInvalidArgument, std::string(where) + ": " + std::string(what));
}

rdb::ConfigOptions strict() {
  rdb::ConfigOptions config;
  config.ignore_unknown_options = false;
  config.ignore_unsupported_options = false;
  return config;
}

// One map for one text: names to values, in which braces still are.
Status read_map(std::string_view where, const std::string& text, FamilyOptions::Options& options) {
  std::unordered_map<std::string, std::string> found;
  const rdb::Status status = rdb::StringToMap(text, &found);
  if (!status.ok()) return wrong(where, rdb::text_of(status));
  options = FamilyOptions::Options(std::make_move_iterator(found.begin()),
                                   std::make_move_iterator(found.end()));
  for (auto& [name, value] : options) {
    for (std::size_t at; (at = value.find(kOldZstd)) != std::string::npos;) {
      value.replace(at, kOldZstd.size(), kZstd);
    }
  }
  return Status::ok();
}

std::string braced(const FamilyOptions::Options& options) {
  std::string text = "{";
  for (const auto& [name, value] : options) text += name + "=" + value + ";";
  return text + "}";
}

template <std::size_t count>
void take_out(std::string_view where, const Reason (&unused)[count],
              FamilyOptions::Options& options) {
  std::erase_if(options, [&](const auto& option) {
    const Reason* const reason = find(unused, option.first);
    if (reason == nullptr) return false;
    // The one that is on anyway.
    const bool is_on = option.second == "1" || option.second == "true";
    if (is_on && option.first == kWholeKeys) return true;
    log_message(LogLevel::kInfo, std::string(where) + ": " + option.first +
                                     " has no effect: " + std::string(reason->why));
    return true;
  });
}

// Whether a compaction of this style keeps what was written.
bool keeps_data(std::string_view style) {
  return style == "kCompactionStyleLevel" || style == "kCompactionStyleUniversal";
}

// Takes out what means nothing, and refuses what does harm.
Status check_options(std::string_view where, FamilyOptions::Options& options) {
  for (const auto& [name, value] : options) {
    // As MyRocks' own text has it: off is what they are.
    if (value == "0" || value == "false" || value == "nullptr") continue;
    if (const Reason* const reason = find(kRefused, name)) {
      return wrong(where, name + " cannot be set: " + std::string(reason->why));
    }
    if (name == "compaction_style" && !keeps_data(value)) {
      return wrong(where, "compaction_style=" + value + " would lose rows, or never compact");
    }
  }
  std::erase_if(options,
                [](const auto& option) { return find(kRefused, option.first) != nullptr; });
  take_out(where, kUnusedOptions, options);
  const auto blocks = options.find(std::string(kBlocks));
  if (blocks == options.end()) return Status::ok();
  FamilyOptions::Options of_blocks;
  BASALT_TRY(read_map(std::string(where) + ", " + std::string(kBlocks), blocks->second, of_blocks));
  take_out(where, kUnusedBlockOptions, of_blocks);
  // Read with all the rest, an option would not be named that is wrong.
  rdb::BlockBasedTableOptions unused;
  const rdb::Status status = rdb::GetBlockBasedTableOptionsFromMap(
      strict(), rdb::BlockBasedTableOptions(), {of_blocks.begin(), of_blocks.end()}, &unused);
  if (!status.ok()) {
    return wrong(std::string(where) + ", " + std::string(kBlocks), rdb::text_of(status));
  }
  if (of_blocks.empty())
    options.erase(blocks);
  else
    blocks->second = braced(of_blocks);
  return Status::ok();
}

Status parse(std::string_view where, const rdb::ConfigOptions& config,
             const FamilyOptions::Options& given, rdb::ColumnFamilyOptions& options) {
  BASALT_DEBUG_ASSERT(!config.ignore_unknown_options);
  if (given.empty()) return Status::ok();
  rdb::ColumnFamilyOptions result;
  const rdb::Status status =
      rdb::GetColumnFamilyOptionsFromMap(config, options, {given.begin(), given.end()}, &result);
  if (!status.ok()) return wrong(where, rdb::text_of(status));
  options = std::move(result);
  return Status::ok();
}

std::string place_of(std::string_view family) {
  return "options of the column family '" + std::string(family) + "'";
}

// What is said of the family of the dictionary, of which nothing can be set: configurations of
// MyRocks have it beside what a statement would be told of at once.
enum class OfDictionary { kTold, kForbidden };

// Reads "family={...};family={...}", whose parts may be empty.
Status read_families(std::string_view text, OfDictionary of_dictionary,
                     std::map<std::string, FamilyOptions::Options, std::less<>>& families) {
  FamilyOptions::Options texts;
  BASALT_TRY(read_map("options of column families", std::string(text), texts));
  for (const auto& [family, options] : texts) {
    if (family == kSystemFamily && of_dictionary == OfDictionary::kTold) {
      log_message(LogLevel::kInfo,
                  place_of(family) + " have no effect: it is the engine's dictionary");
      continue;
    }
    if (family == kSystemFamily) {
      return wrong(place_of(family), "it is the engine's dictionary; nothing of it can be set");
    }
    FamilyOptions::Options& of_family = families[family];
    if (options.empty() || options == "{}") continue;
    BASALT_TRY(read_map(place_of(family), options, of_family));
    BASALT_TRY(check_options(place_of(family), of_family));
  }
  return Status::ok();
}

constexpr std::string_view kAllFamilies = "default options of column families";

}  // namespace

Status put_on_top(const GivenToRocksdb& given, rdb::DBOptions& options) {
  if (given.database.empty()) return Status::ok();
  rdb::DBOptions result;
  const rdb::Status status = rdb::GetDBOptionsFromMap(
      strict(), options, {given.database.begin(), given.database.end()}, &result);
  if (!status.ok()) return wrong("options of RocksDB", rdb::text_of(status));
  options = std::move(result);
  return Status::ok();
}

Status FamilyOptions::read(const GivenToRocksdb& given) {
  BASALT_DEBUG_ASSERT(all_.empty() && single_.empty());
  BASALT_TRY(read_map(kAllFamilies, given.default_family, all_));
  BASALT_TRY(check_options(kAllFamilies, all_));
  if (!given.blocks.empty()) {
    // What a family is given of blocks goes before what all blocks are.
    Options blocks = given.blocks;
    const auto found = all_.find(std::string(kBlocks));
    if (found != all_.end()) {
      Options of_family;
      BASALT_TRY(read_map(kAllFamilies, found->second, of_family));
      for (const auto& [name, value] : of_family) blocks[name] = value;
    }
    all_[std::string(kBlocks)] = braced(blocks);
  }
  return read_families(given.families, OfDictionary::kTold, single_);
}

Status FamilyOptions::put_on_top(std::string_view family, rdb::ColumnFamilyOptions& options) const {
  BASALT_ASSERT(family != kSystemFamily);
  BASALT_TRY(parse(kAllFamilies, strict(), all_, options));
  BASALT_DEBUG_ASSERT(options.memtable_factory != nullptr && options.table_factory != nullptr);
  const auto single = single_.find(family);
  if (single == single_.end()) return Status::ok();
  return parse(place_of(family), strict(), single->second, options);
}

Status FamilyOptions::change(std::string_view text, const rdb::ColumnFamilyOptions& base,
                             const Apply& apply) {
  BASALT_DEBUG_ASSERT(apply != nullptr);
  std::map<std::string, Options, std::less<>> changed;
  BASALT_TRY(read_families(text, OfDictionary::kForbidden, changed));
  rdb::ConfigOptions config = strict();
  config.mutable_options_only = true;
  for (const auto& [family, options] : changed) {
    rdb::ColumnFamilyOptions unused = base;
    BASALT_TRY(parse(place_of(family), config, options, unused));
  }
  for (auto& [family, options] : changed) {
    BASALT_TRY(apply(family, options));
    for (auto& [name, value] : options) single_[family][name] = value;
  }
  return Status::ok();
}

DatabaseOptions with_given_memtables(DatabaseOptions options) {
  if (options.memtable_bytes != 0) return options;
  FamilyOptions::Options given;
  // What is wrong is told where all of it is read.
  if (!read_map(kAllFamilies, options.rocksdb.default_family, given).is_ok()) return options;
  std::erase_if(given, [](const auto& option) { return option.first != "write_buffer_size"; });
  rdb::ColumnFamilyOptions family;
  family.write_buffer_size = 0;
  if (parse(kAllFamilies, strict(), given, family).is_ok()) {
    options.memtable_bytes = family.write_buffer_size;
  }
  return options;
}

}  // namespace basalt::kv
