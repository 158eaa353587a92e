#include "txn/own_change.h"

#include <rocksdb/status.h>

#include <algorithm>

#include "base/assert.h"

namespace basalt::txn {

rdb::Status to_rocksdb(const Status& status) {
  if (status.is_ok()) return rdb::Status::OK();
  return status.is(ErrorCode::kCorruption) ? rdb::Status::Corruption(status.message())
                                           : rdb::Status::IOError(status.message());
}

bool MergedChanges::has_failed() const {
  return std::ranges::any_of(sources_, [](const auto& source) {
    return !source->is_valid() && !source->status().is_ok();
  });
}

// Where a source cannot be read there is nothing: what comes next is not known.
void MergedChanges::choose_first() {
  is_forward_ = true;
  current_ = nullptr;
  if (has_failed()) return;
  for (const auto& source : sources_) {
    if (!source->is_valid()) continue;
    if (current_ == nullptr || source->key() < current_->key()) current_ = source.get();
  }
}

void MergedChanges::choose_last() {
  is_forward_ = false;
  current_ = nullptr;
  if (has_failed()) return;
  for (const auto& source : sources_) {
    if (!source->is_valid()) continue;
    if (current_ == nullptr || source->key() > current_->key()) current_ = source.get();
  }
}

void MergedChanges::seek(std::string_view key) {
  for (const auto& source : sources_) source->seek(key);
  choose_first();
}

void MergedChanges::seek_for_previous(std::string_view key) {
  for (const auto& source : sources_) source->seek_for_previous(key);
  choose_last();
}

void MergedChanges::seek_to_first() {
  for (const auto& source : sources_) source->seek_to_first();
  choose_first();
}

void MergedChanges::seek_to_last() {
  for (const auto& source : sources_) source->seek_to_last();
  choose_last();
}

// The current one last: its key is what the others are compared with.
void MergedChanges::step(void (ChangeSource::*move)()) {
  BASALT_DEBUG_ASSERT(is_valid());
  for (const auto& source : sources_) {
    if (source.get() == current_ || !source->is_valid()) continue;
    if (source->key() == current_->key()) (source.get()->*move)();
  }
  (current_->*move)();
}

void MergedChanges::turn(bool forward) {
  BASALT_DEBUG_ASSERT(is_valid() && is_forward_ != forward);
  const std::string here(key());
  for (const auto& source : sources_) {
    if (source.get() == current_) continue;
    if (forward) {
      source->seek(here);
    } else {
      source->seek_for_previous(here);
    }
  }
  is_forward_ = forward;
}

void MergedChanges::next() {
  if (!is_forward_) turn(true);
  step(&ChangeSource::next);
  choose_first();
}

void MergedChanges::previous() {
  if (is_forward_) turn(false);
  step(&ChangeSource::previous);
  choose_last();
}

Status MergedChanges::status() const {
  for (const auto& source : sources_) BASALT_TRY(source->status());
  return Status::ok();
}

}  // namespace basalt::txn
