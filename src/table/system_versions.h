#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "table/table.h"

namespace basalt::table {

// A moment as the columns of system time have it, which are TIMESTAMP(6): seconds, then
// microseconds, the most significant byte first.
using SystemTimestamp = std::array<std::uint8_t, 7>;
// Where rows end that are current.
constexpr SystemTimestamp kEndOfTime = {0x7F, 0xFF, 0xFF, 0xFF, 0x0F, 0x42, 0x3F};

// What records of a table WITH SYSTEM VERSIONING are to its history; of other tables, none is
// history.
//
// Ownership   The table outlives it.
// Threads     Immutable.
class SystemVersions {
 public:
  explicit SystemVersions(const Table& table);

  bool exist() const { return row_end_.has_value(); }
  // The number of the column; none without versions.
  std::optional<std::uint32_t> row_end() const { return row_end_; }
  // Whether the row was deleted, or is what another one was before a change.
  bool is_history(const std::uint8_t* record) const;
  // Whether a change between the two records makes history.
  bool is_kept(const std::uint8_t* old_record, const std::uint8_t* new_record) const;
  // Let the row become what it is, or cease to be it, at that moment. Versions exist.
  void begin(const SystemTimestamp& now, std::uint8_t* record) const;
  void end(const SystemTimestamp& now, std::uint8_t* record) const;

 private:
  const Table& table_;
  std::optional<std::uint32_t> row_end_;
  std::optional<std::uint32_t> row_start_;
};

}  // namespace basalt::table
