#include "txn/empty_ranges.h"

#include <algorithm>
#include <array>

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

void EmptyRanges::Slot::forget() {
  lower.clear();
  end.clear();
  watch_until(is_learning ? kAll : 0);
}

void EmptyRanges::Slot::cut(std::string_view first, std::string_view last) {
  BASALT_DEBUG_ASSERT(first <= last && index_of(first) == index_of(last));
  const MutexLock guard(mutex);
  if (is_learning && last >= learnt_from) {
    const std::string_view cut = std::max(first, std::string_view(learnt_from));
    if (first_insert.empty() || cut < first_insert) first_insert = cut;
  }
  if (end.empty() || last < lower || first >= end) return;
  if (first <= lower) {
    forget();
  } else {
    end = first;
    if (!is_learning) watch_until(word_of_end());
  }
}

bool EmptyRanges::find_end(std::string_view lower, std::uint64_t sequence, std::string& end) const {
  const Slot& slot = slot_of(lower);
  if (!slot.may_reach(lower)) return false;
  const MutexLock guard(slot.mutex);
  if (slot.end.empty() || sequence < slot.sequence || lower < slot.lower || lower >= slot.end) {
    return false;
  }
  end = slot.end;
  return true;
}

// `from` becomes where to look: what is known to be empty need not be looked at again.
bool EmptyRanges::begin(Slot& slot, const std::string& lower, std::string& from) {
  const MutexLock guard(slot.mutex);
  if (slot.is_learning || Clock::now() < slot.next_attempt) return false;
  slot.is_learning = true;
  slot.first_insert.clear();
  const bool goes_on = !slot.end.empty() && slot.lower <= lower && lower < slot.end;
  from = goes_on ? slot.end : lower;
  slot.learnt_from = goes_on ? slot.lower : lower;
  slot.watch_until(kAll);
  return true;
}

// The range from where it began up to `found` is empty at `sequence`, and cut by inserts since.
void EmptyRanges::end(Slot& slot, const std::string& found, std::uint64_t sequence) {
  const MutexLock guard(slot.mutex);
  BASALT_DEBUG_ASSERT(slot.is_learning);
  slot.is_learning = false;
  const bool is_cut = !slot.first_insert.empty() && slot.first_insert < found;
  const std::string& end = is_cut ? slot.first_insert : found;
  if (end <= slot.learnt_from) {
    slot.forget();
    return;
  }
  // Scans that begin in two places by turns would learn, and forget, each time.
  if (!slot.end.empty() && slot.lower != slot.learnt_from) {
    slot.next_attempt = Clock::now() + kPause;
  }
  slot.lower = slot.learnt_from;
  slot.end = end;
  slot.sequence = sequence;
  BASALT_DEBUG_ASSERT(slot.lower < slot.end);
  slot.watch_until(slot.word_of_end());
}

void EmptyRanges::give_up(Slot& slot) {
  const MutexLock guard(slot.mutex);
  BASALT_DEBUG_ASSERT(slot.is_learning);
  slot.is_learning = false;
  slot.next_attempt = Clock::now() + kPause;
  if (slot.end.empty()) {
    slot.forget();
  } else {
    slot.watch_until(slot.word_of_end());
  }
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
