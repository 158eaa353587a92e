#include "codec/internal/older_rows.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"

namespace basalt::codec {
OlderRows::OlderRows(const TableLayout& table, RowHistory history, const ColumnSet& left_out,
                     bool has_unpack_info)
    : table_(table),
      history_(std::move(history)),
      left_out_(left_out),
      has_unpack_info_(has_unpack_info) {
  for (const RowColumn& held : history_.columns) {
    starts_.push_back(held.since);
    if (held.until != RowColumn::kPresent) starts_.push_back(held.until);
  }
  std::sort(starts_.begin(), starts_.end());
  starts_.erase(std::unique(starts_.begin(), starts_.end()), starts_.end());
  BASALT_ASSERT(!starts_.empty());
  formats_ = std::make_unique<Format[]>(starts_.size());
}

OlderRows::Format& OlderRows::format_of(std::uint32_t schema_version) const {
  BASALT_DEBUG_ASSERT(are_of(schema_version));
  const auto next = std::upper_bound(starts_.begin(), starts_.end(), schema_version);
  Format& format = formats_[static_cast<std::size_t>(next - starts_.begin())];
  std::call_once(format.once, [&] { work_out(schema_version, format); });
  return format;
}

void OlderRows::work_out(std::uint32_t schema_version, Format& format) const {
  ColumnSet held_columns(table_.columns.size());
  for (const RowColumn& held : history_.columns) {
    if (!held.is_in_rows_of(schema_version)) continue;
    if (held.column != RowColumn::kNoColumn) held_columns.set(held.column);
    if (held.column == RowColumn::kNoColumn || !left_out_.test(held.column)) add_step(held, format);
  }
  for (const InitialValue& initial : history_.initial_values) {
    if (held_columns.test(initial.column)) continue;
    format.missing.push_back(
        {initial.column, make_row_step(table_.columns[initial.column]), &initial.value});
  }
}

void OlderRows::add_step(const RowColumn& held, Format& format) const {
  Step step = {.column = held.column,
               .fixed_bytes = held.fixed_bytes,
               .has_null_bit = held.nullable,
               .is_signed = false,
               .null_value = &held.null_value,
               .step = {}};
  if (held.column != RowColumn::kNoColumn) {
    const ColumnLayout& column = table_.columns[held.column];
    // What has become a column's history is checked where it is stored and where it is read.
    BASALT_ASSERT(is_string(column.kind) == held.is_variable());
    BASALT_ASSERT(held.is_variable() || held.fixed_bytes <= column.record_length);
    BASALT_ASSERT(!held.nullable || column.nullable || held.null_value.has_value());
    step.step = make_row_step(column);
    step.is_signed = column.kind == ColumnKind::kSignedInteger;
  }
  if (held.nullable) {
    step.step.row_null_bit = static_cast<std::uint32_t>(format.shape.null_bits++);
  }
  if (!held.is_variable()) {
    step.step.source = static_cast<std::uint32_t>(format.shape.fixed_bytes);
    format.shape.fixed_bytes += held.fixed_bytes;
  } else {
    step.step.source = static_cast<std::uint32_t>(format.shape.variables++);
  }
  if (held.column != RowColumn::kNoColumn) format.steps.push_back(step);
}

Fault OlderRows::read_column(const Step& column, const RowView& view, std::uint8_t* record) {
  const ReadPlan::RowStep& step = column.step;
  std::uint8_t* const field = record + step.record_offset;
  if (column.has_null_bit && view.is_null(step.row_null_bit)) {
    return write_value(step, *column.null_value, record);
  }
  if (step.null_mask != 0) set_null(record, step.null_offset, step.null_mask, false);
  if (step.action == ReadPlan::RowStep::Action::kFixed) {
    copy_bytes(field, view.fixed + step.source, column.fixed_bytes);
    if (column.fixed_bytes < step.record_length) {
      lengthen_integer(field, column.fixed_bytes, step.record_length, column.is_signed);
    }
    return nullptr;
  }
  std::string_view value;
  if (const Fault fault = read_variable(view, step.source, value)) return fault;
  return write_string(step, value, field);
}

Fault OlderRows::write_value(const ReadPlan::RowStep& step, const std::optional<std::string>& value,
                             std::uint8_t* record) {
  std::uint8_t* const field = record + step.record_offset;
  if (step.null_mask != 0) set_null(record, step.null_offset, step.null_mask, !value.has_value());
  if (!value.has_value()) {
    write_neutral(step, field);
    return nullptr;
  }
  if (step.action != ReadPlan::RowStep::Action::kFixed) return write_string(step, *value, field);
  BASALT_ASSERT(value->size() == step.record_length);
  copy_bytes(field, value->data(), value->size());
  return nullptr;
}

Fault OlderRows::read(std::string_view row, std::uint32_t schema_version, const ColumnSet& wanted,
                      std::uint8_t* record, Cursor& unpack_info) const {
  const Format& format = format_of(schema_version);
  RowView view;
  if (const Fault fault = open_row(row, format.shape, has_unpack_info_, view)) return fault;
  unpack_info = view.unpack_info(row);
  for (const Step& column : format.steps) {
    if (!wanted.test(column.column)) continue;
    if (const Fault fault = read_column(column, view, record)) return fault;
  }
  for (const Missing& column : format.missing) {
    if (!wanted.test(column.column)) continue;
    if (const Fault fault = write_value(column.step, *column.value, record)) return fault;
  }
  return nullptr;
}

}  // namespace basalt::codec
