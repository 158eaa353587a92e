#include "table/row_batch.h"

#include <algorithm>
#include <span>

#include "base/assert.h"

namespace basalt::table {

void RowBatch::clear() {
  if (size_ == 0) return;
  values_.reset();
  single_value_.reset();
  size_ = 0;
  key_count_ = 0;
  key_bytes_ = 0;
  position_ = 0;
  first_read_ = 0;
  end_of_read_ = 0;
}

void RowBatch::add(std::string_view primary_key, std::string_view entry_key, void* range) {
  BASALT_DEBUG_ASSERT(position_ == 0 && size_ == key_count_);
  if (size_ == entries_.size()) entries_.emplace_back();
  if (key_count_ == keys_.size()) keys_.emplace_back();
  keys_[key_count_] = primary_key;
  entries_[size_].key = key_count_;
  entries_[size_].entry_key = entry_key;
  entries_[size_].range = range;
  ++key_count_;
  ++size_;
  key_bytes_ += primary_key.size() + entry_key.size();
}

void RowBatch::sort() {
  const auto end = entries_.begin() + static_cast<std::ptrdiff_t>(size_);
  std::sort(entries_.begin(), end, [this](const Entry& left, const Entry& right) {
    return keys_[left.key] < keys_[right.key];
  });
  std::vector<std::string> sorted;
  sorted.reserve(key_count_);
  for (auto entry = entries_.begin(); entry != end; ++entry) {
    if (sorted.empty() || keys_[entry->key] != sorted.back()) sorted.push_back(keys_[entry->key]);
    entry->key = sorted.size() - 1;
  }
  keys_ = std::move(sorted);
  key_count_ = keys_.size();
}

Status RowBatch::next(txn::Transaction& transaction, kv::FamilyId family, const kv::ReadView& view,
                      bool& found, std::string_view& row) {
  BASALT_DEBUG_ASSERT(has_next());
  const std::size_t key = entries_[position_].key;
  if (key_count_ == 1) {
    if (position_++ == 0) {
      BASALT_TRY(transaction.get(family, keys_[key], view, single_value_, single_exists_));
    }
    found = single_exists_;
    if (found) row = single_value_.view();
    return Status::ok();
  }
  if (key >= end_of_read_) {
    const std::size_t count = std::min(kRowsMax, key_count_ - key);
    first_read_ = key;
    end_of_read_ = key + count;
    BASALT_TRY(transaction.get_many(family, std::span(keys_).subspan(key, count), view, values_));
  }
  ++position_;
  const std::size_t number = key - first_read_;
  const kv::PinnedValues::State state = values_.state(number);
  if (state == kv::PinnedValues::State::kUnread) {
    BASALT_TRY(transaction.get(family, keys_[key], view, single_value_, found));
    if (found) row = single_value_.view();
    return Status::ok();
  }
  found = state == kv::PinnedValues::State::kFound;
  if (found) row = values_.view(number);
  return Status::ok();
}

}  // namespace basalt::table
