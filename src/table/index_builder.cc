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

constexpr std::uint64_t kStepsBetweenChecks = 1024;
constexpr std::size_t kSortBytesMin = std::size_t{1} << 20;
// Less is not worth a thread, nor a file.
constexpr std::uint64_t kRowsOfRangeMin = 8192;
constexpr std::uint64_t kEntryBytesOfRangeMin = std::uint64_t{1} << 20;

void add_columns(const catalog::IndexDefinition& index, codec::ColumnSet& columns) {
  for (const catalog::KeyPartDefinition& part : index.parts) columns.set(part.column);
}

// A key, and about how much there is between the one before it and it.
struct Weighed {
  std::string key;
  std::uint64_t weight;
};

// Cuts `whole` into at most `most` ranges with about the same weight, about `least` or more.
std::vector<KeyRange> cut(const KeyRange& whole, std::vector<Weighed> keys, std::size_t most,
                          std::uint64_t least) {
  std::sort(keys.begin(), keys.end(),
            [](const Weighed& left, const Weighed& right) { return left.key < right.key; });
  const std::uint64_t total =
      std::accumulate(keys.begin(), keys.end(), std::uint64_t{0},
                      [](std::uint64_t sum, const Weighed& key) { return sum + key.weight; });
  const std::uint64_t count = std::clamp<std::uint64_t>(total / least, 1, most);
  std::vector<KeyRange> ranges = {whole};
  std::uint64_t before = 0;
  for (const Weighed& key : keys) {
    before += key.weight;
    if (before * count < total * ranges.size() || ranges.size() == count) continue;
    // Anchors are cut, so that several may be equal.
    if (key.key <= ranges.back().lower) continue;
    ranges.back().upper = key.key;
    ranges.push_back({key.key, whole.upper});
  }
  return ranges;
}

}  // namespace

// Looks now and then whether one of the threads is to end before its work is done.
class IndexBuilder::Watch {
 public:
  Watch(const Interruption& interruption, const std::atomic<bool>& has_failed)
      : interruption_(interruption), has_failed_(has_failed) {}

  Status check() {
    if (++steps_ % kStepsBetweenChecks != 0) return Status::ok();
    const bool must_end = has_failed_.load(std::memory_order_relaxed) || interruption_.is_raised();
    return must_end ? Status::of(ErrorCode::kInterrupted) : Status::ok();
  }

 private:
  const Interruption& interruption_;
  const std::atomic<bool>& has_failed_;
  std::uint64_t steps_ = 0;
};

IndexBuilder::IndexBuilder(kv::Database& database, const Table& table,
                           std::span<const std::size_t> indexes, const Interruption& interruption,
                           const Resources& resources)
    : database_(database), table_(table), interruption_(interruption), resources_(resources) {
  for (const std::size_t index : indexes) builds_.push_back({index, nullptr, {}});
}

Result<std::uint64_t> IndexBuilder::run() {
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
  const catalog::IndexId id = table_.index(0).id;
  Result<kv::IndexFiles> files = database_.index_files(table_.family(0), id);
  if (!files.is_ok()) return files.take_status();
  std::string prefix;
  append_be32(prefix, id);
  std::vector<Weighed> anchors;
  for (const index_stats::IndexProperties& file : files.value().properties) {
    for (const index_stats::IndexProperties::Anchor& anchor : file.anchors) {
      anchors.push_back({prefix + anchor.key, file.anchor_distance});
    }
  }
  return cut(table_.whole_range(0), std::move(anchors), resources_.threads, kRowsOfRangeMin);
}

// Prepares so many sorts of each index.
Status IndexBuilder::begin(std::size_t sorts) {
  const std::size_t memory =
      std::max(resources_.memory_bytes / (builds_.size() * sorts), kSortBytesMin);
  for (Build& build : builds_) {
    const catalog::IndexId id = table_.index(build.index_number).id;
    Result<std::unique_ptr<bulk::BuildDirectory>> directory =
        bulk::BuildDirectory::make(database_.options().directory, id);
    if (!directory.is_ok()) return directory.take_status();
    build.directory = std::move(directory.value());
    for (std::size_t i = 0; i < sorts; ++i) {
      build.sorts.push_back(database_.new_external_sort(
          build.directory->path() + "/runs" + std::to_string(i), memory));
    }
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

Result<std::uint64_t> IndexBuilder::scan(const std::vector<KeyRange>& ranges) {
  const codec::ReadPlan read_plan = plan();
  std::vector<std::uint64_t> rows(ranges.size());
  BASALT_TRY(
      run_in_parallel(ranges.size(), [&](std::size_t number, const std::atomic<bool>& has_failed) {
        const Watch watch(interruption_, has_failed);
        return scan_range(number, ranges[number], read_plan, watch, rows[number]);
      }));
  return std::accumulate(rows.begin(), rows.end(), std::uint64_t{0});
}

// Gives each index's sort of this number the entries of the rows in `range`, and counts these.
Status IndexBuilder::scan_range(std::size_t number, const KeyRange& range,
                                const codec::ReadPlan& read_plan, Watch watch,
                                std::uint64_t& rows) {
  std::vector<std::uint8_t> record(table_.layout().record_length);
  std::string key;
  std::string value;
  std::uint64_t count = 0;
  kv::Iterator iterator = database_.new_iterator(table_.family(0), {nullptr, false}, range);
  for (iterator.seek_to_first(); iterator.is_valid(); iterator.next()) {
    BASALT_TRY(watch.check());
    BASALT_TRY(table_.primary().read(iterator.key(), iterator.value(), read_plan, record.data()));
    for (const Build& build : builds_) {
      table_.secondary(build.index_number).make_entry(record.data(), iterator.key(), key, value);
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
  const kv::FamilyId family = table_.family(build.index_number);
  const std::vector<KeyRange> ranges = entry_ranges(build);
  std::vector<std::unique_ptr<bulk::SstWriter>> files;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    files.push_back(
        database_.new_sst_writer(family, build.directory->path() + "/" + std::to_string(i) + "-"));
  }
  // The sorts of the other indexes have their part.
  const std::size_t memory = resources_.memory_bytes / (builds_.size() * ranges.size());
  std::vector<std::string> duplicates(ranges.size());
  Status written = run_in_parallel(ranges.size(), [&](std::size_t number,
                                                      const std::atomic<bool>& has_failed) {
    const Watch watch(interruption_, has_failed);
    return write_range(build, ranges[number], memory, watch, *files[number], duplicates[number]);
  });
  if (written.is(ErrorCode::kDuplicateKey)) {
    const auto found = std::ranges::find_if(duplicates, [](auto& key) { return !key.empty(); });
    BASALT_ASSERT(found != duplicates.end());
    duplicate_ = {build.index_number, std::move(*found)};
  }
  BASALT_TRY(std::move(written));
  build.sorts.clear();
  std::vector<std::string> paths;
  for (const auto& part : files) {
    paths.insert(paths.end(), part->paths().begin(), part->paths().end());
  }
  BASALT_FAILPOINT("table.build_index.before_ingest");
  BASALT_TRY(database_.ingest(family, paths));
  BASALT_FAILPOINT("table.build_index.after_ingest");
  build.directory.reset();
  return Status::ok();
}

// By samples of the sorts. No more ranges than can be merged at once in the memory there is.
std::vector<KeyRange> IndexBuilder::entry_ranges(const Build& build) const {
  std::vector<Weighed> samples;
  std::size_t runs = 0;
  for (const auto& sort : build.sorts) {
    for (std::string& key : sort->samples()) {
      samples.push_back({std::move(key), sort->sample_bytes()});
    }
    runs += sort->run_count();
  }
  const std::size_t bytes_of_merge =
      std::max<std::size_t>(runs, 1) * bulk::ExternalSort::kReadBytesMin;
  const std::size_t most = std::clamp<std::size_t>(
      resources_.memory_bytes / (builds_.size() * bytes_of_merge), 1, resources_.threads);
  return cut(table_.whole_range(build.index_number), std::move(samples), most,
             kEntryBytesOfRangeMin);
}

Status IndexBuilder::write_range(const Build& build, const KeyRange& range,
                                 std::size_t memory_bytes, Watch watch, bulk::SstWriter& files,
                                 std::string& duplicate) {
  const codec::SecondaryCodec& secondary = table_.secondary(build.index_number);
  std::string last_key;
  const auto put = [&](std::string_view key, std::string_view value) {
    BASALT_TRY(watch.check());
    if (secondary.is_unique()) {
      // Of unique form, since with a NULL among the parts the primary key is in it, too.
      if (key == last_key) {
        BASALT_TRY(secondary.primary_key_of(key, value, duplicate));
        return Status::of(ErrorCode::kDuplicateKey);
      }
      last_key = key;
    }
    return files.put(key, value);
  };
  BASALT_TRY(bulk::visit_sorted(build.sorts, range, memory_bytes, put));
  return files.finish();
}

}  // namespace basalt::table
