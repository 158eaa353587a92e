#include "txn/key_spans.h"

#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/test_support.h"

// Goal: no key of the set is ever denied, and what lies outside of an index's first and last key
// is, also when the set is used again.
namespace basalt::txn {
namespace {

std::string key_of(std::uint32_t index, std::string_view rest) {
  std::string key;
  append_be32(key, index);
  key += rest;
  return key;
}

TEST(KeySpansTest, KeysAreDeniedOutsideOfTheFirstAndTheLastOfTheirIndex) {
  KeySpans spans;
  for (const char* rest : {"m", "f", "p"}) spans.add(key_of(7, rest));
  spans.add(key_of(9, "x"));
  for (const char* rest : {"f", "g", "m", "p"}) EXPECT_TRUE(spans.may_have(key_of(7, rest)));
  for (const char* rest : {"", "e", "pp", "z"}) EXPECT_FALSE(spans.may_have(key_of(7, rest)));
  EXPECT_FALSE(spans.may_have(key_of(8, "m")));
  EXPECT_FALSE(spans.may_have(key_of(9, "m")));
  EXPECT_TRUE(spans.may_have(key_of(9, "x")));
}

TEST(KeySpansTest, RangesAreTouchedFromTheFirstToTheLastKeyOfTheirIndex) {
  KeySpans spans;
  for (const char* rest : {"m", "f", "p"}) spans.add(key_of(7, rest));
  EXPECT_TRUE(spans.may_touch(key_of(7, "f"), key_of(7, "g")));
  EXPECT_TRUE(spans.may_touch(key_of(7, "p"), key_of(7, "q")));
  EXPECT_FALSE(spans.may_touch(key_of(7, "a"), key_of(7, "f")));
  EXPECT_FALSE(spans.may_touch(key_of(7, "q"), key_of(8, "")));
  EXPECT_FALSE(spans.may_touch(key_of(8, "a"), key_of(8, "z")));
  EXPECT_TRUE(spans.may_touch("", ""));
  EXPECT_TRUE(spans.may_touch(key_of(7, "a"), ""));
  EXPECT_FALSE(spans.may_touch(key_of(8, "a"), ""));
}

TEST(KeySpansTest, AClearedSetHasNothingOfWhatItHadBefore) {
  KeySpans spans;
  for (const char* rest : {"a", "z"}) spans.add(key_of(7, rest));
  spans.add(key_of(8, "a"));
  spans.clear();
  EXPECT_TRUE(spans.all().empty());
  EXPECT_FALSE(spans.may_have(key_of(7, "a")));
  spans.add(key_of(8, "m"));
  EXPECT_TRUE(spans.may_have(key_of(8, "m")));
  EXPECT_FALSE(spans.may_have(key_of(8, "a")));
  EXPECT_FALSE(spans.may_touch(key_of(7, ""), key_of(7, "zz")));
}

TEST(KeySpansTest, NoKeyOfManyIndexesIsDeniedHoweverOftenTheSetIsUsed) {
  std::mt19937 random(20240229);  // NOLINT(cert-msc51-cpp): the same every time
  KeySpans spans;
  for (int round = 0; round < 3; ++round) {
    std::set<std::string> keys;
    for (int i = 0; i < 2000; ++i) {
      keys.insert(key_of(random() % 300, std::string(random() % 4, char('a' + random() % 26))));
    }
    for (const std::string& key : keys) spans.add(key);
    for (const std::string& key : keys) EXPECT_TRUE(spans.may_have(key));
    spans.clear();
    for (const std::string& key : keys) EXPECT_FALSE(spans.may_have(key));
  }
}

}  // namespace
}  // namespace basalt::txn
