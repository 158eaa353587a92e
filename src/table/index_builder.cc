#include "table/index_builder.h"

#include <algorithm>

#include "base/failpoint.h"
#include "kv/sorted_files.h"

namespace basalt::table {
namespace {

constexpr std::uint64_t kStepsBetweenChecks = 1024;
constexpr std::size_t kSortBytesMin = std::size_t{1} << 20;

void add_columns(const catalog::IndexDefinition& index, codec::ColumnSet& columns) {
  for (const catalog::KeyPartDefinition& part : index.parts) columns.set(part.column);
}

}  // namespace

IndexBuilder::IndexBuilder(kv::Database& database, const Table& table,
                           std::span<const std::size_t> indexes, const Interruption& interruption,
                           std::size_t memory_bytes)
    : database_(database),
      table_(table),
      interruption_(interruption),
      memory_bytes_(memory_bytes),
      record_(table.layout().record_length) {
  for (const std::size_t index : indexes) builds_.push_back({index, nullptr, nullptr});
}

Status IndexBuilder::check_interruption() {
  if (++steps_ % kStepsBetweenChecks != 0 || !interruption_.is_raised()) return Status::ok();
  return Status::of(ErrorCode::kInterrupted);
}

Result<std::uint64_t> IndexBuilder::run() {
  BASALT_TRY(begin());
  Result<std::uint64_t> rows = scan();
  if (!rows.is_ok()) return rows;
  for (Build& build : builds_) BASALT_TRY(write(build));
  return rows;
}

Status IndexBuilder::begin() {
  const std::size_t memory = std::max(memory_bytes_ / builds_.size(), kSortBytesMin);
  for (Build& build : builds_) {
    const catalog::IndexId id = table_.index(build.index_number).id;
    Result<std::unique_ptr<kv::BuildDirectory>> directory =
        kv::BuildDirectory::make(database_.options(), id);
    if (!directory.is_ok()) return directory.take_status();
    build.directory = std::move(directory.value());
    build.sort = std::make_unique<kv::ExternalSort>(
        database_, build.directory->path() + "/runs", memory);
  }
  return Status::ok();
}

// What entries are made of: the columns of the new indexes and of the primary key.
codec::ReadPlan IndexBuilder::plan() const {
  codec::ColumnSet wanted(table_.layout().columns.size());
  add_columns(table_.index(0), wanted);
  for (const Build& build : builds_) add_columns(table_.index(build.index_number), wanted);
  return table_.primary().plan(wanted);
}

Result<std::uint64_t> IndexBuilder::scan() {
  const codec::ReadPlan read_plan = plan();
  std::uint64_t rows = 0;
  kv::Iterator iterator =
      database_.new_iterator(table_.family(0), {nullptr, false}, table_.whole_range(0));
  for (iterator.seek_to_first(); iterator.is_valid(); iterator.next()) {
    BASALT_TRY(check_interruption());
    BASALT_TRY(
        table_.primary().read(iterator.key(), iterator.value(), read_plan, record_.data()));
    BASALT_TRY(add_row(iterator.key()));
    ++rows;
  }
  BASALT_TRY(iterator.status());
  return rows;
}

Status IndexBuilder::add_row(std::string_view primary_key) {
  for (Build& build : builds_) {
    table_.secondary(build.index_number).make_entry(record_.data(), primary_key, key_, value_);
    BASALT_TRY(build.sort->add(key_, value_));
  }
  return Status::ok();
}

Status IndexBuilder::write(Build& build) {
  const kv::FamilyId family = table_.family(build.index_number);
  kv::SortedFiles files(database_, family, build.directory->path());
  const auto put = [&](std::string_view key, std::string_view value) {
    BASALT_TRY(check_interruption());
    return files.put(key, value);
  };
  BASALT_TRY(build.sort->drain(put));
  build.sort.reset();
  BASALT_TRY(files.finish());
  BASALT_FAILPOINT("table.build_index.before_ingest");
  BASALT_TRY(database_.ingest(family, files.paths()));
  BASALT_FAILPOINT("table.build_index.after_ingest");
  build.directory.reset();
  return Status::ok();
}

}  // namespace basalt::table
