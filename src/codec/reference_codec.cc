#include "codec/reference_codec.h"

#include <cstring>
#include <string_view>
#include <utility>

#include "base/assert.h"
#include "base/bytes.h"
#include "codec/internal/key_part.h"
#include "codec/internal/record_field.h"

namespace basalt::codec {
namespace {

bool is_char_or_varchar(ColumnKind kind) {
  return kind == ColumnKind::kFixedString || kind == ColumnKind::kVariableString;
}

const Collation& collation_of(const ColumnLayout& column) {
  return column.collation == nullptr ? binary_collation() : *column.collation;
}

// CHAR and VARCHAR are written in the same form.
bool pads_alike(const Collation::Traits& traits) {
  return traits.pads_with_space && traits.space_weight != 0 &&
         traits.char_spaces == Collation::CharSpaces::kPadding;
}

std::string_view string_at(const ColumnLayout& column, const std::uint8_t* field) {
  if (column.kind == ColumnKind::kVariableString) {
    return variable_string_at(field, column.length_bytes);
  }
  return strip_spaces({reinterpret_cast<const char*>(field), column.record_length},
                      space_of(column.collation));
}

// The longest that the column can hold, in characters; those of a VARCHAR are counted in the
// column's bytes as the server makes them: characters by the bytes that one takes at most.
std::size_t characters_max(const ColumnLayout& column) {
  const std::uint32_t bytes = column.record_length - column.length_bytes;
  return bytes / collation_of(column).traits().character_bytes_max;
}

bool fits(const ColumnLayout& column, std::string_view value) {
  const std::size_t characters = characters_max(column);
  return collation_of(column).prefix_bytes(value, characters) == value.size();
}

// Trailing spaces that do not fit are cut off, where they do not count.
std::string_view shortened(const ColumnLayout& column, std::string_view value) {
  if (fits(column, value) || !pads_alike(collation_of(column).traits())) return value;
  const Space space = space_of(column.collation);
  const std::string_view stripped = strip_spaces(value, space);
  return fits(column, stripped) ? stripped : value;
}

bool copy_string(const ColumnLayout& from, const std::uint8_t* from_field, const ColumnLayout& to,
                 std::uint8_t* to_field) {
  const std::string_view value = shortened(to, string_at(from, from_field));
  if (!fits(to, value)) return false;
  const std::size_t capacity = to.record_length - to.length_bytes;
  BASALT_ASSERT(value.size() <= capacity);
  const std::uint64_t size = value.size();
  std::memcpy(to_field, &size, to.length_bytes);
  std::uint8_t* const data = to_field + to.length_bytes;
  std::memcpy(data, value.data(), value.size());
  if (to.kind == ColumnKind::kFixedString) {
    fill_spaces(data + value.size(), capacity - value.size(), space_of(to.collation));
  }
  return true;
}

}  // namespace

bool are_equal_in_keys(const ColumnLayout& a, const ColumnLayout& b) {
  if (is_char_or_varchar(a.kind) && is_char_or_varchar(b.kind)) {
    const Collation::Traits& traits = collation_of(a).traits();
    if (traits.id != collation_of(b).traits().id) return false;
    // Where spaces at the end count, a CHAR's key depends on its length.
    if (a.kind == b.kind && a.kind == ColumnKind::kVariableString) return true;
    if (a.kind == b.kind && a.record_length == b.record_length) return true;
    return pads_alike(traits);
  }
  return a.kind == b.kind && a.kind != ColumnKind::kBlob && a.record_length == b.record_length;
}

struct ReferenceCodec::State {
  std::uint32_t index_id = 0;
  std::vector<KeyPart> parts;
  std::vector<ColumnLayout> columns;  // of each part: whether it is NULL
};

ReferenceCodec::ReferenceCodec(const TableLayout& table, const std::vector<std::uint32_t>& columns,
                               std::uint32_t index_id, const std::vector<ReferencedPart>& parts) {
  BASALT_ASSERT(!columns.empty() && columns.size() == parts.size());
  State state;
  state.index_id = index_id;
  // The columns as the other table has them: what is NULL here gets no key, and is never asked for.
  TableLayout as_there = table;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    BASALT_ASSERT(columns[i] < table.columns.size());
    state.columns.push_back(table.columns[columns[i]]);
    ColumnLayout& column = as_there.columns[columns[i]];
    column.nullable = parts[i].nullable;
    column.null_mask = 0;
    state.parts.push_back(make_key_part(as_there, {.column = columns[i],
                                                   .prefix_length = 0,
                                                   .descending = parts[i].descending,
                                                   .tuple_length = 0}));
  }
  state_ = std::make_unique<const State>(std::move(state));
}
ReferenceCodec::~ReferenceCodec() = default;
ReferenceCodec::ReferenceCodec(ReferenceCodec&&) noexcept = default;
ReferenceCodec& ReferenceCodec::operator=(ReferenceCodec&&) noexcept = default;

bool ReferenceCodec::make_prefix(const std::uint8_t* record, std::string& key) const {
  for (const ColumnLayout& column : state_->columns) {
    if (column.nullable && is_null(record, column.null_offset, column.null_mask)) return false;
  }
  key.clear();
  append_be32(key, state_->index_id);
  for (const KeyPart& part : state_->parts) append_part(part, record, key);
  return true;
}

bool copy_column(const ColumnLayout& from, const std::uint8_t* from_record, const ColumnLayout& to,
                 std::uint8_t* to_record) {
  BASALT_DEBUG_ASSERT(are_equal_in_keys(from, to));
  if (from.nullable && is_null(from_record, from.null_offset, from.null_mask)) {
    if (!to.nullable) return false;
    set_column_null(to, to_record);
    return true;
  }
  if (to.nullable) set_null(to_record, to.null_offset, to.null_mask, false);
  const std::uint8_t* const from_field = from_record + from.record_offset;
  std::uint8_t* const to_field = to_record + to.record_offset;
  if (is_char_or_varchar(from.kind)) return copy_string(from, from_field, to, to_field);
  std::memcpy(to_field, from_field, to.record_length);
  return true;
}

void set_column_null(const ColumnLayout& column, std::uint8_t* record) {
  BASALT_ASSERT(column.nullable);
  set_null(record, column.null_offset, column.null_mask, true);
  std::uint8_t* const field = record + column.record_offset;
  if (column.kind == ColumnKind::kFixedString) {
    fill_spaces(field, column.record_length, space_of(column.collation));
  } else {
    std::memset(field, 0, column.record_length);
  }
}

}  // namespace basalt::codec
