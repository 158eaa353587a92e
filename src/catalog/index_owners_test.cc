#include "catalog/index_owners.h"

#include <gtest/gtest.h>

namespace basalt::catalog {
namespace {

constexpr std::uint32_t kFamily = 3;
constexpr std::uint32_t kOther = 4;

TablePointer make_table(std::initializer_list<IndexId> indexes, bool expires,
                        std::uint32_t family = kFamily) {
  TableDefinition table;
  table.name = expires ? "test/expires" : "test/stays";
  for (const IndexId id : indexes) {
    IndexDefinition index;
    index.id = id;
    index.family = family;
    table.indexes.push_back(std::move(index));
  }
  if (expires) table.expiry = RowExpiry{{.seconds = 7}, RowExpiry::kNoColumn};
  return std::make_shared<const TableDefinition>(std::move(table));
}

TEST(IndexOwnersTest, AnIndexHasTheTableThatItWasGivenLast) {
  IndexOwners owners;
  const TablePointer first = make_table({1, 2}, false);
  const TablePointer second = make_table({2, 3}, false);
  owners.add(first);
  owners.add(second);
  EXPECT_EQ(owners.find(1), first);
  EXPECT_EQ(owners.find(2), second);
  EXPECT_EQ(owners.find(3), second);
  owners.remove(*second);
  EXPECT_EQ(owners.find(2), nullptr);
  EXPECT_EQ(owners.find(1), first);
}

TEST(IndexOwnersTest, AFamilyHasLifetimesUntilItsLastIndexWithOneGoes) {
  IndexOwners owners;
  owners.add(make_table({1, 2}, false));
  EXPECT_FALSE(owners.has_lifetimes(kFamily));
  EXPECT_FALSE(owners.has_lifetimes());
  owners.add(make_table({3, 4}, true));
  EXPECT_TRUE(owners.has_lifetimes(kFamily));
  EXPECT_TRUE(owners.has_lifetimes());
  EXPECT_FALSE(owners.has_lifetimes(kOther));
  owners.remove(3);
  EXPECT_TRUE(owners.has_lifetimes(kFamily));
  owners.add(make_table({4}, false));  // its rows expire no more
  EXPECT_FALSE(owners.has_lifetimes(kFamily));
  EXPECT_FALSE(owners.has_lifetimes());
  owners.add(make_table({4}, true, kOther));
  EXPECT_TRUE(owners.has_lifetimes(kOther));
}

TEST(IndexOwnersTest, WhatIsBuiltHasItsTablesLifetimeAndItsJournalNone) {
  IndexOwners owners;
  const TablePointer altered = make_table({1, 2}, true);
  owners.add_built(2, altered);
  owners.add_built(9, altered);
  EXPECT_EQ(owners.find(9), altered);
  EXPECT_EQ(owners.lifetime_of(2), (RowLifetime{.seconds = 7}));
  EXPECT_EQ(owners.lifetime_of(9), std::nullopt);
  owners.remove(2);
  EXPECT_FALSE(owners.has_lifetimes(kFamily));
}

}  // namespace
}  // namespace basalt::catalog
