#include "stats/value_sample.h"

#include <algorithm>
#include <string>

#include "base/bytes.h"

namespace basalt::stats {
namespace {

constexpr std::size_t kEntriesAtEachEnd = 256;
constexpr std::uint64_t kSkippedMax = 1000;

struct Sample {
  std::vector<std::string> keys;  // from one end of the index towards its middle
  bool is_all = false;            // the index has no more
};

Sample read_end(kv::Database& database, kv::FamilyId family, const kv::KeyRange& range,
                bool from_start) {
  Sample sample;
  kv::ReadView view;
  view.skipped_max = kSkippedMax;
  kv::Iterator iterator = database.new_iterator(family, view, range);
  from_start ? iterator.seek_to_first() : iterator.seek_to_last();
  while (iterator.is_valid() && sample.keys.size() < kEntriesAtEachEnd) {
    sample.keys.emplace_back(iterator.key());
    from_start ? iterator.next() : iterator.previous();
  }
  sample.is_all = sample.keys.size() < kEntriesAtEachEnd && !iterator.gave_up();
  return sample;
}

// What the runs of equal values add up to.
struct Runs {
  double entries = 0;
  double values = 0;
};

// `position` entries of `key`'s kind were passed when the value changes, or there are no more.
void count_run(Runs& runs, std::size_t& begin, std::size_t position) {
  runs.entries += static_cast<double>(position - begin);
  runs.values += 1;
  begin = position;
}

void add_runs(const Sample& sample, const kv::KeyParts& parts, std::vector<Runs>& runs) {
  const std::size_t count = parts.count();
  std::vector<std::uint32_t> ends(count);
  std::vector<std::size_t> begins(count);
  for (std::size_t i = 1; i < sample.keys.size(); ++i) {
    parts.split(sample.keys[i], 0, ends.data());
    const std::size_t equal = common_bytes(sample.keys[i - 1], sample.keys[i]);
    for (std::size_t part = 0; part < count; ++part) {
      if (ends[part] > equal) count_run(runs[part], begins[part], i);
    }
  }
  if (!sample.is_all || sample.keys.empty()) return;
  for (std::size_t part = 0; part < count; ++part) {
    count_run(runs[part], begins[part], sample.keys.size());
  }
}

}  // namespace

kv::KeyRange range_of_prefix(std::string_view prefix) {
  kv::KeyRange range{std::string(prefix), std::string(prefix)};
  while (!range.upper.empty() && range.upper.back() == '\xFF') range.upper.pop_back();
  if (!range.upper.empty()) ++range.upper.back();
  return range;
}

std::vector<double> sample_entries_per_value(
    kv::Database& database, kv::FamilyId family, const kv::KeyRange& index_range,
    const kv::KeyParts& parts, const std::function<double(const kv::KeyRange&)>& estimate) {
  const std::size_t count = parts.count();
  std::vector<Runs> runs(count);
  const Sample start = read_end(database, family, index_range, true);
  add_runs(start, parts, runs);
  Sample end;
  if (!start.is_all) {
    end = read_end(database, family, index_range, false);
    add_runs(end, parts, runs);
  }
  std::vector<double> result(count, 1);
  if (start.keys.empty()) return result;
  std::vector<std::uint32_t> ends(count);
  parts.split(start.keys.front(), 0, ends.data());
  for (std::size_t part = 0; part < count; ++part) {
    if (runs[part].values > 0) {
      result[part] = runs[part].entries / runs[part].values;
    } else {
      const std::string_view value(start.keys.front().data(), ends[part]);
      result[part] = std::max(estimate(range_of_prefix(value)),
                              static_cast<double>(start.keys.size()));
    }
  }
  return result;
}

}  // namespace basalt::stats
