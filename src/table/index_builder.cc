#include "table/index_builder.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <string>
#include <utility>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/failpoint.h"
#include "base/parallel.h"

namespace basalt::table {
namespace {

constexpr std::size_t kSortBytesMin = std::size_t{1} << 20;
// Less is not worth a thread.
constexpr std::uint64_t kRowsOfRangeMin = 8192;

}  // namespace

IndexBuilder::IndexBuilder(kv::Database& database, const BuildTables& tables,
                           std::span<const std::size_t> indexes, const kv::Snapshot& snapshot,
                           const Interruption& interruption, const Resources& resources)
    : database_(database),
      tables_(tables),
      indexes_(indexes.begin(), indexes.end()),
      snapshot_(snapshot),
      interruption_(interruption),
      resources_(resources) {
  for (const std::size_t index : indexes) builds_.push_back({index, nullptr, {}});
}

Result<std::uint64_t> IndexBuilder::run() {
  // As a compaction: nobody sees what is expired then, now or later. Where none takes rows the
  // build must not either.
  const Table& rows_table = tables_.rows();
  if (rows_table.has_expiry()) {
    BASALT_TRY(database_.renew_expiry_limit(1));
    kv::ExpiryClock& clock = database_.expiry_clock();
    expired_before_ = rows_table.definition().expiry->lifetime.expired_before(
        clock.takes_rows() ? clock.begin_compaction() : clock.taken_until());
  }
  Result<std::vector<KeyRange>> ranges = row_ranges();
  if (!ranges.is_ok()) return ranges.take_status();
  BASALT_TRY(begin(ranges.value().size()));
  Result<std::uint64_t> rows = scan(ranges.value());
  if (!rows.is_ok()) return rows;
  for (Build& build : builds_) BASALT_TRY(write(build));
  return rows;
}

// By what files tell of the rows; those in memtables fall where they fall.
Result<std::vector<KeyRange>> IndexBuilder::row_ranges() {
  const Table& table = tables_.rows();
  const catalog::IndexId id = table.index(0).id;
  Result<kv::IndexFiles> files = database_.index_files(table.family(0), id);
  if (!files.is_ok()) return files.take_status();
  std::string prefix;
  append_be32(prefix, id);
  std::vector<WeighedKey> anchors;
  for (const index_stats::IndexProperties& file : files.value().properties) {
    for (const index_stats::IndexProperties::Anchor& anchor : file.anchors) {
      anchors.push_back({prefix + anchor.key, file.anchor_distance});
    }
  }
  const std::size_t threads = tables_.complete == nullptr ? resources_.threads : 1;
  return cut_range(table.whole_range(0), std::move(anchors), threads, kRowsOfRangeMin);
}

// Prepares so many sorts of each index.
Status IndexBuilder::begin(std::size_t sorts) {
  const std::size_t memory =
      std::max(resources_.memory_bytes / (builds_.size() * sorts), kSortBytesMin);
  for (Build& build : builds_) {
    const catalog::IndexId id = tables_.table.index(build.index_number).id;
    Result<std::unique_ptr<bulk::BuildDirectory>> directory =
        bulk::BuildDirectory::make(database_.build_place(), id);
    if (!directory.is_ok()) return directory.take_status();
    build.directory = std::move(directory.value());
    for (std::size_t i = 0; i < sorts; ++i) {
      build.sorts.push_back(database_.new_external_sort(
          build.directory->path() + "/runs" + std::to_string(i), memory));
    }
  }
  return Status::ok();
}

Result<std::uint64_t> IndexBuilder::scan(const std::vector<KeyRange>& ranges) {
  std::vector<std::uint64_t> rows(ranges.size());
  BASALT_TRY(
      run_in_parallel(ranges.size(), [&](std::size_t number, const std::atomic<bool>& has_failed) {
        const Watch watch(interruption_, has_failed, resources_.pace);
        return scan_range(number, ranges[number], watch, rows[number]);
      }));
  return std::accumulate(rows.begin(), rows.end(), std::uint64_t{0});
}

// Gives each index's sort of this number the entries of the rows in `range`, and counts these.
Status IndexBuilder::scan_range(std::size_t number, const KeyRange& range, Watch watch,
                                std::uint64_t& rows) {
  EntryMaker maker(tables_, indexes_);
  std::string key;
  std::string value;
  std::uint64_t count = 0;
  kv::Iterator iterator =
      database_.new_iterator(tables_.rows().family(0), {&snapshot_, false}, range);
  for (iterator.seek_to_first(); iterator.is_valid(); iterator.next()) {
    BASALT_TRY(watch.check());
    if (row_time(iterator.value()) < expired_before_) continue;
    BASALT_TRY(maker.read(iterator.key(), iterator.value()));
    for (const Build& build : builds_) {
      maker.make(build.index_number, key, value);
      BASALT_TRY(build.sorts[number]->add(key, value));
    }
    ++count;
  }
  BASALT_TRY(iterator.status());
  for (const Build& build : builds_) BASALT_TRY(build.sorts[number]->finish());
  rows = count;
  return Status::ok();
}

Status IndexBuilder::write(Build& build) {
  const Table& table = tables_.table;
  const kv::FamilyId family = table.family(build.index_number);
  // The sorts of the other indexes have their part.
  FileResources resources = resources_;
  resources.memory_bytes /= builds_.size();
  EntryFiles files;
  Status written =
      write_entry_files(database_, family, table.whole_range(build.index_number), build.sorts,
                        build.directory->path() + "/", resources, interruption_, files);
  if (written.is(ErrorCode::kDuplicateKey)) {
    BASALT_TRY(EntryMaker(tables_, indexes_)
                   .find_duplicate(database_, snapshot_, build.index_number, files.first_key,
                                   files.first_value, duplicate_));
  }
  BASALT_TRY(std::move(written));
  build.sorts.clear();
  BASALT_FAILPOINT("table.build_index.before_ingest");
  BASALT_TRY(database_.ingest(family, files.paths));
  BASALT_FAILPOINT("table.build_index.after_ingest");
  build.directory.reset();
  return Status::ok();
}

}  // namespace basalt::table
