#include "inspect/stored_database.h"

#include <rocksdb/db.h>
#include <rocksdb/options.h>

#include <utility>

#include "base/assert.h"
#include "base/key_range.h"
#include "catalog/records.h"
#include "kv/database.h"
#include "rdb/slice.h"
#include "rdb/status_conversion.h"

namespace basalt::inspect {

rdb::Options reading_options() {
  rdb::Options options;
  // The WAL has prepared transactions.
  options.allow_2pc = true;
  return options;
}

Result<std::unique_ptr<StoredDatabase>> StoredDatabase::open(const std::string& directory) {
  std::unique_ptr<StoredDatabase> database(new StoredDatabase);
  BASALT_TRY(database->open_families(directory));
  BASALT_TRY(database->read_names());
  return database;
}

StoredDatabase::StoredDatabase() = default;

StoredDatabase::~StoredDatabase() {
  if (db_ == nullptr) return;
  for (rdb::ColumnFamilyHandle* family : families_) {
    rdb::from_rocksdb(db_->DestroyColumnFamilyHandle(family)).ignore("nothing was changed");
  }
}

Status StoredDatabase::open_families(const std::string& directory) {
  const rdb::Options options = reading_options();
  std::vector<std::string> names;
  BASALT_TRY(rdb::from_rocksdb(rdb::DB::ListColumnFamilies(options, directory, &names)));
  if (names.size() <= kv::kSystemFamily || names[kv::kSystemFamily] != "__system__") {
    return Status(ErrorCode::kInvalidArgument,
                  "'" + directory + "' has no dictionary; give the directory rocksdb_datadir");
  }
  std::vector<rdb::ColumnFamilyDescriptor> descriptors;
  for (const std::string& name : names) descriptors.emplace_back(name, options);
  BASALT_TRY(rdb::from_rocksdb(
      rdb::DB::OpenForReadOnly(options, directory, descriptors, &families_, &db_)));
  BASALT_ASSERT(families_.size() == names.size());
  return Status::ok();
}

Status StoredDatabase::read_names() {
  const auto type = static_cast<char>(catalog::RecordType::kTable);
  const std::string first(1, type);
  const std::unique_ptr<rdb::Iterator> record(
      db_->NewIterator(rdb::ReadOptions(), families_[kv::kSystemFamily]));
  for (record->Seek(first); record->Valid() && record->key().starts_with(first); record->Next()) {
    BASALT_TRY(names_.add(rdb::view_of(record->value())));
  }
  return rdb::from_rocksdb(record->status());
}

std::string StoredDatabase::family_name(std::uint32_t number) const {
  return number < families_.size() ? families_[number]->GetName() : std::to_string(number);
}

Status StoredDatabase::print_entries(catalog::IndexId index, bool with_values,
                                     std::uint64_t& keys_max, std::FILE* out) {
  const auto name = names_.all().find(index);
  const std::uint32_t family =
      name == names_.all().end() ? kv::kDefaultFamily : name->second.family;
  if (family >= families_.size()) {
    return Status(ErrorCode::kCorruption,
                  "the column family of " + names_.describe(index) + " is not in the manifest");
  }
  const KeyRange range = index_key_range(index);
  const rdb::Slice upper = rdb::slice_of(range.upper);
  rdb::ReadOptions reads;
  if (!range.upper.empty()) reads.iterate_upper_bound = &upper;
  reads.fill_cache = false;
  const std::unique_ptr<rdb::Iterator> entry(db_->NewIterator(reads, families_[family]));
  for (entry->Seek(rdb::slice_of(range.lower)); entry->Valid() && keys_max > 0; entry->Next()) {
    const std::string key = names_.describe(rdb::view_of(entry->key()));
    const std::string value =
        with_values ? " => " + hexadecimal(rdb::view_of(entry->value())) : std::string();
    std::fprintf(out, "%s%s\n", key.c_str(), value.c_str());
    --keys_max;
  }
  return rdb::from_rocksdb(entry->status());
}

}  // namespace basalt::inspect
