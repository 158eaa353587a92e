#pragma once
#include <cstdint>
#include <utility>

#include "kv/events.h"
#include "kv/read_counts.h"

namespace basalt::kv {

// The moves of one iterator, counted where it is and told to all now and then: after so many seeks
// or steps, and at the end.
//
// Threads     The iterator's.
class MoveCounts {
 public:
  // Both outlive it; `reader` may be null.
  MoveCounts(EventCounters& events, ReadCounts* reader) : events_(&events), reader_(reader) {}
  ~MoveCounts() { tell(); }
  MoveCounts(MoveCounts&& other) noexcept
      : events_(other.events_), reader_(other.reader_), counts_(std::exchange(other.counts_, {})) {}
  MoveCounts& operator=(MoveCounts&& other) noexcept {
    tell();
    events_ = other.events_;
    reader_ = other.reader_;
    counts_ = std::exchange(other.counts_, {});
    return *this;
  }

  // `bytes`: of the entry that it came to; without one, it found none.
  void note_seek(bool found, std::uint64_t bytes) {
    if (counts_.seeks == kSeeksTold) tell();
    ++counts_.seeks;
    if (found) ++counts_.seeks_found;
    counts_.bytes += bytes;
  }
  void note_previous(bool found, std::uint64_t bytes) {
    ++counts_.previouses;
    if (found) ++counts_.previouses_found;
    counts_.bytes += bytes;
  }
  // It came to an entry.
  void note_next(std::uint64_t bytes) {
    ++counts_.nexts_found;
    counts_.bytes += bytes;
  }
  void note_end() { ++counts_.nexts_in_vain; }
  // The next few steps begin.
  void begin_batch() {
    if (counts_.nexts_found >= kStepsTold) tell();
  }

  void tell() {
    if (counts_.seeks != 0) events_->add(Event::kSeek, counts_.seeks);
    if (counts_.seeks_found != 0) events_->add(Event::kSeekFound, counts_.seeks_found);
    const std::uint64_t nexts = counts_.nexts_found + counts_.nexts_in_vain;
    if (nexts != 0) events_->add(Event::kNext, nexts);
    if (counts_.nexts_found != 0) events_->add(Event::kNextFound, counts_.nexts_found);
    if (counts_.previouses != 0) events_->add(Event::kPrevious, counts_.previouses);
    if (counts_.previouses_found != 0) {
      events_->add(Event::kPreviousFound, counts_.previouses_found);
    }
    if (counts_.bytes != 0) events_->add(Event::kIteratorBytes, counts_.bytes);
    if (reader_ != nullptr) {
      reader_->seeks += counts_.seeks;
      reader_->nexts += nexts;
      reader_->previouses += counts_.previouses;
      reader_->iterator_bytes += counts_.bytes;
    }
    counts_ = {};
  }

 private:
  // To tell costs as much as a few comparisons of keys. A statement may scan or seek all day long
  // with one iterator.
  static constexpr std::uint64_t kSeeksTold = 16;
  static constexpr std::uint64_t kStepsTold = 64;

  struct Counts {
    std::uint64_t seeks = 0;
    std::uint64_t seeks_found = 0;
    std::uint64_t nexts_found = 0;
    std::uint64_t nexts_in_vain = 0;
    std::uint64_t previouses = 0;
    std::uint64_t previouses_found = 0;
    std::uint64_t bytes = 0;
  };

  EventCounters* events_;
  ReadCounts* reader_;
  Counts counts_;
};

}  // namespace basalt::kv
