#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/key_range.h"
#include "base/mutex.h"
#include "kv/database.h"
#include "txn/insert_registry.h"
#include "txn/key_spans.h"
#include "txn/range_watch.h"

namespace basalt::txn {

// Where indexes have had entries and have none any more: for scans, which would pass over what is
// left of each removed entry until a compaction takes it. A table that is a queue is such a place:
// all scans begin where it has been emptied.
//
// Purpose     A range is known to be empty from where scans have begun up to the first entry. A
//             scan that begins in it, and shows all that was committed when the range was looked
//             at, goes to its end at once. Nothing is stored; after a start it is learnt again.
// Protocol    A range is learnt from two looks. From before the first one on, inserts tell where
//             they are, and cut the range; those that were announced earlier are found in the
//             registry after the first look, or they have ended and the second look shows them.
//             Who scans makes its iterator, and then asks: an insert that the iterator shows has
//             cut the range before.
// Limits      kRanges of an index, for queues that share one, and of all indexes with equal ids
//             modulo kSlots: that which no scan has used for longest is forgotten. Keys that are
//             put without being announced must be of indexes from which nothing is removed but so:
//             those of private tables.
// Cost        An insert, or the beginning of a scan: an atomic load where nothing is known, some
//             more otherwise, and a mutex where the key is not certainly before or behind each
//             range. Scans of an index from which something was removed since the start also look
//             at the clock.
// Threads     Any.
class EmptyRanges {
 public:
  using Clock = std::chrono::steady_clock;

  EmptyRanges(kv::Database& database, const InsertRegistry& inserts)
      : database_(database), inserts_(inserts) {}

  // ---- writers, who have announced what they insert

  // Before an entry is removed.
  void note_removal(std::string_view key) {
    std::atomic<std::uint32_t>& removed_from = slot_of(key).removed_from;
    const std::uint32_t index = index_of(key);
    if (removed_from.load(std::memory_order_relaxed) != index) {
      removed_from.store(index, std::memory_order_relaxed);
    }
  }
  // Before an entry is put.
  void note_insert(std::string_view key) { note_inserts(key, key); }
  // Before entries of one index are put, between these two.
  void note_inserts(std::string_view first, std::string_view last) {
    Slot& slot = slot_of(first);
    if (slot.may_touch(first, last)) slot.cut(first, last);
  }

  // ---- scans

  // Whether it is worth while to ask about the index of a key.
  bool may_know(std::string_view key) const {
    return slot_of(key).removed_from.load(std::memory_order_relaxed) == index_of(key);
  }
  // Whether there is nothing from `lower` up to `end`, for an iterator that shows all that was
  // committed up to `sequence`, and was made before.
  bool find_end(std::string_view lower, std::uint64_t sequence, std::string& end) const;
  // Whether a seek took so long that it has passed over many removed entries, or has read files.
  static bool is_slow(Clock::duration took);
  // After a slow seek to the near end of `range`: looks for the first entry, and knows the range
  // before it from then on if it is empty and it takes time to find that out.
  void learn(kv::FamilyId family, const KeyRange& range);

 private:
  static constexpr std::size_t kSlots = 512;
  static constexpr std::size_t kRanges = RangeWatch::kRangesMax;
  static constexpr std::uint64_t kAll = UINT64_MAX;

  // What a key begins with behind its index id: in the order of the keys of an index, and not 0.
  static std::uint64_t word_of(std::string_view key);

  // Empty since `sequence`, from `lower` to before `end`.
  struct Range {
    std::string lower;
    std::string end;
    std::uint64_t sequence = 0;
    std::uint64_t used_at = 0;       // by the count of the slot
    Clock::time_point next_attempt;  // to learn what follows

    bool has(std::string_view key) const { return lower <= key && key < end; }
  };

  struct alignas(64) Slot {
    std::atomic<std::uint32_t> removed_from = 0;
    // Looked at before the mutex is taken; set after each change of what follows. While a range is
    // being learnt all is watched. Who finds nothing of the kind, and his key in no range, has
    // announced it before any later learning begins, which will find it; and what that one takes
    // over of the ranges of now does not have the key.
    RangeWatch watch;

    bool may_touch(std::string_view first, std::string_view last) const {
      return watch.is_on() && watch.may_touch(word_of(first), word_of(last));
    }
    void update_watch() BASALT_REQUIRES(mutex);
    void cut(std::string_view first, std::string_view last) BASALT_EXCLUDES(mutex);
    Range* find(std::string_view key) BASALT_REQUIRES(mutex);
    // In place of another one where there are kRanges.
    void add(Range range) BASALT_REQUIRES(mutex);
    void end_learning() BASALT_REQUIRES(mutex);

    alignas(64) mutable Mutex mutex{MutexRank::kEmptyRange};
    std::vector<Range> ranges BASALT_GUARDED_BY(mutex);  // none has a key of another one
    std::uint64_t uses BASALT_GUARDED_BY(mutex) = 0;
    bool is_learning BASALT_GUARDED_BY(mutex) = false;
    // Meanwhile: where it begins, and the first key that was inserted there; empty: none was.
    std::string learnt_from BASALT_GUARDED_BY(mutex);
    std::string first_insert BASALT_GUARDED_BY(mutex);
    Clock::time_point next_attempt BASALT_GUARDED_BY(mutex);  // to learn another one
  };
  struct Look;

  static std::uint32_t index_of(std::string_view key) { return KeySpans::index_of(key); }
  Slot& slot_of(std::string_view key) const { return slots_[index_of(key) % kSlots]; }
  static bool begin(Slot& slot, const std::string& lower, std::string& from);
  static void end(Slot& slot, const std::string& end, std::uint64_t sequence);
  static void give_up(Slot& slot);
  Look look(kv::FamilyId family, const KeyRange& range);

  kv::Database& database_;
  const InsertRegistry& inserts_;
  const std::unique_ptr<Slot[]> slots_ = std::make_unique<Slot[]>(kSlots);
};

}  // namespace basalt::txn
