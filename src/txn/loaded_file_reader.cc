#include "txn/loaded_file_reader.h"

#include <rocksdb/sst_file_reader.h>

#include <string>
#include <utility>

#include "base/assert.h"
#include "base/key_range.h"
#include "rdb/status_conversion.h"
#include "txn/key_spans.h"
#include "txn/spilled_run.h"

namespace basalt::txn {
namespace {

// Appends the first and the last entry of each index, and one that is put.
Status append_keys(rdb::SstFileReader& file, std::vector<LoadedKeys>& keys) {
  const std::unique_ptr<ChangeSource> entries = changes_of_file(file);
  entries->seek_to_first();
  while (entries->is_valid()) {
    LoadedKeys& of_index = keys.emplace_back();
    of_index.first = entries->key();
    of_index.first_value = entries->value();
    const std::string upper = index_key_range(KeySpans::index_of(of_index.first)).upper;
    if (!entries->is_put()) {
      while (entries->is_valid() && entries->key() < upper && !entries->is_put()) entries->next();
      const bool is_found = entries->is_valid() && entries->key() < upper;
      of_index.put.emplace();
      if (is_found) of_index.put = {std::string(entries->key()), std::string(entries->value())};
    }
    entries->seek_for_previous(upper);
    // The bound may be a key itself, of the next index.
    if (entries->is_valid() && entries->key() == upper) entries->previous();
    if (!entries->is_valid()) break;
    of_index.last = entries->key();
    BASALT_DEBUG_ASSERT(of_index.first <= of_index.last);
    entries->next();
  }
  return entries->status();
}

}  // namespace

LoadedFileReader::LoadedFileReader(kv::Database& database) : database_(database) {}

LoadedFileReader::~LoadedFileReader() = default;

Status LoadedFileReader::open(LoadedFiles& load) {
  std::vector<LoadedKeys> keys;
  load.entry_count = 0;
  for (const kv::FamilyFiles& of_family : load.files) {
    for (const std::string& path : of_family.paths) {
      auto opened = open_sorted_file(database_, of_family.family, path);
      if (!opened.is_ok()) return opened.take_status();
      // What is there to tell of the ingestion is nobody's row.
      if (of_family.family == kv::kSystemFamily) continue;
      files_.push_back(std::move(opened.value()));
      load.entry_count += files_.back()->GetTableProperties()->num_entries;
      BASALT_TRY(append_keys(*files_.back(), keys));
    }
  }
  if (keys.empty()) return Status(ErrorCode::kCorruption, "the files of a load have no entries");
  entry_count_ += load.entry_count;
  load.keys = std::move(keys);
  return Status::ok();
}

Status LoadedFileReader::for_each_key(
    const std::function<Status(std::string_view key)>& visit) const {
  for (const auto& file : files_) {
    const std::unique_ptr<ChangeSource> entries = changes_of_file(*file);
    for (entries->seek_to_first(); entries->is_valid(); entries->next()) {
      BASALT_TRY(visit(entries->key()));
    }
    BASALT_TRY(entries->status());
  }
  return Status::ok();
}

Status verify_loaded_files(kv::Database& database, std::span<const LoadedFiles> loads) {
  for (const LoadedFiles& load : loads) {
    for (const kv::FamilyFiles& of_family : load.files) {
      for (const std::string& path : of_family.paths) {
        auto file = open_sorted_file(database, of_family.family, path);
        if (!file.is_ok()) return file.take_status();
        BASALT_TRY(rdb::from_rocksdb(file.value()->VerifyChecksum()));
      }
    }
  }
  return Status::ok();
}

}  // namespace basalt::txn
