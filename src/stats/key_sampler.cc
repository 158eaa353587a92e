#include "stats/key_sampler.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "block_cache/block_sizes.h"

namespace basalt::stats {
namespace {

constexpr std::uint64_t kSkippedMax = 100'000;
constexpr unsigned kTimesGivenUpMax = 3;
// Parts with fewer entries are not divided.
constexpr double kLeastEntries = 32;
constexpr std::size_t kLiveParts = 48;
constexpr std::uint64_t kLiveEntries = 16;
constexpr std::size_t kSizeParts = 4;
constexpr std::size_t kSizeBytes = block_cache::kBlockBytes;

kv::ReadView make_view() {
  kv::ReadView view;
  view.skipped_max = kSkippedMax;
  return view;
}

// A key between two that differ: behind the first and not behind the second.
std::string key_between(std::string_view first, std::string_view last) {
  constexpr std::size_t kBytes = 8;
  const std::size_t common = common_bytes(first, last);
  const std::uint64_t from = number_at(first, common, kBytes);
  const std::uint64_t to = number_at(last, common, kBytes);
  if (to <= from) return std::string(last);  // they differ in length alone, or by zeros
  std::string key(first.substr(0, common));
  append_be64(key, from + std::max<std::uint64_t>((to - from) / 2, 1));
  while (key.size() > common && key.back() == '\0') key.pop_back();
  return key;
}

}  // namespace

KeySampler::KeySampler(kv::Database& database, kv::FamilyId family, const KeyRange& range,
                       Estimate estimate)
    : estimate_(std::move(estimate)),
      range_(range),
      iterator_(database.new_iterator(family, make_view(), range)) {}

bool KeySampler::note_move() {
  if (iterator_.is_valid()) return true;
  if (iterator_.gave_up()) ++times_given_up_;
  return false;
}

bool KeySampler::seek(std::string_view key) {
  if (times_given_up_ >= kTimesGivenUpMax) return false;
  iterator_.seek(key);
  return note_move();
}

bool KeySampler::next() {
  iterator_.next();
  return note_move();
}

void KeySampler::measure(Part& part) const {
  part.entries = std::max(estimate(part.begin, part.end), 1.0);
  part.inner = std::max(estimate(part.first, part.last), 0.0) + 1;
}

bool KeySampler::cut(Part& part, Part& right) {
  if (part.first >= part.last) return false;
  std::string middle = key_between(part.first, part.last);
  if (!seek(middle) || iterator_.key() > part.last) return false;
  std::string right_first(iterator_.key());
  iterator_.previous();
  if (!note_move() || iterator_.key() < part.first) return false;
  right.begin = std::move(middle);
  right.end = std::move(part.end);
  right.first = std::move(right_first);
  right.last = std::move(part.last);
  part.end = right.begin;
  part.last = iterator_.key();
  measure(part);
  measure(right);
  return true;
}

std::vector<KeySampler::Part> KeySampler::divide(std::size_t parts_max, const IsMixed& is_mixed) {
  std::vector<Part> parts;
  iterator_.seek_to_first();
  if (!note_move()) return parts;
  std::string first(iterator_.key());
  iterator_.seek_to_last();
  if (!note_move()) return parts;
  parts.push_back({range_.lower, range_.upper, std::move(first), std::string(iterator_.key())});
  measure(parts.front());
  while (parts.size() < parts_max) {
    Part* largest = nullptr;
    for (Part& part : parts) {
      if (!part.is_whole && (largest == nullptr || part.entries > largest->entries)) {
        largest = &part;
      }
    }
    if (largest == nullptr || largest->entries < kLeastEntries) break;
    Part right;
    if (!is_mixed(largest->first, largest->last) || !cut(*largest, right)) {
      largest->is_whole = true;
      continue;
    }
    parts.push_back(std::move(right));
  }
  std::sort(parts.begin(), parts.end(),
            [](const Part& a, const Part& b) { return a.first < b.first; });
  return parts;
}

double sample_live_share(kv::Database& database, kv::FamilyId family, const KeyRange& range,
                         const KeySampler::Estimate& estimate) {
  KeySampler sampler(database, family, range, estimate);
  const std::vector<KeySampler::Part> parts =
      sampler.divide(kLiveParts, [](std::string_view, std::string_view) { return true; });
  if (parts.empty()) return sampler.gave_up() ? 0 : 1;
  double all = 0;
  double live = 0;
  for (const KeySampler::Part& part : parts) {
    std::uint64_t seen = 0;
    bool has_entry = sampler.seek(part.first);
    while (has_entry && seen < kLiveEntries && sampler.entry().key() <= part.last) {
      ++seen;
      has_entry = sampler.next();
    }
    const double passed = has_entry && sampler.entry().key() < part.end
                              ? sampler.estimate(part.begin, sampler.entry().key())
                              : part.entries;
    all += part.entries;
    // Also where a run of removed entries begins the part.
    live += part.entries * std::min(static_cast<double>(seen) / std::max(passed, 1.0), 1.0);
  }
  return all > 0 ? live / all : 1;
}

block_cache::EntrySizes::Average sample_entry_size(kv::Database& database, kv::FamilyId family,
                                                   const KeyRange& range,
                                                   const KeySampler::Estimate& estimate) {
  KeySampler sampler(database, family, range, estimate);
  const std::vector<KeySampler::Part> parts =
      sampler.divide(kSizeParts, [](std::string_view, std::string_view) { return true; });
  block_cache::EntrySizes sizes;
  for (const KeySampler::Part& part : parts) {
    std::size_t bytes = 0;
    bool has_entry = sampler.seek(part.first);
    while (has_entry && bytes < kSizeBytes && sampler.entry().key() <= part.last) {
      sizes.add(sampler.entry().key(), sampler.entry().value());
      bytes += sampler.entry().key().size() + sampler.entry().value().size();
      has_entry = sampler.next();
    }
  }
  return sizes.average();
}

}  // namespace basalt::stats
