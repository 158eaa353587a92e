#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "codec/internal/cursor.h"
#include "codec/internal/row_view.h"
#include "codec/layout.h"
#include "codec/row_history.h"

// Reads rows that were written when the table had other columns.
//
// Format      docs/formats/rows.md, "Older rows"; frozen.
// Ownership   Copies the layout and the history.
// Threads     read() may be called from any thread at once.
// Cost        What is known of a schema version's rows is worked out when the first one is read.
//             Each row after it costs a step for each of its columns, wanted or not.
namespace basalt::codec {

class OlderRows {
 public:
  // `left_out` and `has_unpack_info` as for RowFormat: both have always been what they are.
  OlderRows(const TableLayout& table, RowHistory history, const ColumnSet& left_out,
            bool has_unpack_info);

  // Whether rows of that schema version hold other columns than those of today.
  bool are_of(std::uint32_t schema_version) const { return schema_version < starts_.back(); }

  // Unpacks the wanted columns of a row of that schema version, of which are_of() is true, as
  // RowFormat::read() does. A column that the row is older than gets its initial value, and
  // NULL in a column that has been NOT NULL since what it stands for; a blob's pointer points into
  // this object then.
  Fault read(std::string_view row, std::uint32_t schema_version, const ColumnSet& wanted,
             std::uint8_t* record, Cursor& unpack_info) const;

 private:
  struct Step {
    std::uint32_t column;
    std::uint32_t fixed_bytes;  // in the row, perhaps fewer than in the record
    bool has_null_bit;
    bool is_signed;
    const std::optional<std::string>* null_value;
    ReadPlan::RowStep step;
  };
  // A column that rows are older than.
  struct Missing {
    std::uint32_t column;
    ReadPlan::RowStep step;
    const std::optional<std::string>* value;
  };
  // Rows of the schema versions between two changes of columns.
  struct Format {
    std::once_flag once;
    RowShape shape;
    std::vector<Step> steps;
    std::vector<Missing> missing;
  };

  Format& format_of(std::uint32_t schema_version) const;
  void work_out(std::uint32_t schema_version, Format& format) const;
  void add_step(const RowColumn& held, Format& format) const;
  static Fault read_column(const Step& column, const RowView& view, std::uint8_t* record);
  static Fault write_value(const ReadPlan::RowStep& step, const std::optional<std::string>& value,
                           std::uint8_t* record);

  const TableLayout table_;
  const RowHistory history_;
  const ColumnSet left_out_;
  const bool has_unpack_info_;
  // The schema versions with which rows changed, ascending; of the last one are today's rows.
  std::vector<std::uint32_t> starts_;
  // Of the rows before each of these. Worked out on demand, each once.
  std::unique_ptr<Format[]> formats_;
};

}  // namespace basalt::codec
