#include "base/key_range.h"

#include <gtest/gtest.h>

namespace basalt {
namespace {

TEST(IndexKeyRange, EndsWhereTheNextIndexBegins) {
  EXPECT_EQ(index_key_range(0x01020304).lower, std::string("\x01\x02\x03\x04"));
  EXPECT_EQ(index_key_range(0x01020304).upper, index_key_range(0x01020305).lower);
  EXPECT_EQ(index_key_range(0x0102ffff).upper, index_key_range(0x01030000).lower);
}

TEST(IndexKeyRange, OfTheLastIndexHasNoEnd) {
  EXPECT_EQ(index_key_range(UINT32_MAX).lower, std::string("\xff\xff\xff\xff"));
  EXPECT_TRUE(index_key_range(UINT32_MAX).upper.empty());
}

}  // namespace
}  // namespace basalt
