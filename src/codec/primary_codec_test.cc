#include "codec/primary_codec.h"

#include <gtest/gtest.h>

#include <string>

#include "codec/internal/test_support.h"

namespace basalt::codec {
namespace {

using std::string_literals::operator""s;
using test::Record;
using test::TestTable;

std::string key_of(const PrimaryCodec& codec, const Record& record, std::uint64_t row_id = 0) {
  std::string key = "before";
  codec.make_key(record.data(), row_id, key);
  return key;
}
std::string row_of(const PrimaryCodec& codec, const Record& record) {
  std::string row = "before";
  codec.make_row(record.data(), 3, row);
  return row;
}

// id INT, name VARCHAR(20) in a given collation, amount INT; PRIMARY KEY (id, name DESC).
struct Orders {
  TestTable table;
  std::uint32_t id = table.add(ColumnKind::kSignedInteger, 4);
  std::uint32_t name;
  std::uint32_t amount;
  IndexLayout primary{0x0A0B0C0D, true, {{0}, {1, 0, true}}};

  explicit Orders(const Collation& collation)
      : name(table.add_varchar(20, false, &collation)),
        amount(table.add(ColumnKind::kSignedInteger, 4, true)) {}

  Record record(std::string_view text) const {
    Record result = table.make_record();
    table.set_integer(result, id, 1);
    table.set_string(result, name, text);
    table.set_integer(result, amount, 0x7F);
    return result;
  }
  PrimaryCodec codec() const { return {table.layout(), primary}; }
};

// Pins the stored format. If this fails, existing tables can no longer be read.
TEST(PrimaryCodec, KeysBeginWithTheIndexIdAndHoldThePartsInOrder) {
  const Orders orders(test::collation(0));
  EXPECT_EQ(key_of(orders.codec(), orders.record("a ")), "\x0A\x0B\x0C\x0D\x80\0\0\1\x9E\xDF\x7F"s);
  EXPECT_EQ(orders.codec().part_count(), 2u);
  EXPECT_EQ(orders.codec().index_id(), 0x0A0B0C0Du);
}

// Pins the stored format. If this fails, existing tables can no longer be read.
TEST(PrimaryCodec, RowsLeaveOutWhatTheKeyGivesBack) {
  // PAD SPACE, bytes: the row ends with the number of spaces.
  EXPECT_EQ(row_of(Orders(test::collation(0)).codec(), Orders(test::collation(0)).record("a  ")),
            "\x01\x03\0\x7F\0\0\0\2"s);
  // NOPAD, bytes: nothing is missing.
  EXPECT_EQ(row_of(Orders(test::collation(1)).codec(), Orders(test::collation(1)).record("a  ")),
            "\x01\x03\0\x7F\0\0\0"s);
  // Weights: the column is in the row.
  EXPECT_EQ(row_of(Orders(test::collation(4)).codec(), Orders(test::collation(4)).record("a  ")),
            "\x01\x03\0\x7F\0\0\0\3a  "s);
}

TEST(PrimaryCodec, FloatingPointKeysKeepTheSignOfZero) {
  TestTable table;
  table.add(ColumnKind::kDouble, 8);
  const PrimaryCodec codec(table.layout(), {1, true, {{0}}});
  Record record = table.make_record();
  table.set_double(record, 0, -0.0);
  EXPECT_EQ(key_of(codec, record), "\0\0\0\1\x80\0\0\0\0\0\0\0"s);
  Record result = table.make_record();
  ASSERT_TRUE(codec
                  .read(key_of(codec, record), row_of(codec, record),
                        codec.plan(ColumnSet(1, true)), result.data())
                  .is_ok());
  EXPECT_TRUE(table.same(record, result, 0));
}

TEST(PrimaryCodec, TrailingSpacesComeBackFromTheRow) {
  const Orders orders(test::collation(0));
  const PrimaryCodec codec = orders.codec();
  for (const std::string_view name : {"", " ", "a", "a ", "a   ", " a  b    ", "\t "}) {
    const Record record = orders.record(name);
    const test::ExactCopy key(key_of(codec, record));
    const test::ExactCopy row(row_of(codec, record));
    for (const std::uint32_t wanted : {orders.id, orders.name, orders.amount}) {
      ColumnSet columns(3);
      columns.set(wanted);
      Record result = orders.table.make_record();
      ASSERT_TRUE(codec.read(key.view(), row.view(), codec.plan(columns), result.data()).is_ok());
      ASSERT_TRUE(orders.table.same(record, result, wanted)) << name;
    }
  }
}

// Pins the stored format. If this fails, existing tables can no longer be read.
TEST(PrimaryCodec, HiddenKeysHoldTheRowId) {
  Orders orders(test::collation(0));
  orders.primary.parts.clear();
  const PrimaryCodec codec = orders.codec();
  EXPECT_TRUE(codec.has_hidden_key());
  const std::string key = key_of(codec, orders.record("a"), 0x0102030405060708);
  EXPECT_EQ(key, "\x0A\x0B\x0C\x0D\1\2\3\4\5\6\7\x08");
  EXPECT_EQ(PrimaryCodec::hidden_row_id(key), 0x0102030405060708u);
  EXPECT_EQ(PrimaryCodec::hidden_row_id(key.substr(1)), 0u);
  EXPECT_EQ(PrimaryCodec::hidden_row_id(""), 0u);
  EXPECT_EQ(codec.common_parts(key, key), 0u);
}

TEST(PrimaryCodec, SchemaVersionIsReadWithoutTheTable) {
  const Orders orders(test::collation(0));
  for (const std::uint32_t version : {0u, 255u, 256u, 0xFFFFFFFFu}) {
    std::string row;
    orders.codec().make_row(orders.record("x").data(), version, row);
    std::uint32_t found = 12345;
    ASSERT_TRUE(PrimaryCodec::schema_version(row, found).is_ok());
    EXPECT_EQ(found, version);
  }
  std::uint32_t found = 0;
  EXPECT_TRUE(PrimaryCodec::schema_version("", found).is(ErrorCode::kCorruption));
  EXPECT_TRUE(PrimaryCodec::schema_version("\x41\1\1\1", found).is(ErrorCode::kCorruption));
}

TEST(PrimaryCodec, KeysOfAnotherIndexAndLongerKeysAreRejected) {
  const Orders orders(test::collation(0));
  const PrimaryCodec codec = orders.codec();
  const Record record = orders.record("a");
  const ReadPlan plan = codec.plan(ColumnSet(3, true));
  Record result = orders.table.make_record();
  std::string key = key_of(codec, record);
  const std::string row = row_of(codec, record);
  EXPECT_TRUE(codec.read(key + "x", row, plan, result.data()).is(ErrorCode::kCorruption));
  EXPECT_TRUE(codec.read(key, row + "x", plan, result.data()).is(ErrorCode::kCorruption));
  key[0] = 'x';
  EXPECT_TRUE(codec.read(key, row, plan, result.data()).is(ErrorCode::kCorruption));
}

TEST(PrimaryCodec, CommonPartsCountsWholePartsOnly) {
  const Orders orders(test::collation(2));
  const PrimaryCodec codec = orders.codec();
  const auto key = [&](std::uint64_t id, std::string_view name) {
    Record record = orders.record(name);
    orders.table.set_integer(record, orders.id, id);
    return key_of(codec, record);
  };
  EXPECT_EQ(codec.common_parts(key(1, "a"), key(1, "A ")), 2u);
  EXPECT_EQ(codec.common_parts(key(1, "a"), key(1, "b")), 1u);
  EXPECT_EQ(codec.common_parts(key(1, "a"), key(1, "ab")), 1u);
  EXPECT_EQ(codec.common_parts(key(1, "a"), key(2, "a")), 0u);
  EXPECT_EQ(codec.common_parts("", key(2, "a")), 0u);
}

TEST(PrimaryCodec, AnEmptyPlanReadsNothing) {
  const Orders orders(test::collation(0));
  const PrimaryCodec codec = orders.codec();
  Record result = orders.table.make_record();
  EXPECT_TRUE(codec.read("", "", codec.plan(ColumnSet(3)), result.data()).is_ok());
}

TEST(PrimaryCodec, FixedStringsOfWideCharactersArePaddedWithWideSpaces) {
  class Utf16 final : public Collation {
   public:
    Utf16()
        : Collation({.id = 9,
                     .weight_width = 2,
                     .space_weight = 0x20,
                     .pads_with_space = true,
                     .bytes_are_weights = false,
                     .space = std::string_view("\0 ", 2)}) {}
    std::size_t prefix_bytes(std::string_view value, std::size_t characters) const override {
      return std::min(value.size(), 2 * characters);
    }
    void append_weights(std::string_view value, std::size_t /*level*/,
                        std::string& out) const override {
      out.append(value);
    }
  };
  const Utf16 utf16;
  TestTable table;
  table.add(ColumnKind::kFixedString, 8, false, &utf16);
  const PrimaryCodec codec(table.layout(), {1, true, {{0}}});
  Record record = table.make_record();
  table.set_bytes(record, 0, "\0a\0 \0 \0 "s);
  EXPECT_EQ(key_of(codec, record), "\0\0\0\1a \x80"s);
  EXPECT_EQ(row_of(codec, record), "\x01\x03\2\0a"s);
  Record result = table.make_record();
  ASSERT_TRUE(codec
                  .read(key_of(codec, record), row_of(codec, record),
                        codec.plan(ColumnSet(1, true)), result.data())
                  .is_ok());
  EXPECT_EQ(record.bytes, result.bytes);
}

}  // namespace
}  // namespace basalt::codec
