#include "txn/changed_tables.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/assert.h"

namespace basalt::txn {

// The next row is probably of the same table.
void ChangedTables::bring_to_end(const std::shared_ptr<TableChanges>& table) {
  const auto first = tables_.begin() + static_cast<std::ptrdiff_t>(begin());
  const auto known = std::ranges::find(first, tables_.end(), table, &ChangedTable::changes);
  if (known == tables_.end()) {
    tables_.push_back({table});
  } else {
    std::swap(*known, tables_.back());
  }
}

void ChangedTables::pop_mark() {
  BASALT_ASSERT(!marks_.empty());
  const std::size_t top = marks_.back();
  marks_.pop_back();
  const auto below = tables_.begin() + static_cast<std::ptrdiff_t>(begin());
  const auto above = tables_.begin() + static_cast<std::ptrdiff_t>(top);
  const auto merged = std::remove_if(above, tables_.end(), [&](const ChangedTable& table) {
    const auto known = std::ranges::find(below, above, table.changes, &ChangedTable::changes);
    if (known == above) return false;
    known->rows += table.rows;
    known->updates += table.updates;
    return true;
  });
  tables_.erase(merged, tables_.end());
}

void ChangedTables::roll_back_from(std::size_t first) {
  for (; tables_.size() > first; tables_.pop_back()) {
    const ChangedTable& table = tables_.back();
    if (table.rows != 0) table.changes->rows.roll_back(table.rows);
  }
}

void ChangedTables::roll_back_to_mark() {
  BASALT_ASSERT(!marks_.empty());
  roll_back_from(marks_.back());
  marks_.pop_back();
}

void ChangedTables::roll_back() {
  roll_back_from(0);
  marks_.clear();
}

// Others read and write the times, too: they change once a second.
void ChangedTables::commit() {
  if (tables_.empty()) return;
  const std::int64_t now = std::chrono::duration_cast<std::chrono::seconds>(
                               std::chrono::system_clock::now().time_since_epoch())
                               .count();
  for (const ChangedTable& table : tables_) {
    TableChanges& changes = *table.changes;
    if (changes.time.load(std::memory_order_relaxed) != now) {
      changes.time.store(now, std::memory_order_relaxed);
    }
    changes.rows.commit(table.rows, table.updates);
  }
  tables_.clear();
  std::ranges::fill(marks_, 0);
}

}  // namespace basalt::txn
