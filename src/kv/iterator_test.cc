#include <cstdlib>
#include <map>
#include <random>
#include <string>

#include "base/test_support.h"
#include "kv/database.h"
#include "kv/rocksdb_reads.h"
#include "kv/test_directory.h"
#include "wal/faulty_file_system.h"

// Goal: an iterator moves like one over a std::map cut to its bounds. Method: keys in files and in
// memory, with removed ones between them; random bounds, seeks and walks in both directions.
namespace basalt::kv {
namespace {

using basalt::test::must;
using Map = std::map<std::string, std::string>;

class IteratorTest : public testing::Test {
 protected:
  IteratorTest() {
    for (int i = 0; i < 300; ++i) change(i % 3 == 0);
    must(database_->flush());
    for (int i = 0; i < 300; ++i) change(i % 3 != 0);
  }

  std::string random_key() {
    std::string key;
    const std::size_t size = random_() % 4;
    for (std::size_t i = 0; i < size; ++i)
      key.push_back(
          "\x01"
          "ab\xFF"[random_() % 4]);
    return key;
  }
  void change(bool is_put) {
    const std::string key = random_key();
    WriteBatch batch;
    if (is_put) {
      map_[key] = std::to_string(random_());
      batch.put(kDefaultFamily, key, map_[key]);
    } else {
      map_.erase(key);
      batch.remove(kDefaultFamily, key);
    }
    must(database_->write(batch, Durability::kBuffered));
  }
  Map cut_to(const KeyRange& range) const { return cut(map_, range); }
  static Map cut(const Map& map, const KeyRange& range) {
    Map cut;
    for (const auto& [key, value] : map) {
      if (key >= range.lower && (range.upper.empty() || key < range.upper)) cut[key] = value;
    }
    return cut;
  }
  void expect_same(const Iterator& iterator, const Map& map, Map::const_iterator at) {
    ASSERT_EQ(iterator.is_valid(), at != map.end());
    ASSERT_TRUE(iterator.status().is_ok());
    if (at == map.end()) return;
    ASSERT_EQ(iterator.key(), at->first);
    ASSERT_EQ(iterator.value(), at->second);
  }
  static Map::const_iterator before(const Map& map, Map::const_iterator at) {
    return at == map.begin() ? map.end() : std::prev(at);
  }
  static void step(Iterator& iterator, bool is_forward, const Map& map, Map::const_iterator& at) {
    if (is_forward) {
      iterator.next();
      ++at;
    } else {
      iterator.previous();
      at = before(map, at);
    }
  }
  Map::const_iterator seek_somewhere(Iterator& iterator, const Map& map) {
    const std::string key = random_key();
    switch (random_() % 4) {
      case 0: iterator.seek_to_first(); return map.begin();
      case 1: iterator.seek_to_last(); return before(map, map.end());
      case 2: iterator.seek(key); return map.lower_bound(key);
      default: iterator.seek_for_previous(key); return before(map, map.upper_bound(key));
    }
  }

  // Adds 500 keys from c1000 on, of 1000 bytes that do not compress, and opens the database anew,
  // on a file system that counts.
  std::shared_ptr<wal::test::FaultyFileSystem> open_with_large_values() {
    WriteBatch batch;
    std::string value(1000, 'v');
    for (int i = 0; i < 500; ++i) {
      for (char& byte : value) byte = static_cast<char>(random_());
      batch.put(kDefaultFamily, "c" + std::to_string(1000 + i), value);
    }
    must(database_->write(batch, Durability::kBuffered));
    must(database_->flush());
    database_.reset();
    auto files = std::make_shared<wal::test::FaultyFileSystem>();
    database_ = must(Database::open(test::small_options(directory_ / "db"), files));
    return files;
  }

  std::mt19937 random_{20261121};
  test::TestDirectory directory_;
  std::unique_ptr<Database> database_ = test::open_database(directory_ / "db");
  Map map_;
};

TEST_F(IteratorTest, RandomWalksWithinRandomBoundsSeeWhatTheMapHas) {
  for (int walk = 0; walk < 1000; ++walk) {
    KeyRange range{random_() % 3 == 0 ? "" : random_key(), random_() % 3 == 0 ? "" : random_key()};
    if (!range.upper.empty() && range.upper < range.lower) std::swap(range.lower, range.upper);
    const Map map = cut_to(range);
    Iterator iterator = database_->new_iterator(kDefaultFamily, {}, range);
    Map::const_iterator at = seek_somewhere(iterator, map);
    expect_same(iterator, map, at);
    for (int i = 0; i < 20 && at != map.end() && !HasFatalFailure(); ++i) {
      step(iterator, random_() % 2 == 0, map, at);
      expect_same(iterator, map, at);
    }
    ASSERT_FALSE(HasFatalFailure()) << "walk " << walk;
  }
}

TEST_F(IteratorTest, AnIteratorWithChangedBoundsMovesAsANewOneWould) {
  must(database_->flush());
  for (int i = 0; i < 300; ++i) change(i % 3 != 0);
  const std::unique_ptr<Snapshot> snapshot = database_->take_snapshot();
  const Map frozen = map_;
  Iterator iterator = database_->new_iterator(kDefaultFamily, {snapshot.get()}, {"a", "b"});
  for (int walk = 0; walk < 2000; ++walk) {
    change(walk % 2 == 0);
    if (walk % 500 == 499) must(database_->flush());
    KeyRange range{"\x01" + random_key(), "\x01" + random_key()};
    if (range.upper < range.lower) std::swap(range.lower, range.upper);
    const Map map = cut(frozen, range);
    iterator.set_range(range);
    Map::const_iterator at = seek_somewhere(iterator, map);
    expect_same(iterator, map, at);
    for (int i = 0; i < 10 && at != map.end() && !HasFatalFailure(); ++i) {
      step(iterator, random_() % 2 == 0, map, at);
      expect_same(iterator, map, at);
    }
    ASSERT_FALSE(HasFatalFailure()) << "walk " << walk;
  }
}

TEST_F(IteratorTest, AnEmptyRangeHasNoKeys) {
  Iterator iterator = database_->new_iterator(kDefaultFamily, {}, {"a", "a"});
  iterator.seek_to_first();
  EXPECT_FALSE(iterator.is_valid());
  iterator.seek_to_last();
  EXPECT_FALSE(iterator.is_valid());
  EXPECT_TRUE(basalt::test::succeeds(iterator.status()));
}

TEST_F(IteratorTest, AScanOfAFileIsReadAheadByTheSystemAlone) {
  const auto files = open_with_large_values();
  Iterator iterator = database_->new_iterator(kDefaultFamily, {}, {"c", "d"});
  // Counted, not failed.
  files->set({.operation = wal::test::Operation::kPrefetch, .part = ".sst", .cause = 0});
  int entries = 0;
  for (iterator.seek_to_first(); iterator.is_valid(); iterator.next()) ++entries;
  EXPECT_EQ(entries, 500);
  EXPECT_GT(files->failures(), 0) << "cold blocks were not read ahead";
  const KeyRange range{"c", "d"};
  const IteratorBounds bounds(range);
  EXPECT_FALSE(make_read_options({}, &bounds).auto_readahead_size) << "RocksDB would trim it";
}

TEST_F(IteratorTest, TheBlocksOfAShortRangeAreReadWithOneRequestIfItsSizeIsKnown) {
  const auto files = open_with_large_values();
  // The file's index and filter.
  EXPECT_NE(test::value_of(*database_, kDefaultFamily, "c1499"), "(none)");
  const auto reads_of = [&](const ReadView& view, const KeyRange& range) {
    files->set({.operation = wal::test::Operation::kRead, .part = ".sst", .cause = 0});
    Iterator iterator = database_->new_iterator(kDefaultFamily, view, range);
    int entries = 0;
    for (iterator.seek_to_first(); iterator.is_valid(); iterator.next()) ++entries;
    EXPECT_EQ(entries, 20);
    return files->failures();
  };
  EXPECT_GE(reads_of({}, {"c1100", "c1120"}), 3);
  EXPECT_EQ(reads_of({.expected_bytes = 20'000}, {"c1300", "c1320"}), 1);
  EXPECT_EQ(reads_of({.expected_bytes = 20'000}, {"c1300", "c1320"}), 0) << "it is in the cache";
  // The same iterator reads, and it has read ahead elsewhere.
  EXPECT_EQ(reads_of({.expected_bytes = 20'000}, {"c1200", "c1220"}), 1) << "it lies before";
  EXPECT_EQ(reads_of({.expected_bytes = 20'000}, {"c1250", "c1270"}), 1) << "it lies behind";
}

TEST_F(IteratorTest, ALongWalkThatTurnsNowAndThenSeesWhatTheMapHas) {
  // Values have some hundred bytes, and some are too large for the batch buffer.
  for (int i = 0; i < 400; ++i) {
    WriteBatch batch;
    const std::string key = "k" + std::to_string(1000 + i);
    const std::size_t bytes = random_() % 20 == 0 ? 9000 : random_() % 600;
    map_[key] = std::string(bytes, static_cast<char>('a' + random_() % 26));
    batch.put(kDefaultFamily, key, map_[key]);
    must(database_->write(batch, Durability::kBuffered));
  }
  const KeyRange range{"k", "l"};
  const Map map = cut_to(range);
  for (int walk = 0; walk < 50; ++walk) {
    Iterator iterator = database_->new_iterator(kDefaultFamily, {}, range);
    Map::const_iterator at = map.begin();
    bool is_forward = true;
    iterator.seek_to_first();
    for (int i = 0; i < 600 && at != map.end(); ++i) {
      if (random_() % 25 == 0) is_forward = !is_forward;
      if (random_() % 100 == 0) {
        at = seek_somewhere(iterator, map);
      } else {
        step(iterator, is_forward, map, at);
      }
      expect_same(iterator, map, at);
      ASSERT_FALSE(HasFatalFailure()) << "walk " << walk << ", step " << i;
    }
  }
}

TEST_F(IteratorTest, AnErrorBehindShownEntriesComesAfterThem) {
  const auto files = open_with_large_values();
  Iterator iterator = database_->new_iterator(kDefaultFamily, {}, {"c", "d"});
  iterator.seek_to_first();
  for (int i = 0; i < 8; ++i) iterator.next();
  files->set({.operation = wal::test::Operation::kRead, .part = ".sst"});
  int entries = 0;
  for (; iterator.is_valid(); iterator.next()) {
    ASSERT_TRUE(basalt::test::succeeds(iterator.status())) << "at " << iterator.key();
    ++entries;
  }
  EXPECT_GT(files->failures(), 0);
  EXPECT_LT(entries, 492) << "the error was passed over";
  EXPECT_TRUE(iterator.status().is(ErrorCode::kIoError)) << iterator.status().message();
}

TEST_F(IteratorTest, AnIteratorThatIsMovedInTheMiddleOfARunGoesOn) {
  Iterator first = database_->new_iterator(kDefaultFamily, {}, {});
  Map::const_iterator at = map_.begin();
  first.seek_to_first();
  for (int i = 0; i < 6; ++i, ++at) first.next();
  Iterator second = std::move(first);
  for (; at != map_.end() && !HasFatalFailure(); ++at, second.next()) {
    expect_same(second, map_, at);
  }
  EXPECT_FALSE(second.is_valid());
}

TEST_F(IteratorTest, AnIteratorKeepsItsBoundsWhenItIsMoved) {
  Iterator first = database_->new_iterator(kDefaultFamily, {}, {"a", "b"});
  first.seek_to_first();
  Iterator second = std::move(first);
  std::size_t count = 0;
  for (second.seek_to_first(); second.is_valid(); second.next()) ++count;
  EXPECT_EQ(count, cut_to({"a", "b"}).size());
}

}  // namespace
}  // namespace basalt::kv
