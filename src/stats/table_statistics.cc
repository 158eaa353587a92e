#include "stats/table_statistics.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "block_cache/block_sizes.h"
#include "stats/value_sample.h"

namespace basalt::stats {
namespace {

constexpr std::int64_t kRefreshIntervalMs = 1000;
// A refresh takes at most this part of the time.
constexpr std::int64_t kPauseFactor = 100;
// Up to here the rows of a table are counted at first sight.
constexpr std::uint64_t kExactRowsMax = 1000;
constexpr std::uint64_t kEntriesBetweenChecks = 1024;
// Rows read at each end of a table to learn how large they are, where files do not tell.
constexpr std::uint64_t kRowsSampled = 64;
// If none of them can be read, so large are rows taken to be.
constexpr double kRowBytesUnread = 100;
// An analysis fits as long as it is right within this share of the rows.
constexpr std::uint64_t kStaleShare = 10;
// How far off a count of memtable entries may be.
constexpr double kMemtableError = 1.3;
// How far off the entries of overlapping files may be.
constexpr double kFilesError = 0.05;
// A refresh is due at once after so many changes, and this part of the rows.
constexpr std::uint64_t kEarlyChangesMin = 64;
constexpr std::uint64_t kEarlyShare = 4;
// It takes at most this part of the time that passes, waiting included.
constexpr std::int64_t kEarlyPauseFactor = 10;
// What files say of values is not believed if more than this part of an index is not in files, or
// if more than this part of what is in files does not exist.
constexpr double kUnknownShare = 0.125;

std::uint64_t distance(std::uint64_t a, std::uint64_t b) { return a < b ? b - a : a - b; }

}  // namespace

TableStatistics::TableStatistics(kv::Database& database, catalog::Catalog& catalog,
                                 index_stats::KeyStructureSource* key_parts,
                                 catalog::TablePointer table,
                                 std::shared_ptr<const ChangedRows> changes, Clock clock,
                                 Clock cost_clock)
    : database_(database),
      catalog_(catalog),
      key_structures_(key_parts),
      table_(std::move(table)),
      clock_(clock),
      cost_clock_(cost_clock),
      changed_rows_(std::move(changes)),
      entry_bytes_(table_->indexes.size()),
      stored_entry_bytes_(table_->indexes.size()) {
  for (const catalog::IndexDefinition& index : table_->indexes) {
    Index& known = indexes_.emplace_back();
    known.analyzed = catalog_.statistics(index.id).value_or(catalog::IndexStatistics());
    known.figures = std::make_shared<const IndexFileStatistics>();
  }
  const MutexLock guard(refresh_mutex_);
  refresh();
}

std::uint64_t TableStatistics::rounded(double number) {
  return static_cast<std::uint64_t>(std::llround(std::max(number, 0.0)));
}

std::int64_t TableStatistics::steady_us() {
  using std::chrono::duration_cast;
  using std::chrono::microseconds;
  return duration_cast<microseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::int64_t TableStatistics::thread_us() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::int64_t>(time.tv_sec) * 1'000'000 + time.tv_nsec / 1000;
}

kv::FamilyId TableStatistics::family_of(std::size_t index_number) const {
  return table_->indexes[index_number].family;
}

KeyRange TableStatistics::range_of(std::size_t index_number) const {
  return index_key_range(table_->indexes[index_number].id);
}

std::shared_ptr<const IndexFileStatistics> TableStatistics::figures_of(
    std::size_t index_number) const {
  const MutexLock guard(mutex_);
  return indexes_[index_number].figures;
}

std::uint64_t TableStatistics::row_count() const {
  const std::int64_t rows = base_rows_.load(std::memory_order_relaxed) + changed_rows_->all();
  return static_cast<std::uint64_t>(std::max<std::int64_t>(rows, 0));
}

std::uint64_t TableStatistics::rows_in_files() const {
  const std::shared_ptr<const IndexFileStatistics> figures = figures_of(0);
  return figures->is_complete() ? std::min(rounded(figures->entries()), row_count()) : row_count();
}

// ---- refresh

std::uint64_t TableStatistics::Seen::distance_to(const Seen& later) const {
  const auto more = static_cast<std::uint64_t>(std::abs(later.committed - committed));
  return std::max(distance(later.rows, rows), more) + later.updates - updates;
}

TableStatistics::Seen TableStatistics::seen_now() const {
  return {row_count(), changed_rows_->committed(), changed_rows_->updates()};
}

std::uint64_t TableStatistics::changes() const {
  const Seen refreshed = {refreshed_rows_.load(std::memory_order_relaxed),
                          refreshed_committed_.load(std::memory_order_relaxed),
                          refreshed_updates_.load(std::memory_order_relaxed)};
  return refreshed.distance_to(seen_now());
}

void TableStatistics::refresh_if_due() {
  const std::int64_t now_us = clock_();
  if (now_us / 1000 < next_refresh_ms_.load(std::memory_order_relaxed) &&
      (changes() < changes_until_refresh_.load(std::memory_order_relaxed) ||
       now_us < next_early_refresh_us_.load(std::memory_order_relaxed))) {
    return;
  }
  if (!refresh_mutex_.try_lock()) return;
  const MutexLock guard(refresh_mutex_, std::adopt_lock);
  refresh();
}

void TableStatistics::refresh() {
  const std::int64_t begin_us = clock_();
  const std::int64_t thread_begin_us = cost_clock_();
  // Read first: what changes meanwhile is seen next time.
  Seen seen = seen_now();
  const std::uint64_t version = structure_version();
  const bool files_changed = version != structure_version_;
  if (files_changed) read_files();
  refresh_rows(files_changed);
  structure_version_ = version;
  seen.rows = row_count();
  if (files_changed || values_seen_.distance_to(seen) > values_seen_.rows / 10) {
    values_are_due_ = true;
    values_seen_.committed = seen.committed;
    values_seen_.updates = seen.updates;
  }
  refresh_sizes();
  if (values_are_due_) refresh_values();
  refreshed_rows_ = seen.rows;
  refreshed_committed_ = seen.committed;
  refreshed_updates_ = seen.updates;
  changes_until_refresh_ = std::max(kEarlyChangesMin, seen.rows / kEarlyShare);
  const std::int64_t end_us = clock_();
  next_refresh_ms_ =
      end_us / 1000 + std::max(kRefreshIntervalMs, kPauseFactor * (end_us - begin_us) / 1000);
  next_early_refresh_us_ = end_us + std::max(kPauseFactor * (cost_clock_() - thread_begin_us),
                                             kEarlyPauseFactor * (end_us - begin_us));
}

void TableStatistics::refresh_rows(bool files_changed) {
  const std::uint64_t uncounted = uncounted_changes_.exchange(0);
  if (rows_known_ && uncounted == 0 && !files_changed) return;
  const kv::RangeSize size = database_.estimate(family_of(0), range_of(0));
  // Read first: a commit that comes meanwhile is then counted twice rather than not at all.
  const std::int64_t committed = changed_rows_->committed();
  // A new estimate may be worse than a count that lacks a few changes.
  const std::uint64_t known = row_count();
  const bool counts_anew =
      uncounted > 0 && (known <= kExactRowsMax || uncounted > known / kStaleShare);
  if (!rows_known_ || counts_anew) {
    set_committed_rows(first_row_count(size), committed);
  } else {
    adjust_rows(size);
  }
}

// `committed`: of changed_rows_, when they were so many.
void TableStatistics::set_committed_rows(std::uint64_t rows, std::int64_t committed) {
  base_rows_ = static_cast<std::int64_t>(rows) - committed;
  rows_known_ = true;
}

void TableStatistics::read_files() {
  for (std::size_t i = 0; i < table_->indexes.size(); ++i) {
    Result<kv::IndexFiles> files = database_.index_files(family_of(i), table_->indexes[i].id);
    if (!files.is_ok()) continue;  // the figures of before are better than none
    auto figures = std::make_shared<const IndexFileStatistics>(std::move(files.value()));
    const MutexLock guard(mutex_);
    indexes_[i].figures = std::move(figures);
  }
}

// Bytes of what is in memtables: RocksDB only knows how large all their entries are on average,
// whichever table they belong to.
void TableStatistics::refresh_sizes() {
  std::uint64_t index_bytes = 0;
  for (std::size_t i = 0; i < table_->indexes.size(); ++i) {
    const kv::RangeSize size = database_.estimate(family_of(i), range_of(i));
    refresh_entry_size(i, size.memtable_entries);
    // A flush writes next to nothing for older versions and removed entries.
    const std::uint64_t to_be_stored = std::min(size.memtable_entries, row_count());
    const std::uint64_t bytes =
        size.bytes + rounded(static_cast<double>(to_be_stored) * stored_entry_bytes(i));
    if (i == 0) {
      row_bytes_ = bytes;
    } else {
      index_bytes += bytes;
    }
  }
  index_bytes_ = index_bytes;
}

// What files tell of the size of an entry, unless most of the index is in memtables.
void TableStatistics::refresh_entry_size(std::size_t index_number, std::uint64_t in_memtables) {
  const std::shared_ptr<const IndexFileStatistics> figures = figures_of(index_number);
  block_cache::EntrySizes::Average size;
  if (figures->is_complete() && figures->entries() >= static_cast<double>(in_memtables)) {
    const double share = std::min(figures->block_bytes() / block_cache::kBlockBytes, 1.0);
    size = {figures->entry_bytes(), figures->entry_bytes() * share};
  } else if (values_are_due_) {
    size = sample_entry_size(
        database_, family_of(index_number), range_of(index_number),
        [&](const KeyRange& range) { return estimate_versions(index_number, *figures, range); });
  }
  if (size.bytes <= 0) return;  // what was known before is better than nothing
  entry_bytes_[index_number].store(size.bytes, std::memory_order_relaxed);
  stored_entry_bytes_[index_number].store(size.stored, std::memory_order_relaxed);
}

std::uint64_t TableStatistics::first_row_count(const kv::RangeSize& size) {
  std::uint64_t count = 0;
  kv::ReadView view;
  view.skipped_max = kSkippedMax;
  kv::Iterator iterator = database_.new_iterator(family_of(0), view, range_of(0));
  for (iterator.seek_to_first(); iterator.is_valid() && count <= kExactRowsMax; iterator.next()) {
    ++count;
  }
  if (count <= kExactRowsMax && iterator.status().is_ok()) return count;
  const std::shared_ptr<const IndexFileStatistics> figures = figures_of(0);
  if (!figures->is_complete()) return guess_rows(size);
  const double rows = figures->entries() + static_cast<double>(size.memtable_entries);
  std::uint64_t analyzed = 0;
  {
    const MutexLock guard(mutex_);
    analyzed = indexes_[0].analyzed.entries;
  }
  const bool is_exact = figures->is_exact() && size.memtable_entries == 0;
  const double error = static_cast<double>(analyzed) / kStaleShare +
                       (kMemtableError - 1) * static_cast<double>(size.memtable_entries);
  if (!is_exact && std::abs(rows - static_cast<double>(analyzed)) <= error) return analyzed;
  return rounded(rows);
}

// The bytes that the rows take, uncompressed, divided by the size of some of them.
std::uint64_t TableStatistics::guess_rows(const kv::RangeSize& size) {
  const KeyRange range = range_of(0);
  std::uint64_t sampled = 0;
  std::uint64_t sampled_bytes = 0;
  const auto sample = [&](const kv::Iterator& row) {
    ++sampled;
    sampled_bytes += row.key().size() + row.value().size();
  };
  kv::Iterator iterator = database_.new_iterator(family_of(0), {}, range);
  for (iterator.seek_to_first(); iterator.is_valid() && sampled < kRowsSampled; iterator.next()) {
    sample(iterator);
  }
  // Rows that cannot be read are there all the same.
  if (sampled < kRowsSampled && iterator.status().is_ok()) return sampled;
  for (iterator.seek_to_last(); iterator.is_valid() && sampled < 2 * kRowsSampled;
       iterator.previous()) {
    sample(iterator);
  }
  iterator.status().ignore("the rows that were read are sample enough");
  const double row_bytes = sampled == 0
                               ? kRowBytesUnread
                               : static_cast<double>(sampled_bytes) / static_cast<double>(sampled);
  const double stored_bytes =
      static_cast<double>(size.bytes) * database_.expansion(family_of(0), range);
  return size.memtable_entries + static_cast<std::uint64_t>(stored_bytes / row_bytes);
}

// Transactions count exactly, beginning with what was perhaps estimated. Files do not know what is
// in memtables, nor either of them what is not committed. So the count of what is committed stands
// as long as memtables can explain the difference.
void TableStatistics::adjust_rows(const kv::RangeSize& size) {
  const std::shared_ptr<const IndexFileStatistics> figures = figures_of(0);
  if (!figures->is_complete()) return;
  const double error = (figures->is_exact() ? 0 : kFilesError * figures->entries()) +
                       kMemtableError * static_cast<double>(size.memtable_entries);
  const std::int64_t committed = changed_rows_->committed();
  const auto rows = static_cast<double>(base_rows_.load(std::memory_order_relaxed) + committed);
  // A small table's rows were counted. Of few entries files cannot tell which are of one row.
  const bool is_small = rows <= kExactRowsMax && figures->entries() <= kExactRowsMax;
  if (is_small && !figures->is_exact() && !table_->expiry.has_value()) return;
  const double believable =
      std::clamp(rows, figures->entries() - error, figures->entries() + error);
  if (believable == rows) return;
  set_committed_rows(rounded(believable), committed);
}

TableSize TableStatistics::size() {
  refresh_if_due();
  TableSize size;
  size.rows = row_count();
  size.row_bytes = row_bytes_.load(std::memory_order_relaxed);
  size.index_bytes = index_bytes_.load(std::memory_order_relaxed);
  return size;
}

void TableStatistics::set_exact_rows(std::uint64_t rows) {
  const MutexLock guard(refresh_mutex_);
  const std::int64_t committed = changed_rows_->committed();
  set_committed_rows(rows, committed);
  values_are_due_ = true;
  refresh();
  set_committed_rows(rows, committed);
}

void TableStatistics::note_uncounted(std::uint64_t changes) {
  uncounted_changes_.fetch_add(changes, std::memory_order_relaxed);
  next_refresh_ms_ = 0;
}

// ---- entries per value

bool TableStatistics::fits(const catalog::IndexStatistics& analyzed) const {
  const std::uint64_t rows = row_count();
  return !analyzed.distinct_prefixes.empty() &&
         distance(rows, analyzed.entries) <= rows / kStaleShare;
}

std::vector<double> TableStatistics::values_of(std::size_t index_number) {
  catalog::IndexStatistics analyzed;
  std::shared_ptr<const IndexFileStatistics> figures;
  {
    const MutexLock guard(mutex_);
    analyzed = indexes_[index_number].analyzed;
    figures = indexes_[index_number].figures;
  }
  std::vector<double> values;
  if (fits(analyzed)) {
    for (const std::uint64_t distinct : analyzed.distinct_prefixes) {
      values.push_back(static_cast<double>(analyzed.entries) /
                       static_cast<double>(std::max<std::uint64_t>(distinct, 1)));
    }
    return values;
  }
  const std::shared_ptr<const index_stats::KeyStructure> parts =
      key_structures_ == nullptr ? nullptr
                                 : key_structures_->find(table_->indexes[index_number].id);
  if (parts == nullptr) return values;
  const auto rows = static_cast<double>(row_count());
  if (is_told_by_files(index_number, *figures)) {
    for (std::size_t i = 1; i <= parts->count(); ++i) {
      const std::optional<double> value = figures->entries_per_value(i, rows);
      if (!value.has_value()) break;
      values.push_back(*value);
    }
    if (values.size() == parts->count()) return values;
  }
  return sample_entries_per_value(
      database_, family_of(index_number), range_of(index_number), *parts, rows,
      [&](const KeyRange& range) { return estimate_versions(index_number, *figures, range); });
}

// Files count the values of all that was put into them.
bool TableStatistics::is_told_by_files(std::size_t index_number,
                                       const IndexFileStatistics& figures) const {
  const bool is_overwritten = index_number == 0;
  if (!is_overwritten && figures.dead_share() > kUnknownShare) return false;
  const auto in_memtables = static_cast<double>(
      database_.estimate_memtable_entries(family_of(index_number), range_of(index_number)));
  return in_memtables <= kUnknownShare * figures.entries();
}

void TableStatistics::refresh_values() {
  values_are_due_ = false;
  values_seen_.rows = row_count();
  for (std::size_t i = 0; i < table_->indexes.size(); ++i) {
    std::vector<double> values = values_of(i);
    const MutexLock guard(mutex_);
    indexes_[i].entries_per_value = std::move(values);
  }
  generation_.fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t TableStatistics::rows_per_value(std::size_t index_number, std::size_t parts) {
  const std::uint64_t rows = std::max<std::uint64_t>(size().rows, 1);
  if (parts == 0) return rows;
  const catalog::IndexDefinition& index = table_->indexes[index_number];
  if (index.unique && parts >= index.parts.size()) return 1;
  const MutexLock guard(mutex_);
  const std::vector<double>& known = indexes_[index_number].entries_per_value;
  if (parts <= known.size()) return std::max<std::uint64_t>(rounded(known[parts - 1]), 1);
  if (parts > index.parts.size()) return 1;
  // Unknown: a non-unique value is rare in a large table, more so with every further part.
  const std::uint64_t guess = std::min<std::uint64_t>(rows, 100);
  return std::max<std::uint64_t>(guess >> (2 * (parts - 1)), 1);
}

Result<std::uint64_t> TableStatistics::analyze(std::size_t index_number, std::size_t parts,
                                               const CommonParts& common_parts,
                                               const std::function<bool()>& is_interrupted) {
  catalog::IndexStatistics result;
  result.distinct_prefixes.assign(parts, 0);
  std::string previous;
  const std::int64_t committed = changed_rows_->committed();
  kv::ReadView view;
  view.fill_cache = false;
  kv::Iterator iterator =
      database_.new_iterator(family_of(index_number), view, range_of(index_number));
  for (iterator.seek_to_first(); iterator.is_valid(); iterator.next()) {
    const std::string_view key = iterator.key();
    const std::size_t common = result.entries == 0 ? 0 : common_parts(previous, key);
    for (std::size_t i = common; i < parts; ++i) ++result.distinct_prefixes[i];
    previous = key;
    ++result.entries;
    if (result.entries % kEntriesBetweenChecks == 0 && is_interrupted()) {
      return Status::of(ErrorCode::kInterrupted);
    }
  }
  BASALT_TRY(iterator.status());
  BASALT_TRY(catalog_.store_statistics(table_->indexes[index_number].id, result));
  {
    const MutexLock guard(mutex_);
    indexes_[index_number].analyzed = result;
  }
  const MutexLock guard(refresh_mutex_);
  if (index_number == 0) {
    set_committed_rows(result.entries, committed);
    values_are_due_ = true;
    // Users want to see the present sizes.
    refresh();
    // What files tell of rows is less exact.
    set_committed_rows(result.entries, committed);
  } else {
    refresh_values();
  }
  return result.entries;
}

}  // namespace basalt::stats
