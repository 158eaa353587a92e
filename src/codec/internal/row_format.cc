#include "codec/internal/row_format.h"

#include <array>
#include <cstring>

#include "base/assert.h"
#include "base/bytes.h"

namespace basalt::codec {

namespace {

using Action = ReadPlan::RowStep::Action;

constexpr std::uint8_t kFormatVersion = 1;
constexpr std::uint8_t kVersionMask = 0x0F;
constexpr unsigned kWidthShift = 4;
constexpr std::uint8_t kWidthMask = 0x03;
constexpr std::uint8_t kLongSchemaVersion = 0x40;
constexpr std::uint8_t kReserved = 0x80;

// Rows with more variable columns than this pay for a buffer on the heap.
constexpr std::size_t kStackValues = 64;

constexpr Fault kUnfinished = "row is shorter than its fixed part";
constexpr Fault kBadHeader = "unknown row format";
constexpr Fault kBadEnds = "offsets of a row's variable columns are out of order";
constexpr Fault kTooLong = "value in a row is longer than its column";
constexpr Fault kTrailing = "bytes follow the end of a row";

std::size_t width_code_of(std::size_t size) {
  BASALT_ASSERT(size <= UINT32_MAX);
  return size <= UINT8_MAX ? 0 : size <= UINT16_MAX ? 1 : 2;
}

std::uint32_t load_end(const std::uint8_t* ends, std::size_t width_code, std::size_t index) {
  switch (width_code) {
    case 0: return ends[index];
    case 1: return load_le<std::uint16_t>(ends + 2 * index);
    default: return load_le<std::uint32_t>(ends + 4 * index);
  }
}

bool is_fixed_size(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::kSignedInteger:
    case ColumnKind::kUnsignedInteger:
    case ColumnKind::kFloat:
    case ColumnKind::kDouble:
    case ColumnKind::kOrderedBytes: return true;
    case ColumnKind::kFixedString:
    case ColumnKind::kVariableString:
    case ColumnKind::kBlob: return false;
  }
  BASALT_UNREACHABLE();
}

Action action_of(ColumnKind kind) {
  if (is_fixed_size(kind)) return Action::kFixed;
  if (kind == ColumnKind::kFixedString) return Action::kPaddedString;
  return kind == ColumnKind::kBlob ? Action::kBlob : Action::kVariableString;
}

void write_neutral(const ReadPlan::RowStep& step, std::uint8_t* field) {
  switch (step.action) {
    case Action::kFixed: std::memset(field, 0, step.record_length); return;
    case Action::kPaddedString:
      return fill_spaces(field, step.record_length, {step.space, step.space_width});
    case Action::kVariableString: return write_neutral_string(field, step.length_bytes);
    case Action::kBlob: return write_neutral_blob(field, step.length_bytes);
  }
}

Fault parse_header(std::string_view row, std::size_t& size, std::uint32_t& version) {
  if (row.empty()) return "row is empty";
  const auto head = static_cast<std::uint8_t>(row[0]);
  if ((head & kVersionMask) != kFormatVersion || (head & kReserved) != 0 ||
      (head >> kWidthShift & kWidthMask) > 2)
    return kBadHeader;
  size = (head & kLongSchemaVersion) != 0 ? 5 : 2;
  if (row.size() < size) return kUnfinished;
  version = size == 5 ? load_le<std::uint32_t>(row.data() + 1) : static_cast<std::uint8_t>(row[1]);
  return nullptr;
}

}  // namespace

// Where the pieces of one row are. All of it lies within the row.
struct RowFormat::View {
  const std::uint8_t* nulls = nullptr;
  const std::uint8_t* fixed = nullptr;
  const std::uint8_t* ends = nullptr;
  const std::uint8_t* data = nullptr;
  std::size_t width_code = 0;
  std::size_t data_size = 0;
};

RowFormat::RowFormat(const TableLayout& table, const ColumnSet& left_out, bool has_unpack_info)
    : has_unpack_info_(has_unpack_info) {
  for (std::uint32_t i = 0; i < table.columns.size(); ++i) {
    const ColumnLayout& column = table.columns[i];
    if (!column.stored || left_out.test(i)) continue;
    const Space space = space_of(column.collation);
    ReadPlan::RowStep step;
    step.action = action_of(column.kind);
    step.length_bytes = column.length_bytes;
    step.record_offset = column.record_offset;
    step.record_length = column.record_length;
    step.space = space.bytes;
    step.space_width = space.width;
    if (column.nullable) {
      BASALT_ASSERT(column.null_mask != 0);
      step.null_mask = column.null_mask;
      step.null_offset = column.null_offset;
      step.row_null_bit = static_cast<std::uint32_t>(nullables_.size());
      nullables_.push_back({column.null_offset, column.null_mask});
    }
    if (is_fixed_size(column.kind)) {
      add_fixed(column, step);
    } else {
      step.source = static_cast<std::uint32_t>(variables_.size());
      variables_.push_back({column.kind, column.length_bytes, step.null_mask, column.null_offset,
                            column.record_offset, column.record_length, space});
    }
    steps_.push_back({i, step});
  }
}

void RowFormat::add_fixed(const ColumnLayout& column, ReadPlan::RowStep& step) {
  step.source = fixed_size_;
  if (column.nullable) {
    nullables_.back().row_offset = fixed_size_;
    nullables_.back().length = column.record_length;
  }
  if (!spans_.empty() &&
      spans_.back().record_offset + spans_.back().length == column.record_offset) {
    spans_.back().length += column.record_length;
  } else {
    spans_.push_back({column.record_offset, fixed_size_, column.record_length});
  }
  fixed_size_ += column.record_length;
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
  return to + fixed_size_;
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
  row.resize((long_version ? 5 : 2) + (nullables_.size() + 7) / 8 + fixed_size_ +
             (count << width_code) + data_size);
  auto* to = reinterpret_cast<std::uint8_t*>(row.data());
  *to++ = static_cast<std::uint8_t>(kFormatVersion | width_code << kWidthShift |
                                    (long_version ? kLongSchemaVersion : 0));
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

Fault RowFormat::open(std::string_view row, View& view) const {
  std::size_t header_size = 0;
  std::uint32_t version = 0;
  if (const Fault fault = parse_header(row, header_size, version)) return fault;
  const std::size_t null_bytes = (nullables_.size() + 7) / 8;
  const std::size_t count = variables_.size();
  view.width_code = static_cast<std::uint8_t>(row[0]) >> kWidthShift & kWidthMask;
  const std::size_t data_offset =
      header_size + null_bytes + fixed_size_ + (count << view.width_code);
  if (row.size() < data_offset) return kUnfinished;
  const auto* const begin = reinterpret_cast<const std::uint8_t*>(row.data());
  view.nulls = begin + header_size;
  view.fixed = view.nulls + null_bytes;
  view.ends = view.fixed + fixed_size_;
  view.data = begin + data_offset;
  view.data_size = count == 0 ? 0 : load_end(view.ends, view.width_code, count - 1);
  const std::size_t left = row.size() - data_offset;
  if (view.data_size > left) return kBadEnds;
  if (!has_unpack_info_ && view.data_size != left) return kTrailing;
  return nullptr;
}

Fault RowFormat::read_column(const ReadPlan::RowStep& step, const View& view, std::uint8_t* field) {
  if (step.action == Action::kFixed) {
    copy_bytes(field, view.fixed + step.source, step.record_length);
    return nullptr;
  }
  const std::size_t begin =
      step.source == 0 ? 0 : load_end(view.ends, view.width_code, step.source - 1);
  const std::size_t end = load_end(view.ends, view.width_code, step.source);
  if (begin > end || end > view.data_size) return kBadEnds;
  const std::size_t size = end - begin;
  const std::uint8_t* const data = view.data + begin;
  if (step.action == Action::kBlob) {
    if (size > largest_length(step.length_bytes)) return kTooLong;
    copy_bytes(field, &size, step.length_bytes);
    std::memcpy(field + step.length_bytes, &data, sizeof data);
    return nullptr;
  }
  if (size > step.record_length - step.length_bytes) return kTooLong;
  copy_bytes(field, &size, step.length_bytes);
  if (size != 0) std::memcpy(field + step.length_bytes, data, size);
  if (step.action == Action::kPaddedString && size < step.record_length)
    fill_spaces(field + size, step.record_length - size, {step.space, step.space_width});
  return nullptr;
}

Fault RowFormat::read(std::string_view row, const std::vector<ReadPlan::RowStep>& steps,
                      std::uint8_t* record, Cursor& unpack_info) const {
  View view;
  if (const Fault fault = open(row, view)) return fault;
  unpack_info = Cursor(row.substr(static_cast<std::size_t>(
      view.data + view.data_size - reinterpret_cast<const std::uint8_t*>(row.data()))));
  for (const ReadPlan::RowStep& step : steps) {
    std::uint8_t* const field = record + step.record_offset;
    if (step.null_mask != 0) {
      const bool null = (view.nulls[step.row_null_bit / 8] >> (step.row_null_bit % 8) & 1) != 0;
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
  return parse_header(row, size, version);
}

}  // namespace basalt::codec
