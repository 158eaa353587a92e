#include "txn/union_iterator.h"

#include <rocksdb/slice.h>
#include <rocksdb/status.h>

#include <algorithm>

#include "base/assert.h"
#include "rdb/rocksdb_fwd.h"

namespace basalt::txn {

UnionIterator::UnionIterator(std::unique_ptr<rdb::Iterator> base, std::vector<Entry> own)
    : base_(std::move(base)), own_(std::move(own)), own_position_(own_.size()) {
  BASALT_DEBUG_ASSERT(std::ranges::is_sorted(own_, {}, &Entry::key));
}

std::size_t UnionIterator::own_at_or_after(const rdb::Slice& key) const {
  const auto found = std::lower_bound(
      own_.begin(), own_.end(), key,
      [](const Entry& entry, const rdb::Slice& target) { return target.compare(entry.key) > 0; });
  return static_cast<std::size_t>(found - own_.begin());
}

bool UnionIterator::is_replaced() const {
  const std::size_t position = own_at_or_after(base_->key());
  return position < own_.size() && own_[position].replaces &&
         base_->key().compare(own_[position].key) == 0;
}

void UnionIterator::pass_replaced_forward() {
  while (base_->Valid() && is_replaced()) base_->Next();
}

void UnionIterator::pass_replaced_backward() {
  while (base_->Valid() && is_replaced()) base_->Prev();
}

// An iterator of RocksDB's that has met an error is nowhere.
void UnionIterator::note_failure() { has_failed_ = !base_->Valid() && !base_->status().ok(); }

void UnionIterator::choose_first() {
  pass_replaced_forward();
  note_failure();
  is_forward_ = true;
  is_own_ = has_own() && (!base_->Valid() || base_->key().compare(own_[own_position_].key) > 0);
}

void UnionIterator::choose_last() {
  pass_replaced_backward();
  note_failure();
  is_forward_ = false;
  is_own_ = has_own() && (!base_->Valid() || base_->key().compare(own_[own_position_].key) <= 0);
}

void UnionIterator::step_own_back() {
  own_position_ = own_position_ == 0 ? own_.size() : own_position_ - 1;
}

bool UnionIterator::Valid() const { return !has_failed_ && (is_own_ ? has_own() : base_->Valid()); }

void UnionIterator::SeekToFirst() {
  base_->SeekToFirst();
  own_position_ = 0;
  choose_first();
}

void UnionIterator::SeekToLast() {
  base_->SeekToLast();
  own_position_ = own_.size();
  step_own_back();
  choose_last();
}

void UnionIterator::Seek(const rdb::Slice& target) {
  base_->Seek(target);
  own_position_ = own_at_or_after(target);
  choose_first();
}

void UnionIterator::SeekForPrev(const rdb::Slice& target) {
  base_->SeekForPrev(target);
  own_position_ = own_at_or_after(target);
  if (!has_own() || target.compare(own_[own_position_].key) != 0) step_own_back();
  choose_last();
}

// Moves the child that is not current to its first entry after the current one. If it fails there,
// Next() finds it so.
void UnionIterator::turn_forward() {
  const std::string current = key().ToString();
  if (is_own_) {
    base_->Seek(current);
    if (base_->Valid() && base_->key() == current) base_->Next();
  } else {
    own_position_ = own_at_or_after(current);
  }
  is_forward_ = true;
}

// Moves the child that is not current to its last entry before the current one.
void UnionIterator::turn_backward() {
  const std::string current = key().ToString();
  if (is_own_) {
    base_->SeekForPrev(current);
  } else {
    own_position_ = own_at_or_after(current);
    step_own_back();
  }
  is_forward_ = false;
}

void UnionIterator::Next() {
  if (!is_forward_) turn_forward();
  if (is_own_) {
    ++own_position_;
  } else {
    base_->Next();
  }
  choose_first();
}

void UnionIterator::Prev() {
  if (is_forward_) turn_backward();
  if (is_own_) {
    step_own_back();
  } else {
    base_->Prev();
  }
  choose_last();
}

rdb::Slice UnionIterator::key() const {
  return is_own_ ? rdb::Slice(own_[own_position_].key) : base_->key();
}

rdb::Slice UnionIterator::value() const {
  return is_own_ ? rdb::Slice(own_[own_position_].value) : base_->value();
}

rdb::Status UnionIterator::status() const { return base_->status(); }

}  // namespace basalt::txn
