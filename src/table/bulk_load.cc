#include "table/bulk_load.h"

#include <algorithm>
#include <utility>

namespace basalt::table {
namespace {

constexpr std::size_t kSortBytesMin = std::size_t{1} << 20;
// A file that is written takes about so much: buffers, and blocks until there is a dictionary for
// them.
constexpr std::size_t kBytesOfThread = std::size_t{6} << 20;

}  // namespace

Result<std::unique_ptr<BulkLoad>> BulkLoad::make(kv::Database& database, const Table& table,
                                                 const Resources& resources,
                                                 const Interruption& interruption) {
  Result<std::unique_ptr<bulk::BuildDirectory>> directory =
      bulk::BuildDirectory::make_load(database.build_place());
  if (!directory.is_ok()) return directory.take_status();
  return std::unique_ptr<BulkLoad>(
      new BulkLoad(database, table, resources, interruption, std::move(directory.value())));
}

BulkLoad::BulkLoad(kv::Database& database, const Table& table, const Resources& resources,
                   const Interruption& interruption,
                   std::unique_ptr<bulk::BuildDirectory> directory)
    : table_(table),
      resources_(resources),
      directory_(std::move(directory)),
      threads_left_(resources.threads == 1
                        ? 0
                        : std::min(resources.threads, resources.memory_bytes / kBytesOfThread)) {
  const std::size_t memory = std::max(resources.memory_bytes / table.index_count(), kSortBytesMin);
  for (std::size_t i = 0; i < table.index_count(); ++i) {
    IndexLoad::Place place = {database, table.family(i), table.whole_range(i),
                              directory_->path() + "/" + std::to_string(i) + "-"};
    indexes_.push_back(
        std::make_unique<IndexLoad>(std::move(place), memory, threads_left_, interruption));
  }
}

Status BulkLoad::add(std::size_t index_number, std::string_view key, std::string_view value) {
  return indexes_[index_number]->add(key, value);
}

Status BulkLoad::write(std::size_t index_number, txn::LoadedFiles& loaded) {
  BASALT_TRY(indexes_[index_number]->finish(resources_, files_));
  indexes_[index_number].reset();
  if (files_.paths.empty()) return Status::ok();
  const kv::FamilyId family = table_.family(index_number);
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

Status BulkLoad::finish(txn::LoadedFiles& loaded) {
  for (duplicate_index_ = 0; duplicate_index_ < indexes_.size(); ++duplicate_index_) {
    BASALT_TRY(write(duplicate_index_, loaded));
  }
  loaded.directory = std::move(directory_);
  return Status::ok();
}

}  // namespace basalt::table
