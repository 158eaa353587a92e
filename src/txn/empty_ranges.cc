#include "txn/empty_ranges.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "base/assert.h"
#include "base/bytes.h"
#include "kv/iterator.h"

namespace basalt::txn {
namespace {

using Clock = EmptyRanges::Clock;

// Of some hundred removed entries. In debug builds each seek is slow, so that tests come here.
#ifdef BASALT_DEBUG
constexpr std::chrono::microseconds kSlow{0};
constexpr std::chrono::milliseconds kPause{0};
#else
constexpr std::chrono::microseconds kSlow{20};
// Between attempts that have found nothing worth while: the seek has waited for files, or a core.
constexpr std::chrono::milliseconds kPause{50};
#endif

}  // namespace

// What an iterator made now has found.
struct EmptyRanges::Look {
  std::uint64_t shown = 0;     // all that was committed up to here is shown
  std::uint64_t sequence = 0;  // and nothing that was committed later
  std::string first;           // key in the range, or its end
  Clock::duration took{};
  bool is_good = false;
};

std::uint64_t EmptyRanges::word_of(std::string_view key) {
  std::array<char, sizeof(std::uint64_t)> bytes{};
  key.remove_prefix(std::min(key.size(), sizeof(std::uint32_t)));
  key.copy(bytes.data(), bytes.size());
  return std::max<std::uint64_t>(load_be64(bytes.data()), 1);
}

bool EmptyRanges::is_slow(Clock::duration took) { return took >= kSlow; }

void EmptyRanges::Slot::update_watch() {
  if (is_learning) return watch.set_all();
  std::array<RangeWatch::Range, kRanges> watched;
  std::ranges::transform(ranges, watched.begin(), [](const Range& range) {
    // It may end where the next index begins.
    const bool is_within = index_of(range.end) == index_of(range.lower);
    return RangeWatch::Range{word_of(range.lower), is_within ? word_of(range.end) : kAll};
  });
  watch.set(std::span(watched).first(ranges.size()));
}

void EmptyRanges::Slot::cut(std::string_view first, std::string_view last) {
  BASALT_DEBUG_ASSERT(first <= last && index_of(first) == index_of(last));
  const MutexLock guard(mutex);
  if (is_learning && last >= learnt_from) {
    const std::string_view cut = std::max(first, std::string_view(learnt_from));
    if (first_insert.empty() || cut < first_insert) first_insert = cut;
  }
  const auto forgotten = std::erase_if(
      ranges, [&](const Range& range) { return first <= range.lower && range.lower <= last; });
  Range* const shortened = find(first);
  if (shortened != nullptr) shortened->end = first;
  if (forgotten > 0 || shortened != nullptr) update_watch();
}

EmptyRanges::Range* EmptyRanges::Slot::find(std::string_view key) {
  const auto found =
      std::ranges::find_if(ranges, [&](const Range& range) { return range.has(key); });
  return found == ranges.end() ? nullptr : &*found;
}

void EmptyRanges::Slot::add(Range range) {
  BASALT_DEBUG_ASSERT(range.lower < range.end && find(range.lower) == nullptr);
  if (ranges.size() == kRanges) {
    // Scans that begin in more places by turns would learn, and forget, each time.
    next_attempt = Clock::now() + kPause;
    ranges.erase(std::ranges::min_element(ranges, {}, &Range::used_at));
  }
  ranges.push_back(std::move(range));
}

void EmptyRanges::Slot::end_learning() {
  BASALT_DEBUG_ASSERT(is_learning);
  is_learning = false;
  update_watch();
}

bool EmptyRanges::find_end(std::string_view lower, std::uint64_t sequence, std::string& end) const {
  Slot& slot = slot_of(lower);
  if (!slot.may_touch(lower, lower)) return false;
  const MutexLock guard(slot.mutex);
  Range* range = slot.find(lower);
  if (range == nullptr || sequence < range->sequence) return false;
  range->used_at = ++slot.uses;
  end = range->end;
  BASALT_DEBUG_ASSERT(index_of(lower) == index_of(range->lower) && lower < end);
  return true;
}

// `from` becomes where to look: what is known to be empty need not be looked at again.
bool EmptyRanges::begin(Slot& slot, const std::string& lower, std::string& from) {
  const MutexLock guard(slot.mutex);
  if (slot.is_learning) return false;
  const Range* known = slot.find(lower);
  if (Clock::now() < (known != nullptr ? known->next_attempt : slot.next_attempt)) return false;
  slot.is_learning = true;
  slot.first_insert.clear();
  from = known != nullptr ? known->end : lower;
  slot.learnt_from = known != nullptr ? known->lower : lower;
  slot.update_watch();
  return true;
}

// The range from where it began up to `found` is empty at `sequence`, and cut by inserts since.
void EmptyRanges::end(Slot& slot, const std::string& found, std::uint64_t sequence) {
  const MutexLock guard(slot.mutex);
  const bool is_cut = !slot.first_insert.empty() && slot.first_insert < found;
  std::string end = is_cut ? slot.first_insert : found;
  // That which it continues, and others that it reaches: inserts have cut those, too.
  const std::string from = slot.learnt_from;
  const auto is_reached = [&](const Range& range) {
    return from <= range.lower && range.lower < end;
  };
  for (const Range& range : slot.ranges) {
    if (is_reached(range)) end = std::max(end, range.end);
  }
  std::erase_if(slot.ranges, is_reached);
  if (end > from) slot.add({from, end, sequence, ++slot.uses, {}});
  slot.end_learning();
}

void EmptyRanges::give_up(Slot& slot) {
  const MutexLock guard(slot.mutex);
  Range* known = slot.find(slot.learnt_from);
  (known != nullptr ? known->next_attempt : slot.next_attempt) = Clock::now() + kPause;
  slot.end_learning();
}

EmptyRanges::Look EmptyRanges::look(kv::FamilyId family, const KeyRange& range) {
  Look look;
  look.shown = database_.newest_sequence();
  kv::Iterator iterator = database_.new_iterator(family, {}, range);
  look.sequence = database_.newest_sequence();
  const Clock::time_point begin = Clock::now();
  iterator.seek_to_first();
  look.took = Clock::now() - begin;
  look.first = iterator.is_valid() ? iterator.key() : std::string_view(range.upper);
  look.is_good = iterator.is_valid() || iterator.status().is_ok();
  return look;
}

void EmptyRanges::learn(kv::FamilyId family, const KeyRange& range) {
  Slot& slot = slot_of(range.lower);
  KeyRange rest = range;
  if (!begin(slot, range.lower, rest.lower)) return;
  if (rest.lower >= range.upper) return give_up(slot);
  Look found = look(family, rest);
  if (!found.is_good || !is_slow(found.took)) return give_up(slot);
  inserts_.limit_to_unannounced(range.lower, found.first);
  if (found.first <= rest.lower) return give_up(slot);
  if (inserts_.has_commits_since(index_of(range.lower), found.shown)) {
    rest.upper = found.first;
    const Look second = look(family, rest);
    if (!second.is_good || second.first <= rest.lower) return give_up(slot);
    found.first = second.first;
    found.sequence = second.sequence;
  }
  end(slot, found.first, found.sequence);
}

}  // namespace basalt::txn
