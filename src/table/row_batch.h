#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "kv/database.h"
#include "txn/transaction.h"

namespace basalt::table {

// Rows to be read several at a time, by their primary keys.
//
// Life cycle  add()... -> [sort()] -> next()... -> clear().
// Values      A row's bytes stay valid until the batch is read on, cleared or destroyed.
// Threads     Belongs to one cursor or handler.
class RowBatch {
 public:
  // Rows that are read, and kept in memory, at once.
  static constexpr std::size_t kRowsMax = 64;

  void clear();
  // `entry_key` is that of the index entry that led to the row; `range` is the caller's. Only
  // before the first next().
  void add(std::string_view primary_key, std::string_view entry_key, void* range);
  // From now on rows come in the order of their primary keys, and each is read once.
  void sort();

  std::size_t size() const { return size_; }
  bool is_empty() const { return size_ == 0; }
  // Bytes that the keys take.
  std::size_t key_bytes() const { return key_bytes_; }
  // Whether next() has something to move to.
  bool has_next() const { return position_ < size_; }

  // Moves to the next row, whose bytes are `row`; `found`: it exists.
  Status next(txn::Transaction& transaction, kv::FamilyId family, const kv::ReadView& view,
              bool& found, std::string_view& row);

  // Keys and range of the row that next() moved to.
  const std::string& primary_key() const { return keys_[entries_[position_ - 1].key]; }
  const std::string& entry_key() const { return entries_[position_ - 1].entry_key; }
  void* range() const { return entries_[position_ - 1].range; }
  // The entry of the row that next() will move to.
  const std::string& next_entry_key() const { return entries_[position_].entry_key; }

 private:
  struct Entry {
    std::size_t key = 0;  // position in keys_
    std::string entry_key;
    void* range = nullptr;
  };

  // Both keep their memory: only the first size_ and key_count_ are in use.
  std::vector<Entry> entries_;
  std::vector<std::string> keys_;
  std::size_t size_ = 0;
  std::size_t key_count_ = 0;
  std::size_t key_bytes_ = 0;
  std::size_t position_ = 0;
  // The keys [first, end) whose values are in memory.
  std::size_t first_read_ = 0;
  std::size_t end_of_read_ = 0;
  kv::PinnedValues values_;
  kv::PinnedValue single_value_;
  bool single_exists_ = false;
};

}  // namespace basalt::table
