#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "block_cache/compressibility.h"
#include "kv/database.h"

namespace basalt::stats {

// Looks at some entries all over a range of keys, as they are committed now: for what no file
// knows, above all what lies in memtables.
//
// How         The range is halved between its first and its last key, then whatever part has the
//             most entries, until there are enough parts. A half always ends at an entry, so the
//             next cut is made within what keys differ in, however unevenly they are spread.
// Cost        Some ten microseconds per part where all is in memory; up to two blocks per part
//             where it is not. Where removed entries are in the way, at most 100,000 are passed
//             with one move, and that only three times.
// Threads     One at a time.
class KeySampler {
 public:
  // How many entries are in a range, those that are removed or overwritten included. Asked twice
  // per part.
  using Estimate = std::function<double(const KeyRange&)>;

  // A part of the range. Each begins where the one before it ends; removed entries may lie before
  // its first one and behind its last.
  struct Part {
    std::string begin;
    std::string end;
    std::string first;
    std::string last;
    double entries = 0;     // as estimated, from begin to end
    double inner = 0;       // from first to last
    bool is_whole = false;  // not to be divided any further
  };

  KeySampler(kv::Database& database, kv::FamilyId family, const KeyRange& range, Estimate estimate);

  // Whether a part that begins and ends with these keys is to be divided further.
  using IsMixed = std::function<bool(std::string_view first, std::string_view last)>;
  // The range in up to `parts_max` parts, in order; none if it has no entries.
  std::vector<Part> divide(std::size_t parts_max, const IsMixed& is_mixed);

  // Moves within the range it was made for. False where there are no more entries.
  bool seek(std::string_view key);
  bool next();
  // Where it has moved to.
  const kv::Iterator& entry() const { return iterator_; }
  // Whether a move has ended among removed entries.
  bool gave_up() const { return iterator_.gave_up(); }
  // Entries from one key to before another.
  double estimate(std::string_view from, std::string_view to) const {
    return estimate_({std::string(from), std::string(to)});
  }

 private:
  bool note_move();
  void measure(Part& part) const;
  // False if there is nothing to divide.
  bool cut(Part& part, Part& right);

  const Estimate estimate_;
  const KeyRange range_;
  kv::Iterator iterator_;
  unsigned times_given_up_ = 0;
};

// The part of the entries in a range, as `estimate` counts them, that exist: the others are older
// versions, removed, or remove one. Judged by some of them, all over the range; 1 if it is empty.
double sample_live_share(kv::Database& database, kv::FamilyId family, const KeyRange& range,
                         const KeySampler::Estimate& estimate);

// What some entries of a range are like.
block_cache::EntrySizes::Average sample_entry_size(kv::Database& database, kv::FamilyId family,
                                                   const KeyRange& range,
                                                   const KeySampler::Estimate& estimate);

}  // namespace basalt::stats
