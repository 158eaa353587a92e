#include "table/reference_index.h"

#include <gtest/gtest.h>

// Goal: an index serves a foreign key where InnoDB's would, and keys begin with what is said of
// them. Method: definitions, and what is known of InnoDB's indexes.
namespace basalt::table::test {
namespace {

using catalog::IndexDefinition;
using catalog::KeyPartDefinition;
using catalog::TableDefinition;
using Columns = std::vector<std::uint32_t>;

// Four columns; the first index is the primary key.
TableDefinition table_with(std::vector<std::vector<KeyPartDefinition>> indexes,
                           bool are_unique = false) {
  TableDefinition table;
  for (const char* const name : {"a", "b", "c", "d"}) {
    table.columns.push_back({name, codec::ColumnKind::kSignedInteger, 4, 0, true, true});
  }
  for (std::vector<KeyPartDefinition>& parts : indexes) {
    const bool is_unique = table.indexes.empty() || are_unique;
    table.indexes.push_back({"index", 0, 0, is_unique, std::move(parts)});
  }
  return table;
}

KeyPartDefinition part(std::uint32_t column, std::uint32_t prefix_length = 0) {
  return {column, prefix_length, false, 4};
}

TEST(ReferenceIndex, ColumnsOfThePrimaryKeyCountBehindTheIndexsOwn) {
  const TableDefinition table = table_with({{part(1), part(3)}, {part(0)}});
  EXPECT_EQ(find_index_on(table, {0}), 1U);
  EXPECT_EQ(find_index_on(table, {0, 1}), 1U);
  EXPECT_EQ(find_index_on(table, {0, 1, 3}), 1U);
  EXPECT_EQ(find_index_on(table, {1, 3}), 0U);
  for (const Columns& columns : {Columns{0, 3}, Columns{1, 0}, Columns{0, 1, 3, 2}, Columns{2}}) {
    EXPECT_EQ(find_index_on(table, columns), 2U);
  }
  EXPECT_TRUE(begins_with(table, 1, {0, 1}));
  EXPECT_FALSE(begins_with(table, 1, {0, 3}));
}

TEST(ReferenceIndex, AColumnThatTheIndexHasDoesNotComeAgain) {
  const TableDefinition table = table_with({{part(1), part(3)}, {part(3), part(0)}});
  EXPECT_EQ(find_index_on(table, {3, 0, 1}), 1U);
  EXPECT_EQ(find_index_on(table, {3, 0, 3}), 2U);
}

TEST(ReferenceIndex, AHiddenPrimaryKeyHasNoColumns) {
  const TableDefinition table = table_with({{}, {part(0)}});
  EXPECT_EQ(find_index_on(table, {0}), 1U);
  EXPECT_EQ(find_index_on(table, {0, 1}), 2U);
}

TEST(ReferenceIndex, AUniqueIndexOfAllTheColumnsGoesBeforeOthers) {
  TableDefinition table = table_with({{part(1)}, {part(0)}, {part(0), part(1)}});
  EXPECT_EQ(find_index_on(table, {0, 1}), 1U);
  table.indexes[2].unique = true;
  EXPECT_EQ(find_index_on(table, {0, 1}), 2U);
  table.indexes[2].parts.pop_back();
  EXPECT_EQ(find_index_on(table, {0, 1}), 1U);
}

TEST(ReferenceIndex, KeysOfUniqueIndexesEndWithTheirOwnParts) {
  const TableDefinition table = table_with({{part(1)}, {part(0)}}, true);
  EXPECT_EQ(find_index_on(table, {0, 1}), 1U);
  EXPECT_EQ(reference_parts(table, 1).parts.size(), 2U);
  EXPECT_EQ(reference_parts(table, 1).in_key, 1U);
  EXPECT_EQ(reference_parts(table_with({{part(1)}, {part(0)}}), 1).in_key, 2U);
}

TEST(ReferenceIndex, APartOfFirstBytesServesNoForeignKey) {
  const TableDefinition of_primary = table_with({{part(1, 3)}, {part(0)}});
  EXPECT_EQ(find_index_on(of_primary, {0, 1}), 2U);
  EXPECT_TRUE(has_prefix_index_on(of_primary, {0, 1}));
  EXPECT_TRUE(begins_with(of_primary, 1, {0, 1}));
  const TableDefinition of_index = table_with({{part(0)}, {part(0, 3)}});
  EXPECT_EQ(find_index_on(of_index, {0}), 0U);
  EXPECT_TRUE(has_prefix_index_on(of_index, {1, 0}));
  EXPECT_FALSE(has_prefix_index_on(of_index, {1, 0, 2}));
  const TableDefinition between = table_with({{part(1)}, {part(0), part(2, 3)}});
  EXPECT_TRUE(has_prefix_index_on(between, {0, 1}));
  EXPECT_FALSE(has_prefix_index_on(between, {3, 1}));
}

// Entries have them a second time, but equal values may have different first characters.
TEST(ReferenceIndex, FirstBytesOfAColumnThatTheIndexHasAsAWholeArePassedOver) {
  const TableDefinition table = table_with({{part(0, 3), part(1)}, {part(0)}});
  EXPECT_EQ(find_index_on(table, {0, 1}), 1U);
  EXPECT_EQ(reference_parts(table, 1).in_key, 1U);
}

TEST(ReferenceIndex, TheWholePrimaryKeyTellsOneRow) {
  const TableDefinition table = table_with({{part(1), part(3)}, {part(0)}});
  EXPECT_FALSE(tells_one_row(table, 1, 2));
  EXPECT_TRUE(tells_one_row(table, 1, 3));
  EXPECT_FALSE(is_unique_on(table, 1, 3));
  const TableDefinition unique = table_with({{part(1), part(3)}, {part(0)}}, true);
  EXPECT_TRUE(tells_one_row(unique, 1, 2));
  EXPECT_FALSE(is_unique_on(unique, 1, 2));
  EXPECT_TRUE(is_unique_on(unique, 1, 1));
}

TEST(ReferenceIndex, CurrentRowsAreToldApartWithoutTheRowsEnd) {
  TableDefinition table = table_with({{part(1), part(3)}, {part(0)}});
  table.columns[3].system_time = catalog::SystemTime::kRowEnd;
  EXPECT_TRUE(tells_one_row(table, 1, 2));
  EXPECT_TRUE(goes_on_with_row_end(table, reference_parts(table, 1), 2));
  EXPECT_FALSE(goes_on_with_row_end(table, reference_parts(table, 1), 1));
  EXPECT_TRUE(is_unique_on(table, 0, 1));
}

}  // namespace
}  // namespace basalt::table::test
