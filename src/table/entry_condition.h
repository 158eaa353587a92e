#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "codec/layout.h"
#include "codec/read_plan.h"
#include "table/entry_filter.h"
#include "table/table.h"

namespace basalt::table {

// What a cursor makes of an entry that it has come to.
enum class Qualified : std::uint8_t {
  kFound,   // its row is the next one
  kPeeked,  // the same, but it is locked by another transaction: as it was last committed
  kPass,
  kEnd,  // no row of the range will be accepted any more
};

// The condition that a caller has pushed down to the entries of a secondary index; at first none.
//
// Threads     Belongs to one cursor.
class EntryCondition {
 public:
  explicit EntryCondition(const Table& table) : table_(table) {}

  // `columns` must be given by the entries of `index_number`; they are unpacked before `filter` is
  // asked. Null: no condition.
  void set(EntryFilter* filter, std::size_t index_number, const codec::ColumnSet& columns);
  void clear() { filter_ = nullptr; }
  EntryFilter* filter() const { return filter_; }
  bool is_set() const { return filter_ != nullptr; }

  // kFound, kPass or kEnd; kFound if there is no condition. Unpacks into `record`.
  Status check(std::string_view key, std::string_view value, std::uint8_t* record,
               Qualified& qualified) const;
  // Whether it accepts the entry.
  Status accepts(std::string_view key, std::string_view value, std::uint8_t* record,
                 bool& accepted) const;

 private:
  const Table& table_;
  EntryFilter* filter_ = nullptr;
  std::size_t index_number_ = 0;
  codec::ReadPlan plan_;
};

}  // namespace basalt::table
