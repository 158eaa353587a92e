#include "codec/internal/key_part.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "codec/internal/test_support.h"

namespace basalt::codec {
namespace {

using std::string_literals::operator""s;
using test::Record;
using test::TestTable;

// A table of one column and the key part on it.
struct OneColumn {
  TestTable table;
  KeyPartLayout layout;

  OneColumn(ColumnKind kind, std::uint32_t record_length, bool nullable = false,
            const Collation* collation = nullptr) {
    table.add(kind, record_length, nullable, collation);
  }
  static OneColumn varchar(std::uint32_t bytes, const Collation& collation, bool nullable = false) {
    OneColumn one;
    one.table.add_varchar(bytes, nullable, &collation);
    return one;
  }
  KeyPart part() const { return make_key_part(table.layout(), layout); }

  std::string key_of(const Record& record) const {
    std::string out;
    append_part(part(), record.data(), out);
    return out;
  }
  std::string key_of_integer(std::uint64_t value) const {
    Record record = table.make_record();
    table.set_integer(record, 0, value);
    return key_of(record);
  }
  std::string key_of_string(std::string_view value) const {
    Record record = table.make_record();
    table.set_string(record, 0, value);
    return key_of(record);
  }
  std::string key_of_null() const {
    Record record = table.make_record();
    table.set_null(record, 0);
    return key_of(record);
  }
  std::string unpack_info_of_string(std::string_view value) const {
    Record record = table.make_record();
    table.set_string(record, 0, value);
    std::string out;
    append_unpack_info(part(), record.data(), out);
    return out;
  }

 private:
  OneColumn() = default;
};

TEST(KeyPart, IntegersOfEveryWidthSortByValue) {
  for (std::uint32_t width = 1; width <= 8; ++width) {
    for (const ColumnKind kind : {ColumnKind::kSignedInteger, ColumnKind::kUnsignedInteger}) {
      const OneColumn one(kind, width);
      std::vector<Record> records;
      for (std::uint32_t bit = 0; bit < 8 * width; ++bit) {
        for (const int delta : {-1, 0, 1}) {
          for (const std::uint64_t flip : {std::uint64_t{0}, ~std::uint64_t{0}}) {
            records.push_back(one.table.make_record());
            const auto near = (std::uint64_t{1} << bit) + static_cast<std::uint64_t>(delta);
            one.table.set_integer(records.back(), 0, near ^ flip);
          }
        }
      }
      for (const Record& a : records)
        for (const Record& b : records)
          ASSERT_EQ(test::sign_of(one.key_of(a).compare(one.key_of(b))),
                    one.table.compare_part(a, b, one.layout));
    }
  }
}

template <typename Float>
void expect_floats_sort(ColumnKind kind) {
  using Limits = std::numeric_limits<Float>;
  const OneColumn one(kind, sizeof(Float));
  std::vector<Float> values;
  for (const Float value : {Float{0}, Float{1}, Float{1.5}, Limits::min(), Limits::denorm_min(),
                            Limits::max(), Limits::infinity(), Limits::epsilon()}) {
    values.push_back(value);
    values.push_back(-value);
  }
  const auto key_of = [&one](Float value) {
    Record record = one.table.make_record();
    std::memcpy(one.table.field(record, 0), &value, sizeof value);
    return one.key_of(record);
  };
  for (const Float a : values)
    for (const Float b : values)
      ASSERT_EQ(test::sign_of(key_of(a).compare(key_of(b))), test::compare_numbers(a, b))
          << a << " vs " << b;
}

TEST(KeyPart, FloatingPointNumbersSortByValueAndBothZerosAreEqual) {
  expect_floats_sort<float>(ColumnKind::kFloat);
  expect_floats_sort<double>(ColumnKind::kDouble);
}

// Pins the stored format. If this fails, existing indexes can no longer be read.
TEST(KeyPart, FormatOfNumbersIsFrozen) {
  EXPECT_EQ(OneColumn(ColumnKind::kSignedInteger, 4).key_of_integer(1), "\x80\0\0\1"s);
  EXPECT_EQ(OneColumn(ColumnKind::kSignedInteger, 4).key_of_integer(~0ull), "\x7F\xFF\xFF\xFF");
  EXPECT_EQ(OneColumn(ColumnKind::kSignedInteger, 1).key_of_integer(0x80), "\0"s);
  EXPECT_EQ(OneColumn(ColumnKind::kSignedInteger, 3).key_of_integer(0x010203), "\x81\2\3");
  EXPECT_EQ(OneColumn(ColumnKind::kUnsignedInteger, 2).key_of_integer(0x8001), "\x80\1");
  EXPECT_EQ(OneColumn(ColumnKind::kUnsignedInteger, 8).key_of_integer(0x0102030405060708),
            "\1\2\3\4\5\6\7\x08");
  const OneColumn nullable(ColumnKind::kUnsignedInteger, 1, true);
  EXPECT_EQ(nullable.key_of_integer(5), "\1\5");
  EXPECT_EQ(nullable.key_of_null(), "\0"s);
  EXPECT_EQ(OneColumn(ColumnKind::kFloat, 4).key_of_integer(0x3FC00000), "\xBF\xC0\0\0"s);
  EXPECT_EQ(OneColumn(ColumnKind::kFloat, 4).key_of_integer(0xBFC00000), "\x40\x3F\xFF\xFF");
  EXPECT_EQ(OneColumn(ColumnKind::kFloat, 4).key_of_integer(0x80000000), "\x80\0\0\0"s);
  EXPECT_EQ(OneColumn(ColumnKind::kDouble, 8).key_of_integer(0), "\x80\0\0\0\0\0\0\0"s);
  EXPECT_EQ(OneColumn(ColumnKind::kDouble, 8).key_of_integer(0xBFF8000000000000),
            "\x40\x07\xFF\xFF\xFF\xFF\xFF\xFF");
}

// Pins the stored format. If this fails, existing indexes can no longer be read.
TEST(KeyPart, DescendingPartsAreTheComplementNullByteIncluded) {
  OneColumn one(ColumnKind::kSignedInteger, 2, true);
  one.layout.descending = true;
  EXPECT_EQ(one.key_of_integer(1), "\xFE\x7F\xFE");
  EXPECT_EQ(one.key_of_null(), "\xFF");
  OneColumn text = OneColumn::varchar(10, test::collation(0));
  text.layout.descending = true;
  EXPECT_EQ(text.key_of_string("a"), "\x9E\xDF\x7F");
}

// Pins the stored format. If this fails, existing indexes can no longer be read.
TEST(KeyPart, FormatOfStringsIsFrozen) {
  EXPECT_EQ(OneColumn::varchar(10, test::collation(0)).key_of_string("a b "),
            "a \xFF"
            "b \x80");
  EXPECT_EQ(OneColumn::varchar(10, test::collation(1)).key_of_string("a "), "a \0\1"s);
  EXPECT_EQ(OneColumn::varchar(300, binary_collation(), true).key_of_string(""), "\1\0\1"s);
  // CHAR of a NOPAD collation compares as padded nevertheless.
  const OneColumn fixed(ColumnKind::kFixedString, 6, false, &test::collation(1));
  EXPECT_EQ(fixed.key_of_string("a"), "a \x80");
  // Weights: folded, expanded, in the prefix code.
  EXPECT_EQ(OneColumn::varchar(9, test::collation(2)).key_of_string("a\xDF"), "ASS \x80");
  EXPECT_EQ(OneColumn::varchar(9, test::collation(4)).key_of_string("a\x1F"),
            "\xA5\x19\x80\xD9\x82\x09\x80"s);
  OneColumn bytes(ColumnKind::kOrderedBytes, 3);
  EXPECT_EQ(bytes.key_of_integer(0x030201), "\1\2\3");
  bytes.layout.prefix_length = 2;
  EXPECT_EQ(bytes.key_of_integer(0x030201), "\1\2");
}

// Pins the stored format. If this fails, existing indexes can no longer be read.
TEST(KeyPart, FormatOfSeveralLevelsIsFrozen) {
  // The levels of a string follow each other, each with its own space.
  const OneColumn padded = OneColumn::varchar(9, test::collation(11));
  EXPECT_EQ(padded.key_of_string("aB z "), "AB \xFFZ \x80\3\2\2\1\2\x80");
  EXPECT_EQ(padded.key_of_string("AB"), "AB \x80\2\x80");
  // Without padding on the first level there is padding on the others.
  const OneColumn unpadded = OneColumn::varchar(9, test::collation(15));
  EXPECT_EQ(unpadded.key_of_string("a "), "\xA5\x19\x82\x09\0\1\3\2\x80"s);
  OneColumn descending = OneColumn::varchar(9, test::collation(11));
  descending.layout.descending = true;
  EXPECT_EQ(descending.key_of_string("b"), "\xBD\xDF\x7F\xFC\xFD\x7F");
}

// Pins the stored format. If this fails, existing indexes can no longer be read.
TEST(KeyPart, FormatOfCharValuesWithMeaningfulSpacesIsFrozen) {
  // Six bytes are three characters, of which what is missing is spaces.
  OneColumn counted(ColumnKind::kFixedString, 6, false, &test::collation(12));
  EXPECT_EQ(counted.key_of_string("ss"), "SS \1\0\1"s);
  EXPECT_EQ(counted.key_of_string("\xDF"), "SS \2\0\1"s);
  EXPECT_EQ(counted.key_of_string("a\1"), "A \1\0\1"s);
  counted.layout.prefix_length = 2;
  counted.layout.tuple_length = 4;
  EXPECT_EQ(counted.key_of_string("ss"), "SS\0\1"s);
  EXPECT_EQ(counted.key_of_string("\xDF"), "SS \1\0\1"s);
  // The space is weighed before the tilde.
  const OneColumn weighed(ColumnKind::kFixedString, 6, false, &test::collation(14));
  EXPECT_EQ(weighed.key_of_string("a~"), "A \xFF~ \x80");
  EXPECT_EQ(weighed.key_of_string("a"), "A \x80");
  EXPECT_EQ(OneColumn::varchar(9, test::collation(14)).key_of_string("a~"), "A~ \x80");
}

TEST(KeyPart, PrefixesAreCountedInCharacters) {
  OneColumn one = OneColumn::varchar(20, test::collation(0));
  one.layout.prefix_length = 2;
  EXPECT_EQ(one.key_of_string("\xC3\xA4xyz"), "\xC3\xA4x \x80");
  EXPECT_EQ(one.key_of_string("x  "), "x \x80");
  EXPECT_EQ(one.key_of_string("x"), "x \x80");
  OneColumn fixed(ColumnKind::kFixedString, 8, false, &test::collation(0));
  fixed.layout.prefix_length = 2;
  EXPECT_EQ(fixed.key_of_string("a b"), "a \x80");
  OneColumn binary = OneColumn::varchar(20, binary_collation());
  binary.layout.prefix_length = 2;
  EXPECT_EQ(binary.key_of_string("\xC3\xA4x"), "\xC3\xA4\0\1"s);
}

// Pins the stored format. If this fails, existing indexes can no longer be read.
TEST(KeyPart, FormatOfUnpackInfoIsFrozen) {
  EXPECT_EQ(OneColumn::varchar(300, test::collation(0)).unpack_info_of_string("a   "), "\3");
  EXPECT_EQ(
      OneColumn::varchar(300, test::collation(0)).unpack_info_of_string(std::string(200, ' ')),
      "\xC8\x01");
  EXPECT_EQ(OneColumn::varchar(300, test::collation(1)).unpack_info_of_string("a  "), "");
  EXPECT_EQ(OneColumn::varchar(300, test::collation(2)).unpack_info_of_string("a  "), "\3a  ");
  EXPECT_EQ(OneColumn::varchar(300, test::collation(5)).unpack_info_of_string("a"), "\1a");
  const OneColumn plain(ColumnKind::kFixedString, 6, false, &test::collation(0));
  EXPECT_EQ(plain.unpack_info_of_string("a"), "");
  const OneColumn folded(ColumnKind::kFixedString, 6, false, &test::collation(2));
  EXPECT_EQ(folded.unpack_info_of_string("a"), "\1a");
  OneColumn prefix = OneColumn::varchar(300, test::collation(2));
  prefix.layout.prefix_length = 3;
  EXPECT_EQ(prefix.unpack_info_of_string("abcd"), "");
  const OneColumn number(ColumnKind::kDouble, 8);
  Record record = number.table.make_record();
  number.table.set_double(record, 0, -0.0);
  std::string out;
  append_unpack_info(number.part(), record.data(), out);
  EXPECT_EQ(out, "\0\0\0\0\0\0\0\x80"s);
}

TEST(KeyPart, NullsHaveNoUnpackInfo) {
  const OneColumn one = OneColumn::varchar(10, test::collation(2), true);
  Record record = one.table.make_record();
  one.table.set_null(record, 0);
  std::string out;
  append_unpack_info(one.part(), record.data(), out);
  EXPECT_EQ(out, "");
}

TEST(KeyPart, StringsLongerThanTheirColumnAreRejected) {
  const OneColumn one = OneColumn::varchar(2, test::collation(0));
  const auto fault_of = [&one](std::string_view key_bytes, std::string_view unpack_bytes) {
    Record record = one.table.make_record();
    Cursor key{key_bytes};
    Cursor unpack_info{unpack_bytes};
    return read_part(one.part(), key, unpack_info, record.data()) != nullptr;
  };
  EXPECT_FALSE(fault_of("a \x80", "\1"));
  EXPECT_TRUE(fault_of("abc \x80", "\0"s));
  EXPECT_TRUE(fault_of("a \x80", "\2"));
  EXPECT_TRUE(fault_of("a \x80", "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"));
  EXPECT_TRUE(fault_of("a \x80", ""));
  EXPECT_TRUE(fault_of("a \x80", "\x80"));
}

TEST(KeyPart, NullBytesOtherThanZeroAndOneAreRejected) {
  const OneColumn one(ColumnKind::kUnsignedInteger, 1, true);
  bool null = false;
  for (unsigned byte = 2; byte < 256; ++byte) {
    const std::string bytes{static_cast<char>(byte), 'x'};
    Cursor key{std::string_view(bytes)};
    ASSERT_NE(skip_part(one.part(), key, null), nullptr) << byte;
  }
}

TEST(KeyPart, TuplesGiveTheSameKeyAsRecords) {
  OneColumn one = OneColumn::varchar(300, test::collation(4), true);
  one.layout.prefix_length = 3;
  one.layout.tuple_length = 6;
  std::string out;
  const std::string tuple = "\0\2\0ab????|"s;
  const auto* const from = reinterpret_cast<const std::uint8_t*>(tuple.data());
  EXPECT_EQ(append_tuple_part(one.part(), from, out), from + tuple.size() - 1);
  EXPECT_EQ(out, one.key_of_string("ab"));
  out.clear();
  const std::string null_tuple = "\1\xFF\xFF??????|"s;
  const auto* const null_from = reinterpret_cast<const std::uint8_t*>(null_tuple.data());
  EXPECT_EQ(append_tuple_part(one.part(), null_from, out), null_from + 9);
  EXPECT_EQ(out, "\0"s);
}

}  // namespace
}  // namespace basalt::codec
