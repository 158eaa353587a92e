#include "table/bulk_load.h"

#include <algorithm>
#include <utility>

namespace basalt::table {
namespace {

constexpr std::size_t kSortBytesMin = std::size_t{1} << 20;

}  // namespace

Result<std::unique_ptr<BulkLoad>> BulkLoad::make(kv::Database& database, const Table& table,
                                                 const Resources& resources) {
  Result<std::unique_ptr<bulk::BuildDirectory>> directory =
      bulk::BuildDirectory::make_load(database.build_place());
  if (!directory.is_ok()) return directory.take_status();
  return std::unique_ptr<BulkLoad>(
      new BulkLoad(database, table, resources, std::move(directory.value())));
}

BulkLoad::BulkLoad(kv::Database& database, const Table& table, const Resources& resources,
                   std::unique_ptr<bulk::BuildDirectory> directory)
    : database_(database), table_(table), resources_(resources), directory_(std::move(directory)) {
  const std::size_t memory = std::max(resources.memory_bytes / table.index_count(), kSortBytesMin);
  for (std::size_t i = 0; i < table.index_count(); ++i) {
    sorts_.push_back(
        database.new_external_sort(directory_->path() + "/runs" + std::to_string(i), memory));
  }
}

Status BulkLoad::add(std::size_t index_number, std::string_view key, std::string_view value) {
  return sorts_[index_number]->add(key, value);
}

Status BulkLoad::write(std::size_t index_number, const Interruption& interruption,
                       txn::LoadedFiles& loaded) {
  const std::span sorts(&sorts_[index_number], 1);
  BASALT_TRY(sorts.front()->finish());
  const kv::FamilyId family = table_.family(index_number);
  BASALT_TRY(write_entry_files(database_, family, table_.whole_range(index_number), sorts,
                               directory_->path() + "/" + std::to_string(index_number) + "-",
                               resources_, interruption, files_));
  sorts.front().reset();
  if (files_.paths.empty()) return Status::ok();
  auto of_family = std::ranges::find(loaded.files, family, &kv::FamilyFiles::family);
  if (of_family == loaded.files.end()) {
    loaded.files.push_back({family, {}});
    of_family = std::prev(loaded.files.end());
  }
  of_family->paths.insert(of_family->paths.end(), files_.paths.begin(), files_.paths.end());
  if (index_number == 0) {
    loaded.row_family = family;
    loaded.row_key = files_.first_key;
  }
  loaded.keys.push_back(
      {std::move(files_.first_key), std::move(files_.first_value), std::move(files_.last_key)});
  return Status::ok();
}

Status BulkLoad::finish(const Interruption& interruption, txn::LoadedFiles& loaded) {
  for (duplicate_index_ = 0; duplicate_index_ < sorts_.size(); ++duplicate_index_) {
    BASALT_TRY(write(duplicate_index_, interruption, loaded));
  }
  loaded.directory = std::move(directory_);
  return Status::ok();
}

}  // namespace basalt::table
