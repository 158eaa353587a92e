#include "txn/loaded_file_reader.h"

#include <rocksdb/iterator.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>
#include <rocksdb/utilities/transaction_db.h>

#include <string>
#include <utility>

#include "base/assert.h"
#include "base/key_range.h"
#include "rdb/slice.h"
#include "rdb/status_conversion.h"
#include "txn/key_spans.h"

namespace basalt::txn {
namespace {

std::unique_ptr<rdb::Iterator> entries_of(rdb::SstFileReader& file) {
  rdb::ReadOptions options;
  options.fill_cache = false;
  return std::unique_ptr<rdb::Iterator>(file.NewIterator(options));
}

// Appends the first and the last entry of each index.
Status append_keys(rdb::SstFileReader& file, std::vector<LoadedKeys>& keys) {
  const std::unique_ptr<rdb::Iterator> entries = entries_of(file);
  entries->SeekToFirst();
  while (entries->Valid()) {
    LoadedKeys& of_index = keys.emplace_back();
    of_index.first = rdb::view_of(entries->key());
    of_index.first_value = rdb::view_of(entries->value());
    const std::string upper = index_key_range(KeySpans::index_of(of_index.first)).upper;
    entries->SeekForPrev(upper);
    // The bound may be a key itself, of the next index.
    if (entries->Valid() && rdb::view_of(entries->key()) == upper) entries->Prev();
    if (!entries->Valid()) break;
    of_index.last = rdb::view_of(entries->key());
    BASALT_DEBUG_ASSERT(of_index.first <= of_index.last);
    entries->Next();
  }
  return rdb::from_rocksdb(entries->status());
}

Result<std::unique_ptr<rdb::SstFileReader>> open_file(kv::Database& database, kv::FamilyId family,
                                                      const std::string& path) {
  const rdb::Options options =
      database.rocksdb().GetBaseDB()->GetOptions(database.family_handle(family));
  auto file = std::make_unique<rdb::SstFileReader>(options);
  BASALT_TRY(rdb::from_rocksdb(file->Open(path)));
  return file;
}

}  // namespace

LoadedFileReader::LoadedFileReader(kv::Database& database) : database_(database) {}

LoadedFileReader::~LoadedFileReader() = default;

Status LoadedFileReader::open(LoadedFiles& load) {
  std::vector<LoadedKeys> keys;
  for (const kv::FamilyFiles& of_family : load.files) {
    for (const std::string& path : of_family.paths) {
      auto opened = open_file(database_, of_family.family, path);
      if (!opened.is_ok()) return opened.take_status();
      rdb::SstFileReader& file = *files_.emplace_back(std::move(opened.value()));
      entry_count_ += file.GetTableProperties()->num_entries;
      BASALT_TRY(append_keys(file, keys));
    }
  }
  if (keys.empty()) return Status(ErrorCode::kCorruption, "the files of a load have no entries");
  load.keys = std::move(keys);
  return Status::ok();
}

Status LoadedFileReader::for_each_key(
    const std::function<Status(std::string_view key)>& visit) const {
  for (const auto& file : files_) {
    const std::unique_ptr<rdb::Iterator> entries = entries_of(*file);
    for (entries->SeekToFirst(); entries->Valid(); entries->Next()) {
      BASALT_TRY(visit(rdb::view_of(entries->key())));
    }
    BASALT_TRY(rdb::from_rocksdb(entries->status()));
  }
  return Status::ok();
}

Status verify_loaded_files(kv::Database& database, std::span<const LoadedFiles> loads) {
  for (const LoadedFiles& load : loads) {
    for (const kv::FamilyFiles& of_family : load.files) {
      for (const std::string& path : of_family.paths) {
        auto file = open_file(database, of_family.family, path);
        if (!file.is_ok()) return file.take_status();
        BASALT_TRY(rdb::from_rocksdb(file.value()->VerifyChecksum()));
      }
    }
  }
  return Status::ok();
}

}  // namespace basalt::txn
