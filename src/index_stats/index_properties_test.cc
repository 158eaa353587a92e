#include "index_stats/index_properties.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "base/bytes.h"
#include "base/test_support.h"

// Goal: files tell exactly what they hold of an index, in bytes that never change their meaning
// and never do harm. Method: the bytes by hand, and damaged at random.
namespace basalt::index_stats {
namespace {

using basalt::test::must;

IndexProperties example() {
  IndexProperties properties;
  properties.puts = 300;
  properties.deletions = 5;
  properties.older_versions = 1;
  properties.bytes = 6000;
  properties.first_key = "a";
  properties.last_key = "zz";
  properties.anchor_distance = 128;
  properties.anchors = {{"g", 127}, {"pq", 250}};
  properties.version_level = 2;
  properties.versions = {{0x10, 0, true}, {0x110, 77, false}};
  properties.distinct = {3, 300};
  properties.samples = {{0, {1, 2, 130}}, {0, {}}};
  return properties;
}

TEST(IndexPropertiesFormat, IsFrozen) {
  constexpr char kBytes[] =
      "\x01"
      "\xAC\x02\x05\x01\xF0\x2E"
      "\x01"
      "a"
      "\x02"
      "zz"
      "\x80\x01\x02"
      "\x01"
      "g"
      "\x7F"
      "\x02"
      "pq"
      "\x7B"
      "\x02\x02"
      "\x10\x01"
      "\x80\x02\x9A\x01"
      "\x02"
      "\x03\x00\x03\x01\x01\x80\x01"
      "\xAC\x02\x00\x00";
  const std::string_view bytes(kBytes, sizeof kBytes - 1);
  EXPECT_EQ(encode(example()), bytes);
  EXPECT_EQ(parse_index_properties(bytes), example());
  EXPECT_EQ(index_property_name(0x1A2B), "basalt.index.00001a2b");
}

TEST(IndexPropertiesFormat, HashesAreFrozen) {
  EXPECT_NE(sample_hash(std::string(1, '\0')), sample_hash(std::string(2, '\0')));
  EXPECT_NE(sample_hash("a"), sample_hash("a", 1));
  EXPECT_EQ(sample_hash("abc"), 489942489u);
  EXPECT_EQ(sample_hash("abcdefghijkl", 7), 16465001u);
}

TEST(IndexPropertiesFormat, HashesAreEvenlySpread) {
  std::uint32_t buckets[16] = {};
  for (std::uint32_t i = 0; i < 16'000; ++i) {
    std::string key;
    append_be32(key, 300);
    append_be32(key, i);
    ++buckets[sample_hash(key) >> 28];
  }
  for (const std::uint32_t bucket : buckets) {
    EXPECT_GT(bucket, 850u);
    EXPECT_LT(bucket, 1150u);
  }
}

TEST(IndexPropertiesFormat, OtherVersionsAreIgnored) {
  std::string bytes = encode(example());
  bytes[0] = 2;
  EXPECT_FALSE(parse_index_properties(bytes).has_value());
  EXPECT_FALSE(parse_index_properties("").has_value());
}

TEST(IndexPropertiesFormat, DamagedBytesAreIgnoredOrHarmless) {
  std::mt19937 random(1);
  const std::string bytes = encode(example());
  for (int i = 0; i < 200'000; ++i) {
    std::string damaged = bytes;
    for (std::uint32_t changes = 1 + random() % 3; changes > 0; --changes) {
      const std::size_t at = random() % damaged.size();
      switch (random() % 3) {
        case 0: damaged[at] = static_cast<char>(random()); break;
        case 1: damaged.resize(at + 1); break;
        default: damaged.insert(at, 1, static_cast<char>(random()));
      }
    }
    const std::string exact(damaged.data(), damaged.size());
    const std::optional<IndexProperties> properties = parse_index_properties(exact);
    if (!properties.has_value()) continue;
    ASSERT_LE(properties->anchors.size(), exact.size());
    ASSERT_LE(properties->versions.size(), exact.size());
    ASSERT_EQ(properties->distinct.size(), properties->samples.size());
    for (const auto& anchor : properties->anchors) ASSERT_LE(anchor.puts, properties->puts);
    for (const auto distinct : properties->distinct) ASSERT_LE(distinct, properties->puts);
  }
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(parse_index_properties(bytes.substr(0, size)).has_value()) << size;
  }
}

}  // namespace
}  // namespace basalt::index_stats
