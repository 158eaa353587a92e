#include "catalog/definitions.h"

#include <memory>
#include <random>
#include <string>

#include "base/test_support.h"

// Goal: a definition comes back from its stored form, the form stays as it is, and damaged forms
// are told from whole ones. Inputs are in blocks of exactly their size, so that the address
// sanitizer sees every byte read too far.
namespace basalt::catalog {
namespace {

using namespace std::string_literals;
using basalt::test::fails_with;
using basalt::test::succeeds;

TableDefinition orders() {
  TableDefinition table;
  table.id = 300;
  table.name = "shop/orders";
  table.schema_version = 7;
  table.columns = {
      {"id", codec::ColumnKind::kSignedInteger, 8, 0, false, true},
      {"code", codec::ColumnKind::kVariableString, 402, 45, true, true},
      {"upper", codec::ColumnKind::kBlob, 10, 63, true, false},
  };
  table.indexes = {
      {"PRIMARY", 301, 0, true, {{0, 0, false, 8}}},
      {"by_code", 302, 0, false, {{1, 20, true, 80}, {0, 0, false, 8}}},
  };
  return table;
}

TableDefinition smallest() {
  TableDefinition table;
  table.name = "a";
  table.columns = {{"c", codec::ColumnKind::kSignedInteger, 1, 0, false, true}};
  table.indexes = {{"p", 1, 0, true, {}}};
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
  for (const TableDefinition& table : {orders(), smallest(), huge}) {
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
  bytes[0] = 2;
  const auto parsed = parse_exactly(bytes);
  EXPECT_TRUE(fails_with(ErrorCode::kCorruption, parsed));
  EXPECT_NE(parsed.status().message().find("version 2"), std::string::npos)
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

// A table of which `orders()` is a part, with an index more.
TableDefinition with_new_index() {
  TableDefinition table = orders();
  IndexDefinition index = {"by_id", 0, 0, false, {{0, 0, false, 8}}};
  table.indexes.insert(table.indexes.begin() + 1, std::move(index));
  return table;
}

bool becomes(const TableDefinition& table, TableDefinition altered,
             const RenamedIndexes& renamed = {}) {
  return alter_in_place(table, renamed, altered);
}

TEST(AlterInPlace, MoreIndexesInAnyOrderAreNoOtherRows) {
  EXPECT_TRUE(becomes(orders(), with_new_index()));
  TableDefinition two = with_new_index();
  two.indexes.push_back({"(hidden)", 0, 0, false, {{1, 3, true, 12}, {0, 0, false, 8}}});
  EXPECT_TRUE(becomes(orders(), two));
  EXPECT_TRUE(becomes(with_new_index(), two));
}

TEST(AlterInPlace, NamesOfColumnsMayChangeAndNothingElseOfThem) {
  const auto becomes_with = [](auto change) {
    TableDefinition other = orders();
    change(other);
    return becomes(orders(), other);
  };
  EXPECT_TRUE(becomes_with([](TableDefinition&) {}));
  EXPECT_TRUE(becomes_with([](TableDefinition& t) { t.columns[2].name = "x"; }));
  EXPECT_FALSE(becomes_with([](TableDefinition& t) { t.columns[1].nullable = false; }));
  EXPECT_FALSE(becomes_with([](TableDefinition& t) { t.columns[1].record_length += 1; }));
  EXPECT_FALSE(becomes_with([](TableDefinition& t) { t.columns.push_back(t.columns[0]); }));
  EXPECT_FALSE(becomes_with([](TableDefinition& t) { std::swap(t.columns[0], t.columns[1]); }));
}

TEST(AlterInPlace, ThePrimaryKeyStaysAsItIs) {
  const auto becomes_with = [](auto change) {
    TableDefinition other = orders();
    change(other.indexes.front());
    return becomes(orders(), other);
  };
  EXPECT_FALSE(becomes_with([](IndexDefinition& key) { key.parts[0].descending = true; }));
  EXPECT_FALSE(becomes_with([](IndexDefinition& key) { key.name = "renamed"; }));
}

TEST(AlterInPlace, IndexesThatRowsAloneDoNotMakeAreNotNew) {
  const auto becomes_with = [](auto change) {
    TableDefinition other = with_new_index();
    change(other.indexes[1]);
    return becomes(orders(), other);
  };
  EXPECT_TRUE(becomes_with([](IndexDefinition&) {}));
  EXPECT_TRUE(becomes_with([](IndexDefinition& index) { index.unique = true; }));
  EXPECT_FALSE(becomes_with([](IndexDefinition& index) { index.value_lock_parts = 1; }));
  EXPECT_FALSE(becomes_with([](IndexDefinition& index) { index.parts.clear(); }));
  EXPECT_FALSE(becomes_with([](IndexDefinition& index) { index.parts[0].column = 2; }))
      << "virtual";
  EXPECT_FALSE(becomes_with([](IndexDefinition& index) { index.parts[0].column = 3; }))
      << "not there";
}

// Of a table with the indexes a and b on one column each; `ids` of the secondary ones afterwards.
class SecondaryIndexes {
 public:
  SecondaryIndexes() {
    table_.id = 7;
    table_.schema_version = 3;
    table_.columns = {{"id", codec::ColumnKind::kSignedInteger, 4, 0, false, true},
                      {"x", codec::ColumnKind::kSignedInteger, 4, 0, false, true}};
    table_.indexes = {{"PRIMARY", 10, 2, true, {{0, 0, false, 4}}}, on("a", 0), on("b", 1)};
    table_.indexes[1].id = 11;
    table_.indexes[2].id = 12;
    table_.indexes[2].family = 5;
  }
  static IndexDefinition on(std::string name, std::uint32_t column) {
    return {std::move(name), 0, 0, false, {{column, 0, false, 4}}};
  }
  std::vector<IndexId> ids_after(std::vector<IndexDefinition> secondary,
                                 const RenamedIndexes& renamed = {}) {
    altered_ = table_;
    altered_.indexes.resize(1);
    altered_.indexes[0].id = 0;
    for (IndexDefinition& index : secondary) altered_.indexes.push_back(std::move(index));
    if (!alter_in_place(table_, renamed, altered_)) return {UINT32_MAX};
    EXPECT_EQ(altered_.id, table_.id);
    EXPECT_EQ(altered_.schema_version, 4U);
    EXPECT_EQ(altered_.indexes[0].id, 10U);
    std::vector<IndexId> ids;
    for (std::size_t i = 1; i < altered_.indexes.size(); ++i) ids.push_back(altered_.indexes[i].id);
    return ids;
  }
  const TableDefinition& altered() const { return altered_; }

 private:
  TableDefinition table_;
  TableDefinition altered_;
};

using Ids = std::vector<IndexId>;

TEST(AlterInPlace, AnIndexThatStaysKeepsItsIdAndFamilyUnderAnyNameAndInAnyOrder) {
  SecondaryIndexes table;
  const auto on = SecondaryIndexes::on;
  EXPECT_EQ(table.ids_after({on("b", 1), on("a", 0)}), (Ids{12, 11}));
  EXPECT_EQ(table.altered().indexes[1].family, 5U);
  EXPECT_EQ(table.ids_after({on("c", 0), on("b", 1)}, {{"a", "c"}}), (Ids{11, 12}));
  EXPECT_EQ(table.altered().indexes[1].name, "c");
  EXPECT_EQ(table.ids_after({on("b", 0), on("a", 1)}, {{"a", "b"}, {"b", "a"}}), (Ids{11, 12}));
}

TEST(AlterInPlace, AnIndexMayGoAndItsNameMayBeAnothersThen) {
  SecondaryIndexes table;
  const auto on = SecondaryIndexes::on;
  EXPECT_EQ(table.ids_after({on("b", 1)}), (Ids{12}));
  EXPECT_EQ(table.ids_after({}), Ids{});
  EXPECT_EQ(table.ids_after({on("a", 1), on("b", 1)}), (Ids{0, 12})) << "other columns";
  EXPECT_EQ(table.ids_after({on("b", 0), on("a", 1)}, {{"a", "b"}}), (Ids{11, 0}));
}

TEST(Definitions, AHiddenKeyIsAPrimaryIndexWithoutParts) {
  EXPECT_FALSE(orders().has_hidden_key());
  EXPECT_TRUE(smallest().has_hidden_key());
}

}  // namespace
}  // namespace basalt::catalog
