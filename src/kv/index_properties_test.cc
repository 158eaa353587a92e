#include "kv/index_properties.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "base/bytes.h"
#include "base/test_support.h"
#include "kv/test_directory.h"

// Goal: files tell exactly what they hold of an index, in bytes that never change their meaning
// and never do harm. Method: the bytes by hand; damaged at random; and databases whose keys are
// an index id and two parts of 4 bytes each, counted a second time in the test.
namespace basalt::kv {
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

// Parts of 4 bytes each.
class FourByteParts final : public KeyParts {
 public:
  std::size_t count() const override { return 2; }
  bool are_overwritten() const override { return true; }
  void split(std::string_view key, std::size_t from, std::uint32_t* ends) const override {
    for (std::size_t i = from; i < 2; ++i) {
      ends[i] = static_cast<std::uint32_t>(std::min(key.size(), 4 + 4 * (i + 1)));
    }
  }
};

class KnownIndexes final : public KeyPartsSource {
 public:
  std::shared_ptr<const KeyParts> find(std::uint32_t index_id) override {
    return index_id == 999 ? nullptr : std::make_shared<FourByteParts>();
  }
};

class IndexCollectorTest : public testing::Test {
 protected:
  IndexCollectorTest() { database_->set_key_parts(&known_); }
  ~IndexCollectorTest() override { database_->set_key_parts(nullptr); }

  static std::string key(std::uint32_t index, std::uint32_t first, std::uint32_t second) {
    std::string key;
    append_be32(key, index);
    append_be32(key, first);
    append_be32(key, second);
    return key;
  }
  void put(std::uint32_t index, std::uint32_t first, std::uint32_t second) {
    batch_.put(kDefaultFamily, key(index, first, second), "value");
  }
  void remove(std::uint32_t index, std::uint32_t first, std::uint32_t second) {
    batch_.remove(kDefaultFamily, key(index, first, second));
  }
  void flush() {
    must(database_->write(batch_, Durability::kBuffered));
    batch_ = WriteBatch();
    must(database_->flush());
  }
  std::vector<IndexProperties> files(std::uint32_t index) {
    IndexFiles files = must(database_->index_files(kDefaultFamily, index));
    EXPECT_FALSE(files.has_unknown);
    return files.properties;
  }

  KnownIndexes known_;
  kv::test::TestDirectory directory_;
  std::unique_ptr<Database> database_ = kv::test::open_database(directory_ / "db");
  WriteBatch batch_;
};

TEST_F(IndexCollectorTest, AFileCountsEntriesAndDistinctPrefixesPerIndex) {
  for (std::uint32_t i = 0; i < 1000; ++i) put(300, i / 50, i);
  put(301, 7, 7);
  remove(301, 8, 8);
  remove(301, 9, 9);
  flush();
  ASSERT_EQ(files(300).size(), 1u);
  const IndexProperties many = files(300)[0];
  EXPECT_EQ(many.puts, 1000u);
  EXPECT_EQ(many.deletions, 0u);
  EXPECT_EQ(many.bytes, 1000u * (12 + 5));
  EXPECT_EQ(many.distinct, (std::vector<std::uint64_t>{20, 1000}));
  EXPECT_EQ(many.samples[0].hashes.size(), 20u) << "few values are all picked";
  EXPECT_EQ(many.first_key, key(300, 0, 0).substr(4));
  EXPECT_EQ(many.last_key, key(300, 19, 999).substr(4));
  const IndexProperties few = files(301)[0];
  EXPECT_EQ(few.puts, 1u);
  EXPECT_EQ(few.deletions, 2u);
  EXPECT_EQ(few.distinct, (std::vector<std::uint64_t>{1, 1})) << "what is removed is no value";
  EXPECT_TRUE(files(302).empty());
}

TEST_F(IndexCollectorTest, APrefixIsCountedOnceAcrossDeletions) {
  put(300, 1, 1);
  remove(300, 1, 2);
  put(300, 1, 3);
  remove(300, 2, 1);
  put(300, 2, 2);
  remove(300, 3, 1);
  put(300, 4, 1);
  flush();
  EXPECT_EQ(files(300)[0].distinct, (std::vector<std::uint64_t>{3, 4}));
}

TEST_F(IndexCollectorTest, OlderVersionsOfAKeyAreNoEntries) {
  put(300, 1, 1);
  must(database_->write(batch_, Durability::kBuffered));
  const auto snapshot = database_->take_snapshot();
  remove(300, 1, 1);
  flush();
  const IndexProperties properties = files(300)[0];
  EXPECT_EQ(properties.puts, 0u);
  EXPECT_EQ(properties.deletions, 1u);
  EXPECT_EQ(properties.older_versions, 1u);
}

TEST_F(IndexCollectorTest, AnIndexWhoseKeysNobodyKnowsIsCountedWithoutPrefixes) {
  for (std::uint32_t i = 0; i < 100; ++i) put(999, i, i);
  flush();
  EXPECT_EQ(files(999)[0].puts, 100u);
  EXPECT_TRUE(files(999)[0].distinct.empty());
  database_->set_key_parts(nullptr);
  put(300, 1, 1);
  flush();
  EXPECT_EQ(files(300)[0].puts, 1u);
  EXPECT_TRUE(files(300)[0].distinct.empty());
}

TEST_F(IndexCollectorTest, AnchorsTellThePositionOfEveryNthEntry) {
  constexpr std::uint32_t kEntries = 50'000;
  std::mt19937 random(3);
  std::set<std::pair<std::uint32_t, std::uint32_t>> entries;
  while (entries.size() < kEntries) entries.emplace(random() % 500, random() % 100'000);
  std::vector<std::string> sorted;
  for (const auto& [first, second] : entries) {
    put(300, first, second);
    sorted.push_back(key(300, first, second).substr(4));
  }
  flush();
  const IndexProperties file = files(300)[0];
  EXPECT_GE(file.anchors.size(), 60u);
  EXPECT_LE(file.anchors.size(), 128u);
  for (std::size_t i = 0; i < file.anchors.size(); ++i) {
    const std::size_t position = (i + 1) * file.anchor_distance;
    ASSERT_LT(position, sorted.size());
    EXPECT_EQ(file.anchors[i].puts, position);
    EXPECT_LT(sorted[position - 1], file.anchors[i].key);
    EXPECT_LE(file.anchors[i].key, sorted[position]);
  }
}

TEST_F(IndexCollectorTest, FilesPickTheSameValues) {
  for (std::uint32_t i = 0; i < 20'000; ++i) put(300, i, i);
  flush();
  for (std::uint32_t i = 0; i < 1'000; ++i) remove(300, i * 20, i * 20);
  flush();
  std::vector<IndexProperties> both = files(300);
  ASSERT_EQ(both.size(), 2u);
  if (both[0].deletions > 0) std::swap(both[0], both[1]);
  EXPECT_GE(both[0].versions.size(), 100u);
  EXPECT_LE(both[0].versions.size(), 1024u);
  std::map<std::uint32_t, IndexProperties::Version> puts;
  for (const auto& version : both[0].versions) {
    EXPECT_TRUE(version.is_put);
    puts[version.hash] = version;
  }
  std::size_t shared = 0;
  for (const auto& version : both[1].versions) {
    EXPECT_FALSE(version.is_put);
    const auto found = puts.find(version.hash);
    if (found == puts.end()) continue;
    ++shared;
    EXPECT_GT(version.sequence, found->second.sequence);
  }
  std::size_t removed_at_level = 0;
  for (const auto& version : both[1].versions) {
    if (std::uint64_t{version.hash} >> (32 - both[0].version_level) == 0) ++removed_at_level;
  }
  EXPECT_EQ(shared, removed_at_level) << "what was removed had been put, and so was picked";
  EXPECT_GT(shared, 0u);
}

TEST_F(IndexCollectorTest, TheStructureVersionChangesWithTheFiles) {
  const std::uint64_t before = database_->structure_version(kDefaultFamily);
  EXPECT_EQ(database_->structure_version(kDefaultFamily), before);
  put(300, 1, 1);
  flush();
  EXPECT_NE(database_->structure_version(kDefaultFamily), before);
}

}  // namespace
}  // namespace basalt::kv
