#include "txn/loaded_files.h"

#include <rocksdb/utilities/transaction_db.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/failpoint.h"
#include "rdb/status_conversion.h"
#include "txn/key_spans.h"

namespace basalt::txn {
namespace {

// The type of the records among those of the system family.
constexpr char kRecordType = '\x09';
constexpr std::size_t kKeyBytes = 5;
constexpr char kIngestedType = '\x0e';
constexpr std::uint64_t kVersion = 1;
// With a list of indexes.
constexpr std::uint64_t kVersionOfChanges = 2;

Status damaged() { return Status(ErrorCode::kCorruption, "the record of a load does not decode"); }

bool parse_files(const std::string& directory, std::string_view& bytes, kv::FamilyFiles& files) {
  std::uint64_t family = 0;
  std::uint64_t count = 0;
  if (!consume_varint(bytes, family) || !consume_varint(bytes, count)) return false;
  files.family = static_cast<kv::FamilyId>(family);
  for (; count != 0; --count) {
    std::string_view name;
    if (!consume_length_prefixed(bytes, name)) return false;
    files.paths.push_back(directory + "/" + std::string(name));
  }
  return true;
}

bool parse_indexes(std::string_view& bytes, std::vector<std::uint32_t>& indexes) {
  std::uint64_t count = 0;
  if (!consume_varint(bytes, count) || count == 0) return false;
  for (; count != 0; --count) {
    std::uint64_t index = 0;
    if (!consume_varint(bytes, index)) return false;
    indexes.push_back(static_cast<std::uint32_t>(index));
  }
  return true;
}

}  // namespace

std::string loaded_files_key(std::uint32_t directory) {
  std::string key(1, kRecordType);
  append_be32(key, directory);
  return key;
}

bool is_loaded_files_key(std::string_view key) {
  return key.size() == kKeyBytes && key.front() == kRecordType;
}

std::string ingested_files_key(std::uint32_t directory) {
  std::string key(1, kIngestedType);
  append_be32(key, directory);
  return key;
}

std::string pack_loaded_files(const LoadedFiles& files) {
  BASALT_ASSERT(!files.row_key.empty());  // else nobody could tell later whether they are ingested
  std::string value;
  append_varint(value, files.indexes.empty() ? kVersion : kVersionOfChanges);
  if (!files.indexes.empty()) append_varint(value, files.indexes.size());
  for (const std::uint32_t index : files.indexes) append_varint(value, index);
  append_varint(value, files.row_family);
  append_length_prefixed(value, files.row_key);
  append_varint(value, files.files.size());
  for (const kv::FamilyFiles& of_family : files.files) {
    append_varint(value, of_family.family);
    append_varint(value, of_family.paths.size());
    for (const std::string& path : of_family.paths) {
      append_length_prefixed(value, std::filesystem::path(path).filename().string());
    }
  }
  return value;
}

Result<LoadedFiles> parse_loaded_files(const bulk::BuildPlace& place, std::string_view key,
                                       std::string_view value) {
  LoadedFiles files;
  std::uint64_t version = 0;
  std::uint64_t family = 0;
  std::uint64_t count = 0;
  std::string_view row_key;
  if (!is_loaded_files_key(key) || !consume_varint(value, version) || version < kVersion ||
      version > kVersionOfChanges ||
      (version == kVersionOfChanges && !parse_indexes(value, files.indexes)) ||
      !consume_varint(value, family) || !consume_length_prefixed(value, row_key) ||
      !consume_varint(value, count)) {
    return damaged();
  }
  files.directory = bulk::BuildDirectory::find_load(place, load_be32(key.data() + 1));
  files.row_family = static_cast<kv::FamilyId>(family);
  files.row_key = row_key;
  for (; count != 0; --count) {
    if (!parse_files(files.directory->path(), value, files.files.emplace_back())) {
      files.directory->leave();
      return damaged();
    }
  }
  return files;
}

Status make_way_for(kv::Database& database, std::span<const LoadedFiles> loads) {
  for (const LoadedFiles& load : loads) {
    if (load.keys.empty()) continue;
    std::vector<kv::FamilyId> families;
    for (const kv::FamilyFiles& of_family : load.files) families.push_back(of_family.family);
    BASALT_TRY(database.make_way(families, range_around(load.keys)));
  }
  return Status::ok();
}

Result<kv::PreparedIngestion> prepare_ingestion(kv::Database& database,
                                                std::span<const LoadedFiles> loads) {
  std::vector<kv::FamilyFiles> files;
  for (const LoadedFiles& load : loads) {
    for (const kv::FamilyFiles& of_family : load.files) {
      kv::append_files(files, of_family.family, of_family.paths);
    }
  }
  return database.prepare_ingestion(files, kv::Ingested::kNewToSnapshots);
}

Status publish_loaded_files(kv::Database& database, std::span<const LoadedFiles> loads,
                            kv::PreparedIngestion files) {
  BASALT_ASSERT(!loads.empty());
  BASALT_HOLDPOINT("txn.load.ingest");
  BASALT_FAILPOINT("txn.load.before_ingest");
  BASALT_TRY(database.ingest(std::move(files)));
  BASALT_FAILPOINT("txn.load.after_ingest");
  return forget_loaded_files(database, loads, kv::Durability::kBuffered);
}

Status publish_again(kv::Database& database, std::span<const LoadedFiles> loads) {
  BASALT_ASSERT(!loads.empty());
  kv::PinnedValue row;
  bool is_done = false;
  BASALT_TRY(database.get(loads.front().row_family, loads.front().row_key, {}, row, is_done));
  if (is_done) return forget_loaded_files(database, loads, kv::Durability::kBuffered);
  Result<kv::PreparedIngestion> files = prepare_ingestion(database, loads);
  if (!files.is_ok()) return files.take_status();
  return publish_loaded_files(database, loads, std::move(files.value()));
}

Status forget_loaded_files(kv::Database& database, std::span<const LoadedFiles> loads,
                           kv::Durability durability) {
  rdb::WriteBatch records;
  rdb::ColumnFamilyHandle* const family = database.family_handle(kv::kSystemFamily);
  for (const LoadedFiles& load : loads) {
    const std::uint32_t number = load.directory->number();
    BASALT_TRY(rdb::from_rocksdb(records.Delete(family, loaded_files_key(number))));
    if (load.indexes.empty()) continue;
    BASALT_TRY(rdb::from_rocksdb(records.Delete(family, ingested_files_key(number))));
  }
  // Not by kv::Database::write(): what is committed is finished before a database that was
  // read-only lets others write.
  rdb::WriteOptions options;
  options.sync = durability == kv::Durability::kSynced;
  return database.write_wal(
      [&] { return database.rocksdb().GetBaseDB()->Write(options, &records); });
}

Status recover_loaded_files(kv::Database& database, const std::set<std::uint32_t>& prepared) {
  const bulk::BuildPlace place = database.build_place();
  std::vector<LoadedFiles> loads;
  {
    const KeyRange range{std::string(1, kRecordType), std::string(1, kRecordType + 1)};
    kv::Iterator iterator = database.new_iterator(kv::kSystemFamily, {}, range);
    for (iterator.seek_to_first(); iterator.is_valid(); iterator.next()) {
      Result<LoadedFiles> load = parse_loaded_files(place, iterator.key(), iterator.value());
      if (!load.is_ok()) return load.take_status();
      loads.push_back(std::move(load.value()));
    }
    BASALT_TRY(iterator.status());
  }
  for (const LoadedFiles& load : loads) {
    const Status status = publish_again(database, {&load, 1});
    if (status.is_ok()) continue;
    for (const LoadedFiles& left : loads) left.directory->leave();
    return Status(status.code(), "the rows of a load that was committed, in '" +
                                     load.directory->path() + "': " + status.message());
  }
  bulk::BuildDirectory::remove_loads(place, prepared);
  return Status::ok();
}

}  // namespace basalt::txn
