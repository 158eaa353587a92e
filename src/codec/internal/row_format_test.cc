#include "codec/internal/row_format.h"

#include <gtest/gtest.h>

#include <string>

#include "codec/internal/test_support.h"

namespace basalt::codec {
namespace {

using std::string_literals::operator""s;
using test::Record;
using test::TestTable;

std::string make(const RowFormat& format, const Record& record, std::uint32_t version = 1) {
  std::string row = "what was there before, which is longer than some of the rows";
  format.make(record.data(), version, row);
  return row;
}

// A column of each way to be stored.
struct EveryKind {
  TestTable table;
  std::uint32_t number = table.add(ColumnKind::kSignedInteger, 4);
  std::uint32_t nullable_number = table.add(ColumnKind::kUnsignedInteger, 2, true);
  std::uint32_t fixed = table.add(ColumnKind::kFixedString, 6, true, &test::collation(0));
  std::uint32_t variable = table.add_varchar(300, true, &test::collation(0));
  std::uint32_t blob = table.add_blob(3, true);
  RowFormat format{table.layout(), ColumnSet(5), false};

  Record filled() const {
    Record record = table.make_record();
    table.set_integer(record, number, 0x04030201);
    table.set_integer(record, nullable_number, 0x0605);
    table.set_string(record, fixed, "ab");
    table.set_string(record, variable, "cde ");
    table.set_string(record, blob, "\xFE\xFF");
    return record;
  }
};

// Pins the stored format. If this fails, existing tables can no longer be read: add a format
// version instead of editing the expectation.
TEST(RowFormat, StoredFormatIsFrozen) {
  EveryKind all;
  Record record = all.filled();
  EXPECT_EQ(make(all.format, record), "\x01\x01\x00\1\2\3\4\5\6\2\6\10abcde \xFE\xFF"s);
  EXPECT_EQ(make(all.format, record, 255).substr(0, 3), "\x01\xFF\0"s);
  EXPECT_EQ(make(all.format, record, 256).substr(0, 6), "\x41\0\1\0\0\0"s);
  all.table.set_null(record, all.nullable_number);
  all.table.set_null(record, all.variable);
  EXPECT_EQ(make(all.format, record),
            "\x01\x01\x05\1\2\3\4\0\0\2\2\4"
            "ab\xFE\xFF"s);
}

// Pins the stored format, as above.
TEST(RowFormat, EndsAreAsWideAsTheTotalNeeds) {
  TestTable table;
  table.add_blob(4);
  table.add_varchar(2);
  const RowFormat format(table.layout(), ColumnSet(2), false);
  const auto row_of = [&](std::size_t blob_size) {
    Record record = table.make_record();
    table.set_string(record, 0, std::string(blob_size, 'b'));
    table.set_string(record, 1, "v");
    return make(format, record);
  };
  EXPECT_EQ(row_of(254), "\x01\x01\xFE\xFF" + std::string(254, 'b') + "v");
  EXPECT_EQ(row_of(255), "\x11\x01\xFF\0\0\1"s + std::string(255, 'b') + "v");
  EXPECT_EQ(row_of(65534), "\x11\x01\xFE\xFF\xFF\xFF" + std::string(65534, 'b') + "v");
  EXPECT_EQ(row_of(65535), "\x21\x01\xFF\xFF\0\0\0\0\1\0"s + std::string(65535, 'b') + "v");
}

// Pins the stored format, as above.
TEST(RowFormat, NullBitsCountOnlyNullableColumnsThatAreInTheRow) {
  TestTable table;
  for (int i = 0; i < 10; ++i) table.add(ColumnKind::kUnsignedInteger, 1, true);
  table.add(ColumnKind::kUnsignedInteger, 1);
  table.layout().columns[3].stored = false;
  ColumnSet left_out(11);
  left_out.set(10);
  Record record = table.make_record();
  for (std::uint32_t i = 0; i < 11; ++i) table.set_integer(record, i, i + 1);
  for (const std::uint32_t i : {0, 3, 9}) table.set_null(record, i);
  EXPECT_EQ(make(RowFormat(table.layout(), left_out, false), record),
            "\x01\x01\x01\x01\x00\2\3\5\6\7\x08\x09\0"s);
}

TEST(RowFormat, ReadersSeeTheColumnsThatTheyAskForAndTouchNothingElse) {
  EveryKind all;
  for (unsigned nulls = 0; nulls < 16; ++nulls) {
    Record record = all.filled();
    for (std::uint32_t i = 0; i < 4; ++i)
      if ((nulls >> i & 1) != 0) all.table.set_null(record, i + 1);
    const test::ExactCopy row(make(all.format, record));
    for (unsigned wanted = 0; wanted < 32; ++wanted) {
      ColumnSet columns(5);
      for (std::uint32_t i = 0; i < 5; ++i)
        if ((wanted >> i & 1) != 0) columns.set(i);
      std::vector<ReadPlan::RowStep> steps;
      all.format.plan(columns, steps);
      Record result = all.table.make_record(0xA5);
      Cursor unpack_info;
      ASSERT_EQ(all.format.read(row.view(), steps, result.data(), unpack_info), nullptr);
      ASSERT_EQ(unpack_info.left(), 0u);
      const std::vector<std::uint8_t> writable = all.table.writable_bits(columns);
      for (std::size_t i = 0; i < writable.size(); ++i)
        ASSERT_EQ((result.bytes[i] ^ 0xA5) & ~writable[i], 0) << i;
      for (std::uint32_t i = 0; i < 5; ++i) {
        if (!columns.test(i)) continue;
        ASSERT_TRUE(all.table.same(record, result, i)) << i;
        if (is_null_in(all.table.column(i), record)) {
          ASSERT_TRUE(all.table.is_neutral(result, i)) << i;
        }
      }
    }
  }
}

TEST(RowFormat, LeavesTheUnusedTailOfAVariableStringAlone) {
  const EveryKind all;
  const std::string row = make(all.format, all.filled());
  ColumnSet columns(5, true);
  std::vector<ReadPlan::RowStep> steps;
  all.format.plan(columns, steps);
  Record result = all.table.make_record(0xA5);
  Cursor unpack_info;
  ASSERT_EQ(all.format.read(row, steps, result.data(), unpack_info), nullptr);
  EXPECT_EQ(all.table.field(result, all.variable)[2 + 4], 0xA5);
}

TEST(RowFormat, BlobsPointIntoTheRow) {
  const EveryKind all;
  const std::string row = make(all.format, all.filled());
  ColumnSet columns(5);
  columns.set(all.blob);
  std::vector<ReadPlan::RowStep> steps;
  all.format.plan(columns, steps);
  Record result = all.table.make_record();
  Cursor unpack_info;
  ASSERT_EQ(all.format.read(row, steps, result.data(), unpack_info), nullptr);
  EXPECT_EQ(all.table.string_in(result, all.blob).data(), row.data() + row.size() - 2);
}

TEST(RowFormat, RejectsEveryTruncationAndEveryAddition) {
  const EveryKind all;
  const std::string row = make(all.format, all.filled());
  std::vector<ReadPlan::RowStep> steps;
  all.format.plan(ColumnSet(5, true), steps);
  Record result = all.table.make_record();
  Cursor unpack_info;
  for (std::size_t kept = 0; kept < row.size(); ++kept) {
    const test::ExactCopy cut(row.substr(0, kept));
    ASSERT_NE(all.format.read(cut.view(), steps, result.data(), unpack_info), nullptr) << kept;
  }
  EXPECT_NE(all.format.read(row + "x", steps, result.data(), unpack_info), nullptr);
}

TEST(RowFormat, RejectsValuesThatDoNotFitTheirColumns) {
  const EveryKind all;
  const std::string row = make(all.format, all.filled());
  std::vector<ReadPlan::RowStep> steps;
  all.format.plan(ColumnSet(5, true), steps);
  const auto rejects = [&](std::size_t at, char byte) {
    std::string changed = row;
    changed[at] = byte;
    Record result = all.table.make_record();
    Cursor unpack_info;
    return all.format.read(changed, steps, result.data(), unpack_info) != nullptr;
  };
  EXPECT_FALSE(rejects(9, '\6'));    // "abcde " and an empty VARCHAR
  EXPECT_TRUE(rejects(9, '\7'));     // an end before the begin
  EXPECT_TRUE(rejects(10, '\x09'));  // an end beyond the data
  EXPECT_TRUE(rejects(11, '\x07'));  // bytes after the last end
  EXPECT_TRUE(rejects(0, '\x02') && rejects(0, '\x31') && rejects(0, '\x81'));
}

TEST(RowFormat, RejectsStringsAndBlobsThatAreTooLong) {
  TestTable wide;
  wide.add_blob(2);
  wide.add_varchar(4);
  Record record = wide.make_record();
  const RowFormat wide_format(wide.layout(), ColumnSet(2), false);
  const auto fits = [&](std::string_view first, std::string_view second, TestTable& narrow) {
    wide.set_string(record, 0, first);
    wide.set_string(record, 1, second);
    const RowFormat format(narrow.layout(), ColumnSet(2), false);
    std::vector<ReadPlan::RowStep> steps;
    format.plan(ColumnSet(2, true), steps);
    Record result = narrow.make_record();
    Cursor unpack_info;
    return format.read(make(wide_format, record), steps, result.data(), unpack_info) == nullptr;
  };
  TestTable narrow;
  narrow.add(ColumnKind::kFixedString, 3, false, &test::collation(0));
  narrow.add_varchar(2);
  EXPECT_TRUE(fits("abc", "de", narrow));
  EXPECT_FALSE(fits("abcd", "de", narrow));
  EXPECT_FALSE(fits("abc", "def", narrow));
  TestTable tiny_blob;
  tiny_blob.add_blob(1);
  tiny_blob.add_varchar(2);
  EXPECT_TRUE(fits(std::string(255, 'b'), "de", tiny_blob));
  EXPECT_FALSE(fits(std::string(256, 'b'), "de", tiny_blob));
}

TEST(RowFormat, MoreVariableColumnsThanTheStackHoldsRoundTrip) {
  TestTable table;
  for (int i = 0; i < 200; ++i) table.add_varchar(20);
  const RowFormat format(table.layout(), ColumnSet(200), false);
  Record record = table.make_record();
  for (std::uint32_t i = 0; i < 200; ++i) table.set_string(record, i, std::to_string(i));
  const std::string row = make(format, record);
  std::vector<ReadPlan::RowStep> steps;
  format.plan(ColumnSet(200, true), steps);
  Record result = table.make_record();
  Cursor unpack_info;
  ASSERT_EQ(format.read(row, steps, result.data(), unpack_info), nullptr);
  for (std::uint32_t i = 0; i < 200; ++i) ASSERT_TRUE(table.same(record, result, i)) << i;
}

}  // namespace
}  // namespace basalt::codec
