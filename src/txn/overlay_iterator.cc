#include "txn/overlay_iterator.h"

#include <rocksdb/slice.h>
#include <rocksdb/status.h>

#include <algorithm>
#include <string>

#include "base/assert.h"
#include "rdb/slice.h"

namespace basalt::txn {

bool OverlayIterator::has_change() const {
  if (!changes_->is_valid()) return false;
  const std::string_view key = changes_->key();
  return key >= bounds_.range.lower && (bounds_.range.upper.empty() || key < bounds_.range.upper);
}

bool OverlayIterator::has_failed() const {
  return (!base_->Valid() && !base_->status().ok()) ||
         (!changes_->is_valid() && !changes_->status().is_ok());
}

// The changes are at the first one that is not before the base's entry, and the other way round.
void OverlayIterator::choose_first() {
  is_forward_ = true;
  while (true) {
    at_ = At::kNowhere;
    if (has_failed()) return;
    if (!has_change()) {
      if (base_->Valid()) at_ = At::kBase;
      return;
    }
    const int order = base_->Valid() ? base_->key().compare(rdb::slice_of(changes_->key())) : 1;
    if (order < 0) {
      at_ = At::kBase;
      return;
    }
    if (changes_->is_put()) {
      at_ = At::kChange;
      return;
    }
    if (order == 0) base_->Next();
    changes_->next();
  }
}

void OverlayIterator::choose_last() {
  is_forward_ = false;
  while (true) {
    at_ = At::kNowhere;
    if (has_failed()) return;
    if (!has_change()) {
      if (base_->Valid()) at_ = At::kBase;
      return;
    }
    const int order = base_->Valid() ? base_->key().compare(rdb::slice_of(changes_->key())) : -1;
    if (order > 0) {
      at_ = At::kBase;
      return;
    }
    if (changes_->is_put()) {
      at_ = At::kChange;
      return;
    }
    if (order == 0) base_->Prev();
    changes_->previous();
  }
}

void OverlayIterator::SeekToFirst() {
  base_->SeekToFirst();
  if (bounds_.range.lower.empty()) {
    changes_->seek_to_first();
  } else {
    changes_->seek(bounds_.range.lower);
  }
  choose_first();
}

void OverlayIterator::SeekToLast() {
  base_->SeekToLast();
  if (bounds_.range.upper.empty()) {
    changes_->seek_to_last();
  } else {
    changes_->seek_for_previous(bounds_.range.upper);
    // The bound is not within.
    if (changes_->is_valid() && changes_->key() == bounds_.range.upper) changes_->previous();
  }
  choose_last();
}

void OverlayIterator::Seek(const rdb::Slice& target) {
  base_->Seek(target);
  changes_->seek(std::max(rdb::view_of(target), std::string_view(bounds_.range.lower)));
  choose_first();
}

void OverlayIterator::SeekForPrev(const rdb::Slice& target) {
  const std::string_view upper = bounds_.range.upper;
  if (!upper.empty() && rdb::view_of(target) >= upper) {
    SeekToLast();
    return;
  }
  base_->SeekForPrev(target);
  changes_->seek_for_previous(rdb::view_of(target));
  choose_last();
}

// The one that is not current goes to where it is after the current key, or on it if it is the
// base's: that one is replaced.
void OverlayIterator::turn(bool forward) {
  const std::string here = key().ToString();
  if (at_ == At::kChange) {
    if (forward) {
      base_->Seek(here);
    } else {
      base_->SeekForPrev(here);
    }
  } else if (forward) {
    changes_->seek(here);
  } else {
    changes_->seek_for_previous(here);
  }
  is_forward_ = forward;
}

void OverlayIterator::Next() {
  BASALT_DEBUG_ASSERT(Valid());
  if (!is_forward_) turn(true);
  if (at_ == At::kBase) {
    base_->Next();
  } else {
    if (base_->Valid() && base_->key() == rdb::slice_of(changes_->key())) base_->Next();
    changes_->next();
  }
  choose_first();
}

void OverlayIterator::Prev() {
  BASALT_DEBUG_ASSERT(Valid());
  if (is_forward_) turn(false);
  if (at_ == At::kBase) {
    base_->Prev();
  } else {
    if (base_->Valid() && base_->key() == rdb::slice_of(changes_->key())) base_->Prev();
    changes_->previous();
  }
  choose_last();
}

rdb::Slice OverlayIterator::key() const {
  return at_ == At::kBase ? base_->key() : rdb::slice_of(changes_->key());
}

rdb::Slice OverlayIterator::value() const {
  return at_ == At::kBase ? base_->value() : rdb::slice_of(changes_->value());
}

// RocksDB asks for the value in this form where it lays a batch over this iterator.
const rdb::WideColumns& OverlayIterator::columns() const {
  columns_.assign(1, {rdb::kDefaultWideColumnName, value()});
  return columns_;
}

rdb::Status OverlayIterator::status() const {
  if (!base_->status().ok()) return base_->status();
  return to_rocksdb(changes_->status());
}

}  // namespace basalt::txn
