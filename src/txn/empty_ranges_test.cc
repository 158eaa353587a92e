#include "txn/empty_ranges.h"

#include <algorithm>
#include <atomic>
#include <random>
#include <thread>

#include "base/bytes.h"
#include "txn/test_support.h"

// Goal: a scan is never told that a range is empty in which it would find an entry. Method: cases
// of who comes first; then writers and scans in threads, each answer compared with an iterator.
namespace basalt::txn {
namespace {

using basalt::test::must;
using test::commit;
using test::kFamily;
using test::kNoWait;
using test::kRc;

constexpr std::uint32_t kIndex = 300;

std::string key_of(int number, std::uint32_t index = kIndex) {
  std::string key;
  append_be32(key, index);
  append_be32(key, static_cast<std::uint32_t>(number));
  return key;
}

class EmptyRangesTest : public testing::Test {
 protected:
  EmptyRanges& ranges() { return store_.transactions().empty_ranges(); }
  std::uint64_t now() { return store_.database().newest_sequence(); }
  // Without its end.
  static std::unique_ptr<Transaction> begin_in(test::Store& store) {
    auto transaction = store.begin();
    transaction->begin_statement(kRc);
    return transaction;
  }
  std::unique_ptr<Transaction> begin() { return begin_in(store_); }
  static void insert(Transaction& transaction, int number) {
    const std::string key = key_of(number);
    const std::string_view keys[] = {key};
    must(transaction.lock(key, lock::LockMode::kExclusive, {}));
    must(test::put_locked(transaction, key, "x", kFamily, keys));
  }
  void insert_all(std::initializer_list<int> numbers) {
    const auto transaction = begin();
    for (const int number : numbers) insert(*transaction, number);
    commit(*transaction);
  }
  void remove_all(std::initializer_list<int> numbers) {
    const auto transaction = begin();
    for (const int number : numbers) test::remove(*transaction, key_of(number));
    commit(*transaction);
  }
  void learn(int from = 0) { ranges().learn(kFamily, {key_of(from), key_of(1'000'000)}); }
  // Where a scan of now that begins at a key may begin; -1: there.
  int end_of(int from = 0) { return end_of(from, now()); }
  int end_of(int from, std::uint64_t sequence) {
    std::string end;
    if (!ranges().find_end(key_of(from), sequence, end)) return -1;
    return static_cast<int>(load_be32(end.data() + 4));
  }

  test::Store store_;
};

TEST_F(EmptyRangesTest, WhereEntriesWereRemovedNothingIsKnownBeforeSomebodyLooks) {
  insert_all({1, 2, 3, 7});
  EXPECT_FALSE(ranges().may_know(key_of(0)));
  remove_all({1, 2, 3});
  EXPECT_TRUE(ranges().may_know(key_of(0)));
  EXPECT_EQ(end_of(), -1);
  learn();
  EXPECT_EQ(end_of(), 7);
  EXPECT_EQ(end_of(3), 7);
  EXPECT_EQ(end_of(7), -1);
  // Looking goes on where it ended.
  remove_all({7});
  insert_all({9});
  EXPECT_EQ(end_of(), 7);
  learn(2);
  EXPECT_EQ(end_of(), 9);
}

TEST_F(EmptyRangesTest, WithoutAnyEntryTheWholeRangeIsEmpty) {
  insert_all({1});
  remove_all({1});
  learn();
  EXPECT_EQ(end_of(), 1'000'000);
}

TEST_F(EmptyRangesTest, AnInsertCutsTheRangeBeforeItIsCommitted) {
  insert_all({1, 9});
  remove_all({1});
  learn();
  ASSERT_EQ(end_of(), 9);
  const auto open = begin();
  insert(*open, 20);
  EXPECT_EQ(end_of(), 9);
  insert(*open, 5);
  EXPECT_EQ(end_of(), 5);
  insert(*open, 0);
  EXPECT_EQ(end_of(), -1);
  commit(*open);
}

TEST_F(EmptyRangesTest, ARangeThatEndsWithItsIndexIsCut) {
  insert_all({1});
  remove_all({1});
  std::string next_index;
  append_be32(next_index, kIndex + 1);
  ranges().learn(kFamily, {key_of(0), next_index});
  std::string end;
  ASSERT_TRUE(ranges().find_end(key_of(0), now(), end));
  EXPECT_EQ(end, next_index);
  insert_all({5});
  EXPECT_EQ(end_of(), 5);
}

TEST_F(EmptyRangesTest, OlderSnapshotsAreNotTold) {
  insert_all({1, 9});
  const std::uint64_t before = now();
  remove_all({1});
  learn();
  EXPECT_EQ(end_of(0, before), -1);
  EXPECT_EQ(end_of(), 9);
}

TEST_F(EmptyRangesTest, WhereAnInsertIsOpenAtTheBeginningNothingIsLearnt) {
  insert_all({1, 9});
  remove_all({1});
  const auto open = begin();
  insert(*open, 0);
  insert(*open, 5);
  learn();
  EXPECT_EQ(end_of(), -1);
  must(open->rollback());
  learn();
  EXPECT_EQ(end_of(), 9);
}

TEST_F(EmptyRangesTest, ARangeEndsWhereAnInsertIsOpen) {
  insert_all({1, 2});
  remove_all({1, 2});
  const auto open = begin();
  insert(*open, 5);
  learn();
  EXPECT_EQ(end_of(), 5);
  commit(*open);
  learn();
  EXPECT_EQ(end_of(), 5);
}

TEST_F(EmptyRangesTest, KeysOfAnyLengthCutTheRange) {
  insert_all({1, 9});
  remove_all({1});
  const std::string index = key_of(0).substr(0, 4);
  ranges().learn(kFamily, {index, key_of(1'000'000)});
  std::string end;
  const auto end_is = [&](const std::string& expected) {
    return ranges().find_end(index, now(), end) && end == expected;
  };
  EXPECT_TRUE(end_is(key_of(9)));
  ranges().note_insert(key_of(9) + "longer");
  EXPECT_TRUE(end_is(key_of(9)));
  ranges().note_insert(key_of(8) + "longer");
  EXPECT_TRUE(end_is(key_of(8) + "longer"));
  const std::string shorter = key_of(8).substr(0, 5);
  ranges().note_insert(shorter);
  EXPECT_TRUE(end_is(shorter));
  ranges().note_insert(index);
  EXPECT_FALSE(ranges().find_end(index, now(), end));
}

// As of queues that share an index: of several names, or states.
class SeveralEmptyRangesTest : public EmptyRangesTest {
 protected:
  // Between 100 * i and 100 * i + 50 nothing is left.
  void empty_place(int i) {
    insert_all({100 * i + 10, 100 * i + 50});
    remove_all({100 * i + 10});
    learn(100 * i);
  }
  void empty_places(int count) {
    for (int i = 0; i < count; ++i) empty_place(i);
  }
};

TEST_F(SeveralEmptyRangesTest, SixteenPlacesOfAnIndexAreKnown) {
  empty_places(16);
  for (int i = 0; i < 16; ++i) EXPECT_EQ(end_of(100 * i), 100 * i + 50);
  EXPECT_EQ(end_of(60), -1);
}

TEST_F(SeveralEmptyRangesTest, TheOneThatIsUsedLeastRecentlyIsForgotten) {
  empty_places(16);
  for (int i = 0; i < 16; ++i) {
    if (i != 5) {
      EXPECT_EQ(end_of(100 * i), 100 * i + 50);
    }
  }
  empty_place(16);
  for (int i = 0; i < 17; ++i) EXPECT_EQ(end_of(100 * i), i == 5 ? -1 : 100 * i + 50);
}

TEST_F(SeveralEmptyRangesTest, IndexesWithEqualPlacesDoNotCutEachOther) {
  empty_places(2);
  ranges().note_insert(key_of(20, kIndex + 512));
  EXPECT_EQ(end_of(0), 50);
  ranges().learn(kFamily, {key_of(20, kIndex + 512), key_of(120, kIndex + 512)});
  ranges().note_insert(key_of(30));
  std::string end;
  EXPECT_TRUE(ranges().find_end(key_of(20, kIndex + 512), now(), end));
  EXPECT_EQ(end, key_of(120, kIndex + 512));
  EXPECT_EQ(end_of(0), 30);
  EXPECT_EQ(end_of(100), 150);
}

TEST_F(SeveralEmptyRangesTest, AmongOthersARangeThatEndsWithItsIndexIsCut) {
  empty_places(2);
  remove_all({150});
  std::string next_index;
  append_be32(next_index, kIndex + 1);
  ranges().learn(kFamily, {key_of(100), next_index});
  insert_all({1'000});
  EXPECT_EQ(end_of(0), 50);
  EXPECT_EQ(end_of(100), 1'000);
}

TEST_F(SeveralEmptyRangesTest, AnInsertCutsOnlyTheRangeThatItIsIn) {
  empty_places(3);
  const auto open = begin();
  insert(*open, 120);
  EXPECT_EQ(end_of(0), 50);
  EXPECT_EQ(end_of(100), 120);
  EXPECT_EQ(end_of(200), 250);
  insert(*open, 0);
  EXPECT_EQ(end_of(0), -1);
  EXPECT_EQ(end_of(100), 120);
  must(open->rollback());
}

TEST_F(SeveralEmptyRangesTest, LoadedEntriesCutAllRangesThatTheyReach) {
  empty_places(4);
  ranges().note_inserts(key_of(30), key_of(220));
  EXPECT_EQ(end_of(0), 30);
  EXPECT_EQ(end_of(100), -1);
  EXPECT_EQ(end_of(200), -1);
  EXPECT_EQ(end_of(300), 350);
}

TEST_F(SeveralEmptyRangesTest, ARangeThatAScanEndsInIsKnownToItsEnd) {
  empty_place(1);
  ranges().learn(kFamily, {key_of(50), key_of(120)});
  EXPECT_EQ(end_of(50), 150);
  EXPECT_EQ(end_of(130), 150);
}

TEST_F(SeveralEmptyRangesTest, RangesThatOneReachesBecomePartsOfIt) {
  empty_places(3);
  remove_all({50, 150});
  learn(0);
  EXPECT_EQ(end_of(0), 250);
  EXPECT_EQ(end_of(100), 250);
  EXPECT_EQ(end_of(220), 250);
  insert_all({70});
  EXPECT_EQ(end_of(0), 70);
  EXPECT_EQ(end_of(100), -1);
}

TEST_F(EmptyRangesTest, AnInsertThatIsPreparedIsOpenAlsoAfterACrash) {
  insert_all({1, 9});
  auto open = begin();
  insert(*open, 5);
  open->end_statement();
  must(open->prepare("x", kv::Durability::kSynced));
  store_.transactions().detach_prepared(std::move(open));
  store_.crash();
  remove_all({1});
  learn();
  EXPECT_EQ(end_of(), 5);
  EXPECT_TRUE(store_.decide(true));
  learn();
  EXPECT_EQ(end_of(), 5);
}

TEST_F(EmptyRangesTest, LoadedEntriesCutTheRange) {
  insert_all({1, 9});
  remove_all({1});
  learn();
  ASSERT_EQ(end_of(), 9);
  ranges().note_inserts(key_of(4), key_of(50));
  EXPECT_EQ(end_of(), 4);
  ranges().note_inserts(key_of(20), key_of(50));
  EXPECT_EQ(end_of(), 4);
}

TEST_F(EmptyRangesTest, NoAnswerIsWrongWhileOthersWrite) {
  std::atomic<bool> is_over = false;
  std::atomic<int> told = 0;
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 3; ++seed) {
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      const auto number = [&] {
        // Most inserts are behind, as in a queue, some in front.
        return static_cast<int>(random() % 4 == 0 ? random() % 200 : 150 + random() % 50);
      };
      while (!is_over) {
        const auto transaction = begin_in(store_);
        for (unsigned i = random() % 4 + 1; i > 0; --i) {
          const std::string key = key_of(random() % 2 == 0 ? number() : random() % 160);
          // Who waits for another one in a circle would do so for ever.
          if (!transaction->lock(key, lock::LockMode::kExclusive, kNoWait).is_ok()) continue;
          kv::PinnedValue value;
          bool exists = false;
          must(transaction->get(kFamily, key, {}, value, exists));
          const std::string_view keys[] = {key};
          if (exists) {
            test::remove(*transaction, key);
          } else {
            must(test::put_locked(*transaction, key, "x", kFamily, keys));
          }
        }
        transaction->end_statement();
        if (random() % 5 == 0) {
          must(transaction->rollback());
        } else {
          must(transaction->commit(kv::Durability::kBuffered));
        }
      }
    });
  }
  for (unsigned seed = 11; seed <= 12; ++seed) {
    threads.emplace_back([&, seed] {
      std::mt19937 random(seed);
      while (!is_over) {
        const int from = static_cast<int>(random() % 3 == 0 ? random() % 200 : random() % 2 * 60);
        // Some end in a range that is known, which then becomes a part of what is learnt.
        const int to =
            random() % 3 == 0 ? std::min(from + 1 + static_cast<int>(random() % 60), 200) : 200;
        const KeyRange range = {key_of(from), key_of(to)};
        if (random() % 2 == 0) ranges().learn(kFamily, range);
        const auto snapshot = store_.database().take_snapshot();
        std::string end;
        if (!ranges().find_end(range.lower, snapshot->sequence(), end)) continue;
        ++told;
        kv::Iterator iterator =
            store_.database().new_iterator(kFamily, {snapshot.get()}, {range.lower, end});
        iterator.seek_to_first();
        EXPECT_FALSE(iterator.is_valid())
            << "told that nothing is before " << load_be32(end.data() + 4);
      }
    });
  }
  basalt::test::await([&] { return told >= 300'000; });
  is_over = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace basalt::txn
