#include "codec/internal/older_rows.h"

#include <gtest/gtest.h>

#include <string>

#include "codec/internal/row_format.h"
#include "codec/internal/test_support.h"

// Goal: a row is read as it was written, whatever the table's columns are today.
namespace basalt::codec {
namespace {

using std::string_literals::operator""s;
using test::Record;
using test::TestTable;

// A table that had, with schema version 1, a TINYINT `gone`, a nullable VARCHAR `name` and a
// SMALLINT `number`. Version 3 added the nullable BLOB `text` with the value "ab"; version 300 has
// dropped `gone`, made `number` an INT that may be NULL, and added `flag`, which is 7.
struct Altered {
  TestTable table;
  std::uint32_t flag = table.add(ColumnKind::kUnsignedInteger, 1);
  std::uint32_t number = table.add(ColumnKind::kSignedInteger, 4, true);
  std::uint32_t name = table.add_varchar(300, true);
  std::uint32_t text = table.add_blob(1, true);
  RowHistory history = {
      .columns = {{.fixed_bytes = 1, .since = 0, .until = 300},
                  {.column = name, .nullable = true},
                  {.column = number, .fixed_bytes = 2, .until = 300},
                  {.column = text, .nullable = true, .since = 3},
                  {.column = number, .fixed_bytes = 4, .nullable = true, .since = 300},
                  {.column = flag, .fixed_bytes = 1, .since = 300}},
      .initial_values = {{text, "ab"s}, {flag, "\7"s}}};
  OlderRows rows{table.layout(), history, ColumnSet(4), false};

  struct Values {
    Fault fault = nullptr;
    std::string number;
    std::string name;
    std::string text;
    std::string flag;
  };
  Values read(const std::string& row, std::uint32_t version) const {
    const test::ExactCopy copy(row);
    Record record = table.make_record(0xA5);
    Cursor unpack_info;
    Values values;
    values.fault = rows.read(copy.view(), version, ColumnSet(4, true), record.data(), unpack_info);
    if (values.fault != nullptr) return values;
    const auto text_of = [&](std::uint32_t column) {
      return value_in_record(table.column(column), record.data()).value_or("NULL");
    };
    values.number = text_of(number);
    values.name = text_of(name);
    values.text = text_of(text);
    values.flag = text_of(flag);
    return values;
  }
};

// Pins the stored format. If this fails, existing tables can no longer be read.
TEST(OlderRows, StoredFormatIsFrozen) {
  const Altered altered;
  const Altered::Values first = altered.read("\x01\x01\x00\x63\xFE\xFF\x03one"s, 1);
  ASSERT_EQ(first.fault, nullptr);
  EXPECT_EQ(first.number, "\xFE\xFF\xFF\xFF"s);
  EXPECT_EQ(first.name, "one");
  EXPECT_EQ(first.text, "ab");
  EXPECT_EQ(first.flag, "\7"s);
  const Altered::Values second = altered.read("\x01\xFF\x02\x63\xFE\x7F\x01\x01n"s, 255);
  ASSERT_EQ(second.fault, nullptr);
  EXPECT_EQ(second.number, "\xFE\x7F\0\0"s);
  EXPECT_EQ(second.name, "n");
  EXPECT_EQ(second.text, "NULL");
  EXPECT_EQ(second.flag, "\7"s);
}

TEST(OlderRows, TheRowsOfTodayAreThoseOfTheLastChangeAndLater) {
  const Altered altered;
  EXPECT_TRUE(altered.rows.are_of(0));
  EXPECT_TRUE(altered.rows.are_of(299));
  EXPECT_FALSE(altered.rows.are_of(300));
  EXPECT_FALSE(altered.rows.are_of(UINT32_MAX));
}

// Pins the stored format, as above: rows hold columns in the order in which these came.
TEST(OlderRows, TodaysRowsHoldTheirColumnsInTheOrderInWhichTheseCame) {
  const Altered altered;
  const RowFormat format(altered.table.layout(), altered.history.columns, ColumnSet(4), false);
  Record record = altered.table.make_record();
  altered.table.set_integer(record, altered.flag, 1);
  altered.table.set_integer(record, altered.number, 0x04030201);
  altered.table.set_string(record, altered.name, "nn");
  altered.table.set_null(record, altered.text);
  std::string row;
  format.make(record.data(), 300, row);
  EXPECT_EQ(row, "\x41\x2C\x01\0\0\x02\1\2\3\4\1\2\2nn"s);
}

TEST(OlderRows, ReadersTouchOnlyTheColumnsThatTheyAskFor) {
  const Altered altered;
  const test::ExactCopy row("\x01\x01\x00\x63\xFE\xFF\x03one"s);
  for (unsigned wanted = 0; wanted < 16; ++wanted) {
    ColumnSet columns(4);
    for (std::uint32_t i = 0; i < 4; ++i)
      if ((wanted >> i & 1) != 0) columns.set(i);
    Record result = altered.table.make_record(0xA5);
    Cursor unpack_info;
    ASSERT_EQ(altered.rows.read(row.view(), 1, columns, result.data(), unpack_info), nullptr);
    const std::vector<std::uint8_t> writable = altered.table.writable_bits(columns);
    for (std::size_t i = 0; i < writable.size(); ++i)
      ASSERT_EQ((result.bytes[i] ^ 0xA5) & ~writable[i], 0) << i;
  }
}

TEST(OlderRows, ARowThatEndsTooEarlyOrTooLateIsCorrupt) {
  const Altered altered;
  const std::string row = "\x01\x01\x00\x63\xFE\xFF\x03one"s;
  for (std::size_t kept = 0; kept < row.size(); ++kept)
    EXPECT_NE(altered.read(row.substr(0, kept), 1).fault, nullptr) << kept;
  EXPECT_NE(altered.read(row + "x", 1).fault, nullptr);
}

TEST(OlderRows, ColumnsThatThePrimaryKeyGivesBackAreInNoRow) {
  TestTable table;
  const std::uint32_t key = table.add(ColumnKind::kSignedInteger, 4);
  const std::uint32_t added = table.add(ColumnKind::kSignedInteger, 1);
  ColumnSet left_out(2);
  left_out.set(key);
  const OlderRows rows(table.layout(),
                       {.columns = {{.column = key, .fixed_bytes = 4},
                                    {.column = added, .fixed_bytes = 1, .since = 2}},
                        .initial_values = {{added, "\x05"s}}},
                       left_out, false);
  Record record = table.make_record(0xA5);
  Cursor unpack_info;
  ASSERT_EQ(rows.read("\x01\x01"s, 1, ColumnSet(2, true), record.data(), unpack_info), nullptr);
  EXPECT_EQ(record.bytes[table.column(added).record_offset], 5);
  EXPECT_EQ(record.bytes[table.column(key).record_offset], 0xA5);
}

}  // namespace
}  // namespace basalt::codec
