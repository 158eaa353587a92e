#include "catalog/layouts.h"

#include <gtest/gtest.h>

namespace basalt::catalog {
namespace {

using codec::ColumnKind;

unsigned length_bytes(ColumnKind kind, std::uint32_t record_length) {
  ColumnDefinition column;
  column.kind = kind;
  column.record_length = record_length;
  const codec::ColumnLayout layout = column_layout(column);
  EXPECT_EQ(layout.kind, kind);
  EXPECT_EQ(layout.record_length, record_length);
  return layout.length_bytes;
}

// A VARCHAR of 255 bytes has 256 in the record, one of 256 has 258.
TEST(ColumnLayoutOfADefinition, HasTheLengthBytesThatTheServerGivesTheColumn) {
  EXPECT_EQ(length_bytes(ColumnKind::kVariableString, 1), 1u);
  EXPECT_EQ(length_bytes(ColumnKind::kVariableString, 256), 1u);
  EXPECT_EQ(length_bytes(ColumnKind::kVariableString, 258), 2u);
  for (const unsigned bytes : {1u, 2u, 3u, 4u}) {
    EXPECT_EQ(length_bytes(ColumnKind::kBlob, bytes + 8), bytes);
  }
  EXPECT_EQ(length_bytes(ColumnKind::kFixedString, 12), 0u);
  EXPECT_EQ(length_bytes(ColumnKind::kSignedInteger, 4), 0u);
}

TEST(IndexLayoutOfADefinition, HasAllThatTheDefinitionTellsOfItsKeys) {
  IndexDefinition index;
  index.id = 260;
  index.unique = true;
  index.parts = {{.column = 3, .prefix_length = 5, .descending = true, .tuple_length = 20}};
  const codec::IndexLayout layout = index_layout(index);
  EXPECT_EQ(layout.index_id, 260u);
  EXPECT_TRUE(layout.unique);
  ASSERT_EQ(layout.parts.size(), 1u);
  EXPECT_EQ(layout.parts[0].column, 3u);
  EXPECT_EQ(layout.parts[0].prefix_length, 5u);
  EXPECT_TRUE(layout.parts[0].descending);
  EXPECT_EQ(layout.parts[0].tuple_length, 20u);
}

}  // namespace
}  // namespace basalt::catalog
