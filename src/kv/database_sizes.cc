// What is stored of ranges and indexes, as files and memtables tell it without being read.
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <rocksdb/utilities/transaction_db.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/bytes.h"
#include "index_stats/index_collector.h"
#include "kv/database.h"
#include "kv/rocksdb_reads.h"
#include "rdb/status_conversion.h"

namespace basalt::kv {

RangeSize Database::estimate(FamilyId family, const KeyRange& range) {
  RangeSize result;
  const rdb::Range bounds = range_of(range);
  rdb::SizeApproximationOptions options;
  options.include_files = true;
  options.include_memtables = false;
  rdb::from_rocksdb(
      db_->GetApproximateSizes(options, family_handle(family), &bounds, 1, &result.bytes))
      .ignore("it refuses options that contradict each other, nothing else");
  db_->GetApproximateMemTableStats(family_handle(family), bounds, &result.memtable_entries,
                                   &result.memtable_bytes);
  return result;
}

Result<std::vector<std::uint32_t>> Database::stored_indexes(FamilyId family) {
  rdb::ReadOptions options;
  options.total_order_seek = true;
  options.fill_cache = false;
  const std::unique_ptr<rdb::Iterator> iterator(
      db_->GetBaseDB()->NewIterator(options, family_handle(family)));
  std::vector<std::uint32_t> ids;
  iterator->SeekToFirst();
  while (iterator->Valid()) {
    const rdb::Slice key = iterator->key();
    if (key.size() < sizeof(std::uint32_t)) {
      return Status(ErrorCode::kCorruption, "there is a key that is of no index");
    }
    const std::uint32_t id = load_be32(key.data());
    BASALT_DEBUG_ASSERT(ids.empty() || ids.back() < id);
    ids.push_back(id);
    if (id == UINT32_MAX) break;
    std::string next;
    append_be32(next, id + 1);
    iterator->Seek(next);
  }
  BASALT_TRY(rdb::from_rocksdb(iterator->status()));
  return ids;
}

std::uint64_t Database::estimate_memtable_entries(FamilyId family, const KeyRange& range) {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;
  db_->GetApproximateMemTableStats(family_handle(family), range_of(range), &entries, &bytes);
  return entries;
}

double Database::expansion(FamilyId family, const KeyRange& range) {
  rdb::TablePropertiesCollection files;
  const rdb::Range bounds = range_of(range);
  const rdb::Status status =
      db_->GetBaseDB()->GetPropertiesOfTablesInRange(family_handle(family), &bounds, 1, &files);
  if (!status.ok()) return 1;
  const DataBytes bytes = data_bytes(files);
  if (bytes.stored == 0) return 1;
  return static_cast<double>(bytes.raw) / static_cast<double>(bytes.stored);
}

namespace {

void add_index_properties(const rdb::TableProperties& file, const std::string& name,
                          IndexFiles& result) {
  const rdb::UserCollectedProperties& collected = file.user_collected_properties;
  const auto found = collected.find(name);
  if (found != collected.end()) {
    std::optional<index_stats::IndexProperties> properties =
        index_stats::parse_index_properties(found->second);
    if (properties.has_value()) {
      result.properties.push_back(std::move(*properties));
    } else {
      result.has_unknown = true;
    }
    return;
  }
  // A file that tells of other indexes has nothing of this one.
  const auto other = collected.lower_bound(std::string(index_stats::kIndexPropertyPrefix));
  const bool tells =
      other != collected.end() && other->first.starts_with(index_stats::kIndexPropertyPrefix);
  if (!tells && file.num_entries > file.num_range_deletions) result.has_unknown = true;
}

}  // namespace

Result<IndexFiles> Database::index_files(FamilyId family, std::uint32_t index_id) {
  const KeyRange range = index_key_range(index_id);
  const rdb::Range bounds = range_of(range);
  rdb::TablePropertiesCollection files;
  BASALT_TRY(rdb::from_rocksdb(
      db_->GetBaseDB()->GetPropertiesOfTablesInRange(family_handle(family), &bounds, 1, &files)));
  const std::string name = index_stats::index_property_name(index_id);
  IndexFiles result;
  double bytes = 0;
  double blocks = 0;
  for (const auto& [path, properties] : files) {
    add_index_properties(*properties, name, result);
    bytes += static_cast<double>(properties->data_size);
    blocks += static_cast<double>(properties->num_data_blocks);
  }
  result.block_bytes = blocks > 0 ? bytes / blocks : 0;
  return result;
}

}  // namespace basalt::kv
