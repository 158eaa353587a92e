#include "index_stats/index_collector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/test_support.h"
#include "index_stats/index_properties.h"
#include "kv/test_directory.h"

// Goal: files tell exactly what they hold of an index. Method: databases whose keys are an index id
// and two parts of 4 bytes each, counted a second time in the test.
namespace basalt::kv {
namespace {

using basalt::test::must;

// Parts of 4 bytes each.
class FourByteParts final : public index_stats::KeyStructure {
 public:
  std::size_t count() const override { return 2; }
  bool are_overwritten() const override { return true; }
  void split(std::string_view key, std::size_t from, std::uint32_t* ends) const override {
    for (std::size_t i = from; i < 2; ++i) {
      ends[i] = static_cast<std::uint32_t>(std::min(key.size(), 4 + 4 * (i + 1)));
    }
  }
};

class KnownIndexes final : public index_stats::KeyStructureSource {
 public:
  std::shared_ptr<const index_stats::KeyStructure> find(std::uint32_t index_id) override {
    return index_id == 999 ? nullptr : std::make_shared<FourByteParts>();
  }
};

class IndexCollectorTest : public testing::Test {
 protected:
  IndexCollectorTest() { database_->set_key_structures(&known_); }
  ~IndexCollectorTest() override { database_->set_key_structures(nullptr); }

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
  std::vector<index_stats::IndexProperties> files(std::uint32_t index) {
    IndexFiles files = must(database_->index_files(kDefaultFamily, index));
    EXPECT_FALSE(files.has_unknown);
    return files.properties;
  }

  KnownIndexes known_;
  test::TestDirectory directory_;
  std::unique_ptr<Database> database_ = test::open_database(directory_ / "db");
  WriteBatch batch_;
};

TEST_F(IndexCollectorTest, AFileCountsEntriesAndDistinctPrefixesPerIndex) {
  for (std::uint32_t i = 0; i < 1000; ++i) put(300, i / 50, i);
  put(301, 7, 7);
  remove(301, 8, 8);
  remove(301, 9, 9);
  flush();
  ASSERT_EQ(files(300).size(), 1u);
  const index_stats::IndexProperties many = files(300)[0];
  EXPECT_EQ(many.puts, 1000u);
  EXPECT_EQ(many.deletions, 0u);
  EXPECT_EQ(many.bytes, 1000u * (12 + 5));
  EXPECT_EQ(many.distinct, (std::vector<std::uint64_t>{20, 1000}));
  EXPECT_EQ(many.samples[0].hashes.size(), 20u) << "few values are all picked";
  EXPECT_EQ(many.first_key, key(300, 0, 0).substr(4));
  EXPECT_EQ(many.last_key, key(300, 19, 999).substr(4));
  const index_stats::IndexProperties few = files(301)[0];
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
  const index_stats::IndexProperties properties = files(300)[0];
  EXPECT_EQ(properties.puts, 0u);
  EXPECT_EQ(properties.deletions, 1u);
  EXPECT_EQ(properties.older_versions, 1u);
}

TEST_F(IndexCollectorTest, AnIndexWhoseKeysNobodyKnowsIsCountedWithoutPrefixes) {
  for (std::uint32_t i = 0; i < 100; ++i) put(999, i, i);
  flush();
  EXPECT_EQ(files(999)[0].puts, 100u);
  EXPECT_TRUE(files(999)[0].distinct.empty());
  database_->set_key_structures(nullptr);
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
  const index_stats::IndexProperties file = files(300)[0];
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
  std::vector<index_stats::IndexProperties> both = files(300);
  ASSERT_EQ(both.size(), 2u);
  if (both[0].deletions > 0) std::swap(both[0], both[1]);
  EXPECT_GE(both[0].versions.size(), 100u);
  EXPECT_LE(both[0].versions.size(), 1024u);
  std::map<std::uint32_t, index_stats::IndexProperties::Version> puts;
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
