// The entries of ranges.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "stats/table_statistics.h"

namespace basalt::stats {
namespace {

// Up to here a range is counted, beyond it is estimated.
constexpr std::uint64_t kExactCountMax = 256;
// Values of a unique integer that a range may have room for to be estimated by them alone, and the
// part of them that must exist in the table.
constexpr std::uint64_t kValuesMax = 256;
constexpr double kLeastDensity = 0.5;
// A range is estimated by known positions alone if that is right within this share.
constexpr double kPositionsError = 0.25;
// Entries in memtables are looked at if less than this part of them exists.
constexpr double kLiveShare = 0.8;
// A sample of a range is good for as many times as long as it took, but not long if it waited.
constexpr std::int64_t kSamplePause = 50;
constexpr std::int64_t kSamplePauseMaxUs = 1'000'000;

// The width in bytes of the integers that are the keys of an index; 0 if they are anything else.
std::size_t integer_bytes(const catalog::TableDefinition& table,
                          const catalog::IndexDefinition& index) {
  if (!index.unique || index.parts.size() != 1) return 0;
  const catalog::ColumnDefinition& column = table.columns[index.parts.front().column];
  return codec::is_integer(column.kind) && !column.nullable ? column.record_length : 0;
}

// The order of an integer key among all of its width. Bounds may be shorter than keys.
std::optional<std::uint64_t> ordinal(std::string_view key, std::size_t bytes) {
  if (key.size() > bytes) return std::nullopt;
  return number_at(key, 0, bytes);
}

std::string_view without_id(std::string_view key) {
  return key.substr(std::min(key.size(), sizeof(catalog::IndexId)));
}

}  // namespace

// What an entry in a memtable means for the number of entries: nothing if all rows were in files
// already and memtables hold updates; less than nothing if they hold deletions.
double TableStatistics::memtable_weight(std::size_t index_number,
                                        const IndexFileStatistics& figures) const {
  const auto entries = static_cast<double>(
      database_.estimate_memtable_entries(family_of(index_number), range_of(index_number)));
  if (entries <= 0 || !figures.is_complete()) return 1;
  return std::clamp((static_cast<double>(row_count()) - figures.entries()) / entries, -1.0, 1.0);
}

double TableStatistics::estimate_versions(std::size_t index_number,
                                          const IndexFileStatistics& figures,
                                          const KeyRange& range) const {
  const KeyRange whole = range_of(index_number);
  if (!figures.is_complete()) {
    const kv::RangeSize part = database_.estimate(family_of(index_number), range);
    const kv::RangeSize all = database_.estimate(family_of(index_number), whole);
    const auto all_bytes = static_cast<double>(std::max<std::uint64_t>(all.bytes, 1));
    return static_cast<double>(part.memtable_entries) +
           static_cast<double>(row_count()) *
               std::min(static_cast<double>(part.bytes) / all_bytes, 1.0);
  }
  const bool is_open = range.upper.empty() || range.upper >= whole.upper;
  const double in_files =
      figures
          .entries_between(without_id(range.lower),
                           is_open ? std::string_view() : without_id(range.upper))
          .entries;
  return in_files +
         static_cast<double>(database_.estimate_memtable_entries(family_of(index_number), range));
}

double TableStatistics::live_share(std::size_t index_number, const KeyRange& range, double all,
                                   const KeySampler::Estimate& versions) {
  const std::int64_t begin = clock_();
  {
    const MutexLock guard(mutex_);
    const auto known = indexes_[index_number].live_shares.find(range, all, begin);
    if (known.has_value()) return *known;
  }
  const double share = sample_live_share(database_, family_of(index_number), range, versions);
  const std::int64_t end = clock_();
  const MutexLock guard(mutex_);
  const std::int64_t pause = std::min(kSamplePause * (end - begin), kSamplePauseMaxUs);
  indexes_[index_number].live_shares.keep(range, all, share, end + pause);
  return share;
}

double TableStatistics::estimate_in_files(std::size_t index_number,
                                          const IndexFileStatistics& figures, const KeyRange& range,
                                          const Counted& counted) {
  const KeyRange whole = range_of(index_number);
  const bool is_open = range.upper.empty() || range.upper >= whole.upper;
  const std::string_view lower = without_id(range.lower);
  const std::string_view upper = is_open ? std::string_view() : without_id(range.upper);
  const IndexFileStatistics::Estimate positions = figures.entries_between(lower, upper);
  if (positions.most - positions.least <= kPositionsError * positions.entries) {
    return positions.entries;
  }
  // Between two known positions: the share of the bytes, which RocksDB knows to the block.
  const IndexFileStatistics::Bracket bracket = figures.bracket_of(lower, upper);
  const std::string id = whole.lower;
  const KeyRange around{id + bracket.lower,
                        bracket.upper.empty() ? whole.upper : id + bracket.upper};
  const auto bytes = static_cast<double>(database_.estimate(family_of(index_number), range).bytes);
  const auto around_bytes =
      std::max(static_cast<double>(database_.estimate(family_of(index_number), around).bytes), 1.0);
  const double entries = figures.entries_between(bracket.lower, bracket.upper).entries;
  const double by_blocks = entries * std::min(bytes / around_bytes, 1.0);
  // Both ends of the range are somewhere in a block of each file.
  const double resolution =
      entries * figures.block_bytes() / around_bytes * static_cast<double>(figures.depth());
  const double least = std::max({positions.least, by_blocks - resolution, 1.0});
  const double most = std::max(std::min(positions.most, by_blocks + resolution), least);
  if (resolution <= kPositionsError * by_blocks) return std::clamp(by_blocks, least, most);
  if (counted.extrapolated >= least && counted.extrapolated <= most) return counted.extrapolated;
  // The entries are not spread evenly: what is wrong by the smallest factor.
  const auto seen = static_cast<double>(counted.entries);
  return std::sqrt(std::max(least, seen) * std::max(most, seen));
}

double TableStatistics::estimate_entries(std::size_t index_number, const KeyRange& range,
                                         const Counted& counted) {
  const std::shared_ptr<const IndexFileStatistics> figures = figures_of(index_number);
  const kv::RangeSize part = database_.estimate(family_of(index_number), range);
  const auto in_memtables = static_cast<double>(part.memtable_entries);
  if (figures->is_complete()) {
    const double in_files =
        figures->entries() > 0 ? estimate_in_files(index_number, *figures, range, counted) : 0;
    if (in_memtables <= 0) return in_files;
    const double weight = memtable_weight(index_number, *figures);
    if (weight < kLiveShare) {
      // Rows that were changed often may be next to others that were not.
      const auto versions = [&](const KeyRange& part_of_range) {
        return estimate_versions(index_number, *figures, part_of_range);
      };
      const double all = versions(range);
      return all * live_share(index_number, range, all, versions);
    }
    return in_files + weight * in_memtables;
  }
  const kv::RangeSize whole = database_.estimate(family_of(index_number), range_of(index_number));
  const auto whole_bytes = static_cast<double>(whole.bytes + whole.memtable_bytes);
  if (whole_bytes <= 0) return in_memtables;
  const double share = static_cast<double>(part.bytes + part.memtable_bytes) / whole_bytes;
  return std::min(share, 1.0) * static_cast<double>(row_count());
}

Result<TableStatistics::Counted> TableStatistics::count_entries(std::size_t index_number,
                                                                const KeyRange& range) {
  Counted counted;
  kv::ReadView view;
  view.skipped_max = kSkippedMax;
  kv::Iterator iterator = database_.new_iterator(family_of(index_number), view, range);
  std::string first;
  std::string last;
  for (iterator.seek_to_first(); iterator.is_valid(); iterator.next()) {
    if (++counted.entries == 1) first = iterator.key();
    if (counted.entries <= kExactCountMax) continue;
    last = iterator.key();
    break;
  }
  if (iterator.gave_up()) return counted;
  BASALT_TRY(iterator.status());
  counted.is_all = !iterator.is_valid();
  if (counted.is_all) return counted;
  iterator.seek_to_last();
  if (!iterator.is_valid()) {
    BASALT_TRY(iterator.status());
    return counted;
  }
  const double share = fraction_between(first, iterator.key(), last);
  if (share > 0) counted.extrapolated = static_cast<double>(counted.entries) / share;
  return counted;
}

// A unique integer has at most as many entries in a range as there are integers, and if most of
// them exist in the table, that is all there is to know of a small one.
std::optional<std::uint64_t> TableStatistics::entries_by_values(std::size_t index_number,
                                                                const KeyRange& range) const {
  const std::size_t bytes = integer_bytes(*table_, table_->indexes[index_number]);
  constexpr std::size_t kIdBytes = sizeof(catalog::IndexId);
  if (bytes == 0 || range.upper.compare(0, kIdBytes, range.lower, 0, kIdBytes) != 0) {
    return std::nullopt;
  }
  const auto lower = ordinal(without_id(range.lower), bytes);
  const auto upper = ordinal(without_id(range.upper), bytes);
  if (!lower || !upper || *upper <= *lower || *upper - *lower > kValuesMax) return std::nullopt;
  const std::shared_ptr<const IndexFileStatistics> figures = figures_of(index_number);
  const std::string_view last_key = figures->last_key();
  const auto first = ordinal(figures->first_key(), bytes);
  const auto last = ordinal(last_key, bytes);
  // Beyond the files it is memtables that have the entries, or nothing has.
  if (last_key.empty() || !figures->is_complete() || !first || !last || *lower < *first ||
      *upper - 1 > *last) {
    return std::nullopt;
  }
  const double rows = std::min(figures->entries(), static_cast<double>(row_count()));
  const double density = rows / (static_cast<double>(*last - *first) + 1);
  if (density < kLeastDensity) return std::nullopt;
  const double entries = std::min(density, 1.0) * static_cast<double>(*upper - *lower);
  return std::max<std::uint64_t>(rounded(entries), 1);
}

Result<std::uint64_t> TableStatistics::entries_in_range(std::size_t index_number,
                                                        const KeyRange& range) {
  if (!range.upper.empty() && range.lower >= range.upper) return std::uint64_t{0};
  refresh_if_due();
  if (const auto entries = entries_by_values(index_number, range)) return *entries;
  Result<Counted> counted = count_entries(index_number, range);
  if (!counted.is_ok()) return counted.take_status();
  const std::uint64_t entries = counted.value().entries;
  if (counted.value().is_all) return entries;
  const double estimate = estimate_entries(index_number, range, counted.value());
  return std::max({entries, rounded(estimate), std::uint64_t{1}});
}

}  // namespace basalt::stats
