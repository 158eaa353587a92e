#include "kv/iterator.h"

#include <rocksdb/iterator.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "kv/batch_buffer.h"
#include "kv/iterator_pool.h"
#include "kv/rocksdb_reads.h"
#include "rdb/status_conversion.h"

namespace basalt::kv {
namespace {

// Moves that are made one by one before a run is taken for one: a search for a row or two is not
// to pay for others.
constexpr std::uint8_t kMovesBeforeBatches = 3;
constexpr std::size_t kBatchEntriesMin = 4;

}  // namespace

Iterator::Iterator(std::unique_ptr<rdb::Iterator> iterator, std::unique_ptr<IteratorBounds> bounds,
                   Entries entries, EventCounters& events, ReadCounts* reader)
    : entries_(entries), moves_(events, reader) {
  BASALT_DEBUG_ASSERT(iterator != nullptr && bounds != nullptr);
  parts_.iterator = std::move(iterator);
  parts_.bounds = std::move(bounds);
}

Iterator::Iterator(IteratorParts parts, IteratorPool& pool, EventCounters& events,
                   ReadCounts* reader)
    : entries_(Entries::kStay), parts_(std::move(parts)), pool_(&pool), moves_(events, reader) {
  BASALT_DEBUG_ASSERT(parts_.iterator != nullptr && parts_.bounds != nullptr);
}

Iterator::~Iterator() {
  // An iterator that was moved from has no parts left.
  if (pool_ == nullptr || parts_.iterator == nullptr) return;
  pool_->give_back(std::make_unique<IteratorParts>(std::move(parts_)));
}

Iterator::Iterator(Iterator&&) noexcept = default;
Iterator& Iterator::operator=(Iterator&&) noexcept = default;

void Iterator::set_range(const KeyRange& range) {
  BASALT_DEBUG_ASSERT(!range.lower.empty() && !range.upper.empty());
  parts_.bounds->set(range);
  is_valid_ = false;
}

void Iterator::seek(std::string_view key) {
  BASALT_DEBUG_ASSERT(parts_.iterator != nullptr);
  begin_run();
  parts_.iterator->Seek(rdb::slice_of(key));
  note_seek();
}

void Iterator::seek_for_previous(std::string_view key) {
  BASALT_DEBUG_ASSERT(parts_.iterator != nullptr);
  begin_run();
  parts_.iterator->SeekForPrev(rdb::slice_of(key));
  note_seek();
}

void Iterator::seek_to_first() {
  BASALT_DEBUG_ASSERT(parts_.iterator != nullptr);
  begin_run();
  parts_.iterator->SeekToFirst();
  note_seek();
}

void Iterator::seek_to_last() {
  BASALT_DEBUG_ASSERT(parts_.iterator != nullptr);
  begin_run();
  parts_.iterator->SeekToLast();
  note_seek();
}

void Iterator::next() {
  BASALT_DEBUG_ASSERT(is_valid());
  if (is_ahead_) {
    if (!parts_.ahead->has_next()) fill_batch();
  } else {
    parts_.iterator->Next();
    if (moves_forward_ == kMovesBeforeBatches) {
      fill_batch();
    } else if (entries_ == Entries::kStay) {
      ++moves_forward_;
    }
  }
  if (is_ahead_) {
    const BatchBuffer::Entry& entry = parts_.ahead->next();
    key_ = entry.key;
    value_ = entry.value;
    moves_.note_next(key_.size() + value_.size());
    return;
  }
  note_entry();
  if (is_valid()) {
    moves_.note_next(entry_bytes());
  } else {
    moves_.note_end();
  }
}

void Iterator::previous() {
  BASALT_DEBUG_ASSERT(is_valid());
  // Where the shown entry is; nowhere if its block cannot be read any more.
  if (is_ahead_) parts_.iterator->Seek(rdb::slice_of(key_));
  begin_run();
  if (parts_.iterator->Valid()) parts_.iterator->Prev();
  note_entry();
  moves_.note_previous(is_valid(), is_valid() ? entry_bytes() : 0);
}

void Iterator::begin_run() {
  is_ahead_ = false;
  moves_forward_ = 0;
  batch_entries_ = kBatchEntriesMin;
}

// Copies entries, beginning with the one that iterator_ is on, so many as the run has come to, or
// until one does not fit or there are no more.
void Iterator::fill_batch() {
  moves_.begin_batch();
  if (!parts_.ahead) parts_.ahead = std::make_unique_for_overwrite<BatchBuffer>();
  BASALT_DEBUG_ASSERT(entries_ == Entries::kStay);
  parts_.ahead->begin(batch_entries_);
  if (parts_.iterator->Valid()) parts_.iterator->TakeEntries(parts_.ahead.get());
  batch_entries_ = std::min(2 * batch_entries_, BatchBuffer::kEntriesMax);
  is_ahead_ = parts_.ahead->has_next();
}

void Iterator::note_seek() {
  note_entry();
  moves_.note_seek(is_valid(), is_valid() ? entry_bytes() : 0);
}

void Iterator::note_entry() {
  if (entries_ != Entries::kStay) return;
  is_valid_ = parts_.iterator->Valid();
  if (!is_valid_) return;
  key_ = rdb::view_of(parts_.iterator->key());
  value_ = rdb::view_of(parts_.iterator->value());
}

bool Iterator::is_valid_now() const { return parts_.iterator->Valid(); }
std::string_view Iterator::key_now() const { return rdb::view_of(parts_.iterator->key()); }
std::string_view Iterator::value_now() const { return rdb::view_of(parts_.iterator->value()); }

Status Iterator::status() const {
  // What was met beyond the entry that is shown comes when the iterator gets there.
  return is_ahead_ ? Status::ok() : rdb::from_rocksdb(parts_.iterator->status());
}

bool Iterator::gave_up() const { return !is_ahead_ && parts_.iterator->status().IsIncomplete(); }

}  // namespace basalt::kv
