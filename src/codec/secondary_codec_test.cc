#include "codec/secondary_codec.h"

#include <gtest/gtest.h>

#include <string>

#include "codec/internal/test_support.h"
#include "codec/primary_codec.h"

namespace basalt::codec {
namespace {

using std::string_literals::operator""s;
using test::Record;
using test::TestTable;

struct Entry {
  std::string primary;
  std::string key;
  std::string value;
};

// a INT, b VARCHAR(20) NULL in a given collation, c SMALLINT, d SMALLINT NULL, and two indexes.
struct Table {
  TestTable table;
  IndexLayout primary{1, true, {}};
  IndexLayout secondary{2, false, {}};

  explicit Table(const Collation& collation = test::collation(0)) {
    table.add(ColumnKind::kSignedInteger, 4);
    table.add_varchar(20, true, &collation);
    table.add(ColumnKind::kSignedInteger, 2);
    table.add(ColumnKind::kUnsignedInteger, 2, true);
  }
  Record record(std::string_view b = "x ") const {
    Record result = table.make_record();
    table.set_integer(result, 0, 1);
    table.set_string(result, 1, b);
    table.set_integer(result, 2, 2);
    table.set_integer(result, 3, 3);
    return result;
  }
  SecondaryCodec codec() const { return {table.layout(), secondary, primary}; }

  // The entry of a record, after checking that the way back to the primary key works.
  Entry entry(const Record& record, std::uint64_t row_id = 0) const {
    Entry result;
    PrimaryCodec(table.layout(), primary).make_key(record.data(), row_id, result.primary);
    result.key = result.value = "before";
    codec().make_entry(record.data(), result.primary, result.key, result.value);
    std::string found = "before";
    EXPECT_TRUE(codec().primary_key_of(result.key, result.value, found).is_ok());
    EXPECT_EQ(found, result.primary);
    return result;
  }
};

// Pins the stored format. If this fails, existing indexes can no longer be read.
TEST(SecondaryCodec, NonUniqueKeysEndWithThePrimaryKey) {
  Table table;
  table.primary.parts = {{0}, {2, 0, true}};
  table.secondary.parts = {{1}};
  const Entry entry = table.entry(table.record());
  EXPECT_EQ(entry.key, "\0\0\0\2\1x \x80\x80\0\0\1\x7F\xFD"s);
  EXPECT_EQ(entry.value, "\1");
  Record null = table.record();
  table.table.set_null(null, 1);
  EXPECT_EQ(table.entry(null).key, "\0\0\0\2\0\x80\0\0\1\x7F\xFD"s);
  EXPECT_EQ(table.entry(null).value, "");
}

// Pins the stored format. If this fails, existing indexes can no longer be read.
TEST(SecondaryCodec, UniqueEntriesHoldThePrimaryKeyInTheValueUnlessAPartIsNull) {
  Table table;
  table.primary.parts = {{0}};
  table.secondary.unique = true;
  table.secondary.parts = {{1}, {3}};
  Record record = table.record();
  EXPECT_TRUE(table.codec().is_unique_entry(record.data()));
  EXPECT_EQ(table.entry(record).key, "\0\0\0\2\1x \x80\1\0\3"s);
  EXPECT_EQ(table.entry(record).value, "\x80\0\0\1\1"s);
  std::string prefix;
  table.codec().make_unique_prefix(record.data(), prefix);
  EXPECT_EQ(prefix, table.entry(record).key);
  table.table.set_null(record, 3);
  EXPECT_FALSE(table.codec().is_unique_entry(record.data()));
  EXPECT_EQ(table.entry(record).key, "\0\0\0\2\1x \x80\0\x80\0\0\1"s);
  EXPECT_EQ(table.entry(record).value, "\1");
  table.secondary.unique = false;
  EXPECT_FALSE(table.codec().is_unique_entry(table.record().data()));
}

// Pins the stored format. If this fails, existing indexes can no longer be read.
TEST(SecondaryCodec, WholeColumnsOfThePrimaryKeyAreNotRepeated) {
  Table table;
  table.primary.parts = {{2, 0, true}, {0}};
  table.secondary.parts = {{3}, {2}};
  EXPECT_EQ(table.entry(table.record()).key, "\0\0\0\2\1\0\3\x80\2\x80\0\0\1"s);
  EXPECT_EQ(table.entry(table.record()).primary, "\0\0\0\1\x7F\xFD\x80\0\0\1"s);
  table.secondary.parts = {{0, 0, true}, {2}};
  EXPECT_EQ(table.entry(table.record()).key, "\0\0\0\2\x7F\xFF\xFF\xFE\x80\2"s);
  table.secondary.unique = true;
  EXPECT_EQ(table.entry(table.record()).key, "\0\0\0\2\x7F\xFF\xFF\xFE\x80\2"s);
  EXPECT_EQ(table.entry(table.record()).value, "");
}

// Pins the stored format. If this fails, existing indexes can no longer be read.
TEST(SecondaryCodec, HiddenRowIdsAreTheSuffix) {
  Table table;
  table.secondary.parts = {{2}};
  EXPECT_EQ(table.entry(table.record(), 5).key, "\0\0\0\2\x80\2\0\0\0\0\0\0\0\5"s);
  EXPECT_EQ(table.codec().extended_part_count(), 1u);
  table.secondary.unique = true;
  EXPECT_EQ(table.entry(table.record(), 5).key, "\0\0\0\2\x80\2"s);
  EXPECT_EQ(table.entry(table.record(), 5).value, "\0\0\0\0\0\0\0\5"s);
}

// Pins the stored format. If this fails, existing indexes can no longer be read.
TEST(SecondaryCodec, PrefixesAreRepeatedAndGiveNothingBack) {
  Table table(test::collation(2));
  table.table.layout().columns[1].nullable = false;
  table.primary.parts = {{1, 3, false, 3}};
  table.secondary.parts = {{1}};
  const Entry entry = table.entry(table.record("abcd "));
  EXPECT_EQ(entry.key,
            "\0\0\0\2"
            "ABCD \200ABC \x80"s);
  EXPECT_EQ(entry.value, "\5abcd ");
  ColumnSet b(4);
  b.set(1);
  EXPECT_TRUE(table.codec().gives_all(b));
  table.secondary.parts = {{1, 2, false, 2}};
  EXPECT_EQ(table.entry(table.record("abcd ")).value, "");
  EXPECT_FALSE(table.codec().gives_all(b));
  EXPECT_TRUE(table.codec().plan(b).own.empty());
}

// Pins the stored format. If this fails, existing indexes can no longer be read.
TEST(SecondaryCodec, UnpackInfoFollowsTheOrderOfTheParts) {
  TestTable layout;
  layout.add_varchar(20, false, &test::collation(4));
  layout.add(ColumnKind::kFloat, 4, true);
  layout.add(ColumnKind::kFixedString, 8, false, &test::collation(2));
  const IndexLayout primary{1, true, {{0}}};
  const IndexLayout secondary{2, true, {{2}, {1}}};
  Record record = layout.make_record();
  layout.set_string(record, 0, "!");
  layout.set_float(record, 1, -0.0F);
  layout.set_string(record, 2, "b");
  std::string primary_key;
  std::string key;
  std::string value;
  PrimaryCodec(layout.layout(), primary).make_key(record.data(), 0, primary_key);
  const SecondaryCodec codec(layout.layout(), secondary, primary);
  codec.make_entry(record.data(), primary_key, key, value);
  EXPECT_EQ(key, "\0\0\0\2B \x80\1\x80\0\0\0"s);
  EXPECT_EQ(value, "\x83\x19\x82\x09\x80\1b\0\0\0\x80\1!"s);
}

TEST(SecondaryCodec, GivesExactlyWholeColumnsOfOwnAndSuffixParts) {
  Table table;
  table.primary.parts = {{0}};
  table.secondary.parts = {{1}};
  const auto gives = [&table](std::initializer_list<std::size_t> columns) {
    ColumnSet set(4);
    for (const std::size_t column : columns) set.set(column);
    return table.codec().gives_all(set);
  };
  EXPECT_TRUE(gives({}) && gives({0}) && gives({1}) && gives({0, 1}));
  EXPECT_FALSE(gives({2}) || gives({0, 3}));
}

TEST(SecondaryCodec, SearchPrefixesGoOnIntoTheSuffix) {
  Table table;
  table.primary.parts = {{2, 0, true}, {0}};
  table.secondary.parts = {{3}, {2}};
  const std::string tuple = "\0\3\0\2\0\1\0\0\0"s;
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(tuple.data());
  const std::string key = table.entry(table.record()).key;
  std::string prefix = "before";
  const std::size_t sizes[] = {4, 7, 9, 13};
  for (std::size_t parts = 0; parts <= 3; ++parts) {
    table.codec().make_search_prefix(bytes, parts, prefix);
    EXPECT_EQ(prefix, key.substr(0, sizes[parts])) << parts;
  }
}

TEST(SecondaryCodec, CommonPartsIncludesTheSuffix) {
  Table table;
  table.primary.parts = {{0}};
  table.secondary.parts = {{1}, {3}};
  const Record record = table.record();
  Record other = table.record();
  const std::string key = table.entry(record).key;
  EXPECT_EQ(table.codec().common_parts(key, key), 3u);
  table.table.set_integer(other, 0, 77);
  EXPECT_EQ(table.codec().common_parts(key, table.entry(other).key), 2u);
  table.table.set_null(other, 3);
  EXPECT_EQ(table.codec().common_parts(key, table.entry(other).key), 1u);
  table.table.set_string(other, 1, "y");
  EXPECT_EQ(table.codec().common_parts(key, table.entry(other).key), 0u);
}

TEST(SecondaryCodec, EntriesWithMoreBytesThanTheirPartsAreRejected) {
  Table table;
  table.primary.parts = {{0}};
  table.secondary.parts = {{1}, {3}};
  for (const bool unique : {false, true}) {
    table.secondary.unique = unique;
    const Entry entry = table.entry(table.record());
    const ReadPlan plan = table.codec().plan(ColumnSet(4, true));
    Record result = table.table.make_record();
    std::string found;
    const SecondaryCodec codec = table.codec();
    EXPECT_TRUE(codec.read(entry.key, entry.value, plan, result.data()).is_ok());
    EXPECT_TRUE(
        codec.read(entry.key + "x", entry.value, plan, result.data()).is(ErrorCode::kCorruption));
    EXPECT_TRUE(
        codec.read(entry.key, entry.value + "x", plan, result.data()).is(ErrorCode::kCorruption));
    EXPECT_TRUE(codec.primary_key_of("\0\0\0\1"s + entry.key.substr(4), entry.value, found)
                    .is(ErrorCode::kCorruption));
  }
}

}  // namespace
}  // namespace basalt::codec
