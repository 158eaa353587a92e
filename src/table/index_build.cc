#include "table/index_build.h"

#include <atomic>
#include <limits>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/failpoint.h"
#include "bulk/build_directory.h"
#include "table/entry_files.h"
#include "table/index_updater.h"

namespace basalt::table {
namespace {

// So many changed rows, with so much of entries, which may be rows, take some hundredths of a
// second, for which writers may wait at the end.
constexpr std::uint64_t kFewRows = 1000;
constexpr std::uint64_t kFewBytes = std::uint64_t{4} << 20;

}  // namespace

IndexBuild::IndexBuild(kv::Database& database, txn::TransactionManager& transactions,
                       std::unique_ptr<const Table> altered,
                       std::unique_ptr<const Table> rows_before, std::vector<std::size_t> indexes,
                       catalog::IndexId journal, const Resources& resources, CompleteRow complete)
    : database_(database),
      transactions_(transactions),
      table_(std::move(altered)),
      rows_before_(std::move(rows_before)),
      complete_(std::move(complete)),
      tables_{*table_, rows_before_.get(), complete_ == nullptr ? nullptr : &complete_},
      indexes_(std::move(indexes)),
      journal_(journal),
      resources_(resources),
      reader_(journal) {}

Status IndexBuild::build(const Interruption& interruption, Pace pace) {
  snapshot_ = database_.take_snapshot();
  Resources resources = resources_;
  resources.pace = pace;
  IndexBuilder builder(database_, tables_, indexes_, *snapshot_, interruption, resources);
  Result<std::uint64_t> rows = builder.run();
  duplicate_ = builder.duplicate();
  if (!rows.is_ok()) return rows.take_status();
  rows_ = rows.value();
  BASALT_HOLDPOINT("table.build_index.built");
  return Status::ok();
}

Result<std::uint64_t> IndexBuild::catch_up(const Interruption& interruption) {
  BASALT_FAILPOINT("table.catch_up.before_round");
  // Before the snapshot, which has all that has ended by then.
  const std::uint64_t first_open = transactions_.first_open_number();
  std::unique_ptr<kv::Snapshot> snapshot = database_.take_snapshot();
  Result<std::unique_ptr<bulk::BuildDirectory>> directory =
      bulk::BuildDirectory::make(database_.build_place(), journal_);
  if (!directory.is_ok()) return directory.take_status();
  IndexUpdater updater(database_, tables_, indexes_, {*snapshot_, *snapshot},
                       directory.value()->path(), resources_.memory_bytes);
  std::string key;
  append_be32(key, tables_.rows().index(0).id);
  const std::atomic<bool> has_failed = false;  // one thread reads
  Watch watch(interruption, has_failed);
  const auto add_row = [&](std::string_view primary_key) -> Status {
    BASALT_TRY(watch.check());
    key.resize(kIndexIdBytes);
    key.append(primary_key);
    return updater.add(key);
  };
  BASALT_TRY(reader_.read(database_, *snapshot, first_open, add_row));
  Status status = updater.run(interruption);
  duplicate_ = updater.duplicate();
  BASALT_TRY(std::move(status));
  BASALT_FAILPOINT("table.catch_up.after_round");
  changed_bytes_ = updater.bytes();
  rows_ += static_cast<std::uint64_t>(updater.more_rows());
  snapshot_ = std::move(snapshot);
  return updater.rows();
}

Status IndexBuild::read_duplicate(std::uint8_t* record) const {
  BASALT_ASSERT(duplicate_.has_value());
  const bool is_completed = tables_.complete != nullptr;
  codec::ColumnSet columns(table_->layout().columns.size(), is_completed);
  for (const catalog::KeyPartDefinition& part : table_->index(duplicate_->index_number).parts) {
    columns.set(part.column);
  }
  const codec::PrimaryCodec& rows = table_->primary();
  BASALT_TRY(rows.read(duplicate_->primary_key, duplicate_->row, rows.plan(columns), record));
  return is_completed ? complete_(record) : Status::ok();
}

Status catch_up_with_writers(std::span<IndexBuild* const> builds,
                             const Interruption& interruption) {
  std::uint64_t left = std::numeric_limits<std::uint64_t>::max();
  while (true) {
    std::uint64_t rows = 0;
    std::uint64_t bytes = 0;
    for (IndexBuild* const build : builds) {
      Result<std::uint64_t> changed = build->catch_up(interruption);
      if (!changed.is_ok()) return changed.take_status();
      rows += changed.value();
      bytes += build->changed_bytes();
    }
    if ((rows <= kFewRows && bytes <= kFewBytes) || rows > left / 2) return Status::ok();
    left = rows;
  }
}

}  // namespace basalt::table
