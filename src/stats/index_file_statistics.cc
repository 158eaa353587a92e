#include "stats/index_file_statistics.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/bytes.h"

namespace basalt::stats {
namespace {

// Picked values that are compared at most; more only cost time.
constexpr std::size_t kPickedMax = 8192;

bool is_picked(std::uint32_t hash, std::uint32_t level) {
  return (static_cast<std::uint64_t>(hash) >> (32 - level)) == 0;
}

// The picked values of several files at one level: `visit(file, level)` must append those of a
// file, which picked at `level_of(file)`.
template <typename Level, typename Visit>
void gather(const std::vector<index_stats::IndexProperties>& files, Level level_of, Visit visit) {
  std::uint32_t level = 0;
  for (const index_stats::IndexProperties& file : files) level = std::max(level, level_of(file));
  for (const index_stats::IndexProperties& file : files) visit(file, level);
}

}  // namespace

double fraction_between(std::string_view lower, std::string_view upper, std::string_view key) {
  const std::size_t common = common_bytes(lower, upper);
  const auto at = [common](std::string_view of) {
    return static_cast<double>(number_at(of, common, 8));
  };
  const double from = at(lower);
  const double to = at(upper);
  if (to <= from) return 0.5;
  return std::clamp((at(key) - from) / (to - from), 0.0, 1.0);
}

IndexFileStatistics::IndexFileStatistics(kv::IndexFiles files)
    : has_unknown_(files.has_unknown),
      block_bytes_(files.block_bytes),
      files_(std::move(files.properties)) {
  std::sort(files_.begin(), files_.end(),
            [](const auto& a, const auto& b) { return a.first_key < b.first_key; });
  for (const index_stats::IndexProperties& file : files_) {
    puts_ += static_cast<double>(file.puts);
    deletions_ += static_cast<double>(file.deletions);
    bytes_ += static_cast<double>(file.bytes);
    last_key_ = std::max(last_key_, file.last_key);
  }
  find_runs();
  merge_versions();
  merge_distinct();
  const double largest = largest_run_puts();
  const double others = puts_ - largest;
  if (others > 0) {
    overwritten_share_ = std::clamp((puts_ - deletions_ - entries_) / others, 0.0, 1.0);
  }
  if (deletions_ > 0) {
    const double put = largest + (1 - overwritten_share_) * others;
    effective_deletions_ = std::clamp((put - entries_) / deletions_, 0.0, 1.0);
  }
  for (index_stats::IndexProperties& file : files_) {
    file.versions = {};
    file.samples = {};
    file.distinct = {};
  }
}

// Each file goes to the first run that has ended before it.
void IndexFileStatistics::find_runs() {
  std::vector<const std::string*> ends;
  for (const index_stats::IndexProperties& file : files_) {
    std::size_t run = 0;
    while (run < ends.size() && *ends[run] >= file.first_key) ++run;
    if (run == ends.size()) ends.push_back(nullptr);
    ends[run] = &file.last_key;
    run_of_.push_back(run);
  }
  runs_ = ends.size();
}

double IndexFileStatistics::largest_run_puts() const {
  std::vector<double> puts(runs_);
  for (std::size_t i = 0; i < files_.size(); ++i) {
    puts[run_of_[i]] += static_cast<double>(files_[i].puts);
  }
  return puts.empty() ? 0 : *std::max_element(puts.begin(), puts.end());
}

void IndexFileStatistics::merge_versions() {
  is_exact_ = runs_ <= 1 && deletions_ == 0;
  entries_ = puts_;
  if (is_exact_) return;
  std::vector<index_stats::IndexProperties::Version> picked;
  std::uint32_t level = 0;
  gather(
      files_, [](const auto& file) { return file.version_level; },
      [&](const auto& file, std::uint32_t common_level) {
        level = std::max(level, common_level);
        for (const auto& version : file.versions) {
          if (is_picked(version.hash, level)) picked.push_back(version);
        }
        while (picked.size() > kPickedMax && level < 32) {
          ++level;
          std::erase_if(picked, [&](const auto& v) { return !is_picked(v.hash, level); });
        }
      });
  std::sort(picked.begin(), picked.end(), [](const auto& a, const auto& b) {
    return a.hash != b.hash ? a.hash < b.hash : a.sequence > b.sequence;
  });
  // Entries that nobody picks are put once and removed once.
  std::size_t live = 0;
  for (std::size_t i = 0; i < picked.size(); ++i) {
    const bool is_newest = i == 0 || picked[i].hash != picked[i - 1].hash;
    if (is_newest && picked[i].is_put) ++live;
  }
  is_exact_ = false;
  entries_ = picked.empty() ? std::max(puts_ - deletions_, 0.0)
                            : (puts_ + deletions_) * static_cast<double>(live) /
                                  static_cast<double>(picked.size());
}

void IndexFileStatistics::merge_distinct() {
  std::size_t parts = 0;
  for (const index_stats::IndexProperties& file : files_)
    parts = std::max(parts, file.distinct.size());
  distinct_.resize(parts);
  for (std::size_t part = 0; part < parts; ++part) {
    const auto knows = [part](const auto& file) { return part < file.distinct.size(); };
    std::vector<std::uint32_t> picked;
    double values = 0;
    gather(
        files_, [&](const auto& file) { return knows(file) ? file.samples[part].level : 0; },
        [&](const auto& file, std::uint32_t level) {
          if (!knows(file)) return;
          values += static_cast<double>(file.distinct[part]);
          distinct_[part].puts += static_cast<double>(file.puts);
          for (const std::uint32_t hash : file.samples[part].hashes) {
            if (is_picked(hash, level)) picked.push_back(hash);
          }
        });
    distinct_[part].values = values;
    if (part + 1 == parts || picked.empty()) continue;
    const auto all = static_cast<double>(picked.size());
    std::sort(picked.begin(), picked.end());
    picked.erase(std::unique(picked.begin(), picked.end()), picked.end());
    distinct_[part].values *= static_cast<double>(picked.size()) / all;
  }
}

double IndexFileStatistics::dead_share() const {
  const double all = puts_ + deletions_;
  return all > 0 ? std::clamp(1 - entries_ / all, 0.0, 1.0) : 0;
}

double IndexFileStatistics::entry_bytes() const { return puts_ > 0 ? bytes_ / puts_ : 0; }

std::optional<double> IndexFileStatistics::entries_per_value(std::size_t parts,
                                                             double entries_in_all) const {
  if (has_unknown_ || parts == 0 || parts > distinct_.size() || puts_ <= 0) return std::nullopt;
  const Distinct& distinct = distinct_[parts - 1];
  const double known_entries = entries_ * distinct.puts / puts_;
  if (known_entries <= 0 || known_entries < entries_in_all / 2) return std::nullopt;
  // The whole key is as distinct as can be.
  if (parts == distinct_.size()) return 1;
  return std::max(known_entries / std::max(distinct.values, 1.0), 1.0);
}

IndexFileStatistics::Position IndexFileStatistics::end_of(
    const index_stats::IndexProperties& file) {
  const auto puts = static_cast<double>(file.puts);
  return {puts, puts, puts, static_cast<double>(file.deletions)};
}

IndexFileStatistics::Position IndexFileStatistics::position_of(
    const index_stats::IndexProperties& file, std::string_view key) {
  if (key <= file.first_key) return {};
  if (key > file.last_key) return end_of(file);
  const auto after = std::upper_bound(
      file.anchors.begin(), file.anchors.end(), key,
      [](std::string_view bound, const auto& anchor) { return bound < anchor.key; });
  const auto passed = static_cast<std::size_t>(after - file.anchors.begin());
  const bool at_end = after == file.anchors.end();
  const std::string& lower = passed == 0 ? file.first_key : file.anchors[passed - 1].key;
  const std::string& upper = at_end ? file.last_key : after->key;
  const double fraction = fraction_between(lower, upper, key);
  const auto from = static_cast<double>(passed * file.anchor_distance);
  const auto to = at_end ? static_cast<double>(file.entries())
                         : static_cast<double>((passed + 1) * file.anchor_distance);
  Position position;
  position.puts_least = static_cast<double>(passed == 0 ? 0 : file.anchors[passed - 1].puts);
  position.puts_most = static_cast<double>(at_end ? file.puts : after->puts);
  position.puts = position.puts_least + fraction * (position.puts_most - position.puts_least);
  position.deletions = std::max(from + fraction * (to - from) - position.puts, 0.0);
  return position;
}

// The puts of all runs, less those of keys that the largest of them has, too.
double IndexFileStatistics::without_overwritten(const std::vector<double>& puts_of_runs,
                                                double deletions) const {
  double all = 0;
  double largest = 0;
  for (const double puts : puts_of_runs) {
    all += puts;
    largest = std::max(largest, puts);
  }
  return std::max(
      largest + (1 - overwritten_share_) * (all - largest) - effective_deletions_ * deletions, 0.0);
}

IndexFileStatistics::Estimate IndexFileStatistics::entries_between(std::string_view lower,
                                                                   std::string_view upper) const {
  std::vector<double> puts(runs_);
  std::vector<double> least(runs_);
  std::vector<double> most(runs_);
  double deletions = 0;
  for (std::size_t i = 0; i < files_.size(); ++i) {
    const index_stats::IndexProperties& file = files_[i];
    if (!upper.empty() && file.first_key >= upper) break;
    if (lower > file.last_key) continue;
    const Position from = position_of(file, lower);
    const Position to = upper.empty() ? end_of(file) : position_of(file, upper);
    puts[run_of_[i]] += to.puts - from.puts;
    least[run_of_[i]] += std::max(to.puts_least - from.puts_most, 0.0);
    most[run_of_[i]] += to.puts_most - from.puts_least;
    deletions += to.deletions - from.deletions;
  }
  return {without_overwritten(puts, deletions), without_overwritten(least, deletions),
          without_overwritten(most, deletions)};
}

IndexFileStatistics::Bracket IndexFileStatistics::bracket_of(std::string_view lower,
                                                             std::string_view upper) const {
  const index_stats::IndexProperties* largest = nullptr;
  for (const index_stats::IndexProperties& file : files_) {
    if ((!upper.empty() && file.first_key >= upper) || lower > file.last_key) continue;
    if (largest == nullptr || file.puts > largest->puts) largest = &file;
  }
  Bracket bracket;
  if (largest == nullptr) return bracket;
  const auto is_before = [](const auto& anchor, std::string_view key) { return anchor.key < key; };
  const auto& anchors = largest->anchors;
  auto from = std::lower_bound(anchors.begin(), anchors.end(), lower, is_before);
  const auto to = std::lower_bound(anchors.begin(), anchors.end(), upper, is_before);
  if (from != anchors.begin()) {
    bracket.lower = (--from)->key;
  } else if (lower >= largest->first_key) {
    bracket.lower = largest->first_key;
  }
  if (!upper.empty() && to != anchors.end()) {
    bracket.upper = to->key;
  } else if (!upper.empty() && upper <= largest->last_key) {
    bracket.upper = largest->last_key;
  }
  return bracket;
}

}  // namespace basalt::stats
