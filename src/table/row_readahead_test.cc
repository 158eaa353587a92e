#include "table/row_readahead.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>

namespace basalt::table {
namespace {

// How many rows the next batch takes.
std::size_t batch_size(RowReadahead& readahead) {
  readahead.begin();
  std::size_t rows = 0;
  do {
    readahead.add("key" + std::to_string(rows), "entry");
    ++rows;
  } while (!readahead.is_full());
  return rows;
}

TEST(RowReadahead, IsOffUntilARowWasGivenByItself) {
  RowReadahead readahead;
  EXPECT_FALSE(readahead.is_on());
  readahead.note_row();
  EXPECT_TRUE(readahead.is_on());
  readahead.restart();
  EXPECT_FALSE(readahead.is_on());
}

TEST(RowReadahead, EachBatchIsTwiceAsLargeAsTheOneBeforeUpToTheLargest) {
  RowReadahead readahead;
  readahead.note_row();
  for (const std::size_t rows : {4, 8, 16, 32, 64, 64}) EXPECT_EQ(batch_size(readahead), rows);
}

TEST(RowReadahead, WhatIsDroppedIsNotReadAndTheScanIsOnNoRowOfIt) {
  RowReadahead readahead;
  readahead.note_row();
  batch_size(readahead);
  readahead.take_from_batch();
  EXPECT_TRUE(readahead.is_on_row());
  EXPECT_TRUE(readahead.has_next());
  readahead.drop();
  EXPECT_FALSE(readahead.is_on_row());
  EXPECT_FALSE(readahead.has_next());
}

}  // namespace
}  // namespace basalt::table
