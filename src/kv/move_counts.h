#pragma once
#include <cstdint>
#include <utility>

#include "kv/events.h"
#include "kv/read_counts.h"

namespace basalt::kv {

// The moves of one iterator, counted where it is and told to all now and then: at each seek, each
// batch of steps, and the end.
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
    tell();
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
