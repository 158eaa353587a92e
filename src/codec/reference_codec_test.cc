#include "codec/reference_codec.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "codec/internal/test_support.h"
#include "codec/primary_codec.h"
#include "codec/secondary_codec.h"

namespace basalt::codec {
namespace {

using test::Record;
using test::TestTable;

// A parent with a nullable index over all kinds, one part descending, and a child that has the same
// columns in another order, others between them, and none of them nullable.
struct Tables {
  TestTable parent;
  TestTable child;
  IndexLayout primary{1, true, {{0}}};
  IndexLayout index{2, false, {{1}, {2, 0, true}, {3}, {4}}};

  Tables() {
    parent.add(ColumnKind::kSignedInteger, 4);
    parent.add(ColumnKind::kSignedInteger, 8, true);
    parent.add_varchar(300, true, &test::collation(2));
    parent.add(ColumnKind::kFixedString, 12, true, &test::collation(2));
    parent.add(ColumnKind::kOrderedBytes, 5);
    child.add(ColumnKind::kOrderedBytes, 5, true);
    child.add(ColumnKind::kFixedString, 10, false, &test::collation(2));
    child.add_varchar(20, true, &test::collation(2));
    child.add(ColumnKind::kUnsignedInteger, 2);
    child.add(ColumnKind::kSignedInteger, 8);
  }
  Record parent_row() const {
    Record row = parent.make_record();
    parent.set_integer(row, 0, 77);
    parent.set_integer(row, 1, 0x1122334455667788);
    parent.set_string(row, 2, "Two");
    parent.set_string(row, 3, "three");
    parent.set_integer(row, 4, 0x0504030201);
    return row;
  }
  Record child_row() const {
    Record row = child.make_record(0);
    child.set_integer(row, 0, 0x0504030201);
    child.set_string(row, 1, "THREE");
    child.set_string(row, 2, "tWO");
    child.set_integer(row, 4, 0x1122334455667788);
    return row;
  }
  ReferenceCodec to_parent() const {
    return {child.layout(), {4, 2, 1, 0}, 2, {{true}, {true, true}, {true}, {false}}};
  }
};

TEST(ReferenceCodec, AChildsRowGivesTheBeginningOfItsParentsKey) {
  const Tables tables;
  std::string primary_key;
  PrimaryCodec(tables.parent.layout(), tables.primary)
      .make_key(tables.parent_row().data(), 0, primary_key);
  std::string key;
  SecondaryCodec(tables.parent.layout(), tables.index, tables.primary)
      .make_key(tables.parent_row().data(), primary_key, key);
  std::string prefix = "before";
  ASSERT_TRUE(tables.to_parent().make_prefix(tables.child_row().data(), prefix));
  EXPECT_EQ(key, prefix + primary_key.substr(4));
}

TEST(ReferenceCodec, ARowWithANullReferencesNothing) {
  const Tables tables;
  Record row = tables.child_row();
  tables.child.set_null(row, 0);
  std::string prefix;
  EXPECT_FALSE(tables.to_parent().make_prefix(row.data(), prefix));
}

TEST(ReferenceCodec, ColumnsAreEqualInKeysWhereTheirValuesAre) {
  TestTable table;
  const auto add = [&](ColumnKind kind, std::uint32_t size, const Collation* collation = nullptr) {
    return table.column(table.add(kind, size, false, collation));
  };
  const ColumnLayout integer = add(ColumnKind::kSignedInteger, 4);
  EXPECT_TRUE(are_equal_in_keys(integer, integer));
  EXPECT_FALSE(are_equal_in_keys(integer, add(ColumnKind::kSignedInteger, 8)));
  EXPECT_FALSE(are_equal_in_keys(integer, add(ColumnKind::kUnsignedInteger, 4)));
  const auto varchar = [&](std::uint32_t size, std::size_t collation) {
    return table.column(table.add_varchar(size, false, &test::collation(collation)));
  };
  EXPECT_TRUE(are_equal_in_keys(varchar(20, 2), varchar(300, 2)));
  EXPECT_FALSE(are_equal_in_keys(varchar(20, 2), integer));
  // Padded with spaces, and not.
  const ColumnLayout padded = add(ColumnKind::kFixedString, 10, &test::collation(2));
  const ColumnLayout unpadded = add(ColumnKind::kFixedString, 10, &test::collation(3));
  EXPECT_TRUE(are_equal_in_keys(padded, varchar(20, 2)));
  EXPECT_TRUE(are_equal_in_keys(unpadded, unpadded));
  EXPECT_FALSE(are_equal_in_keys(unpadded, varchar(20, 3)));
}

TEST(CopyColumn, AValueThatFitsIsTheSameThere) {
  const Tables tables;
  Record row = tables.child.make_record(0xAA);
  const Record parent = tables.parent_row();
  const std::pair<std::size_t, std::size_t> pairs[] = {{1, 4}, {2, 2}, {3, 1}, {4, 0}};
  for (const auto& [from, to] : pairs) {
    ASSERT_TRUE(copy_column(tables.parent.column(from), parent.data(), tables.child.column(to),
                            row.data()));
  }
  std::string prefix;
  std::string expected;
  ASSERT_TRUE(tables.to_parent().make_prefix(row.data(), prefix));
  ASSERT_TRUE(tables.to_parent().make_prefix(tables.child_row().data(), expected));
  EXPECT_EQ(prefix, expected);
}

TEST(CopyColumn, AStringThatIsTooLongIsRefusedAndSpacesThatDoNotCountAreCutOff) {
  const Tables tables;
  Record parent = tables.parent_row();
  Record row = tables.child.make_record();
  // Characters of the made-up collation have up to two bytes: ten of them.
  tables.parent.set_string(parent, 2, "0123456789");
  EXPECT_TRUE(
      copy_column(tables.parent.column(2), parent.data(), tables.child.column(2), row.data()));
  tables.parent.set_string(parent, 2, "0123456789 ");
  EXPECT_TRUE(
      copy_column(tables.parent.column(2), parent.data(), tables.child.column(2), row.data()));
  tables.parent.set_string(parent, 2, "0123456789x");
  EXPECT_FALSE(
      copy_column(tables.parent.column(2), parent.data(), tables.child.column(2), row.data()));
}

TEST(CopyColumn, NullGoesWhereItIsAllowed) {
  const Tables tables;
  Record parent = tables.parent_row();
  tables.parent.set_null(parent, 1);
  tables.parent.set_null(parent, 2);
  Record row = tables.child_row();
  EXPECT_FALSE(
      copy_column(tables.parent.column(1), parent.data(), tables.child.column(4), row.data()));
  EXPECT_TRUE(
      copy_column(tables.parent.column(2), parent.data(), tables.child.column(2), row.data()));
  std::string prefix;
  EXPECT_FALSE(tables.to_parent().make_prefix(row.data(), prefix));
}

}  // namespace
}  // namespace basalt::codec
