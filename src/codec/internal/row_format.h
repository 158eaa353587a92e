#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codec/internal/cursor.h"
#include "codec/internal/record_field.h"
#include "codec/internal/row_view.h"
#include "codec/layout.h"
#include "codec/read_plan.h"
#include "codec/row_history.h"

// The value of a primary index entry, but for the unpack info at its end.
//
// Format      docs/formats/rows.md; frozen.
// Threads     Immutable once made.
namespace basalt::codec {

class RowFormat {
 public:
  // `left_out` are the columns that the primary key gives back. If `has_unpack_info` is false, a
  // row ends with its variable data.
  RowFormat(const TableLayout& table, const ColumnSet& left_out, bool has_unpack_info);
  // The same for rows that hold those of `columns` that are present, in their order.
  RowFormat(const TableLayout& table, const std::vector<RowColumn>& columns,
            const ColumnSet& left_out, bool has_unpack_info);

  // Replaces `row`. The unpack info is for the caller to append.
  void make(const std::uint8_t* record, std::uint32_t schema_version, std::string& row) const;

  // The steps for those wanted columns that are in the row.
  void plan(const ColumnSet& wanted, std::vector<ReadPlan::RowStep>& steps) const;

  // Unpacks the planned columns; blob pointers point into `row`. `unpack_info` becomes what follows
  // the variable data.
  Fault read(std::string_view row, const std::vector<ReadPlan::RowStep>& steps,
             std::uint8_t* record, Cursor& unpack_info) const;

  static Fault schema_version(std::string_view row, std::uint32_t& version);

 private:
  // Fixed-size columns that follow each other both in the record and in the row.
  struct FixedSpan {
    std::uint32_t record_offset;
    std::uint32_t row_offset;
    std::uint32_t length;
  };
  struct NullableColumn {
    std::uint32_t null_offset;
    std::uint8_t null_mask;
    // The bytes of the fixed part that are zero if a fixed-size column is NULL.
    std::uint32_t row_offset = 0;
    std::uint32_t length = 0;
  };
  struct VariableColumn {
    ColumnKind kind;
    std::uint8_t length_bytes;
    std::uint8_t null_mask;  // 0: not nullable
    std::uint32_t null_offset;
    std::uint32_t record_offset;
    std::uint32_t record_length;
    Space space;
  };
  struct Step {
    std::uint32_t column;
    ReadPlan::RowStep step;
  };

  void add_fixed(const ColumnLayout& column, ReadPlan::RowStep& step);
  static std::string_view value_of(const VariableColumn& column, const std::uint8_t* record);
  std::uint8_t* put_nulls(const std::uint8_t* record, std::uint8_t* to) const;
  std::uint8_t* put_fixed(const std::uint8_t* record, std::uint8_t* to) const;
  static Fault read_column(const ReadPlan::RowStep& step, const RowView& view, std::uint8_t* field);

  std::vector<FixedSpan> spans_;
  std::vector<NullableColumn> nullables_;
  std::vector<VariableColumn> variables_;
  std::vector<Step> steps_;
  RowShape shape_;
  bool has_unpack_info_;
};

}  // namespace basalt::codec
