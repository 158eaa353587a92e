#include "codec/search_bounds.h"

#include <gtest/gtest.h>

#include <string>

namespace basalt::codec {
namespace {

using std::string_literals::operator""s;

std::string successor(std::string key) {
  EXPECT_TRUE(make_successor(key));
  return key;
}

TEST(SearchBounds, SuccessorIsTheSmallestStringBeyondThePrefix) {
  EXPECT_EQ(successor("a"), "b");
  EXPECT_EQ(successor("a\0"s), "a\1"s);
  EXPECT_EQ(successor("a\xFF\xFF"), "b");
  EXPECT_EQ(successor("\x7F"), "\x80");
  EXPECT_EQ(successor("\0"s), "\1"s);
}

TEST(SearchBounds, ThereIsNoSuccessorOfNothingOrOfAllOnes) {
  for (std::string key : {""s, "\xFF"s, "\xFF\xFF\xFF"s}) {
    EXPECT_FALSE(make_successor(key));
    EXPECT_EQ(key, "");
  }
}

}  // namespace
}  // namespace basalt::codec
