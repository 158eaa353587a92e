#include "catalog/definitions.h"

#include <algorithm>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/names.h"

namespace basalt::catalog {
namespace {

constexpr std::uint8_t kFormatVersion = 1;
// The same with the history of the rows behind it, for tables that have one.
constexpr std::uint8_t kFormatVersionWithHistory = 2;
// With how rows expire, and behind it the history, if there is one.
constexpr std::uint8_t kFormatVersionWithExpiry = 3;
// As 1, of a table that is discarded; how rows expire may follow, as with 3.
constexpr std::uint8_t kFormatVersionDiscarded = 4;
// Bounds that only a damaged record exceeds; they keep a parser from allocating wildly.
constexpr std::uint64_t kColumnsMax = 4096;
constexpr std::uint64_t kIndexesMax = 128;
constexpr std::uint64_t kPartsMax = 64;
constexpr std::uint64_t kRowColumnsMax = 65536;

// Above the flags of a column is its SystemTime.
enum ColumnFlags : std::uint8_t { kNullable = 1, kStored = 2 };
constexpr std::uint64_t kSystemTimeUnit = 4;
constexpr std::uint64_t kColumnFlagsMax = 4 * kSystemTimeUnit - 1;
// The stored uniqueness of an index: one bit for a unique index, and above it the number of
// value-locked parts.
constexpr std::uint64_t kUnique = 1;
constexpr std::uint64_t kValueLockPart = 2;
// The stored nullability of a column of rows: besides 0 and 1, that it is nullable and that a value
// follows, for which NULL stands.
constexpr std::uint64_t kHasNullValue = 2;

// Reads the stored form; the first failure sticks.
class Parser {
 public:
  explicit Parser(std::string_view bytes) : rest_(bytes) {}

  std::uint64_t number(std::uint64_t max) {
    std::uint64_t value = 0;
    if (!consume_varint(rest_, value) || value > max) failed_ = true;
    return failed_ ? 0 : value;
  }
  std::uint32_t number32() { return static_cast<std::uint32_t>(number(UINT32_MAX)); }
  bool flag() { return number(1) != 0; }
  std::string text() {
    std::string_view value;
    if (!consume_length_prefixed(rest_, value)) failed_ = true;
    return failed_ ? std::string() : std::string(value);
  }
  void require(bool condition) { failed_ |= !condition; }
  bool has_failed() const { return failed_; }
  bool is_at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  bool failed_ = false;
};

ColumnDefinition parse_column(Parser& parser) {
  ColumnDefinition column;
  column.name = parser.text();
  column.kind = static_cast<codec::ColumnKind>(
      parser.number(static_cast<std::uint64_t>(codec::ColumnKind::kBlob)));
  column.record_length = parser.number32();
  column.collation_id = static_cast<std::uint16_t>(parser.number(UINT16_MAX));
  const std::uint64_t flags = parser.number(kColumnFlagsMax);
  column.nullable = (flags & kNullable) != 0;
  column.stored = (flags & kStored) != 0;
  column.system_time = static_cast<SystemTime>(flags / kSystemTimeUnit);
  return column;
}

IndexDefinition parse_index(Parser& parser, std::size_t column_count) {
  IndexDefinition index;
  index.name = parser.text();
  index.id = parser.number32();
  index.family = parser.number32();
  const std::uint64_t uniqueness = parser.number(kUnique | kPartsMax * kValueLockPart);
  index.unique = (uniqueness & kUnique) != 0;
  index.value_lock_parts = static_cast<std::uint32_t>(uniqueness / kValueLockPart);
  const std::uint64_t part_count = parser.number(kPartsMax);
  for (std::uint64_t i = 0; i < part_count && !parser.has_failed(); ++i) {
    KeyPartDefinition part;
    part.column = static_cast<std::uint32_t>(parser.number(column_count - 1));
    part.prefix_length = parser.number32();
    part.descending = parser.flag();
    part.tuple_length = parser.number32();
    index.parts.push_back(part);
  }
  parser.require(index.value_lock_parts <= index.parts.size());
  return index;
}

// Numbers of columns, bytes and schema versions that may be none stand one higher, with 0 for that.
void append_history(const codec::RowHistory& rows, std::string& out) {
  BASALT_DEBUG_ASSERT(rows.columns.size() <= kRowColumnsMax);
  append_varint(out, rows.columns.size());
  for (const codec::RowColumn& held : rows.columns) {
    append_varint(out, std::uint64_t{held.column + 1});
    append_varint(out, std::uint64_t{held.fixed_bytes + 1});
    const bool has_null_value = held.null_value.has_value();
    BASALT_DEBUG_ASSERT(held.nullable || !has_null_value);
    append_varint(out, has_null_value ? kHasNullValue : held.nullable ? 1 : 0);
    if (has_null_value) append_length_prefixed(out, *held.null_value);
    append_varint(out, held.since);
    append_varint(out, std::uint64_t{held.until + 1});
  }
  append_varint(out, rows.initial_values.size());
  for (const codec::InitialValue& initial : rows.initial_values) {
    append_varint(out, initial.column);
    append_varint(out, initial.value.has_value() ? 1 : 0);
    if (initial.value.has_value()) append_length_prefixed(out, *initial.value);
  }
}

// Whether a value can be one of the column, as codec::InitialValue has it.
bool fits(const std::optional<std::string>& value, const ColumnDefinition& column) {
  if (!value.has_value()) return column.nullable;
  return codec::is_string(column.kind) || value->size() == column.record_length;
}

// Whether rows with such a column can be read for the table.
bool fits(const codec::RowColumn& held, const TableDefinition& table) {
  if (held.column == codec::RowColumn::kNoColumn) return held.until != codec::RowColumn::kPresent;
  const ColumnDefinition& column = table.columns[held.column];
  return column.stored && codec::is_string(column.kind) == held.is_variable() &&
         (held.is_variable() || held.fixed_bytes <= column.record_length) &&
         (held.fixed_bytes != 0 || !codec::is_integer(column.kind)) &&
         (!held.nullable || fits(held.null_value, column));
}

bool fits(const codec::InitialValue& initial, const TableDefinition& table) {
  BASALT_DEBUG_ASSERT(initial.column < table.columns.size());
  const ColumnDefinition& column = table.columns[initial.column];
  return column.stored && fits(initial.value, column);
}

// Whether rows that are written now hold each stored column once.
bool holds_stored_columns(const TableDefinition& table) {
  std::vector<std::uint32_t> held_now;
  for (const codec::RowColumn& held : table.rows.columns) {
    if (held.until == codec::RowColumn::kPresent) held_now.push_back(held.column);
  }
  std::ranges::sort(held_now);
  std::vector<std::uint32_t> stored;
  for (std::uint32_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].stored) stored.push_back(i);
  }
  return held_now == stored;
}

codec::RowHistory parse_history(Parser& parser, const TableDefinition& table) {
  codec::RowHistory rows;
  const std::uint64_t column_count = parser.number(kRowColumnsMax);
  parser.require(column_count != 0 && !table.columns.empty());
  for (std::uint64_t i = 0; i < column_count && !parser.has_failed(); ++i) {
    codec::RowColumn held;
    held.column = static_cast<std::uint32_t>(parser.number(table.columns.size())) - 1;
    held.fixed_bytes = parser.number32() - 1;
    const std::uint64_t nullability = parser.number(kHasNullValue);
    held.nullable = nullability != 0;
    if (nullability == kHasNullValue) held.null_value = parser.text();
    held.since = parser.number32();
    held.until = parser.number32() - 1;
    rows.columns.push_back(held);
  }
  const std::uint64_t value_count = parser.number(kColumnsMax);
  for (std::uint64_t i = 0; i < value_count && !parser.has_failed(); ++i) {
    codec::InitialValue initial;
    initial.column = static_cast<std::uint32_t>(parser.number(table.columns.size() - 1));
    if (parser.flag()) initial.value = parser.text();
    rows.initial_values.push_back(std::move(initial));
  }
  return rows;
}

void append_expiry(const RowExpiry& expiry, std::string& out) {
  append_varint(out, expiry.lifetime.seconds);
  append_varint(out, expiry.lifetime.gone_before);
  append_varint(out, std::uint64_t{expiry.column + 1});
}

RowExpiry parse_expiry(Parser& parser, const TableDefinition& table) {
  RowExpiry expiry;
  expiry.lifetime.seconds = parser.number(UINT64_MAX);
  expiry.lifetime.gone_before = parser.number(UINT64_MAX);
  expiry.column = static_cast<std::uint32_t>(parser.number(table.columns.size())) - 1;
  return expiry;
}

std::uint8_t format_version(const TableDefinition& table) {
  if (table.is_discarded) return kFormatVersionDiscarded;
  if (table.expiry.has_value()) return kFormatVersionWithExpiry;
  return table.rows.is_empty() ? kFormatVersion : kFormatVersionWithHistory;
}

std::string difference_of(const ColumnDefinition& expected, const ColumnDefinition& actual) {
  if (expected.name != actual.name) {
    return "column '" + expected.name + "' is now called '" + actual.name + "'";
  }
  ColumnDefinition as_known = actual;
  if (expected.system_time == SystemTime::kNone) as_known.system_time = SystemTime::kNone;
  if (expected == as_known) return {};
  return "column '" + expected.name + "' has another type, length, collation or nullability";
}

std::string difference_of(const IndexDefinition& expected, const IndexDefinition& actual) {
  if (expected.name != actual.name) {
    return "index '" + expected.name + "' is now called '" + actual.name + "'";
  }
  if (has_same_columns(expected, actual)) return {};
  return "index '" + expected.name + "' has other columns";
}

}  // namespace

bool has_same_columns(const IndexDefinition& one, const IndexDefinition& other) {
  return one.unique == other.unique && one.value_lock_parts == other.value_lock_parts &&
         one.parts == other.parts;
}

const IndexDefinition* TableDefinition::find_secondary(std::string_view index_name) const {
  for (std::size_t i = 1; i < indexes.size(); ++i) {
    if (indexes[i].name == index_name) return &indexes[i];
  }
  return nullptr;
}

void append_definition(const TableDefinition& table, std::string& out) {
  append_varint(out, format_version(table));
  append_varint(out, table.id);
  append_length_prefixed(out, table.name);
  append_varint(out, table.schema_version);
  append_varint(out, table.columns.size());
  for (const ColumnDefinition& column : table.columns) {
    append_length_prefixed(out, column.name);
    append_varint(out, static_cast<std::uint64_t>(column.kind));
    append_varint(out, column.record_length);
    append_varint(out, column.collation_id);
    const std::uint64_t flags = (column.nullable ? kNullable : 0) | (column.stored ? kStored : 0);
    append_varint(out, flags + static_cast<std::uint64_t>(column.system_time) * kSystemTimeUnit);
  }
  append_varint(out, table.indexes.size());
  for (const IndexDefinition& index : table.indexes) {
    append_length_prefixed(out, index.name);
    append_varint(out, index.id);
    append_varint(out, index.family);
    append_varint(out, (index.unique ? kUnique : 0) + index.value_lock_parts * kValueLockPart);
    append_varint(out, index.parts.size());
    for (const KeyPartDefinition& part : index.parts) {
      append_varint(out, part.column);
      append_varint(out, part.prefix_length);
      append_varint(out, part.descending ? 1 : 0);
      append_varint(out, part.tuple_length);
    }
  }
  BASALT_DEBUG_ASSERT(!table.is_discarded || table.rows.is_empty());
  if (table.is_discarded) append_varint(out, table.expiry.has_value() ? 1 : 0);
  if (table.expiry.has_value()) {
    append_expiry(*table.expiry, out);
    append_varint(out, table.rows.is_empty() ? 0 : 1);
  }
  if (!table.rows.is_empty()) append_history(table.rows, out);
}

bool can_tell_time(const ColumnDefinition& column) {
  return column.kind == codec::ColumnKind::kUnsignedInteger &&
         column.record_length == sizeof(std::uint64_t) && !column.nullable && column.stored;
}

bool has_readable_rows(const TableDefinition& table) {
  const bool has_time_column =
      table.expiry.has_value() && table.expiry->column != RowExpiry::kNoColumn;
  if (has_time_column && !can_tell_time(table.columns[table.expiry->column])) return false;
  return (table.rows.is_empty() || holds_stored_columns(table)) &&
         std::ranges::all_of(table.rows.columns,
                             [&](const codec::RowColumn& held) { return fits(held, table); }) &&
         std::ranges::all_of(table.rows.initial_values, [&](const codec::InitialValue& initial) {
           return fits(initial, table);
         });
}

Result<TableDefinition> parse_definition(std::string_view bytes) {
  Parser parser(bytes);
  TableDefinition table;
  const std::uint64_t version = parser.number(UINT8_MAX);
  if (parser.has_failed() || version < kFormatVersion || version > kFormatVersionDiscarded) {
    return Status(ErrorCode::kCorruption,
                  "table definition of unknown format version " + std::to_string(version));
  }
  table.id = parser.number32();
  table.name = parser.text();
  table.schema_version = parser.number32();
  const std::uint64_t column_count = parser.number(kColumnsMax);
  for (std::uint64_t i = 0; i < column_count && !parser.has_failed(); ++i) {
    table.columns.push_back(parse_column(parser));
  }
  const std::uint64_t index_count = parser.number(kIndexesMax);
  for (std::uint64_t i = 0; i < index_count && !parser.has_failed(); ++i) {
    table.indexes.push_back(parse_index(parser, table.columns.size()));
  }
  table.is_discarded = version == kFormatVersionDiscarded;
  const bool has_expiry =
      version == kFormatVersionWithExpiry || (table.is_discarded && parser.flag());
  if (has_expiry) table.expiry = parse_expiry(parser, table);
  const bool has_history = version == kFormatVersionWithHistory || (has_expiry && parser.flag());
  if (has_history) table.rows = parse_history(parser, table);
  parser.require(!table.is_discarded || table.rows.is_empty());
  if (parser.has_failed() || !parser.is_at_end() || table.columns.empty() ||
      table.indexes.empty() || !has_readable_rows(table)) {
    return Status(ErrorCode::kCorruption, "table definition does not decode");
  }
  return table;
}

std::string find_difference(const TableDefinition& expected, const TableDefinition& actual) {
  if (expected.columns.size() != actual.columns.size()) {
    return "the engine knows " + std::to_string(expected.columns.size()) + " columns, the server " +
           std::to_string(actual.columns.size());
  }
  for (std::size_t i = 0; i < expected.columns.size(); ++i) {
    std::string difference = difference_of(expected.columns[i], actual.columns[i]);
    if (!difference.empty()) return difference;
  }
  if (expected.indexes.size() != actual.indexes.size()) {
    return "the engine knows " + std::to_string(expected.indexes.size()) + " indexes, the server " +
           std::to_string(actual.indexes.size());
  }
  for (std::size_t i = 0; i < expected.indexes.size(); ++i) {
    std::string difference = difference_of(expected.indexes[i], actual.indexes[i]);
    if (!difference.empty()) return difference;
  }
  return {};
}

bool lacks_system_time(const TableDefinition& expected, const TableDefinition& actual) {
  return !std::equal(expected.columns.begin(), expected.columns.end(), actual.columns.begin(),
                     actual.columns.end(),
                     [](const ColumnDefinition& known, const ColumnDefinition& column) {
                       return known.system_time == column.system_time;
                     });
}

std::size_t find_column(const TableDefinition& table, std::string_view name) {
  const auto found = std::ranges::find_if(table.columns, [&](const ColumnDefinition& column) {
    return is_same_name(column.name, name);
  });
  return static_cast<std::size_t>(found - table.columns.begin());
}

}  // namespace basalt::catalog
