#include <algorithm>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/test_support.h"
#include "bulk/build_directory.h"
#include "bulk/sst_writer.h"
#include "kv/database.h"
#include "kv/test_directory.h"

// Goal: walks that take entries in runs show what their snapshot does, whatever lies where. Method:
// changes, flushes, compactions and ingested files in random order, so that each key's versions are
// in several levels and each file has a few blocks; walks over each of the last snapshots,
// compared with maps.
namespace basalt::kv {
namespace {

using basalt::test::must;
using Map = std::map<std::string, std::string>;

struct Frozen {
  std::unique_ptr<Snapshot> snapshot;  // null: the newest data
  Map map;
};

class BatchedIterationTest : public testing::Test {
 protected:
  static std::string key_of(std::uint32_t number) { return "key" + std::to_string(10000 + number); }
  // Now and then too large to be taken ahead.
  std::string random_value() {
    const std::size_t size = random_() % 300 == 0 ? 9000 : random_() % 200;
    return std::string(size, static_cast<char>('a' + random_() % 26));
  }

  // To some neighbours or some keys from anywhere.
  void change_some() {
    const bool are_neighbours = random_() % 2 == 0;
    std::uint32_t number = random_() % keys_;
    WriteBatch batch;
    for (std::size_t count = random_() % 150; count > 0; --count) {
      number = are_neighbours ? (number + 1) % keys_ : random_() % keys_;
      const std::string key = key_of(number);
      if (random_() % 4 != 0) {
        map_[key] = random_value();
        batch.put(kDefaultFamily, key, map_[key]);
      } else {
        map_.erase(key);
        batch.remove(kDefaultFamily, key);
      }
    }
    must(database_->write(batch, Durability::kBuffered));
  }

  // Behind all others, as nobody may have written where files are ingested. Snapshots of before
  // would see their entries.
  void ingest_some() {
    frozen_.clear();
    const std::unique_ptr<bulk::BuildDirectory> build =
        must(bulk::BuildDirectory::make(database_->build_place(), 1));
    const std::unique_ptr<bulk::SstWriter> files =
        database_->new_sst_writer(kDefaultFamily, build->path() + "/");
    for (std::size_t count = 1 + random_() % 200; count > 0; --count) {
      const std::string key = key_of(keys_++);
      map_[key] = random_value();
      must(files->put(key, map_[key]));
    }
    must(files->finish());
    must(database_->ingest(kDefaultFamily, files->paths()));
  }

  void freeze() {
    frozen_.push_back({database_->take_snapshot(), map_});
    if (frozen_.size() > 3) frozen_.erase(frozen_.begin());
  }

  KeyRange random_range() {
    KeyRange range{random_() % 3 == 0 ? "" : key_of(random_() % keys_),
                   random_() % 3 == 0 ? "" : key_of(random_() % keys_)};
    if (!range.upper.empty() && range.upper < range.lower) std::swap(range.lower, range.upper);
    return range;
  }

  static void expect_walk(Iterator& iterator, Map::const_iterator at, Map::const_iterator end) {
    for (; at != end; ++at, iterator.next()) {
      ASSERT_TRUE(iterator.is_valid()) << "before " << at->first << iterator.status().message();
      ASSERT_EQ(iterator.key(), at->first);
      ASSERT_EQ(iterator.value(), at->second) << at->first;
    }
    ASSERT_FALSE(iterator.is_valid()) << iterator.key();
    ASSERT_TRUE(iterator.status().is_ok());
  }

  void walk(const Frozen& frozen) {
    const KeyRange range = random_range();
    const auto begin = frozen.map.lower_bound(range.lower);
    const auto end = range.upper.empty() ? frozen.map.end() : frozen.map.lower_bound(range.upper);
    Iterator iterator = database_->new_iterator(kDefaultFamily, {frozen.snapshot.get()}, range);
    iterator.seek_to_first();
    expect_walk(iterator, begin, end);
    if (HasFatalFailure() || begin == end) return;
    const std::string key = std::max(range.lower, key_of(random_() % keys_));
    iterator.seek(key);
    const auto at = frozen.map.lower_bound(key);
    expect_walk(iterator, range.upper.empty() || key < range.upper ? at : end, end);
  }

  const std::uint32_t seed_ = basalt::test::seed();
  std::mt19937 random_{seed_};
  test::TestDirectory directory_;
  std::unique_ptr<Database> database_ = test::open_database(directory_ / "db");
  std::uint32_t keys_ = 500;  // that may be there
  Map map_;
  std::vector<Frozen> frozen_;
};

TEST_F(BatchedIterationTest, WalksOverAllLevelsSeeWhatTheirSnapshotDoes) {
  for (int round = 0; round < 400; ++round) {
    change_some();
    if (random_() % 8 == 0) must(database_->flush());
    if (random_() % 20 == 0) ingest_some();
    if (random_() % 40 == 0) must(database_->compact(kDefaultFamily, random_range()));
    if (random_() % 5 == 0) freeze();
    walk({nullptr, map_});
    for (const Frozen& frozen : frozen_) {
      walk(frozen);
      ASSERT_FALSE(HasFatalFailure()) << "round " << round << ", seed " << seed_;
    }
  }
}

}  // namespace
}  // namespace basalt::kv
