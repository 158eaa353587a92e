#include "catalog/definitions.h"

#include <memory>
#include <random>
#include <string>

#include "base/test_support.h"
#include "catalog/test_support.h"

// Goal: a definition comes back from its stored form, the form stays as it is, and damaged forms
// are told from whole ones. Inputs are in blocks of exactly their size, so that the address
// sanitizer sees every byte read too far.
namespace basalt::catalog {
namespace {

using namespace std::string_literals;
using basalt::test::fails_with;
using basalt::test::succeeds;
using test::orders;

TableDefinition smallest() {
  TableDefinition table;
  table.name = "a";
  table.columns = {{"c", codec::ColumnKind::kSignedInteger, 1, 0, false, true}};
  table.indexes = {{"p", 1, 0, true, {}}};
  return table;
}

// The same with no history.
TableDefinition orders_of(TableDefinition table) {
  table.rows = {};
  return table;
}

std::string stored_form(const TableDefinition& table) {
  std::string bytes;
  append_definition(table, bytes);
  return bytes;
}

Result<TableDefinition> parse_exactly(std::string_view bytes) {
  const auto copy = std::make_unique<char[]>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), copy.get());
  return parse_definition({copy.get(), bytes.size()});
}

TableDefinition with_history() {
  TableDefinition table = orders();
  table.columns.push_back({"n", codec::ColumnKind::kSignedInteger, 4, 0, true, true});
  table.rows.columns = {
      {.column = 0, .fixed_bytes = 8},
      {.fixed_bytes = 300, .nullable = true, .until = 6},
      {.column = 1, .nullable = true},
      {.column = 3, .fixed_bytes = 2, .nullable = true, .since = 5, .until = 7},
      {.column = 3, .fixed_bytes = 4, .nullable = true, .since = 7},
  };
  table.rows.initial_values = {{1, std::nullopt}, {3, "\x05\0\0\0"s}};
  return table;
}

// Its rows live for 300 seconds from the time in a column of theirs.
TableDefinition with_expiry() {
  TableDefinition table = orders();
  table.columns.push_back({"born", codec::ColumnKind::kUnsignedInteger, 8, 0, false, true});
  table.expiry = RowExpiry{{.seconds = 300, .gone_before = 1}, 3};
  return table;
}

TEST(Definitions, ADefinitionComesBackFromItsStoredForm) {
  TableDefinition huge = orders();
  huge.id = 0xFFFFFFFF;
  huge.schema_version = 0xFFFFFFFF;
  huge.name = std::string(300, 'n');
  huge.columns.resize(4096, huge.columns[1]);
  huge.columns[4000].record_length = 0xFFFFFFFF;
  huge.columns[4000].collation_id = 0xFFFF;
  huge.indexes.resize(128, huge.indexes[1]);
  huge.indexes[127].parts.resize(64, {4095, 0xFFFFFFFF, true, 0xFFFFFFFF});
  TableDefinition expiring = with_history();
  expiring.expiry = RowExpiry{{.seconds = UINT64_MAX, .gone_before = UINT64_MAX}};
  for (const TableDefinition& table :
       {orders(), smallest(), huge, with_history(), with_expiry(), expiring}) {
    const auto parsed = parse_exactly(stored_form(table));
    ASSERT_TRUE(succeeds(parsed));
    EXPECT_TRUE(parsed.value() == table) << table.name;
  }
}

// Pins the stored form. If this fails, existing dictionaries can no longer be read: add a format
// version instead of editing the expectation.
TEST(Definitions, StoredFormatIsFrozen) {
  EXPECT_EQ(stored_form(orders()),
            "\x01"  // format version
            "\xAC\x02"
            "\x0Bshop/orders"
            "\x07"  // id, name, schema version
            "\x03"  // columns
            "\x02id"
            "\x00"
            "\x08"
            "\x00"
            "\x02"  // name, kind, length, collation, flags
            "\x04"
            "code"
            "\x06"
            "\x92\x03"
            "\x2D"
            "\x03"
            "\x05upper"
            "\x07"
            "\x0A"
            "\x3F"
            "\x01"
            "\x02"  // indexes
            "\x07PRIMARY"
            "\xAD\x02"
            "\x00"
            "\x01"
            "\x01"  // name, id, family, unique, parts
            "\x00"
            "\x00"
            "\x00"
            "\x08"  // column, prefix, descending, tuple
            "\x07"
            "by_code"
            "\xAE\x02"
            "\x00"
            "\x00"
            "\x02"
            "\x01"
            "\x14"
            "\x01"
            "\x50"
            "\x00"
            "\x00"
            "\x00"
            "\x08"s);
  EXPECT_EQ(stored_form(smallest()),
            "\x01\x00\x01"
            "a"
            "\x01\x01\x01"
            "c"
            "\x00\x01\x00\x02\x01\x01p\x01\x00\x01\x00"s);
}

// Pins the place and the form of the column family's number.
TEST(Definitions, StoredFormatOfFamiliesIsFrozen) {
  TableDefinition table = smallest();
  table.indexes[0].family = 300;
  EXPECT_EQ(stored_form(table),
            "\x01\x00\x01"
            "a"
            "\x01\x01\x01"
            "c"
            "\x00\x01\x00\x02\x01\x01p\x01\xAC\x02\x01\x00"s);
}

// Pins the stored form of value-locked parts: twice their number, plus 1 if the index is unique.
TEST(Definitions, StoredFormatOfGuardedPartsIsFrozen) {
  TableDefinition table = orders();
  const std::string head =
      "\x07"
      "by_code"
      "\xAE\x02"
      "\x00"s;
  for (const auto& [unique, value_lock_parts, byte] :
       {std::tuple{false, 1U, '\x02'}, {true, 1U, '\x03'}, {true, 2U, '\x05'}}) {
    table.indexes[1].unique = unique;
    table.indexes[1].value_lock_parts = value_lock_parts;
    const std::string bytes = stored_form(table);
    EXPECT_NE(bytes.find(head + byte + '\x02'), std::string::npos) << value_lock_parts;
    const auto parsed = parse_exactly(bytes);
    ASSERT_TRUE(succeeds(parsed));
    EXPECT_TRUE(parsed.value() == table) << value_lock_parts;
  }
  table.indexes[1].value_lock_parts = 3;  // of two parts
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, parse_exactly(stored_form(table))));
}

TEST(Definitions, StoredFormatOfSystemTimeIsFrozen) {
  TableDefinition table = smallest();
  const std::string without = stored_form(table);
  table.columns[0].system_time = SystemTime::kRowEnd;
  const std::string row_end = stored_form(table);
  ASSERT_EQ(row_end.size(), without.size());
  const std::size_t flags = without.find('c') + 4;
  EXPECT_EQ(without[flags], '\x02');
  EXPECT_EQ(row_end[flags], '\x06');
  table.columns[0].system_time = SystemTime::kRowStart;
  EXPECT_EQ(stored_form(table)[flags], '\x0A');
  table.columns[0].system_time = SystemTime::kUnversioned;
  table.columns[0].nullable = true;
  EXPECT_EQ(stored_form(table)[flags], '\x0F');
  const auto parsed = parse_exactly(stored_form(table));
  ASSERT_TRUE(succeeds(parsed));
  EXPECT_TRUE(parsed.value() == table);
}

TEST(Definitions, EveryTruncationIsCorruption) {
  const std::string whole = stored_form(orders());
  for (std::size_t kept = 0; kept < whole.size(); ++kept) {
    EXPECT_TRUE(fails_with(ErrorCode::kCorruption, parse_exactly(whole.substr(0, kept)))) << kept;
  }
}

TEST(Definitions, BytesBehindTheEndAreCorruption) {
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, parse_exactly(stored_form(orders()) + "\0"s)));
}

TEST(Definitions, AnotherFormatVersionIsNamed) {
  std::string bytes = stored_form(orders());
  bytes[0] = 5;
  const auto parsed = parse_exactly(bytes);
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, parsed));
  EXPECT_NE(parsed.status().message().find("version 5"), std::string::npos)
      << parsed.status().message();
}

TEST(Definitions, ATableWithoutColumnsOrIndexesIsCorruption) {
  TableDefinition table = orders();
  table.columns.clear();
  table.indexes = {{"PRIMARY", 301, 0, true, {}}};
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, parse_exactly(stored_form(table))));
  table = orders();
  table.indexes.clear();
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, parse_exactly(stored_form(table))));
}

TEST(Definitions, APartOfAColumnThatDoesNotExistIsCorruption) {
  TableDefinition table = orders();
  table.indexes[1].parts[0].column = 3;
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, parse_exactly(stored_form(table))));
}

TEST(Definitions, NumbersOutsideTheirBoundsAreCorruption) {
  const TableDefinition table = smallest();
  const std::string whole = stored_form(table);
  const std::size_t kind = whole.find('c') + 1;
  for (const auto& [at, byte] : {std::pair<std::size_t, char>{kind, '\x08'},  // kind
                                 {kind + 3, '\x10'},                          // flags
                                 {whole.size() - 2, '\x02'},                  // unique
                                 {whole.size() - 1, '\x41'}}) {               // parts
    std::string bytes = whole;
    bytes[at] = byte;
    EXPECT_TRUE(fails_with(ErrorCode::kCorruption, parse_exactly(bytes))) << at;
  }
}

// A damaged form may happen to be another whole one; then it must be that one throughout.
TEST(Definitions, RandomDamageIsCorruptionOrAnotherWholeDefinition) {
  const std::string whole = stored_form(orders());
  std::mt19937 random(1);
  int corrupt = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes = whole;
    for (unsigned change = 0; change <= random() % 3; ++change) {
      const std::size_t at = random() % bytes.size();
      switch (random() % 3) {
        case 0: bytes[at] = static_cast<char>(random()); break;
        case 1: bytes.erase(at, 1 + random() % 4); break;
        default: bytes.insert(at, 1, static_cast<char>(random())); break;
      }
    }
    const auto parsed = parse_exactly(bytes);
    if (parsed.is_ok()) {
      const auto again = parse_exactly(stored_form(parsed.value()));
      ASSERT_TRUE(succeeds(again)) << "round " << round;
      ASSERT_TRUE(again.value() == parsed.value()) << "round " << round;
      for (const IndexDefinition& index : parsed.value().indexes) {
        for (const KeyPartDefinition& part : index.parts) {
          ASSERT_LT(part.column, parsed.value().columns.size());
        }
      }
    } else {
      ASSERT_TRUE(fails_with(ErrorCode::kCorruption, parsed)) << "round " << round;
      ++corrupt;
    }
  }
  EXPECT_GT(corrupt, 5'000);
}

TEST(FindDifference, EqualDefinitionsAndOtherIdsAreNoDifference) {
  TableDefinition other = orders();
  other.id = 1;
  other.schema_version = 1;
  for (IndexDefinition& index : other.indexes) index.id = 1;
  EXPECT_EQ(find_difference(orders(), other), "");
}

TEST(FindDifference, SystemTimeThatWasNotStoredIsLackingAndNoDifference) {
  const TableDefinition before = orders();
  TableDefinition after = before;
  EXPECT_FALSE(lacks_system_time(before, after));
  after.columns[0].system_time = SystemTime::kRowEnd;
  EXPECT_EQ(find_difference(before, after), "");
  EXPECT_TRUE(lacks_system_time(before, after));
  EXPECT_FALSE(lacks_system_time(after, after));
  TableDefinition other = after;
  other.columns[0].system_time = SystemTime::kRowStart;
  EXPECT_NE(find_difference(after, other), "");
  EXPECT_NE(find_difference(after, before), "");
}

TEST(FindDifference, EveryDifferenceIsNamed) {
  const auto difference = [](auto change) {
    TableDefinition other = orders();
    change(other);
    return find_difference(orders(), other);
  };
  EXPECT_EQ(difference([](TableDefinition& t) { t.columns.pop_back(); }),
            "the engine knows 3 columns, the server 2");
  EXPECT_EQ(difference([](TableDefinition& t) { t.columns[0].name = "key"; }),
            "column 'id' is now called 'key'");
  const std::string other_type = "column 'code' has another type, length, collation or nullability";
  EXPECT_EQ(
      difference([](TableDefinition& t) { t.columns[1].kind = codec::ColumnKind::kFixedString; }),
      other_type);
  EXPECT_EQ(difference([](TableDefinition& t) { t.columns[1].record_length = 1; }), other_type);
  EXPECT_EQ(difference([](TableDefinition& t) { t.columns[1].collation_id = 1; }), other_type);
  EXPECT_EQ(difference([](TableDefinition& t) { t.columns[1].nullable = false; }), other_type);
  EXPECT_EQ(difference([](TableDefinition& t) { t.columns[1].stored = false; }), other_type);
  EXPECT_EQ(difference([](TableDefinition& t) { t.indexes.pop_back(); }),
            "the engine knows 2 indexes, the server 1");
  EXPECT_EQ(difference([](TableDefinition& t) { t.indexes[1].name = "x"; }),
            "index 'by_code' is now called 'x'");
  const std::string other_parts = "index 'by_code' has other columns";
  EXPECT_EQ(difference([](TableDefinition& t) { t.indexes[1].unique = true; }), other_parts);
  EXPECT_EQ(difference([](TableDefinition& t) { t.indexes[1].value_lock_parts = 1; }), other_parts);
  EXPECT_EQ(difference([](TableDefinition& t) { t.indexes[1].parts[0].column = 2; }), other_parts);
  EXPECT_EQ(difference([](TableDefinition& t) { t.indexes[1].parts[0].prefix_length = 1; }),
            other_parts);
  EXPECT_EQ(difference([](TableDefinition& t) { t.indexes[1].parts[0].descending = false; }),
            other_parts);
  EXPECT_EQ(difference([](TableDefinition& t) { t.indexes[1].parts.pop_back(); }), other_parts);
}

// Pins the stored form, as above.
TEST(Definitions, StoredFormatOfTheHistoryOfRowsIsFrozen) {
  TableDefinition without = with_history();
  without.rows = {};
  std::string expected = stored_form(without);
  expected[0] = '\x02';  // format version
  expected +=
      "\x05"                       // columns of rows
      "\x01\x09\x00\x00\x00"s      // column, fixed bytes, nullable, since, until
      "\x00\xAD\x02\x01\x00\x07"s  // dropped
      "\x02\x00\x01\x00\x00"s      // a string
      "\x04\x03\x01\x05\x08"
      "\x04\x05\x01\x07\x00"s
      "\x02"                            // initial values
      "\x01\x00"                        // column, NULL
      "\x03\x01\x04\x05\x00\x00\x00"s;  // column, not NULL, its bytes
  EXPECT_EQ(stored_form(with_history()), expected);
}

// Pins the stored form, as above.
TEST(Definitions, StoredFormatOfWhatNullStandsForIsFrozen) {
  TableDefinition table = with_history();
  table.rows.columns[2].null_value = "abc";
  const std::string plain = stored_form(with_history());
  const std::string string_column = "\x02\x00\x01\x00\x00"s;
  std::string expected = plain;
  expected.replace(plain.find(string_column), string_column.size(),
                   "\x02\x00\x02\x03"
                   "abc\x00\x00"s);
  EXPECT_EQ(stored_form(table), expected);
  EXPECT_EQ(basalt::test::must(parse_exactly(expected)), table);
}

// Pins the stored form, as above.
TEST(Definitions, StoredFormatOfHowRowsExpireIsFrozen) {
  TableDefinition without = with_expiry();
  without.expiry.reset();
  std::string expected = stored_form(without);
  expected[0] = '\x03';  // format version
  // Seconds, gone before, column, whether a history follows.
  EXPECT_EQ(stored_form(with_expiry()), expected + "\xAC\x02\x01\x04\x00"s);
  TableDefinition no_column = with_expiry();
  no_column.expiry = RowExpiry{};
  EXPECT_EQ(stored_form(no_column), expected + "\x00\x00\x00\x00"s);

  TableDefinition history = with_history();
  const std::string plain = stored_form(orders_of(history));
  std::string both = stored_form(history);
  both[0] = '\x03';
  both.insert(plain.size(), "\x05\x00\x00\x01"s);
  history.expiry = RowExpiry{{.seconds = 5}};
  EXPECT_EQ(stored_form(history), both);
}

TEST(Definitions, StoredFormatOfADiscardedTableIsFrozen) {
  TableDefinition table = orders();
  std::string expected = stored_form(table);
  expected[0] = '\x04';  // format version
  table.is_discarded = true;
  EXPECT_EQ(stored_form(table), expected + '\x00');
  EXPECT_EQ(basalt::test::must(parse_exactly(stored_form(table))), table);
  TableDefinition expires = with_expiry();
  expected = stored_form(expires);
  expected[0] = '\x04';
  expires.is_discarded = true;
  expected.insert(expected.size() - 5, 1, '\x01');
  EXPECT_EQ(stored_form(expires), expected);
  EXPECT_EQ(basalt::test::must(parse_exactly(stored_form(expires))), expires);
}

TEST(Definitions, AColumnThatCannotTellTheTimeOfRowsIsCorrupt) {
  const auto is_damaged_by = [](auto change) {
    TableDefinition table = with_expiry();
    change(table);
    return fails_with(ErrorCode::kCorruption, parse_exactly(stored_form(table)));
  };
  EXPECT_TRUE(is_damaged_by([](TableDefinition& table) { table.expiry->column = 4; }));
  EXPECT_TRUE(is_damaged_by([](TableDefinition& table) { table.expiry->column = 0; })) << "signed";
  EXPECT_TRUE(is_damaged_by([](TableDefinition& table) { table.columns[3].nullable = true; }));
  EXPECT_TRUE(is_damaged_by([](TableDefinition& table) { table.columns[3].stored = false; }));
  EXPECT_TRUE(is_damaged_by([](TableDefinition& table) { table.columns[3].record_length = 4; }));
}

TEST(Definitions, AHistoryThatDoesNotFitTheColumnsIsCorrupt) {
  const auto is_damaged_by = [](auto change) {
    TableDefinition table = with_history();
    change(table.rows);
    return fails_with(ErrorCode::kCorruption, parse_exactly(stored_form(table)));
  };
  using codec::RowHistory;
  EXPECT_TRUE(is_damaged_by([](RowHistory& rows) { rows.columns[0].column = 9; }));
  EXPECT_TRUE(is_damaged_by([](RowHistory& rows) { rows.columns[0].column = 2; })) << "virtual";
  EXPECT_TRUE(is_damaged_by([](RowHistory& rows) { rows.columns[0].fixed_bytes = 9; }));
  EXPECT_TRUE(is_damaged_by(
      [](RowHistory& rows) { rows.columns[0].fixed_bytes = codec::RowColumn::kVariable; }));
  EXPECT_TRUE(is_damaged_by([](RowHistory& rows) { rows.columns[0].nullable = true; }));
  EXPECT_TRUE(is_damaged_by([](RowHistory& rows) { rows.columns[2].fixed_bytes = 1; }));
  EXPECT_TRUE(is_damaged_by([](RowHistory& rows) { rows.columns[3].null_value = "short"; }));
  EXPECT_TRUE(
      is_damaged_by([](RowHistory& rows) { rows.columns[1].until = codec::RowColumn::kPresent; }));
  EXPECT_TRUE(is_damaged_by([](RowHistory& rows) { rows.initial_values[1].value = "short"; }));
  EXPECT_TRUE(is_damaged_by([](RowHistory& rows) { rows.initial_values[0].column = 0; }))
      << "NULL in a column that is not nullable";
}

TEST(Definitions, AHiddenKeyIsAPrimaryIndexWithoutParts) {
  EXPECT_FALSE(orders().has_hidden_key());
  EXPECT_TRUE(smallest().has_hidden_key());
}

}  // namespace
}  // namespace basalt::catalog
