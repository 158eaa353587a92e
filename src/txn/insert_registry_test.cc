#include "txn/insert_registry.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/test_support.h"

// Goal: whoever locks a range hears of every key that is announced there, and of none that was
// announced by a transaction that has ended, although its memory is used again.
namespace basalt::txn {
namespace {

std::string key_of(std::uint32_t index, std::string_view rest) {
  std::string key;
  append_be32(key, index);
  key += rest;
  return key;
}

void note(PendingInserts& inserts, const std::vector<std::string>& keys) {
  inserts.note(std::vector<std::string_view>(keys.begin(), keys.end()));
}

bool touches(const PendingInserts& inserts, std::uint32_t index, std::string_view lower,
             std::string_view upper) {
  return inserts.may_touch(key_of(index, lower), key_of(index, upper));
}

std::vector<std::uint32_t> indexes_of(const PendingInserts& inserts) {
  std::vector<std::uint32_t> indexes;
  inserts.for_each_index([&](std::uint32_t index) { indexes.push_back(index); });
  return indexes;
}

TEST(PendingInsertsTest, AnnouncedKeysAreHeardOfInTheirIndexBetweenTheFirstAndTheLast) {
  PendingInserts inserts;
  note(inserts, {key_of(7, "m"), key_of(9, "x")});
  note(inserts, {key_of(7, "f")});
  note(inserts, {key_of(7, "p")});
  EXPECT_TRUE(touches(inserts, 7, "f", "g"));
  EXPECT_TRUE(touches(inserts, 7, "p", "q"));
  EXPECT_FALSE(touches(inserts, 7, "a", "f"));
  EXPECT_FALSE(touches(inserts, 7, "q", "z"));
  EXPECT_FALSE(touches(inserts, 8, "a", "z"));
  EXPECT_TRUE(touches(inserts, 9, "a", "z"));
  EXPECT_EQ(indexes_of(inserts), (std::vector<std::uint32_t>{7, 9}));
}

TEST(PendingInsertsTest, WhatAnEarlierTransactionAnnouncedIsForgotten) {
  PendingInserts inserts;
  note(inserts, {key_of(7, "a"), key_of(7, "z"), key_of(8, "a")});
  inserts.forget();
  EXPECT_FALSE(touches(inserts, 7, "", "zz"));
  EXPECT_FALSE(touches(inserts, 8, "", "zz"));
  EXPECT_EQ(indexes_of(inserts), std::vector<std::uint32_t>());
  note(inserts, {key_of(8, "m")});
  EXPECT_TRUE(touches(inserts, 8, "m", "n"));
  EXPECT_FALSE(touches(inserts, 8, "a", "m"));
  EXPECT_FALSE(touches(inserts, 7, "", "zz"));
  EXPECT_EQ(indexes_of(inserts), (std::vector<std::uint32_t>{8}));
}

TEST(PendingInsertsTest, EveryOfManyIndexesIsHeardOfAgainAndAgain) {
  constexpr std::uint32_t kIndexes = 300;
  PendingInserts inserts;
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t i = 0; i < kIndexes; ++i) note(inserts, {key_of(i + round, "k")});
    EXPECT_EQ(indexes_of(inserts).size(), kIndexes);
    for (std::uint32_t i = 0; i < kIndexes; ++i) {
      EXPECT_TRUE(touches(inserts, i + round, "k", "l"));
    }
    EXPECT_FALSE(touches(inserts, kIndexes + round, "k", "l"));
    inserts.forget();
  }
}

}  // namespace
}  // namespace basalt::txn
