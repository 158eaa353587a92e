#include "stats/table_statistics.h"

#include <algorithm>
#include <chrono>
#include <string>

#include "base/bytes.h"

namespace basalt::stats {
namespace {

constexpr std::int64_t kRefreshIntervalMs = 1000;
// Up to here a range is counted, beyond it is estimated.
constexpr std::uint64_t kExactCountMax = 64;
constexpr std::uint64_t kEntriesBetweenChecks = 1024;
// Rows read at each end of a table to learn how large they are.
constexpr std::uint64_t kRowsSampled = 64;

std::int64_t now_ms() {
  using std::chrono::duration_cast;
  using std::chrono::milliseconds;
  return duration_cast<milliseconds>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

TableStatistics::TableStatistics(kv::Database& database, catalog::Catalog& catalog,
                                 catalog::TablePointer table)
    : database_(database), catalog_(catalog), table_(std::move(table)) {
  for (const catalog::IndexDefinition& index : table_->indexes) {
    analyzed_.push_back(catalog_.statistics(index.id).value_or(catalog::IndexStatistics()));
  }
  refresh();
}

kv::KeyRange TableStatistics::range_of(std::size_t index_number) const {
  kv::KeyRange range;
  append_be32(range.lower, table_->indexes[index_number].id);
  append_be32(range.upper, table_->indexes[index_number].id + 1);
  return range;
}

// The bytes that the rows take, uncompressed, divided by the size of some of them.
std::uint64_t TableStatistics::guess_rows(const kv::RangeSize& size) {
  const kv::FamilyId family = table_->indexes[0].family;
  const kv::KeyRange range = range_of(0);
  std::uint64_t sampled = 0;
  std::uint64_t sampled_bytes = 0;
  const auto sample = [&](const kv::Iterator& row) {
    ++sampled;
    sampled_bytes += row.key().size() + row.value().size();
  };
  kv::Iterator iterator = database_.new_iterator(family, {}, range);
  for (iterator.seek_to_first(); iterator.is_valid() && sampled < kRowsSampled; iterator.next()) {
    sample(iterator);
  }
  if (sampled < kRowsSampled) return sampled;
  for (iterator.seek_to_last(); iterator.is_valid() && sampled < 2 * kRowsSampled;
       iterator.previous()) {
    sample(iterator);
  }
  const double row_bytes = static_cast<double>(sampled_bytes) / static_cast<double>(sampled);
  const double stored_bytes =
      static_cast<double>(size.bytes) * database_.expansion(family, range);
  return size.memtable_entries + static_cast<std::uint64_t>(stored_bytes / row_bytes);
}

void TableStatistics::refresh() {
  const std::lock_guard guard(mutex_);
  std::uint64_t index_bytes = 0;
  kv::RangeSize rows;
  for (std::size_t i = 0; i < table_->indexes.size(); ++i) {
    const kv::RangeSize size = database_.estimate(table_->indexes[i].family, range_of(i));
    if (i == 0) {
      rows = size;
    } else {
      index_bytes += size.bytes + size.memtable_bytes;
    }
  }
  row_bytes_ = rows.bytes + rows.memtable_bytes;
  index_bytes_ = index_bytes;
  if (!exact_rows_known_) {
    // First look since the start: what analyze() counted, or what the files suggest.
    base_rows_ = analyzed_[0].entries > 0 ? analyzed_[0].entries : guess_rows(rows);
    exact_rows_known_ = true;
  }
  refreshed_at_ms_ = now_ms();
}

TableSize TableStatistics::size() {
  if (now_ms() - refreshed_at_ms_.load(std::memory_order_relaxed) > kRefreshIntervalMs) refresh();
  TableSize size;
  const auto rows = static_cast<std::int64_t>(base_rows_.load(std::memory_order_relaxed)) +
                    changed_rows_.load(std::memory_order_relaxed);
  size.rows = static_cast<std::uint64_t>(std::max<std::int64_t>(rows, 0));
  size.row_bytes = row_bytes_.load(std::memory_order_relaxed);
  size.index_bytes = index_bytes_.load(std::memory_order_relaxed);
  return size;
}

void TableStatistics::set_exact_rows(std::uint64_t rows) {
  {
    const std::lock_guard guard(mutex_);
    changed_rows_ = 0;
    base_rows_ = rows;
    exact_rows_known_ = true;
  }
  // Who analyzes wants to see the sizes of now.
  refresh();
}

std::uint64_t TableStatistics::rows_per_value(std::size_t index_number, std::size_t parts) {
  const std::uint64_t rows = std::max<std::uint64_t>(size().rows, 1);
  if (parts == 0) return rows;
  const catalog::IndexDefinition& index = table_->indexes[index_number];
  if (index.unique && parts >= index.parts.size()) return 1;
  const std::lock_guard guard(mutex_);
  const catalog::IndexStatistics& known = analyzed_[index_number];
  if (parts <= known.distinct_prefixes.size()) {
    const std::uint64_t distinct = std::max<std::uint64_t>(known.distinct_prefixes[parts - 1], 1);
    return std::max<std::uint64_t>((known.entries + distinct / 2) / distinct, 1);
  }
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
  kv::ReadView view;
  view.fill_cache = false;
  kv::Iterator iterator = database_.new_iterator(table_->indexes[index_number].family, view,
                                                 range_of(index_number));
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
  const std::lock_guard guard(mutex_);
  analyzed_[index_number] = result;
  return result.entries;
}

std::uint64_t TableStatistics::estimate_entries(std::size_t index_number,
                                                const kv::KeyRange& range,
                                                std::uint64_t index_entries) {
  const kv::FamilyId family = table_->indexes[index_number].family;
  const kv::RangeSize whole = database_.estimate(family, range_of(index_number));
  const kv::RangeSize part = database_.estimate(family, range);
  const auto whole_bytes = static_cast<double>(whole.bytes + whole.memtable_bytes);
  if (whole_bytes <= 0) return part.memtable_entries;
  const double share = static_cast<double>(part.bytes + part.memtable_bytes) / whole_bytes;
  return static_cast<std::uint64_t>(std::min(share, 1.0) * static_cast<double>(index_entries));
}

Result<std::uint64_t> TableStatistics::entries_in_range(std::size_t index_number,
                                                        const kv::KeyRange& range) {
  if (!range.upper.empty() && range.lower >= range.upper) return std::uint64_t{0};
  std::uint64_t count = 0;
  kv::Iterator iterator =
      database_.new_iterator(table_->indexes[index_number].family, {}, range);
  for (iterator.seek_to_first(); iterator.is_valid() && count <= kExactCountMax;
       iterator.next()) {
    ++count;
  }
  BASALT_TRY(iterator.status());
  if (count <= kExactCountMax) return count;
  const std::uint64_t rows = size().rows;
  return std::max(count, estimate_entries(index_number, range, std::max(rows, count)));
}

}  // namespace basalt::stats
