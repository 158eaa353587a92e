#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "codec/internal/cursor.h"
#include "codec/internal/record_field.h"
#include "codec/internal/string_key.h"
#include "codec/layout.h"

// One part of a key: encoding it, skipping over it, and getting the column back.
//
// Format      docs/formats/keys.md; frozen.
// Threads     Pure functions, apart from a scratch buffer per thread for weights.
namespace basalt::codec {

struct KeyPart {
  enum class Code : std::uint8_t { kSigned, kUnsigned, kFloat, kDouble, kBytes, kString };
  // What the unpack info holds for the part, if it is not NULL.
  enum class UnpackInfo : std::uint8_t {
    kNone,            // nothing: the key gives the value back
    kTrailingSpaces,  // the number of spaces that the key lost, as a varint
    kFull,            // the value, with its length as a varint
    kNumber,          // the bytes of the record
    kNever,           // nothing: the column cannot be given back
  };

  Code code = Code::kBytes;
  UnpackInfo unpack_info = UnpackInfo::kNone;
  ColumnKind kind = ColumnKind::kOrderedBytes;
  bool nullable = false;
  std::uint8_t mask = 0;  // 0xFF: descending
  std::uint8_t null_mask = 0;
  std::uint8_t length_bytes = 0;
  bool counts_bytes = true;        // prefix_length counts bytes, not characters
  bool bytes_are_units = true;     // no weights needed
  bool keeps_char_spaces = false;  // a CHAR's weights are those of `characters` characters
  std::uint32_t column = 0;
  std::uint32_t record_offset = 0;
  std::uint32_t record_length = 0;
  std::uint32_t null_offset = 0;
  std::uint32_t prefix_length = 0;  // 0: whole column
  std::uint32_t tuple_length = 0;
  std::uint32_t characters = 0;  // in a CHAR or its prefix
  std::uint32_t width = 0;       // bytes in the key without null byte; 0: a string
  std::uint8_t level_count = 1;  // of a string's collation
  StringForm forms[Collation::kLevels];
  Space space;
  const Collation* collation = nullptr;

  bool is_fixed() const { return width != 0 && !nullable; }
  bool has_unpack_info() const {
    return unpack_info != UnpackInfo::kNone && unpack_info != UnpackInfo::kNever;
  }
};

KeyPart make_key_part(const TableLayout& table, const KeyPartLayout& layout);
std::vector<KeyPart> make_key_parts(const TableLayout& table, const IndexLayout& index);
// The part that holds a hidden row id. It has no column.
KeyPart make_row_id_part();

inline bool is_null(const KeyPart& part, const std::uint8_t* record) {
  return part.nullable && is_null(record, part.null_offset, part.null_mask);
}

// Appends the encoding of the part's column.
void append_part(const KeyPart& part, const std::uint8_t* record, std::string& out);
// The same from a key tuple; returns where the next part begins.
const std::uint8_t* append_tuple_part(const KeyPart& part, const std::uint8_t* tuple,
                                      std::string& out);
// Appends the part's unpack info.
void append_unpack_info(const KeyPart& part, const std::uint8_t* record, std::string& out);

// Moves `key` past the part and tells whether it is NULL.
Fault skip_part(const KeyPart& part, Cursor& key, bool& null);
// Moves `unpack_info` past that of a part that is not NULL.
Fault skip_unpack_info(const KeyPart& part, Cursor& unpack_info);
// Unpacks the part's column, null bit included, and moves both cursors past it.
Fault read_part(const KeyPart& part, Cursor& key, Cursor& unpack_info, std::uint8_t* record);

}  // namespace basalt::codec
