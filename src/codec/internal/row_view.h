#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/bytes.h"
#include "codec/internal/cursor.h"
#include "codec/internal/record_field.h"
#include "codec/layout.h"
#include "codec/read_plan.h"

// The pieces of one row, and one column's way from them into a record.
//
// Format      docs/formats/rows.md; frozen.
// Must not    trust the row: whatever its bytes are, reading stays inside of them.
namespace basalt::codec {

namespace row_bytes {

inline constexpr std::uint8_t kFormatVersion = 1;
inline constexpr std::uint8_t kVersionMask = 0x0F;
inline constexpr unsigned kWidthShift = 4;
inline constexpr std::uint8_t kWidthMask = 0x03;
inline constexpr std::uint8_t kLongSchemaVersion = 0x40;
inline constexpr std::uint8_t kReserved = 0x80;

inline constexpr Fault kUnfinished = "row is shorter than its fixed part";
inline constexpr Fault kBadHeader = "unknown row format";
inline constexpr Fault kBadEnds = "offsets of a row's variable columns are out of order";
inline constexpr Fault kTooLong = "value in a row is longer than its column";
inline constexpr Fault kTrailing = "bytes follow the end of a row";

}  // namespace row_bytes

// How much of what the rows of a schema version hold.
struct RowShape {
  std::size_t null_bits = 0;
  std::size_t fixed_bytes = 0;
  std::size_t variables = 0;

  std::size_t null_bytes() const { return (null_bits + 7) / 8; }
};

// Where the pieces of one row are. All of it lies within the row.
struct RowView {
  const std::uint8_t* nulls = nullptr;
  const std::uint8_t* fixed = nullptr;
  const std::uint8_t* ends = nullptr;
  const std::uint8_t* data = nullptr;
  std::size_t width_code = 0;
  std::size_t data_size = 0;

  bool is_null(std::uint32_t bit) const { return (nulls[bit / 8] >> (bit % 8) & 1) != 0; }
  // What follows the variable data of `row`, of which this is the view.
  Cursor unpack_info(std::string_view row) const {
    return Cursor(data + data_size, reinterpret_cast<const std::uint8_t*>(row.data()) + row.size());
  }
};

// What the step of a column's kind and place in the record says; where it is in the row is for the
// caller to add.
ReadPlan::RowStep make_row_step(const ColumnLayout& column);

// Writes the value that stands for NULL.
void write_neutral(const ReadPlan::RowStep& step, std::uint8_t* field);

// Writes a string's data; a blob's pointer points to it.
inline Fault write_string(const ReadPlan::RowStep& step, std::string_view value,
                          std::uint8_t* field) {
  const std::size_t size = value.size();
  if (step.action == ReadPlan::RowStep::Action::kBlob) {
    if (size > largest_length(step.length_bytes)) return row_bytes::kTooLong;
    const char* const data = value.data();
    copy_bytes(field, &size, step.length_bytes);
    std::memcpy(field + step.length_bytes, &data, sizeof data);
    return nullptr;
  }
  if (size > step.record_length - step.length_bytes) return row_bytes::kTooLong;
  copy_bytes(field, &size, step.length_bytes);
  if (size != 0) std::memcpy(field + step.length_bytes, value.data(), size);
  const bool is_padded = step.action == ReadPlan::RowStep::Action::kPaddedString;
  if (is_padded && size < step.record_length)
    fill_spaces(field + size, step.record_length - size, {step.space, step.space_width});
  return nullptr;
}

inline Fault parse_row_header(std::string_view row, std::size_t& size, std::uint32_t& version) {
  if (row.empty()) return "row is empty";
  const auto head = static_cast<std::uint8_t>(row[0]);
  if ((head & row_bytes::kVersionMask) != row_bytes::kFormatVersion ||
      (head & row_bytes::kReserved) != 0 ||
      (head >> row_bytes::kWidthShift & row_bytes::kWidthMask) > 2)
    return row_bytes::kBadHeader;
  size = (head & row_bytes::kLongSchemaVersion) != 0 ? 5 : 2;
  if (row.size() < size) return row_bytes::kUnfinished;
  version = size == 5 ? load_le<std::uint32_t>(row.data() + 1) : static_cast<std::uint8_t>(row[1]);
  return nullptr;
}

inline std::uint32_t load_end(const std::uint8_t* ends, std::size_t width_code, std::size_t index) {
  switch (width_code) {
    case 0: return ends[index];
    case 1: return load_le<std::uint16_t>(ends + 2 * index);
    default: return load_le<std::uint32_t>(ends + 4 * index);
  }
}

// Finds the pieces of a row of that shape; if `has_unpack_info` is false, it ends with its variable
// data.
inline Fault open_row(std::string_view row, const RowShape& shape, bool has_unpack_info,
                      RowView& view) {
  std::size_t header_size = 0;
  std::uint32_t version = 0;
  if (const Fault fault = parse_row_header(row, header_size, version)) return fault;
  view.width_code =
      static_cast<std::uint8_t>(row[0]) >> row_bytes::kWidthShift & row_bytes::kWidthMask;
  const std::size_t data_offset =
      header_size + shape.null_bytes() + shape.fixed_bytes + (shape.variables << view.width_code);
  if (row.size() < data_offset) return row_bytes::kUnfinished;
  const auto* const begin = reinterpret_cast<const std::uint8_t*>(row.data());
  view.nulls = begin + header_size;
  view.fixed = view.nulls + shape.null_bytes();
  view.ends = view.fixed + shape.fixed_bytes;
  view.data = begin + data_offset;
  view.data_size =
      shape.variables == 0 ? 0 : load_end(view.ends, view.width_code, shape.variables - 1);
  const std::size_t left = row.size() - data_offset;
  if (view.data_size > left) return row_bytes::kBadEnds;
  if (!has_unpack_info && view.data_size != left) return row_bytes::kTrailing;
  return nullptr;
}

// The data of the variable column of that number.
inline Fault read_variable(const RowView& view, std::uint32_t number, std::string_view& value) {
  const std::size_t begin = number == 0 ? 0 : load_end(view.ends, view.width_code, number - 1);
  const std::size_t end = load_end(view.ends, view.width_code, number);
  if (begin > end || end > view.data_size) return row_bytes::kBadEnds;
  value = {reinterpret_cast<const char*>(view.data) + begin, end - begin};
  return nullptr;
}

}  // namespace basalt::codec
