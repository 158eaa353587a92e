#pragma once
#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "table/row_batch.h"

namespace basalt::table {

// The rows of entries that a scan has accepted before their turn, to be read together: the more,
// the further the scan goes.
//
// Life cycle  restart() with every range; is_on() -> begin() -> add()... -> batch() is read row by
//             row -> begin()...
// Threads     Belongs to one cursor.
class RowReadahead {
 public:
  // A new range begins: a search that wants one row is not to pay for others.
  void restart() {
    drop();
    rows_together_ = 1;
  }
  // The scan has given one row by itself.
  void note_row() { rows_together_ = kRowsMin; }
  // Whether rows are read together from the next one on.
  bool is_on() const { return rows_together_ >= kRowsMin; }

  // A batch begins, twice as large as the one before.
  void begin() {
    batch_.clear();
    size_ = rows_together_;
    rows_together_ = std::min(2 * size_, RowBatch::kRowsMax);
  }
  void add(std::string_view primary_key, std::string_view entry_key) {
    batch_.add(primary_key, entry_key, nullptr);
  }
  bool is_full() const { return batch_.size() == size_; }
  // The next row comes from the batch.
  RowBatch& take_from_batch() {
    is_on_row_ = true;
    return batch_;
  }

  // Whether the row that the scan is on came from the batch.
  bool is_on_row() const { return is_on_row_; }
  // The key of that row's entry.
  const std::string& entry_key() const { return batch_.entry_key(); }
  bool has_next() const { return batch_.has_next(); }
  // Whether the scan has nothing to do with a batch.
  bool is_idle() const { return !is_on_row_ && !batch_.has_next(); }
  const std::string& next_entry_key() const { return batch_.next_entry_key(); }
  // The scan is on another row.
  void leave_row() { is_on_row_ = false; }
  void drop() {
    batch_.clear();
    is_on_row_ = false;
  }

 private:
  // Fewer rows than this are read one by one: together they would not be cheaper.
  static constexpr std::size_t kRowsMin = 4;

  RowBatch batch_;
  std::size_t size_ = 0;           // of the batch, when it is full
  std::size_t rows_together_ = 1;  // how many rows to read together next
  bool is_on_row_ = false;
};

}  // namespace basalt::table
