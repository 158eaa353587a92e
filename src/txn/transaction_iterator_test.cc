#include <iterator>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "txn/test_support.h"

// Goal: a transaction's iterator shows committed data as its view sees it, with the transaction's
// own changes on top. Method: random data in files, in memory and in the batch; random walks beside
// a std::map. Writes while iterating may or may not be seen; all else must be.
namespace basalt::txn {
namespace {

using basalt::test::must;
using test::commit;
using test::Map;

constexpr int kKeys = 40;

class TransactionIteratorTest : public testing::Test {
 protected:
  std::string random_key() {
    const auto number = random_() % kKeys;
    return {static_cast<char>('a' + number / 10), static_cast<char>('0' + number % 10)};
  }
  void change(Transaction& transaction, Map& map, const std::string& key) {
    if (random_() % 3 == 0) {
      test::remove(transaction, key);
      map.erase(key);
    } else {
      map[key] = std::to_string(random_());
      test::put(transaction, key, map[key]);
    }
  }
  void change_randomly(Transaction& transaction, Map& map, int count) {
    for (int i = 0; i < count; ++i) change(transaction, map, random_key());
  }
  // Commits changes that the view of later transactions sees, some of them in files.
  void fill(Map& map) {
    const auto writer = store_.begin();
    change_randomly(*writer, map, 20);
    commit(*writer);
    must(store_.database().flush());
    change_randomly(*writer, map, 20);
    commit(*writer);
  }
  static Map::const_iterator before(const Map& map, Map::const_iterator at) {
    return at == map.begin() ? map.end() : std::prev(at);
  }

  std::mt19937 random_{20261121};
  test::Store store_;
};

TEST_F(TransactionIteratorTest, WalksInBothDirectionsSeeCommittedAndOwnChanges) {
  Map map;
  for (int round = 0; round < 40 && !HasFatalFailure(); ++round) {
    fill(map);
    const Map committed = map;
    auto reader = store_.begin();
    reader->begin_statement(test::kRr);
    reader->open_snapshot();
    change_randomly(*reader, map, static_cast<int>(random_() % 15));
    kv::Iterator iterator = reader->new_iterator(test::kFamily, reader->consistent_view(), {});
    const std::string start = random_key();
    auto at = random_() % 2 == 0 ? (iterator.seek(start), map.lower_bound(start))
                                 : (iterator.seek_for_previous(start),
                                    TransactionIteratorTest::before(map, map.upper_bound(start)));
    for (int step = 0; step < 60 && at != map.end(); ++step) {
      ASSERT_TRUE(iterator.is_valid()) << "round " << round;
      ASSERT_EQ(iterator.key(), at->first) << "round " << round;
      ASSERT_EQ(iterator.value(), at->second) << "round " << round;
      const bool forward = random_() % 2 == 0;
      forward ? iterator.next() : iterator.previous();
      at = forward ? std::next(at) : TransactionIteratorTest::before(map, at);
    }
    ASSERT_EQ(iterator.is_valid(), at != map.end());
    EXPECT_EQ(test::scan(*reader, true), map);
    EXPECT_EQ(test::scan(*reader, false), map);
    reader.reset();
    map = committed;
  }
}

// Ranges beside the own changes are read past the batch.
TEST_F(TransactionIteratorTest, RangesShowOwnChangesWhereverTheyBeginAndEnd) {
  Map map;
  fill(map);
  for (int round = 0; round < 200; ++round) {
    Map seen = map;
    auto reader = store_.begin();
    reader->begin_statement(test::kRr);
    reader->open_snapshot();
    change_randomly(*reader, seen, static_cast<int>(random_() % 4));
    std::string lower = random_key();
    std::string upper = random_key();
    if (lower > upper) std::swap(lower, upper);
    Map found;
    kv::Iterator iterator =
        reader->new_iterator(test::kFamily, reader->consistent_view(), {lower, upper});
    for (iterator.seek_to_first(); iterator.is_valid(); iterator.next()) {
      found.emplace(iterator.key(), iterator.value());
    }
    EXPECT_EQ(found, Map(seen.lower_bound(lower), seen.lower_bound(upper)))
        << "round " << round << ", from " << lower << " to " << upper;
  }
}

TEST_F(TransactionIteratorTest, ChangesCommittedByOthersAfterTheViewAreNotSeen) {
  Map map;
  fill(map);
  auto reader = store_.begin();
  reader->begin_statement(test::kRr);
  reader->open_snapshot();
  test::put(*reader, "own", "v");
  Map expected = map;
  expected["own"] = "v";
  fill(map);
  EXPECT_EQ(test::scan(*reader, true), expected);
  EXPECT_EQ(test::scan(*reader, false), expected);
}

TEST_F(TransactionIteratorTest, BoundsHoldForOwnChangesToo) {
  auto reader = store_.begin();
  for (const char* key : {"a", "b", "c", "d"}) test::put(*reader, key, "v");
  kv::Iterator iterator = reader->new_iterator(test::kFamily, {}, {"b", "d"});
  iterator.seek_to_first();
  ASSERT_TRUE(iterator.is_valid());
  EXPECT_EQ(iterator.key(), "b");
  iterator.seek_to_last();
  ASSERT_TRUE(iterator.is_valid());
  EXPECT_EQ(iterator.key(), "c");
  iterator.next();
  EXPECT_FALSE(iterator.is_valid());
}

// A scan whose statement changes what it finds: the current key, others behind and ahead of it.
TEST_F(TransactionIteratorTest, AScanThatWritesVisitsEachUntouchedKeyOnceAndInOrder) {
  for (int round = 0; round < 150 && !HasFatalFailure(); ++round) {
    Map map;
    fill(map);
    const bool forward = round % 2 == 0;
    auto writer = store_.begin();
    change_randomly(*writer, map, 1 + static_cast<int>(random_() % 10));
    const Map before_scan = map;
    Map touched;
    Map seen;
    kv::Iterator iterator = writer->new_iterator(test::kFamily, {}, {});
    forward ? iterator.seek_to_first() : iterator.seek_to_last();
    std::string last;
    while (iterator.is_valid()) {
      const std::string key(iterator.key());
      ASSERT_TRUE(last.empty() || (forward ? key > last : key < last))
          << "round " << round << ": " << key << " after " << last;
      last = key;
      seen.emplace(key, iterator.value());
      for (const std::string& changed : {key, random_key()}) {
        if (random_() % 2 == 0) continue;
        touched[changed] = "";
        change(*writer, map, changed);
      }
      forward ? iterator.next() : iterator.previous();
    }
    for (const auto& [key, value] : before_scan) {
      if (touched.contains(key)) continue;
      ASSERT_TRUE(seen.contains(key)) << "round " << round << ": " << key << " was passed over";
      ASSERT_EQ(seen[key], value);
    }
    for (const auto& [key, value] : seen) {
      ASSERT_TRUE(before_scan.contains(key) || touched.contains(key)) << key;
    }
    ASSERT_EQ(test::scan(*writer), map);
    must(writer->rollback());
    Map all = test::scan(*writer);
    for (const auto& [key, value] : all) test::remove(*writer, key);
    commit(*writer);
  }
}

TEST_F(TransactionIteratorTest, AnIteratorMayOutliveItsTransaction) {
  auto writer = store_.begin();
  test::put(*writer, "a", "v");
  commit(*writer);
  test::put(*writer, "b", "own");
  kv::Iterator iterator = writer->new_iterator(test::kFamily, {}, {});
  iterator.seek_to_first();
  EXPECT_TRUE(iterator.is_valid());
  must(writer->rollback());
  writer.reset();
}

}  // namespace
}  // namespace basalt::txn
