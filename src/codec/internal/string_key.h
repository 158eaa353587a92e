#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "codec/internal/cursor.h"

// Order-preserving encoding of strings in keys.
//
// Purpose     Turn a sequence of units (bytes or weights) into a key segment such that memcmp of
//             segments is the SQL order under the padding rule of the form, and no segment is a
//             proper prefix of another.
// Format      docs/formats/keys.md, "Strings"; frozen.
// Threads     Pure functions.
namespace basalt::codec {

struct StringForm {
  enum class Padding : std::uint8_t {
    kSpaceRun,     // compares as if continued with space units for ever
    kZeroEscaped,  // the shorter string sorts first
    kSpaceCount,   // the same; runs of spaces are short
  };
  Padding padding = Padding::kZeroEscaped;
  std::uint8_t unit_width = 1;  // 1: written as they are; 2, 3: written in the prefix code
  std::uint32_t space_unit = 0x20;
  // The space unit, or the zero unit in zero-escaped form, as it is written. No form counts spaces
  // of weight 0.
  std::uint8_t marker[3] = {0, 0, 0};
  std::uint8_t marker_size = 1;
};

StringForm make_string_form(StringForm::Padding padding, std::uint8_t unit_width,
                            std::uint32_t space_unit);

// Appends the encoding of `units`, form.unit_width bytes each, most significant first.
void append_string_key(std::string_view units, const StringForm& form, std::string& out);

// Moves `from` past one encoding, whose bytes are complemented if `mask` is 0xFF.
Fault skip_string_key(Cursor& from, const StringForm& form, std::uint8_t mask);

// Decodes one encoding of single-byte units to `to` and moves `from` past it; not of space-count
// form. In space-run form the units that encoding dropped are not there.
Fault decode_string_key(Cursor& from, const StringForm& form, std::uint8_t mask, std::uint8_t* to,
                        std::size_t capacity, std::size_t& size);

}  // namespace basalt::codec
