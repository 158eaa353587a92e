#include "codec/internal/row_format.h"

#include <array>
#include <cstring>

#include "base/assert.h"
#include "base/bytes.h"

namespace basalt::codec {

namespace {

// Rows with more variable columns than this pay for a buffer on the heap.
constexpr std::size_t kStackValues = 64;

std::size_t width_code_of(std::size_t size) {
  BASALT_ASSERT(size <= UINT32_MAX);
  return size <= UINT8_MAX ? 0 : size <= UINT16_MAX ? 1 : 2;
}

// The columns of rows that have always had the table's.
std::vector<RowColumn> stored_columns(const TableLayout& table) {
  std::vector<RowColumn> columns;
  for (std::uint32_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].stored) columns.emplace_back().column = i;
  }
  return columns;
}

}  // namespace

RowFormat::RowFormat(const TableLayout& table, const ColumnSet& left_out, bool has_unpack_info)
    : RowFormat(table, stored_columns(table), left_out, has_unpack_info) {}

RowFormat::RowFormat(const TableLayout& table, const std::vector<RowColumn>& columns,
                     const ColumnSet& left_out, bool has_unpack_info)
    : has_unpack_info_(has_unpack_info) {
  for (const RowColumn& held : columns) {
    if (held.until != RowColumn::kPresent || left_out.test(held.column)) continue;
    const ColumnLayout& column = table.columns[held.column];
    BASALT_ASSERT(column.stored);
    ReadPlan::RowStep step = make_row_step(column);
    if (column.nullable) {
      step.row_null_bit = static_cast<std::uint32_t>(nullables_.size());
      nullables_.push_back({column.null_offset, column.null_mask});
    }
    if (is_string(column.kind)) {
      step.source = static_cast<std::uint32_t>(variables_.size());
      variables_.push_back({column.kind,
                            column.length_bytes,
                            step.null_mask,
                            column.null_offset,
                            column.record_offset,
                            column.record_length,
                            {step.space, step.space_width}});
    } else {
      add_fixed(column, step);
    }
    steps_.push_back({held.column, step});
  }
  shape_.null_bits = nullables_.size();
  shape_.variables = variables_.size();
}

void RowFormat::add_fixed(const ColumnLayout& column, ReadPlan::RowStep& step) {
  const auto row_offset = static_cast<std::uint32_t>(shape_.fixed_bytes);
  step.source = row_offset;
  if (column.nullable) {
    nullables_.back().row_offset = row_offset;
    nullables_.back().length = column.record_length;
  }
  if (!spans_.empty() &&
      spans_.back().record_offset + spans_.back().length == column.record_offset) {
    spans_.back().length += column.record_length;
  } else {
    spans_.push_back({column.record_offset, row_offset, column.record_length});
  }
  shape_.fixed_bytes += column.record_length;
}

std::string_view RowFormat::value_of(const VariableColumn& column, const std::uint8_t* record) {
  if (column.null_mask != 0 && is_null(record, column.null_offset, column.null_mask)) return {};
  const std::uint8_t* const field = record + column.record_offset;
  if (column.kind == ColumnKind::kVariableString)
    return variable_string_at(field, column.length_bytes);
  if (column.kind == ColumnKind::kBlob) return blob_at(field, column.length_bytes);
  return strip_spaces({reinterpret_cast<const char*>(field), column.record_length}, column.space);
}

std::uint8_t* RowFormat::put_nulls(const std::uint8_t* record, std::uint8_t* to) const {
  unsigned bits = 0;
  unsigned count = 0;
  for (const NullableColumn& column : nullables_) {
    if (is_null(record, column.null_offset, column.null_mask)) bits |= 1u << count;
    if (++count < 8) continue;
    *to++ = static_cast<std::uint8_t>(bits);
    bits = count = 0;
  }
  if (count != 0) *to++ = static_cast<std::uint8_t>(bits);
  return to;
}

std::uint8_t* RowFormat::put_fixed(const std::uint8_t* record, std::uint8_t* to) const {
  for (const FixedSpan& span : spans_)
    copy_bytes(to + span.row_offset, record + span.record_offset, span.length);
  for (const NullableColumn& column : nullables_)
    if (column.length != 0 && is_null(record, column.null_offset, column.null_mask))
      std::memset(to + column.row_offset, 0, column.length);
  return to + shape_.fixed_bytes;
}

void RowFormat::make(const std::uint8_t* record, std::uint32_t schema_version,
                     std::string& row) const {
  const std::size_t count = variables_.size();
  std::array<std::string_view, kStackValues> few;
  thread_local std::vector<std::string_view> many;
  if (count > kStackValues && many.size() < count) many.resize(count);
  std::string_view* const values = count > kStackValues ? many.data() : few.data();
  std::size_t data_size = 0;
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = value_of(variables_[i], record);
    data_size += values[i].size();
  }

  const std::size_t width_code = width_code_of(data_size);
  const bool long_version = schema_version > UINT8_MAX;
  row.resize((long_version ? 5 : 2) + shape_.null_bytes() + shape_.fixed_bytes +
             (count << width_code) + data_size);
  auto* to = reinterpret_cast<std::uint8_t*>(row.data());
  *to++ =
      static_cast<std::uint8_t>(row_bytes::kFormatVersion | width_code << row_bytes::kWidthShift |
                                (long_version ? row_bytes::kLongSchemaVersion : 0));
  store_le_sized(to, schema_version, long_version ? 4 : 1);
  to = put_fixed(record, put_nulls(record, to + (long_version ? 4 : 1)));
  std::uint8_t* data = to + (count << width_code);
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t size = values[i].size();
    if (size != 0) std::memcpy(data, values[i].data(), size);
    data += size;
    end += size;
    copy_bytes(to, &end, std::size_t{1} << width_code);
    to += std::size_t{1} << width_code;
  }
  BASALT_DEBUG_ASSERT(data == reinterpret_cast<std::uint8_t*>(row.data()) + row.size());
}

void RowFormat::plan(const ColumnSet& wanted, std::vector<ReadPlan::RowStep>& steps) const {
  steps.reserve(steps_.size());
  for (const Step& step : steps_)
    if (wanted.test(step.column)) steps.push_back(step.step);
}

Fault RowFormat::read_column(const ReadPlan::RowStep& step, const RowView& view,
                             std::uint8_t* field) {
  if (step.action == ReadPlan::RowStep::Action::kFixed) {
    copy_bytes(field, view.fixed + step.source, step.record_length);
    return nullptr;
  }
  std::string_view value;
  if (const Fault fault = read_variable(view, step.source, value)) return fault;
  return write_string(step, value, field);
}

Fault RowFormat::read(std::string_view row, const std::vector<ReadPlan::RowStep>& steps,
                      std::uint8_t* record, Cursor& unpack_info) const {
  RowView view;
  if (const Fault fault = open_row(row, shape_, has_unpack_info_, view)) return fault;
  unpack_info = view.unpack_info(row);
  for (const ReadPlan::RowStep& step : steps) {
    std::uint8_t* const field = record + step.record_offset;
    if (step.null_mask != 0) {
      const bool null = view.is_null(step.row_null_bit);
      set_null(record, step.null_offset, step.null_mask, null);
      if (null) {
        write_neutral(step, field);
        continue;
      }
    }
    if (const Fault fault = read_column(step, view, field)) return fault;
  }
  return nullptr;
}

Fault RowFormat::schema_version(std::string_view row, std::uint32_t& version) {
  std::size_t size = 0;
  return parse_row_header(row, size, version);
}

}  // namespace basalt::codec
