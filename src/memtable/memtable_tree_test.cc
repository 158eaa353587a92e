#include "memtable/memtable_tree.h"

#include <gtest/gtest.h>
#include <memory/allocator.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/bytes.h"

// Goal: a tree has what a std::set of the same keys has, in the same order, also while it grows.
// Method: keys that are random, in order, of one prefix, of one user key; cursors beside them; then
// threads that insert and threads that read, whose findings are checked against what was there
// before they began.
namespace basalt::memtable {
namespace {

struct Key {
  std::string user_key;
  std::uint64_t trailer;

  InternalKey view() const { return {user_key, trailer}; }
  bool operator==(const Key&) const = default;
  bool operator<(const Key& other) const { return view().compare(other.view()) < 0; }
};

class PlainAllocator final : public rdb::Allocator {
 public:
  char* Allocate(std::size_t bytes) override { return AllocateAligned(bytes, 0, nullptr); }
  char* AllocateAligned(std::size_t bytes, std::size_t, rdb::Logger*) override {
    const std::lock_guard lock(mutex_);
    return pieces_.emplace_back(std::make_unique<char[]>(bytes)).get();
  }
  std::size_t BlockSize() const override { return 0; }

 private:
  std::mutex mutex_;
  std::deque<std::unique_ptr<char[]>> pieces_;
};

Key key_of(const char* entry) {
  const InternalKey key = InternalKey::of_entry(entry);
  return {std::string(key.user_key), key.trailer};
}

std::string be32(std::uint64_t number) {
  std::string bytes;
  append_be32(bytes, static_cast<std::uint32_t>(number));
  return bytes;
}

class MemtableTreeTest : public testing::Test {
 protected:
  using Set = std::set<Key>;

  // An entry as RocksDB lays it out, with a value that would be taken for a part of the key.
  const char* make_entry(const Key& key) {
    std::string entry;
    std::size_t size = key.user_key.size() + 8;
    for (; size >= 0x80; size >>= 7) entry.push_back(static_cast<char>(size | 0x80));
    entry.push_back(static_cast<char>(size));
    entry += key.user_key;
    entry.resize(entry.size() + 8);
    store_le(entry.data() + entry.size() - 8, key.trailer);
    entry += "\x7F value";
    char* const memory = allocator_.Allocate(entry.size());
    entry.copy(memory, entry.size());
    return memory;
  }
  bool insert(const Key& key) {
    const bool is_new = tree_.insert(make_entry(key));
    EXPECT_EQ(is_new, keys_.insert(key).second);
    return is_new;
  }
  void expect_at(const MemtableTree::Cursor& cursor, Set::const_iterator at) {
    ASSERT_EQ(cursor.is_valid(), at != keys_.end());
    if (at != keys_.end()) {
      ASSERT_TRUE(key_of(cursor.entry()) == *at);
    }
  }
  Set::const_iterator not_behind(const Key& key) {
    const auto behind = keys_.upper_bound(key);
    return behind == keys_.begin() ? keys_.end() : std::prev(behind);
  }
  void expect_all_found_in_order() {
    MemtableTree::Cursor cursor(tree_);
    cursor.seek_to_first();
    for (auto at = keys_.begin(); at != keys_.end(); ++at, cursor.next()) {
      ASSERT_NO_FATAL_FAILURE(expect_at(cursor, at));
    }
    EXPECT_FALSE(cursor.is_valid());
    cursor.seek_to_last();
    for (auto at = keys_.rbegin(); at != keys_.rend(); ++at, cursor.previous()) {
      ASSERT_NO_FATAL_FAILURE(expect_at(cursor, std::prev(at.base())));
    }
    EXPECT_FALSE(cursor.is_valid());
    for (auto at = keys_.begin(); at != keys_.end(); ++at) {
      cursor.seek(at->view());
      ASSERT_NO_FATAL_FAILURE(expect_at(cursor, at));
      cursor.seek_backward(at->view());
      ASSERT_NO_FATAL_FAILURE(expect_at(cursor, at));
    }
  }
  // Inserts keys that `make` gives, and looks for others of them meanwhile.
  template <typename Make>
  void run_model(int inserts, const Make& make) {
    for (int i = 0; i < inserts && !HasFailure(); ++i) {
      insert(make(random_));
      const Key wanted = make(random_);
      MemtableTree::Cursor cursor(tree_);
      cursor.seek(wanted.view());
      ASSERT_NO_FATAL_FAILURE(expect_at(cursor, keys_.lower_bound(wanted)));
      cursor.seek_backward(wanted.view());
      ASSERT_NO_FATAL_FAILURE(expect_at(cursor, not_behind(wanted)));
    }
    expect_all_found_in_order();
  }

  std::mt19937_64 random_{std::mt19937_64::default_seed};
  PlainAllocator allocator_;
  MemtableTree tree_{allocator_};
  Set keys_;
};

TEST_F(MemtableTreeTest, AnEmptyTreeHasNoPlace) {
  MemtableTree::Cursor cursor(tree_);
  EXPECT_FALSE(cursor.is_valid());
  cursor.seek_to_first();
  EXPECT_FALSE(cursor.is_valid());
  cursor.seek_to_last();
  EXPECT_FALSE(cursor.is_valid());
  cursor.seek({"a", 1});
  EXPECT_FALSE(cursor.is_valid());
  cursor.seek_backward({"a", 1});
  EXPECT_FALSE(cursor.is_valid());
}

TEST_F(MemtableTreeTest, OfOneUserKeyTheNewestIsFirst) {
  insert({"a", 0x101});
  insert({"a", 0x301});
  insert({"a", 0x201});
  MemtableTree::Cursor cursor(tree_);
  cursor.seek({"a", 0x2FF});
  ASSERT_TRUE(cursor.is_valid());
  EXPECT_EQ(key_of(cursor.entry()).trailer, 0x201U);
  cursor.next();
  ASSERT_TRUE(cursor.is_valid());
  EXPECT_EQ(key_of(cursor.entry()).trailer, 0x101U);
}

TEST_F(MemtableTreeTest, AKeyIsInsertedOnce) {
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(insert({be32(i), 1}));
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(insert({be32(i), 1}));
  expect_all_found_in_order();
}

TEST_F(MemtableTreeTest, ASequenceNumberIsTakenOnceWhateverTheType) {
  EXPECT_TRUE(insert({"a", 0x201}));
  EXPECT_FALSE(insert({"a", 0x200}));
  EXPECT_FALSE(insert({"a", 0x202}));
  EXPECT_TRUE(insert({"a", 0x102}));
  expect_all_found_in_order();
}

TEST_F(MemtableTreeTest, RandomKeysAreFoundInOrder) {
  run_model(20'000, [](auto& random) { return Key{be32(random()), random() % 0x300}; });
}

TEST_F(MemtableTreeTest, KeysOfFewBytesAreFoundInOrder) {
  run_model(5'000, [](auto& random) {
    std::string key;
    const std::size_t size = random() % 12;
    for (std::size_t i = 0; i < size; ++i) key.push_back("\0\1a\xFF"[random() % 4]);
    return Key{key, random() % 4};
  });
}

TEST_F(MemtableTreeTest, KeysOfLongPrefixesAreFoundInOrder) {
  run_model(5'000, [](auto& random) {
    return Key{be32(random() % 3) + std::string(200 + random() % 2, 'x') + be32(random() % 5'000),
               7};
  });
}

TEST_F(MemtableTreeTest, ManyVersionsOfAFewKeysAreFoundInOrder) {
  run_model(5'000, [](auto& random) { return Key{be32(random() % 5), random()}; });
}

TEST_F(MemtableTreeTest, KeysInOrderOfSeveralIndexesAreFoundInOrder) {
  std::array<std::uint32_t, 5> next{};
  for (int i = 0; i < 20'000; ++i) {
    const std::uint32_t index = random_() % next.size();
    const std::uint32_t number = next.at(index)++;
    insert({be32(index) + be32(0x80000000U) + be32(index == 4 ? 1'000'000 - number : number), 9});
  }
  expect_all_found_in_order();
}

TEST_F(MemtableTreeTest, ACursorSeesWhatCameBeforeItAndMovesAmongWhatComes) {
  for (int i = 0; i < 500; ++i) insert({be32(random_()), 1});
  MemtableTree::Cursor forward(tree_);
  MemtableTree::Cursor backward(tree_);
  forward.seek_to_first();
  backward.seek_to_last();
  auto at_forward = keys_.begin();
  auto at_backward = std::prev(keys_.end());
  while (at_forward != keys_.end() || at_backward != keys_.end()) {
    for (int i = 0; i < 3 && keys_.size() < 20'000; ++i) insert({be32(random_()), 1});
    if (at_forward != keys_.end()) {
      ASSERT_NO_FATAL_FAILURE(expect_at(forward, at_forward));
      forward.next();
      ++at_forward;
      ASSERT_NO_FATAL_FAILURE(expect_at(forward, at_forward));
    }
    if (at_backward != keys_.end()) {
      ASSERT_NO_FATAL_FAILURE(expect_at(backward, at_backward));
      backward.previous();
      at_backward = at_backward == keys_.begin() ? keys_.end() : std::prev(at_backward);
      ASSERT_NO_FATAL_FAILURE(expect_at(backward, at_backward));
    }
  }
}

TEST_F(MemtableTreeTest, EstimatesOfAFewHundredEntriesAreExact) {
  for (int i = 0; i < 20'000; ++i) insert({be32(random_() % 100'000), 1});
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t from = random_() % 100'000;
    const Key first{be32(from), 1};
    const Key last{be32(from + random_() % 3'000), 1};
    EXPECT_EQ(tree_.estimate_entries(first.view(), last.view()),
              static_cast<std::uint64_t>(
                  std::distance(keys_.lower_bound(first), keys_.lower_bound(last))));
    EXPECT_EQ(tree_.estimate_entries(last.view(), first.view()), 0U);
  }
}

// A tree of several indexes, of which some get their entries in order, others at random: leaves and
// nodes of these are less full.
TEST_F(MemtableTreeTest, EstimatesOfManyEntriesAreWithinAThirdWhereverTheyAre) {
  constexpr std::uint32_t kIndexes = 4;
  constexpr std::uint32_t kRows = 60'000;
  for (const std::uint32_t in_order : {0, 2}) {
    for (std::uint32_t row = 0; row < kRows; ++row) {
      for (std::uint32_t index = 0; index < kIndexes; ++index) {
        const bool is_in_order = index == in_order;
        insert({be32(10 * in_order + index) + be32(is_in_order ? row : random_() % kRows), row});
      }
    }
  }
  for (int i = 0; i < 400; ++i) {
    const std::uint32_t index = 10 * (random_() % 2 * 2) + random_() % kIndexes;
    const std::uint32_t from = random_() % 2 == 0 ? 0 : random_() % (kRows / 2);
    const Key first{be32(index) + be32(from), ~0ULL};
    const Key last{be32(index) + be32(from + 5'000 + random_() % kRows), ~0ULL};
    const auto entries =
        static_cast<double>(std::distance(keys_.lower_bound(first), keys_.lower_bound(last)));
    const auto estimate = static_cast<double>(tree_.estimate_entries(first.view(), last.view()));
    EXPECT_GT(estimate, entries * 2 / 3);
    EXPECT_LT(estimate, entries * 4 / 3);
  }
}

// What `threads` insert, each an ascending row of its own, and random keys, some of them the same
// as others'; how far each has come is for the readers to see.
class MemtableTreeThreadsTest : public MemtableTreeTest {
 protected:
  static constexpr unsigned kWriters = 3;
  static constexpr std::uint32_t kRows = 10'000;

  static Key row(unsigned writer, std::uint32_t number) { return {be32(writer) + be32(number), 5}; }
  void write(unsigned writer) {
    std::mt19937_64 random(writer / 2);  // the first two insert the same
    for (std::uint32_t i = 0; i < kRows; ++i) {
      ASSERT_TRUE(tree_.insert(make_entry(row(writer, i))));
      written_.at(writer).store(i + 1, std::memory_order_release);
      if (tree_.insert(make_entry({be32(kWriters) + be32(random()), 5}))) ++random_keys_;
    }
    ++ended_;
  }
  void read(unsigned seed) {
    std::mt19937_64 random(seed);
    MemtableTree::Cursor cursor(tree_);
    while (ended_ < kWriters && !HasFailure()) {
      const auto writer = static_cast<unsigned>(random() % kWriters);
      const std::uint32_t written = written_.at(writer).load(std::memory_order_acquire);
      if (written == 0) continue;
      const auto from = static_cast<std::uint32_t>(random() % written);
      cursor.seek(row(writer, from).view());
      for (std::uint32_t i = from; i < std::min(written, from + 300); ++i, cursor.next()) {
        ASSERT_TRUE(cursor.is_valid());
        ASSERT_TRUE(key_of(cursor.entry()) == row(writer, i));
      }
      cursor.seek_backward(row(writer, from).view());
      for (std::uint32_t i = from + 1; i > from - std::min(from, 300U); --i, cursor.previous()) {
        ASSERT_TRUE(cursor.is_valid());
        ASSERT_TRUE(key_of(cursor.entry()) == row(writer, i - 1));
      }
      walk_random_keys(cursor, random);
    }
  }
  void walk_random_keys(MemtableTree::Cursor& cursor, std::mt19937_64& random) {
    const Key from{be32(kWriters) + be32(random()), 5};
    cursor.seek(from.view());
    Key last = from;
    for (int i = 0; i < 300 && cursor.is_valid(); ++i) {
      const Key key = key_of(cursor.entry());
      ASSERT_TRUE(i == 0 ? !(key < last) : last < key);
      last = key;
      cursor.next();
    }
    cursor.seek_backward(from.view());
    last = from;
    for (int i = 0; i < 300 && cursor.is_valid(); ++i) {
      const Key key = key_of(cursor.entry());
      ASSERT_TRUE(i == 0 ? !(last < key) : key < last);
      last = key;
      cursor.previous();
    }
    tree_.estimate_entries(row(0, 0).view(), from.view());
  }

  std::array<std::atomic<std::uint32_t>, kWriters> written_{};
  std::atomic<unsigned> ended_{0};
  std::atomic<std::uint64_t> random_keys_{0};
};

TEST_F(MemtableTreeThreadsTest, ReadersSeeInOrderAllThatWasInsertedBeforeTheyBegan) {
  {
    std::vector<std::jthread> threads;
    for (unsigned i = 0; i < kWriters; ++i) threads.emplace_back([this, i] { write(i); });
    for (unsigned i = 0; i < 2; ++i) threads.emplace_back([this, i] { read(100 + i); });
  }
  std::uint64_t entries = 0;
  MemtableTree::Cursor cursor(tree_);
  for (cursor.seek_to_first(); cursor.is_valid(); cursor.next()) ++entries;
  EXPECT_EQ(entries, kWriters * kRows + random_keys_);
  std::set<std::uint64_t> numbers;
  for (unsigned writer = 0; writer < kWriters; ++writer) {
    std::mt19937_64 random(writer / 2);
    for (std::uint32_t i = 0; i < kRows; ++i) numbers.insert(random() & UINT32_MAX);
  }
  EXPECT_EQ(random_keys_, numbers.size());
}

}  // namespace
}  // namespace basalt::memtable
