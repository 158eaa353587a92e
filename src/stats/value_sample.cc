#include "stats/value_sample.h"

#include <algorithm>
#include <optional>
#include <string>

#include "base/bytes.h"

namespace basalt::stats {
namespace {

// Up to here all entries are read.
constexpr double kEntriesAll = 2048;
constexpr std::size_t kParts = 48;
// How many entries are read one after the other, and how many values must begin among them to be
// judged by them.
constexpr std::size_t kSteps = 16;
constexpr double kValuesInSteps = 4;
// Where values have more entries, kJumps values are passed, each with one search for its end.
constexpr std::size_t kJumps = 6;

// How many values of each number of leading parts begin behind the first of some entries in order.
class Changes {
 public:
  explicit Changes(const index_stats::KeyStructure& parts)
      : parts_(parts), ends_(parts.count()), counts_(parts.count()) {}

  // How many parts two keys share.
  std::size_t equal_parts(std::string_view a, std::string_view b) {
    parts_.split(b, 0, ends_.data());
    const std::size_t equal = common_bytes(a, b);
    std::size_t part = 0;
    while (part < ends_.size() && ends_[part] <= equal) ++part;
    return part;
  }
  void add(std::string_view before, std::string_view key) {
    for (std::size_t part = equal_parts(before, key); part < counts_.size(); ++part) {
      counts_[part] += 1;
    }
  }
  // The first parts of a key, up to the one of that number, which counts from 0.
  std::string_view prefix(std::string_view key, std::size_t part) {
    parts_.split(key, 0, ends_.data());
    return key.substr(0, ends_[part]);
  }
  const std::vector<double>& counts() const { return counts_; }

 private:
  const index_stats::KeyStructure& parts_;
  std::vector<std::uint32_t> ends_;
  std::vector<double> counts_;
};

// Entries per value of an index that is read as a whole; nothing if it has more than kEntriesAll.
std::optional<std::vector<double>> count_all(KeySampler& sampler, std::string_view first,
                                             const index_stats::KeyStructure& parts) {
  Changes changes(parts);
  double entries = 0;
  std::string previous;
  for (bool has_entry = sampler.seek(first); has_entry; has_entry = sampler.next()) {
    if (entries == kEntriesAll) return std::nullopt;
    const std::string_view key = sampler.entry().key();
    if (entries > 0) changes.add(previous, key);
    ++entries;
    previous = key;
  }
  if (sampler.gave_up()) return std::nullopt;
  std::vector<double> result;
  if (entries == 0) return result;
  for (const double count : changes.counts()) result.push_back(entries / (count + 1));
  return result;
}

// Estimates how many values of each number of leading parts begin within a part of the index,
// behind its first entry.
class PartOfIndex {
 public:
  // `live` is the share of the estimated entries that exist.
  PartOfIndex(KeySampler& sampler, const KeySampler::Part& part,
              const index_stats::KeyStructure& parts, double live)
      : sampler_(sampler), part_(part), parts_(parts), entries_(part.inner * live) {}

  std::vector<double> count_values() {
    Changes changes(parts_);
    const std::size_t steps = step(changes);
    std::vector<double> result = changes.counts();
    if (steps < kSteps) return result;  // that was all
    const std::size_t shared = changes.equal_parts(part_.first, part_.last);
    for (std::size_t i = 0; i < result.size(); ++i) {
      if (i < shared) {
        result[i] = 0;
      } else if (result[i] >= kValuesInSteps) {
        result[i] *= std::max(entries_ / static_cast<double>(steps), 1.0);
      } else {
        result[i] = jump(i);
      }
      if (i > 0) result[i] = std::max(result[i], result[i - 1]);
    }
    return result;
  }

 private:
  // Reads the first entries; returns how many there were behind the first one.
  std::size_t step(Changes& changes) {
    std::size_t steps = 0;
    std::string previous = part_.first;
    bool has_entry = sampler_.seek(part_.first);
    while (has_entry && steps < kSteps && previous < part_.last) {
      has_entry = sampler_.next();
      if (!has_entry || sampler_.entry().key() > part_.last) break;
      changes.add(previous, sampler_.entry().key());
      previous = sampler_.entry().key();
      ++steps;
    }
    return steps;
  }

  // Goes from value to value.
  double jump(std::size_t part) {
    Changes changes(parts_);
    std::string at = part_.first;
    double jumps = 0;
    while (jumps < kJumps) {
      const std::string end = end_of_prefix(changes.prefix(at, part));
      if (end.empty() || !sampler_.seek(end) || sampler_.entry().key() > part_.last) {
        return jumps;
      }
      at = sampler_.entry().key();
      ++jumps;
    }
    const double passed = std::max(sampler_.estimate(part_.first, at), jumps);
    return jumps * std::max(part_.inner / passed, 1.0);
  }

  KeySampler& sampler_;
  const KeySampler::Part& part_;
  const index_stats::KeyStructure& parts_;
  const double entries_;
};

}  // namespace

std::string end_of_prefix(std::string_view prefix) {
  std::string end(prefix);
  while (!end.empty() && end.back() == '\xFF') end.pop_back();
  if (!end.empty()) ++end.back();
  return end;
}

std::vector<double> sample_entries_per_value(kv::Database& database, kv::FamilyId family,
                                             const KeyRange& index_range,
                                             const index_stats::KeyStructure& parts, double entries,
                                             const KeySampler::Estimate& estimate) {
  KeySampler sampler(database, family, index_range, estimate);
  if (entries <= kEntriesAll) {
    if (auto counted = count_all(sampler, index_range.lower, parts)) return std::move(*counted);
  }
  const std::size_t count = parts.count();
  Changes shared(parts);
  // The whole key is different in each entry.
  const auto is_mixed = [&](std::string_view first, std::string_view last) {
    return shared.equal_parts(first, last) + 1 < count;
  };
  const std::vector<KeySampler::Part> pieces = sampler.divide(kParts, is_mixed);
  if (pieces.empty()) return {};
  double estimated = 0;
  for (const KeySampler::Part& piece : pieces) estimated += piece.inner;
  // Removed entries and older versions are among the estimated ones.
  const double live = entries > 0 ? entries / estimated : 1;
  std::vector<double> values(count, 1);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    const std::vector<double> within = PartOfIndex(sampler, pieces[i], parts, live).count_values();
    for (std::size_t part = 0; part < count; ++part) values[part] += within[part];
    if (i == 0) continue;
    for (std::size_t part = shared.equal_parts(pieces[i - 1].last, pieces[i].first); part < count;
         ++part) {
      values[part] += 1;
    }
  }
  std::vector<double> result;
  for (const double value : values) result.push_back(std::max(estimated * live / value, 1.0));
  if (!result.empty()) result.back() = 1;
  return result;
}

}  // namespace basalt::stats
