#include "catalog/altered_definition.h"

#include <string>
#include <utility>
#include <vector>

#include "base/test_support.h"
#include "catalog/test_support.h"

// Goal: what leaves rows as they are is told from what does not, and the history that rows get by
// it is the one by which they are read.
namespace basalt::catalog {
namespace {

using namespace std::string_literals;
using codec::ColumnKind;
using codec::RowColumn;
using test::orders;

// A table of which `orders()` is a part, with an index more.
TableDefinition with_new_index() {
  TableDefinition table = orders();
  IndexDefinition index = {"by_id", 0, 0, false, {{0, 0, false, 8}}};
  table.indexes.insert(table.indexes.begin() + 1, std::move(index));
  return table;
}

bool becomes(const TableDefinition& table, TableDefinition altered,
             const TableChange& change = {}) {
  return alter_in_place(table, change, altered);
}

TEST(AlterInPlace, MoreIndexesInAnyOrderAreNoOtherRows) {
  EXPECT_TRUE(becomes(orders(), with_new_index()));
  TableDefinition two = with_new_index();
  two.indexes.push_back({"(hidden)", 0, 0, false, {{1, 3, true, 12}, {0, 0, false, 8}}});
  EXPECT_TRUE(becomes(orders(), two));
  EXPECT_TRUE(becomes(with_new_index(), two));
}

// What becomes of `orders()`, with another column in the row, by the origins of its columns.
class ColumnChange {
 public:
  // With the index `more`, if it has a name.
  explicit ColumnChange(const IndexDefinition& more = {}) {
    table_ = orders();
    table_.columns.push_back({"n", ColumnKind::kSignedInteger, 2, 0, false, true});
    if (!more.name.empty()) table_.indexes.push_back(more);
    altered_ = table_;
    change_.columns = {{0, {}}, {1, {}}, {2, {}}, {3, {}}};
  }
  TableDefinition& altered() { return altered_; }
  ColumnDefinition& column(std::size_t number) { return altered_.columns[number]; }
  void add(ColumnDefinition column, std::optional<std::string> initial_value) {
    altered_.columns.push_back(std::move(column));
    change_.columns.push_back({ColumnOrigin::kNew, std::move(initial_value)});
  }
  void set_initial_value(std::size_t number, std::string value) {
    change_.columns[number].initial_value = std::move(value);
  }
  // The last one.
  void drop() {
    altered_.columns.pop_back();
    change_.columns.pop_back();
  }
  void swap_last() {
    std::swap(altered_.columns[2], altered_.columns[3]);
    std::swap(change_.columns[2], change_.columns[3]);
  }
  bool is_possible() {
    TableDefinition altered = altered_;
    if (!alter_in_place(table_, change_, altered)) return false;
    altered_ = altered;
    return true;
  }
  // Goes on with the altered table.
  void next() {
    ASSERT_TRUE(is_possible());
    table_ = altered_;
    for (std::uint32_t i = 0; i < change_.columns.size(); ++i) change_.columns[i] = {i, {}};
  }
  void with_rows_of_altered() { table_.rows = altered_.rows; }
  std::string renamed(const std::string& name) {
    return renamed_column(table_, change_, altered_, name);
  }
  bool changes(const std::string& name) { return changes_types(table_, change_, altered_, {name}); }

 private:
  TableDefinition table_;
  TableDefinition altered_;
  TableChange change_;
};

TEST(AlterInPlace, RowsAreAlikeAfterAChangeOfNamesAlone) {
  ColumnChange change;
  change.column(0).name = "x";
  change.column(1).record_length += 100;
  ASSERT_TRUE(change.is_possible()) << "a VARCHAR's length is in no row";
  EXPECT_TRUE(change.altered().rows.is_empty());
}

TEST(AlterInPlace, WhatRowsCannotBeReadAsIsRefused) {
  const auto is_possible_with = [](std::size_t number, auto change_column) {
    ColumnChange change;
    change_column(change.column(number));
    return change.is_possible();
  };
  EXPECT_FALSE(is_possible_with(1, [](ColumnDefinition& c) { c.nullable = false; }));
  EXPECT_FALSE(is_possible_with(1, [](ColumnDefinition& c) { c.record_length -= 1; }));
  EXPECT_FALSE(is_possible_with(1, [](ColumnDefinition& c) { c.kind = ColumnKind::kBlob; }));
  EXPECT_FALSE(is_possible_with(2, [](ColumnDefinition& c) { c.stored = true; }));
  EXPECT_FALSE(is_possible_with(3, [](ColumnDefinition& c) { c.record_length = 1; }));
  EXPECT_FALSE(
      is_possible_with(3, [](ColumnDefinition& c) { c.kind = ColumnKind::kUnsignedInteger; }));
  EXPECT_FALSE(is_possible_with(0, [](ColumnDefinition& c) { c.nullable = true; }))
      << "in the primary key";
  ColumnChange other_number;
  other_number.add(other_number.altered().columns[3], "\1\0"s);
  other_number.altered().columns.pop_back();
  EXPECT_FALSE(other_number.is_possible()) << "not an origin for each column";
}

TEST(AlterInPlace, WhichChangesMakeHistoryMayBecomeOthersAndNotWhatHistoryIs) {
  const auto becomes_with = [](SystemTime before, SystemTime after) {
    TableDefinition table = orders();
    table.columns[1].system_time = before;
    TableDefinition altered = orders();
    altered.columns[1].system_time = after;
    return becomes(table, altered);
  };
  EXPECT_TRUE(becomes_with(SystemTime::kNone, SystemTime::kUnversioned));
  EXPECT_TRUE(becomes_with(SystemTime::kUnversioned, SystemTime::kNone));
  EXPECT_FALSE(becomes_with(SystemTime::kRowEnd, SystemTime::kNone));
  EXPECT_FALSE(becomes_with(SystemTime::kUnversioned, SystemTime::kRowStart));
}

TEST(AlterInPlace, AColumnThatBecomesLongerOrNullableIsInRowsInBothForms) {
  ColumnChange change;
  change.column(3).record_length = 8;
  change.column(3).nullable = true;
  ASSERT_TRUE(change.is_possible());
  const std::vector<RowColumn> expected = {
      {.column = 0, .fixed_bytes = 8},
      {.column = 1, .nullable = true},
      {.column = 3, .fixed_bytes = 2, .until = 8},
      {.column = 3, .fixed_bytes = 8, .nullable = true, .since = 8}};
  EXPECT_EQ(change.altered().rows.columns, expected);
  EXPECT_EQ(change.altered().schema_version, 8U);
}

TEST(AlterInPlace, NullInAColumnThatIsMadeNotNullStandsForAValueFromThenOn) {
  ColumnChange change;
  change.add({"new", ColumnKind::kSignedInteger, 1, 0, true, true}, std::nullopt);
  change.next();
  change.column(4).nullable = false;
  EXPECT_FALSE(change.is_possible()) << "no value is given";
  change.set_initial_value(4, "\xFE"s);
  change.next();
  const RowColumn not_null = {.column = 4, .fixed_bytes = 1, .since = 9};
  RowColumn before = {.column = 4,
                      .fixed_bytes = 1,
                      .nullable = true,
                      .null_value = "\xFE"s,
                      .since = 8,
                      .until = 9};
  EXPECT_EQ(change.altered().rows.columns[3], before);
  EXPECT_EQ(change.altered().rows.columns[4], not_null);
  EXPECT_EQ(change.altered().rows.initial_values[0].value, "\xFE"s);
  change.column(4).nullable = true;
  change.column(4).record_length = 2;
  change.next();
  before.null_value = "\xFE\xFF"s;
  EXPECT_EQ(change.altered().rows.columns[3], before) << "it may be NULL again, and is longer";
  EXPECT_EQ(change.altered().rows.initial_values[0].value, "\xFE\xFF"s);
}

TEST(AlterInPlace, NewColumnsAreBehindAllOthersInRowsWhereverTheyAreInTheTable) {
  ColumnChange change;
  change.add({"new", ColumnKind::kSignedInteger, 1, 0, true, true}, "\xFE"s);
  change.swap_last();
  ASSERT_TRUE(change.is_possible());
  const std::vector<RowColumn> expected = {
      {.column = 0, .fixed_bytes = 8},
      {.column = 1, .nullable = true},
      {.column = 2, .fixed_bytes = 2},
      {.column = 4, .fixed_bytes = 1, .nullable = true, .since = 8}};
  EXPECT_EQ(change.altered().rows.columns, expected);
  const std::vector<codec::InitialValue> values = {{4, "\xFE"s}};
  EXPECT_EQ(change.altered().rows.initial_values, values);
}

TEST(AlterInPlace, ADroppedColumnStaysInTheHistoryAndItsInitialValueGoes) {
  ColumnChange change;
  change.add({"new", ColumnKind::kSignedInteger, 1, 0, true, true}, "\xFE"s);
  change.next();
  change.drop();
  change.next();
  EXPECT_EQ(change.altered().rows.columns.back(),
            (RowColumn{.fixed_bytes = 1, .nullable = true, .since = 8, .until = 9}));
  EXPECT_TRUE(change.altered().rows.initial_values.empty());
}

TEST(AlterInPlace, AnInitialValueBecomesLongerWithItsColumn) {
  ColumnChange change;
  change.add({"new", ColumnKind::kSignedInteger, 1, 0, true, true}, "\xFE"s);
  change.next();
  change.column(4).record_length = 4;
  change.next();
  EXPECT_EQ(change.altered().rows.initial_values[0].value, "\xFE\xFF\xFF\xFF"s);
}

TEST(AlterInPlace, ATableHasABoundOfFormsOfColumns) {
  ColumnChange change;
  change.altered().rows.columns.resize(8189, {.fixed_bytes = 1, .until = 2});
  for (const RowColumn& held :
       {RowColumn{.column = 0, .fixed_bytes = 8}, RowColumn{.column = 1, .nullable = true},
        RowColumn{.column = 3, .fixed_bytes = 2}}) {
    change.altered().rows.columns.push_back(held);
  }
  change.with_rows_of_altered();
  change.column(3).nullable = true;
  EXPECT_FALSE(change.is_possible());
  change.column(3).nullable = false;
  EXPECT_TRUE(change.is_possible());
}

TEST(AlterInPlace, VirtualColumnsAreInNoHistory) {
  ColumnChange change;
  change.add({"new", ColumnKind::kSignedInteger, 1, 0, true, false}, std::nullopt);
  ASSERT_TRUE(change.is_possible());
  EXPECT_TRUE(change.altered().rows.is_empty());
}

TEST(AlterInPlace, IndexesFollowTheirColumnsAndAreNewWhereKeysWouldShowTheChange) {
  const IndexDefinition on_n = {"on_n", 310, 4, false, {{3, 0, false, 2}}};
  ColumnChange change(on_n);
  change.swap_last();
  change.altered().indexes[2].parts[0].column = 2;
  ASSERT_TRUE(change.is_possible());
  EXPECT_EQ(change.altered().indexes[2].id, 310U);
  ColumnChange longer(on_n);
  longer.column(3).record_length = 4;
  longer.altered().indexes[2].parts[0].tuple_length = 4;
  ASSERT_TRUE(longer.is_possible());
  EXPECT_EQ(longer.altered().indexes[2].id, 0U);
}

TEST(AlterInPlace, ForeignKeysCanTellWhatBecomesOfTheirColumns) {
  ColumnChange change;
  change.column(1).name = "called";
  EXPECT_EQ(change.renamed("CODE"), "called");
  EXPECT_EQ(change.renamed("missing"), "missing");
  EXPECT_FALSE(change.changes("code"));
  change.column(3).record_length = 4;
  EXPECT_TRUE(change.changes("n"));
  change.drop();
  EXPECT_TRUE(change.changes("n"));
  EXPECT_FALSE(change.changes("code"));
  EXPECT_EQ(change.renamed("n"), "n");
}

TEST(AlterInPlace, ThePrimaryKeyStaysAsItIsUnlessTheChangeSaysSo) {
  const auto becomes_with = [](auto change) {
    TableDefinition other = orders();
    change(other.indexes.front());
    return becomes(orders(), other);
  };
  EXPECT_FALSE(becomes_with([](IndexDefinition& key) { key.parts[0].descending = true; }));
  EXPECT_FALSE(becomes_with([](IndexDefinition& key) { key.name = "renamed"; }));
}

TEST(AlterInPlace, AllIndexesButThePrimaryKeyAreNewWhereTheChangeMakesThemAnew) {
  const TableDefinition table = orders();
  TableDefinition altered = table;
  TableChange change;
  ASSERT_TRUE(alter_in_place(table, change, altered));
  EXPECT_TRUE(new_indexes(table, altered).empty());
  change.remakes_indexes = true;
  ASSERT_TRUE(alter_in_place(table, change, altered));
  EXPECT_EQ(altered.indexes[0].id, table.indexes[0].id);
  EXPECT_EQ(altered.indexes[0].family, table.indexes[0].family);
  EXPECT_EQ(new_indexes(table, altered).size(), table.indexes.size() - 1);
}

TEST(AlterInPlace, WithAnotherPrimaryKeyAllIsNewAndRowsAreAsIfTheyHadAlwaysHadTheirColumns) {
  TableDefinition table = orders();
  TableDefinition grown = table;
  grown.columns.push_back({"n", ColumnKind::kSignedInteger, 2, 0, false, true});
  TableChange growth;
  growth.columns = {{0, {}}, {1, {}}, {2, {}}, {ColumnOrigin::kNew, std::string(2, '\0')}};
  ASSERT_TRUE(alter_in_place(table, growth, grown));
  ASSERT_FALSE(grown.rows.is_empty());

  TableDefinition altered = grown;
  altered.indexes[0].parts[0].descending = true;
  TableChange change;
  EXPECT_FALSE(alter_in_place(grown, change, altered));
  change.replaces_primary = true;
  ASSERT_TRUE(alter_in_place(grown, change, altered));
  EXPECT_EQ(new_indexes(grown, altered).size(), grown.indexes.size());
  EXPECT_TRUE(altered.rows.is_empty());
  EXPECT_EQ(altered.id, grown.id);

  const TableDefinition rows = rows_before(grown, change, altered);
  EXPECT_EQ(rows.rows, grown.rows) << "those that are there are older than a column";
  EXPECT_EQ(rows.indexes, std::vector<IndexDefinition>{grown.indexes[0]});
}

TEST(AlterInPlace, RowsAreFoundByThePrimaryKeyThatTheyHadWhereverItsColumnsAreThen) {
  const TableDefinition table = orders();
  TableDefinition altered = table;
  std::swap(altered.columns[0], altered.columns[1]);
  for (IndexDefinition& index : altered.indexes) {
    for (KeyPartDefinition& part : index.parts) part.column = part.column < 2 ? 1 - part.column : 2;
  }
  TableChange change;
  change.columns = {{1, {}}, {0, {}}, {2, {}}};
  change.replaces_primary = true;
  ASSERT_TRUE(alter_in_place(table, change, altered));
  EXPECT_EQ(rows_before(table, change, altered).indexes[0].parts[0].column,
            1 - table.indexes[0].parts[0].column);
}

TEST(AlterInPlace, ColumnsOfTheOldPrimaryKeyThatGoAreBehindTheOthersAsLongAsRowsHaveIt) {
  const TableDefinition table = orders();
  const std::uint32_t key = table.indexes[0].parts[0].column;
  TableDefinition altered = table;
  altered.columns.erase(altered.columns.begin() + key);
  altered.indexes.resize(1);
  altered.indexes[0].parts = {{0, 0, false, altered.columns[0].record_length}};
  altered.columns[0].nullable = false;
  TableChange change;
  for (std::uint32_t i = 0; i < table.columns.size(); ++i) {
    if (i != key) change.columns.push_back({i, std::string(altered.columns[0].record_length, 0)});
  }
  change.replaces_primary = true;
  ASSERT_TRUE(alter_in_place(table, change, altered));
  const TableDefinition rows = rows_before(table, change, altered);
  ASSERT_EQ(rows.columns.size(), altered.columns.size() + 1);
  EXPECT_EQ(rows.columns.back(), table.columns[key]);
  EXPECT_EQ(rows.indexes[0].parts[0].column, altered.columns.size());
}

TEST(AlterInPlace, RowsThatAnotherPrimaryKeyCannotBeMadeOfAreCopied) {
  TableChange change;
  change.replaces_primary = true;
  const auto becomes_with = [&](auto alter) {
    TableDefinition altered = orders();
    alter(altered);
    return alter_in_place(orders(), change, altered);
  };
  EXPECT_TRUE(becomes_with([](TableDefinition&) {}));
  EXPECT_FALSE(becomes_with([](TableDefinition& table) { table.indexes[0].parts.clear(); }))
      << "hidden numbers would be other ones each time";
  EXPECT_FALSE(becomes_with([](TableDefinition& table) {
    table.columns[table.indexes[0].parts[0].column].record_length += 4;
  })) << "the rows that are there could not be looked up";
  TableDefinition expiring = orders();
  expiring.expiry = RowExpiry();
  TableDefinition altered = expiring;
  EXPECT_FALSE(alter_in_place(expiring, change, altered));
}

TEST(AlterInPlace, IndexesThatNeedMoreThanOneRowAreNotNew) {
  const auto becomes_with = [](auto change) {
    TableDefinition other = with_new_index();
    change(other.indexes[1]);
    return becomes(orders(), other);
  };
  EXPECT_TRUE(becomes_with([](IndexDefinition&) {}));
  EXPECT_TRUE(becomes_with([](IndexDefinition& index) { index.unique = true; }));
  EXPECT_FALSE(becomes_with([](IndexDefinition& index) { index.value_lock_parts = 1; }));
  EXPECT_FALSE(becomes_with([](IndexDefinition& index) { index.parts.clear(); }));
  EXPECT_TRUE(becomes_with([](IndexDefinition& index) { index.parts[0].column = 2; })) << "virtual";
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
    if (!alter_in_place(table_, {.indexes = renamed, .columns = {}}, altered_)) return {UINT32_MAX};
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

// ---- how rows expire

// Its rows live for `seconds` from the time in the column `born`, the last one; 0: for ever.
TableDefinition with_times(std::uint64_t seconds) {
  TableDefinition table = orders();
  table.columns.push_back({"born", ColumnKind::kUnsignedInteger, 8, 0, false, true});
  if (seconds != 0) table.expiry = RowExpiry{{.seconds = seconds}, 3};
  return table;
}

TableChange change_at(std::uint64_t time) {
  TableChange change;
  change.time = time;
  return change;
}

TableChange change_of(std::vector<ColumnOrigin> columns) {
  TableChange change;
  change.columns = std::move(columns);
  return change;
}

TEST(AlterInPlace, RowsThatTellNoTimeCannotBeginToExpire) {
  EXPECT_FALSE(becomes(with_times(0), with_times(60)));
  EXPECT_FALSE(keeps_row_times(with_times(0), {}, with_times(60)));
  EXPECT_TRUE(keeps_row_times(with_times(0), {}, with_times(0)));
}

TEST(AlterInPlace, WhatIsExpiredWhenRowsGetALongerLifeIsGone) {
  TableDefinition altered = with_times(1000);
  ASSERT_TRUE(alter_in_place(with_times(60), change_at(5000), altered));
  EXPECT_EQ(altered.expiry, (RowExpiry{{.seconds = 1000, .gone_before = 4941}, 3}));
  TableDefinition shorter = with_times(10);
  ASSERT_TRUE(alter_in_place(altered, change_at(5500), shorter));
  EXPECT_EQ(shorter.expiry, (RowExpiry{{.seconds = 10, .gone_before = 4941}, 3}));
  TableDefinition same = with_times(10);
  ASSERT_TRUE(alter_in_place(shorter, change_at(9000), same));
  EXPECT_EQ(same.expiry, shorter.expiry);
}

TEST(AlterInPlace, RowsThatExpireNoMoreStillTellTheirTime) {
  TableDefinition altered = with_times(0);
  ASSERT_TRUE(alter_in_place(with_times(60), change_at(5000), altered));
  EXPECT_EQ(altered.expiry, (RowExpiry{{.seconds = 0, .gone_before = 4941}, 3}));
  TableDefinition again = with_times(70);
  ASSERT_TRUE(alter_in_place(altered, change_at(6000), again));
  EXPECT_EQ(again.expiry, (RowExpiry{{.seconds = 70, .gone_before = 4941}, 3}));
}

TEST(AlterInPlace, RowsThatExpireOtherwiseAreMadeAnewByACopyAlone) {
  TableDefinition table = with_times(0);
  ASSERT_TRUE(alter_in_place(with_times(60), change_at(5000), table));
  TableChange change;
  change.remakes_indexes = true;
  EXPECT_FALSE(becomes(table, table, change));
  EXPECT_FALSE(becomes(with_times(60), with_times(70), change));
  EXPECT_TRUE(becomes(with_times(60), with_times(60), change));
}

TEST(AlterInPlace, AnotherColumnTellsAnotherTime) {
  TableDefinition by_statement = with_times(60);
  by_statement.expiry->column = RowExpiry::kNoColumn;
  EXPECT_FALSE(becomes(with_times(60), by_statement));
  EXPECT_FALSE(becomes(by_statement, with_times(60)));
  EXPECT_TRUE(becomes(by_statement, by_statement));
}

TEST(AlterInPlace, TheColumnOfTheTimeMayMoveButNotGo) {
  TableDefinition altered = with_times(60);
  std::swap(altered.columns[2], altered.columns[3]);
  altered.expiry->column = 2;
  const TableChange swapped = change_of({{0, {}}, {1, {}}, {3, {}}, {2, {}}});
  ASSERT_TRUE(alter_in_place(with_times(60), swapped, altered));
  EXPECT_EQ(altered.expiry->column, 2u);

  TableDefinition without = orders();
  const TableChange dropped = change_of({{0, {}}, {1, {}}, {2, {}}});
  EXPECT_FALSE(becomes(with_times(60), without, dropped));

  TableDefinition nullable = with_times(0);
  nullable.columns[3].nullable = true;
  EXPECT_FALSE(becomes(with_times(60), nullable));
}

}  // namespace
}  // namespace basalt::catalog
