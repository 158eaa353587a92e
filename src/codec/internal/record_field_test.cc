#include "codec/internal/record_field.h"

#include <gtest/gtest.h>

#include <string>

namespace basalt::codec {
namespace {

using std::string_literals::operator""s;

constexpr Space kUtf16{"\0 ", 2};

TEST(RecordField, StripsTrailingSpacesOfAnyNumberAndNothingElse) {
  for (std::size_t letters = 0; letters < 70; ++letters) {
    for (std::size_t spaces = 0; spaces < 140; ++spaces) {
      // The last letters differ from a space in one bit each.
      for (const char last : {'!', '\0', '\xA0', 'z'}) {
        const std::string value = std::string(letters, ' ') + last;
        ASSERT_EQ(strip_spaces(value + std::string(spaces, ' '), {}), value);
      }
      ASSERT_EQ(strip_spaces(std::string(spaces, ' '), {}), "");
    }
  }
}

TEST(RecordField, StripsAndFillsWholeWideSpaces) {
  EXPECT_EQ(strip_spaces("\0a\0 \0 "s, kUtf16), "\0a"s);
  EXPECT_EQ(strip_spaces("  \0 "s, kUtf16), "  "s);
  EXPECT_EQ(strip_spaces(""s, kUtf16), "");
  std::uint8_t field[7];
  fill_spaces(field, 7, kUtf16);
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(field), 7), "\0 \0 \0 \0"s);
}

TEST(RecordField, ChangesOnlyTheColumnsNullBit) {
  std::uint8_t record[] = {0xA5, 0x5A};
  set_null(record, 1, 0x04, true);
  EXPECT_EQ(record[1], 0x5E);
  EXPECT_TRUE(is_null(record, 1, 0x04));
  set_null(record, 1, 0x04, false);
  EXPECT_EQ(record[1], 0x5A);
  EXPECT_EQ(record[0], 0xA5);
}

}  // namespace
}  // namespace basalt::codec
