#include "txn/union_iterator.h"

#include <rocksdb/slice.h>
#include <rocksdb/status.h>

#include <algorithm>
#include <string>

#include "base/assert.h"
#include "rdb/slice.h"

namespace basalt::txn {

bool UnionIterator::find_own() {
  while (own_->is_valid()) {
    const std::string_view key = own_->key();
    if (is_forward_ ? !bounds_.range.upper.empty() && key >= bounds_.range.upper
                    : key < bounds_.range.lower) {
      return false;
    }
    if (own_->is_put()) return true;
    if (is_forward_) {
      own_->next();
    } else {
      own_->previous();
    }
  }
  return false;
}

// An iterator of RocksDB's that has met an error is nowhere.
bool UnionIterator::has_failed() const {
  return (!base_->Valid() && !base_->status().ok()) ||
         (!own_->is_valid() && !own_->status().is_ok());
}

bool UnionIterator::is_replaced() const {
  return base_->Valid() && rdb::view_of(base_->key()) == own_->key() &&
         same_row_(own_->key(), rdb::view_of(base_->value()), own_->value());
}

void UnionIterator::choose_first() {
  is_forward_ = true;
  const bool has_own = find_own();
  if (has_own && is_replaced()) base_->Next();
  at_ = At::kNowhere;
  if (has_failed()) return;
  if (has_own && (!base_->Valid() || rdb::view_of(base_->key()) > own_->key())) {
    at_ = At::kOwn;
  } else if (base_->Valid()) {
    at_ = At::kBase;
  }
}

void UnionIterator::choose_last() {
  is_forward_ = false;
  const bool has_own = find_own();
  if (has_own && is_replaced()) base_->Prev();
  at_ = At::kNowhere;
  if (has_failed()) return;
  if (has_own && (!base_->Valid() || rdb::view_of(base_->key()) <= own_->key())) {
    at_ = At::kOwn;
  } else if (base_->Valid()) {
    at_ = At::kBase;
  }
}

void UnionIterator::SeekToFirst() {
  base_->SeekToFirst();
  if (bounds_.range.lower.empty()) {
    own_->seek_to_first();
  } else {
    own_->seek(bounds_.range.lower);
  }
  choose_first();
}

void UnionIterator::SeekToLast() {
  base_->SeekToLast();
  if (bounds_.range.upper.empty()) {
    own_->seek_to_last();
  } else {
    own_->seek_for_previous(bounds_.range.upper);
    // The bound is not within.
    if (own_->is_valid() && own_->key() == bounds_.range.upper) own_->previous();
  }
  choose_last();
}

void UnionIterator::Seek(const rdb::Slice& target) {
  base_->Seek(target);
  own_->seek(std::max(rdb::view_of(target), std::string_view(bounds_.range.lower)));
  choose_first();
}

void UnionIterator::SeekForPrev(const rdb::Slice& target) {
  const std::string_view upper = bounds_.range.upper;
  if (!upper.empty() && rdb::view_of(target) >= upper) {
    SeekToLast();
    return;
  }
  base_->SeekForPrev(target);
  own_->seek_for_previous(rdb::view_of(target));
  choose_last();
}

// Moves the child that is not current to its first entry after the current one. If it fails there,
// Next() finds it so.
void UnionIterator::turn_forward() {
  const std::string current = key().ToString();
  if (at_ == At::kOwn) {
    base_->Seek(current);
    if (base_->Valid() && base_->key() == current) base_->Next();
  } else {
    own_->seek(current);
  }
  is_forward_ = true;
}

// Moves the child that is not current to its last entry before the current one.
void UnionIterator::turn_backward() {
  const std::string current = key().ToString();
  if (at_ == At::kOwn) {
    base_->SeekForPrev(current);
    if (is_replaced()) base_->Prev();
  } else {
    own_->seek_for_previous(current);
    if (own_->is_valid() && own_->key() == current) own_->previous();
  }
  is_forward_ = false;
}

void UnionIterator::Next() {
  BASALT_DEBUG_ASSERT(Valid());
  if (!is_forward_) turn_forward();
  if (at_ == At::kOwn) {
    own_->next();
  } else {
    base_->Next();
  }
  choose_first();
}

void UnionIterator::Prev() {
  BASALT_DEBUG_ASSERT(Valid());
  if (is_forward_) turn_backward();
  if (at_ == At::kOwn) {
    own_->previous();
  } else {
    base_->Prev();
  }
  choose_last();
}

rdb::Slice UnionIterator::key() const {
  return at_ == At::kOwn ? rdb::slice_of(own_->key()) : base_->key();
}

rdb::Slice UnionIterator::value() const {
  return at_ == At::kOwn ? rdb::slice_of(own_->value()) : base_->value();
}

rdb::Status UnionIterator::status() const {
  return base_->status().ok() ? to_rocksdb(own_->status()) : base_->status();
}

}  // namespace basalt::txn
