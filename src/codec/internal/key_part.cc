#include "codec/internal/key_part.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "base/bytes.h"

namespace basalt::codec {

namespace {

using Code = KeyPart::Code;
using UnpackInfo = KeyPart::UnpackInfo;

// Before the value of a nullable part.
constexpr std::uint8_t kNull = 0x00;
constexpr std::uint8_t kNotNull = 0x01;

constexpr Fault kUnfinished = "key ends inside a part";
constexpr Fault kBadNull = "invalid null byte in a key";
constexpr Fault kUnfinishedUnpackInfo = "unpack info of an index entry is incomplete";
constexpr Fault kTooLong = "restored string is longer than its column";

Code code_of(ColumnKind kind) {
  switch (kind) {
    case ColumnKind::kSignedInteger: return Code::kSigned;
    case ColumnKind::kUnsignedInteger: return Code::kUnsigned;
    case ColumnKind::kFloat: return Code::kFloat;
    case ColumnKind::kDouble: return Code::kDouble;
    case ColumnKind::kOrderedBytes: return Code::kBytes;
    case ColumnKind::kFixedString:
    case ColumnKind::kVariableString:
    case ColumnKind::kBlob: return Code::kString;
  }
  BASALT_UNREACHABLE();
}

StringForm::Padding padding_of(ColumnKind kind, const Collation::Traits& traits,
                               std::size_t level) {
  if (kind == ColumnKind::kFixedString) {
    if (traits.char_spaces == Collation::CharSpaces::kCounted)
      return StringForm::Padding::kSpaceCount;
    if (traits.space_weight != 0) return StringForm::Padding::kSpaceRun;
  }
  return traits.pads_with_space || level != 0 ? StringForm::Padding::kSpaceRun
                                              : StringForm::Padding::kZeroEscaped;
}

void set_string_forms(KeyPart& part, const Collation& collation) {
  const Collation::Traits& traits = collation.traits();
  part.level_count = static_cast<std::uint8_t>(collation.level_count());
  for (std::size_t level = 0; level < part.level_count; ++level)
    part.forms[level] =
        make_string_form(padding_of(part.kind, traits, level),
                         traits.bytes_are_weights ? std::uint8_t{1} : traits.weight_width,
                         collation.space_weight(level));
}

UnpackInfo unpack_info_of(ColumnKind kind, std::uint32_t prefix_length,
                          const Collation::Traits& traits) {
  if (prefix_length != 0) return UnpackInfo::kNever;
  switch (kind) {
    case ColumnKind::kSignedInteger:
    case ColumnKind::kUnsignedInteger:
    case ColumnKind::kOrderedBytes: return UnpackInfo::kNone;
    case ColumnKind::kFloat:
    case ColumnKind::kDouble: return UnpackInfo::kNumber;
    case ColumnKind::kFixedString:
      return traits.bytes_are_weights ? UnpackInfo::kNone : UnpackInfo::kFull;
    case ColumnKind::kVariableString:
      if (!traits.bytes_are_weights) return UnpackInfo::kFull;
      return traits.pads_with_space ? UnpackInfo::kTrailingSpaces : UnpackInfo::kNone;
    case ColumnKind::kBlob: return UnpackInfo::kNever;
  }
  BASALT_UNREACHABLE();
}

// A whole column's data in a key tuple.
std::uint32_t whole_tuple_length(const ColumnLayout& column) {
  const std::uint32_t overhead =
      column.length_bytes + (column.kind == ColumnKind::kBlob ? sizeof(const char*) : 0u);
  return column.record_length - overhead;
}

// Copies `size` bytes in reverse order.
void copy_reversed(std::uint8_t* to, const std::uint8_t* from, std::size_t size) {
  switch (size) {
    case 4: return store_le(to, __builtin_bswap32(load_le<std::uint32_t>(from)));
    case 8: return store_le(to, __builtin_bswap64(load_le<std::uint64_t>(from)));
    default:
      for (std::size_t i = 0; i < size; ++i) to[i] = from[size - 1 - i];
  }
}

// IEEE numbers sort like integers once the sign is turned over, and all else if it was set.
// Both zeros are equal to SQL and become the same bytes.
template <typename Bits>
Bits ordered_float(Bits bits) {
  constexpr Bits sign = Bits{1} << (8 * sizeof(Bits) - 1);
  if ((bits & ~sign) == 0) bits = 0;
  return (bits & sign) != 0 ? ~bits : bits | sign;
}

void encode_number(const KeyPart& part, const char* data, std::uint8_t* to) {
  const auto* const from = reinterpret_cast<const std::uint8_t*>(data);
  if (part.code == Code::kFloat) {
    store_be32(to, ordered_float(load_le<std::uint32_t>(from)));
  } else if (part.code == Code::kDouble) {
    store_be64(to, ordered_float(load_le<std::uint64_t>(from)));
  } else {
    copy_reversed(to, from, part.width);
    if (part.code == Code::kSigned) to[0] ^= 0x80;
  }
}

// What of a string column's data its key part is made of.
std::string_view compared_part(const KeyPart& part, std::string_view value) {
  if (part.keeps_char_spaces)
    return value.substr(0, part.collation->prefix_bytes(value, part.characters));
  if (part.kind == ColumnKind::kFixedString) value = strip_spaces(value, part.space);
  if (part.prefix_length != 0) {
    const std::size_t size = part.counts_bytes
                                 ? part.prefix_length
                                 : part.collation->prefix_bytes(value, part.prefix_length);
    BASALT_DEBUG_ASSERT(part.counts_bytes || size <= value.size());
    value = value.substr(0, size);
    if (part.kind == ColumnKind::kFixedString) value = strip_spaces(value, part.space);
  }
  return value;
}

void append_string_value(const KeyPart& part, std::string_view value, std::string& out) {
  value = compared_part(part, value);
  if (part.bytes_are_units) return append_string_key(value, part.forms[0], out);
  thread_local std::string weights;
  for (std::size_t level = 0; level < part.level_count; ++level) {
    weights.clear();
    part.collation->append_weights(value, level, weights);
    append_string_key(weights, part.forms[level], out);
  }
}

// Appends a value that is not NULL.
void append_value(const KeyPart& part, std::string_view value, std::string& out) {
  const std::size_t begin = out.size();
  if (part.code < Code::kBytes) {
    std::uint8_t bytes[9] = {kNotNull};
    encode_number(part, value.data(), bytes + 1);
    const std::size_t skip = part.nullable ? 0 : 1;
    out.append(reinterpret_cast<const char*>(bytes) + skip, part.width + 1 - skip);
  } else {
    if (part.nullable) out.push_back(static_cast<char>(kNotNull));
    if (part.code == Code::kBytes) {
      out.append(value.substr(0, part.width));
    } else {
      append_string_value(part, value, out);
    }
  }
  if (part.mask == 0) return;
  for (std::size_t i = begin; i < out.size(); ++i) out[i] = static_cast<char>(~out[i]);
}

void append_null(const KeyPart& part, std::string& out) {
  out.push_back(static_cast<char>(kNull ^ part.mask));
}

std::string_view value_in_record(const KeyPart& part, const std::uint8_t* record) {
  const std::uint8_t* const field = record + part.record_offset;
  switch (part.kind) {
    case ColumnKind::kVariableString: return variable_string_at(field, part.length_bytes);
    case ColumnKind::kBlob: return blob_at(field, part.length_bytes);
    case ColumnKind::kSignedInteger:
    case ColumnKind::kUnsignedInteger:
    case ColumnKind::kFloat:
    case ColumnKind::kDouble:
    case ColumnKind::kOrderedBytes:
    case ColumnKind::kFixedString: break;
  }
  return {reinterpret_cast<const char*>(field), part.record_length};
}

void write_neutral(const KeyPart& part, std::uint8_t* record) {
  std::uint8_t* const field = record + part.record_offset;
  switch (part.kind) {
    case ColumnKind::kFixedString: return fill_spaces(field, part.record_length, part.space);
    case ColumnKind::kVariableString: return write_neutral_string(field, part.length_bytes);
    case ColumnKind::kBlob: return write_neutral_blob(field, part.length_bytes);
    case ColumnKind::kSignedInteger:
    case ColumnKind::kUnsignedInteger:
    case ColumnKind::kFloat:
    case ColumnKind::kDouble:
    case ColumnKind::kOrderedBytes: break;
  }
  std::memset(field, 0, part.record_length);
}

Fault consume_null_byte(const KeyPart& part, Cursor& key, bool& null) {
  null = false;
  if (!part.nullable) return nullptr;
  if (key.at == key.end) return kUnfinished;
  const std::uint8_t byte = *key.at++ ^ part.mask;
  if (byte > kNotNull) return kBadNull;
  null = byte == kNull;
  return nullptr;
}

Fault skip_string(const KeyPart& part, Cursor& key) {
  for (std::size_t level = 0; level < part.level_count; ++level)
    if (const Fault fault = skip_string_key(key, part.forms[level], part.mask)) return fault;
  return nullptr;
}

Fault skip_value(const KeyPart& part, Cursor& key) {
  if (part.width == 0) return skip_string(part, key);
  if (key.left() < part.width) return kUnfinished;
  key.at += part.width;
  return nullptr;
}

Fault read_integer(const KeyPart& part, Cursor& key, std::uint8_t* to) {
  const std::size_t width = part.width;
  if (key.left() < width) return kUnfinished;
  copy_reversed(to, key.at, width);
  if (part.mask != 0)
    for (std::size_t i = 0; i < width; ++i) to[i] = static_cast<std::uint8_t>(~to[i]);
  if (part.code == Code::kSigned) to[width - 1] ^= 0x80;
  key.at += width;
  return nullptr;
}

// A string whose key gives its bytes back, but for the spaces counted in `unpack_info`.
Fault read_string(const KeyPart& part, Cursor& key, Cursor& unpack_info, std::uint8_t* field) {
  std::uint8_t* const data = field + part.length_bytes;
  const std::size_t capacity = part.record_length - part.length_bytes;
  std::size_t size = 0;
  if (const Fault fault = decode_string_key(key, part.forms[0], part.mask, data, capacity, size))
    return fault;
  if (part.kind == ColumnKind::kFixedString) {
    fill_spaces(data + size, capacity - size, part.space);
    return nullptr;
  }
  if (part.unpack_info == UnpackInfo::kTrailingSpaces) {
    std::uint64_t spaces = 0;
    if (!consume_varint(unpack_info, spaces)) return kUnfinishedUnpackInfo;
    if (spaces > capacity - size) return kTooLong;
    std::memset(data + size, ' ', spaces);
    size += spaces;
  }
  copy_bytes(field, &size, part.length_bytes);
  return nullptr;
}

// A string that `unpack_info` holds.
Fault read_full(const KeyPart& part, Cursor& unpack_info, std::uint8_t* field) {
  std::uint64_t size = 0;
  if (!consume_varint(unpack_info, size) || size > unpack_info.left()) return kUnfinishedUnpackInfo;
  const std::size_t capacity = part.record_length - part.length_bytes;
  if (size > capacity) return kTooLong;
  copy_bytes(field, &size, part.length_bytes);
  std::uint8_t* const data = field + part.length_bytes;
  if (size != 0) std::memcpy(data, unpack_info.at, size);
  unpack_info.at += size;
  if (part.kind == ColumnKind::kFixedString) fill_spaces(data + size, capacity - size, part.space);
  return nullptr;
}

Fault read_value(const KeyPart& part, Cursor& key, Cursor& unpack_info, std::uint8_t* field) {
  switch (part.unpack_info) {
    case UnpackInfo::kNone:
    case UnpackInfo::kTrailingSpaces:
      if (part.code == Code::kString) return read_string(part, key, unpack_info, field);
      if (part.code != Code::kBytes) return read_integer(part, key, field);
      if (key.left() < part.width) return kUnfinished;
      copy_masked(field, key.at, part.width, part.mask);
      key.at += part.width;
      return nullptr;
    case UnpackInfo::kFull:
      if (const Fault fault = skip_value(part, key)) return fault;
      return read_full(part, unpack_info, field);
    case UnpackInfo::kNumber:
      if (const Fault fault = skip_value(part, key)) return fault;
      if (unpack_info.left() < part.width) return kUnfinishedUnpackInfo;
      copy_bytes(field, unpack_info.at, part.width);
      unpack_info.at += part.width;
      return nullptr;
    case UnpackInfo::kNever: break;
  }
  BASALT_UNREACHABLE();
}

}  // namespace

KeyPart make_key_part(const TableLayout& table, const KeyPartLayout& layout) {
  BASALT_ASSERT(layout.column < table.columns.size());
  const ColumnLayout& column = table.columns[layout.column];
  const Collation& collation = column.collation == nullptr ? binary_collation() : *column.collation;
  const Collation::Traits& traits = collation.traits();
  KeyPart part;
  part.code = code_of(column.kind);
  part.unpack_info = unpack_info_of(column.kind, layout.prefix_length, traits);
  part.kind = column.kind;
  part.nullable = column.nullable;
  part.mask = layout.descending ? 0xFF : 0;
  part.null_mask = column.null_mask;
  part.length_bytes = column.length_bytes;
  part.counts_bytes = &collation == &binary_collation();
  part.bytes_are_units = traits.bytes_are_weights;
  part.column = layout.column;
  part.record_offset = column.record_offset;
  part.record_length = column.record_length;
  part.null_offset = column.null_offset;
  part.prefix_length = layout.prefix_length;
  part.tuple_length = layout.tuple_length;
  if (part.tuple_length == 0)
    part.tuple_length =
        layout.prefix_length != 0 ? layout.prefix_length : whole_tuple_length(column);
  if (part.code == Code::kString) {
    set_string_forms(part, collation);
    part.space = space_of(&collation);
    part.keeps_char_spaces = column.kind == ColumnKind::kFixedString &&
                             traits.char_spaces != Collation::CharSpaces::kPadding;
    part.characters = column.record_length / traits.character_bytes_max;
    if (layout.prefix_length != 0)
      part.characters = std::min(part.characters, layout.prefix_length);
    part.collation = &collation;
    BASALT_ASSERT(column.kind == ColumnKind::kFixedString
                      ? column.length_bytes == 0
                      : column.length_bytes >= 1 && column.length_bytes <= 4);
    return part;
  }
  BASALT_ASSERT(layout.prefix_length == 0 || part.code == Code::kBytes);
  BASALT_ASSERT(part.code == Code::kBytes || column.record_length <= 8);
  part.width = layout.prefix_length == 0 ? column.record_length
                                         : std::min(layout.prefix_length, column.record_length);
  BASALT_ASSERT(part.width != 0);
  BASALT_ASSERT(part.code != Code::kFloat || part.width == 4);
  BASALT_ASSERT(part.code != Code::kDouble || part.width == 8);
  return part;
}

std::vector<KeyPart> make_key_parts(const TableLayout& table, const IndexLayout& index) {
  std::vector<KeyPart> parts;
  parts.reserve(index.parts.size());
  for (const KeyPartLayout& layout : index.parts) parts.push_back(make_key_part(table, layout));
  return parts;
}

KeyPart make_row_id_part() {
  KeyPart part;
  part.width = 8;
  part.record_length = 8;
  part.tuple_length = 8;
  part.column = UINT32_MAX;
  return part;
}

void append_part(const KeyPart& part, const std::uint8_t* record, std::string& out) {
  if (is_null(part, record)) return append_null(part, out);
  append_value(part, value_in_record(part, record), out);
}

const std::uint8_t* append_tuple_part(const KeyPart& part, const std::uint8_t* tuple,
                                      std::string& out) {
  const bool null = part.nullable && *tuple != 0;
  tuple += part.nullable ? 1 : 0;
  std::uint32_t length = part.tuple_length;
  if (part.kind == ColumnKind::kVariableString || part.kind == ColumnKind::kBlob) {
    const std::uint32_t stored = load_le<std::uint16_t>(tuple);
    BASALT_DEBUG_ASSERT(null || stored <= part.tuple_length);
    length = std::min(stored, part.tuple_length);
    tuple += 2;
  }
  if (null) {
    append_null(part, out);
  } else {
    append_value(part, {reinterpret_cast<const char*>(tuple), length}, out);
  }
  return tuple + part.tuple_length;
}

void append_unpack_info(const KeyPart& part, const std::uint8_t* record, std::string& out) {
  if (!part.has_unpack_info() || is_null(part, record)) return;
  const std::string_view value = value_in_record(part, record);
  switch (part.unpack_info) {
    case UnpackInfo::kTrailingSpaces:
      return append_varint(out, value.size() - strip_spaces(value, part.space).size());
    case UnpackInfo::kFull:
      return append_length_prefixed(
          out, part.kind == ColumnKind::kFixedString ? strip_spaces(value, part.space) : value);
    case UnpackInfo::kNumber: out.append(value); return;
    case UnpackInfo::kNone:
    case UnpackInfo::kNever: break;
  }
  BASALT_UNREACHABLE();
}

Fault skip_part(const KeyPart& part, Cursor& key, bool& null) {
  if (const Fault fault = consume_null_byte(part, key, null)) return fault;
  return null ? nullptr : skip_value(part, key);
}

Fault skip_unpack_info(const KeyPart& part, Cursor& unpack_info) {
  std::uint64_t size = 0;
  switch (part.unpack_info) {
    case UnpackInfo::kNone:
    case UnpackInfo::kNever: return nullptr;
    case UnpackInfo::kTrailingSpaces:
      return consume_varint(unpack_info, size) ? nullptr : kUnfinishedUnpackInfo;
    case UnpackInfo::kFull:
      if (!consume_varint(unpack_info, size)) return kUnfinishedUnpackInfo;
      break;
    case UnpackInfo::kNumber: size = part.width; break;
  }
  if (size > unpack_info.left()) return kUnfinishedUnpackInfo;
  unpack_info.at += size;
  return nullptr;
}

Fault read_part(const KeyPart& part, Cursor& key, Cursor& unpack_info, std::uint8_t* record) {
  bool null = false;
  if (const Fault fault = consume_null_byte(part, key, null)) return fault;
  if (part.nullable) set_null(record, part.null_offset, part.null_mask, null);
  if (!null) return read_value(part, key, unpack_info, record + part.record_offset);
  write_neutral(part, record);
  return nullptr;
}

}  // namespace basalt::codec
