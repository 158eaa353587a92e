#pragma once
#include <rocksdb/iterator.h>
#include <rocksdb/slice.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "base/assert.h"
#include "rdb/rocksdb_fwd.h"

namespace basalt::kv {

// Copies of entries that were passed over, to be shown one after the other.
class BatchBuffer final : public rdb::EntrySink {
 public:
  // Entries that fit at most.
  static constexpr std::size_t kEntriesMax = 32;

  struct Entry {
    std::string_view key;
    std::string_view value;
  };

  // Forgets all, and takes up to so many anew.
  void begin(std::size_t most) {
    BASALT_DEBUG_ASSERT(most > 0 && most <= kEntriesMax);
    most_ = most;
    count_ = shown_ = used_ = 0;
  }
  bool has_next() const { return shown_ < count_; }
  const Entry& next() {
    BASALT_DEBUG_ASSERT(has_next());
    return entries_[shown_++];
  }
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

  // A part of what a processor keeps nearest.
  static constexpr std::size_t kBytes = 8 * 1024;

  std::size_t most_ = 0;
  std::size_t count_ = 0;
  std::size_t shown_ = 0;
  std::size_t used_ = 0;
  std::array<Entry, kEntriesMax> entries_;
  std::array<char, kBytes> bytes_;
};

}  // namespace basalt::kv
