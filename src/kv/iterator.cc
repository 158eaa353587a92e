#include "kv/iterator.h"

#include <rocksdb/iterator.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/assert.h"
#include "kv/rocksdb_access.h"
#include "kv/status_conversion.h"

namespace basalt::kv {
namespace {

// Moves that are made one by one before a run is taken for one: a search for a row or two is not
// to pay for others.
constexpr std::uint8_t kMovesBeforeStepsAhead = 3;
constexpr std::size_t kFewestAhead = 4;
constexpr std::size_t kMostAhead = 32;
// A part of what a processor keeps nearest.
constexpr std::size_t kBytesAhead = 8 * 1024;

}  // namespace

// Copies of entries that were passed over, to be shown one after the other.
class Iterator::EntriesAhead final : public rdb::EntrySink {
 public:
  struct Entry {
    std::string_view key;
    std::string_view value;
  };

  // Forgets all, and takes up to so many anew.
  void begin(std::size_t most) {
    most_ = most;
    count_ = shown_ = used_ = 0;
  }
  bool has_next() const { return shown_ < count_; }
  const Entry& next() { return entries_[shown_++]; }
  // Null if there is no room; what is there keeps its place.
  const char* Take(const rdb::Slice& key, const rdb::Slice& value) override {
    if (count_ == most_ || key.size() + value.size() > bytes_.size() - used_) return nullptr;
    Entry& entry = entries_[count_++];
    entry = {copy(key), copy(value)};
    return entry.key.data();
  }

 private:
  std::string_view copy(const rdb::Slice& bytes) {
    char* const place = bytes_.data() + used_;
    if (!bytes.empty()) std::memcpy(place, bytes.data(), bytes.size());
    used_ += bytes.size();
    return {place, bytes.size()};
  }

  std::size_t most_ = 0;
  std::size_t count_ = 0;
  std::size_t shown_ = 0;
  std::size_t used_ = 0;
  std::array<Entry, kMostAhead> entries_;
  std::array<char, kBytesAhead> bytes_;
};

Iterator::Iterator(std::unique_ptr<rdb::Iterator> iterator, std::unique_ptr<IteratorBounds> bounds,
                   Entries entries)
    : entries_(entries), iterator_(std::move(iterator)), bounds_(std::move(bounds)) {}
Iterator::~Iterator() { iterator_.reset(); }
Iterator::Iterator(Iterator&&) noexcept = default;
Iterator& Iterator::operator=(Iterator&&) noexcept = default;

void Iterator::set_range(const KeyRange& range) {
  BASALT_DEBUG_ASSERT(!range.lower.empty() && !range.upper.empty());
  bounds_->set(range);
  is_valid_ = false;
}

void Iterator::seek(std::string_view key) {
  begin_run();
  iterator_->Seek(slice_of(key));
  note_entry();
}

void Iterator::seek_for_previous(std::string_view key) {
  begin_run();
  iterator_->SeekForPrev(slice_of(key));
  note_entry();
}

void Iterator::seek_to_first() {
  begin_run();
  iterator_->SeekToFirst();
  note_entry();
}

void Iterator::seek_to_last() {
  begin_run();
  iterator_->SeekToLast();
  note_entry();
}

void Iterator::next() {
  if (is_ahead_) {
    if (!ahead_->has_next()) step_ahead();
  } else {
    iterator_->Next();
    if (moves_forward_ == kMovesBeforeStepsAhead) {
      step_ahead();
    } else if (entries_ == Entries::kStay) {
      ++moves_forward_;
    }
  }
  if (is_ahead_) {
    const EntriesAhead::Entry& entry = ahead_->next();
    key_ = entry.key;
    value_ = entry.value;
  } else {
    note_entry();
  }
}

void Iterator::previous() {
  // Where the shown entry is.
  if (is_ahead_) iterator_->Seek(slice_of(key_));
  begin_run();
  iterator_->Prev();
  note_entry();
}

void Iterator::begin_run() {
  is_ahead_ = false;
  moves_forward_ = 0;
  steps_ahead_ = kFewestAhead;
}

// Copies entries, beginning with the one that iterator_ is on, so many as the run has come to, or
// until one does not fit or there are no more.
void Iterator::step_ahead() {
  if (!ahead_) ahead_ = std::make_unique_for_overwrite<EntriesAhead>();
  ahead_->begin(steps_ahead_);
  if (iterator_->Valid()) iterator_->TakeEntries(ahead_.get());
  steps_ahead_ = std::min(2 * steps_ahead_, kMostAhead);
  is_ahead_ = ahead_->has_next();
}

void Iterator::note_entry() {
  if (entries_ != Entries::kStay) return;
  is_valid_ = iterator_->Valid();
  if (!is_valid_) return;
  key_ = view_of(iterator_->key());
  value_ = view_of(iterator_->value());
}

bool Iterator::is_valid_now() const { return iterator_->Valid(); }
std::string_view Iterator::key_now() const { return view_of(iterator_->key()); }
std::string_view Iterator::value_now() const { return view_of(iterator_->value()); }

Status Iterator::status() const {
  // What was met beyond the entry that is shown comes when the iterator gets there.
  return is_ahead_ ? Status::ok() : from_rocksdb(iterator_->status());
}

bool Iterator::gave_up() const { return !is_ahead_ && iterator_->status().IsIncomplete(); }

}  // namespace basalt::kv
