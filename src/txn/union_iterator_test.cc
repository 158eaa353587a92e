// Goal: the order and the direction changes of UnionIterator. Method: a random walk over random
// small sets, compared with a plain sorted list of what should be seen.
#include "txn/union_iterator.h"

#include <gtest/gtest.h>
#include <rocksdb/slice.h>
#include <rocksdb/status.h>

#include <algorithm>
#include <map>
#include <random>

namespace basalt::txn {
namespace {

namespace rdb = ROCKSDB_NAMESPACE;

class MapIterator final : public rdb::Iterator {
 public:
  explicit MapIterator(const std::map<std::string, std::string>& entries)
      : entries_(entries), position_(entries_.end()) {}
  bool Valid() const override { return position_ != entries_.end(); }
  void SeekToFirst() override { position_ = entries_.begin(); }
  void SeekToLast() override {
    position_ = entries_.end();
    if (!entries_.empty()) --position_;
  }
  void Seek(const rdb::Slice& key) override { position_ = entries_.lower_bound(key.ToString()); }
  void SeekForPrev(const rdb::Slice& key) override {
    position_ = entries_.upper_bound(key.ToString());
    Prev();
  }
  void Next() override { ++position_; }
  void Prev() override {
    if (position_ == entries_.begin()) {
      position_ = entries_.end();
    } else {
      --position_;
    }
  }
  rdb::Slice key() const override { return position_->first; }
  rdb::Slice value() const override { return position_->second; }
  rdb::Status status() const override { return rdb::Status::OK(); }

 private:
  const std::map<std::string, std::string> entries_;
  std::map<std::string, std::string>::const_iterator position_;
};

struct Sets {
  std::map<std::string, std::string> base;
  std::vector<UnionIterator::Entry> own;
  std::vector<std::pair<std::string, std::string>> expected;
};

Sets random_sets(std::mt19937& random) {
  Sets sets;
  for (char letter = 'a'; letter <= 'h'; ++letter) {
    const std::string key(1, letter);
    const bool in_base = random() % 2 == 0;
    const bool in_own = random() % 2 == 0;
    const bool replaces = in_base && in_own && random() % 2 == 0;
    if (in_base) sets.base[key] = "base";
    if (in_base && !replaces) sets.expected.emplace_back(key, "base");
    if (in_own) sets.own.push_back({key, "own", replaces});
    if (in_own) sets.expected.emplace_back(key, "own");
  }
  return sets;
}

TEST(UnionIterator, AWalkInBothDirectionsSeesEachEntryInOrder) {
  std::mt19937 random(20);
  for (int round = 0; round < 500; ++round) {
    const Sets sets = random_sets(random);
    UnionIterator iterator(std::make_unique<MapIterator>(sets.base), sets.own);
    if (sets.expected.empty()) {
      iterator.SeekToFirst();
      EXPECT_FALSE(iterator.Valid());
      continue;
    }
    std::size_t position = random() % 2 == 0 ? 0 : sets.expected.size() - 1;
    if (position == 0) {
      iterator.SeekToFirst();
    } else {
      iterator.SeekToLast();
    }
    for (int step = 0; step < 40; ++step) {
      ASSERT_TRUE(iterator.Valid()) << "round " << round << " step " << step;
      ASSERT_EQ(iterator.key().ToString(), sets.expected[position].first) << "round " << round;
      ASSERT_EQ(iterator.value().ToString(), sets.expected[position].second) << "round " << round;
      const bool forward = position == 0 || random() % 2 == 0;
      if (forward && position + 1 == sets.expected.size()) break;
      position = forward ? position + 1 : position - 1;
      if (forward) {
        iterator.Next();
      } else {
        iterator.Prev();
      }
    }
  }
}

TEST(UnionIterator, SeeksFindTheFirstAtOrAfterAndTheLastAtOrBefore) {
  std::mt19937 random(21);
  for (int round = 0; round < 500; ++round) {
    const Sets sets = random_sets(random);
    UnionIterator iterator(std::make_unique<MapIterator>(sets.base), sets.own);
    const std::string target(1, static_cast<char>('a' + random() % 9));
    const auto at_or_after =
        std::find_if(sets.expected.begin(), sets.expected.end(),
                     [&](const auto& entry) { return entry.first >= target; });
    iterator.Seek(target);
    ASSERT_EQ(iterator.Valid(), at_or_after != sets.expected.end());
    if (iterator.Valid()) {
      EXPECT_EQ(iterator.key().ToString(), at_or_after->first);
      EXPECT_EQ(iterator.value().ToString(), at_or_after->second);
    }
    const auto at_or_before =
        std::find_if(sets.expected.rbegin(), sets.expected.rend(),
                     [&](const auto& entry) { return entry.first <= target; });
    iterator.SeekForPrev(target);
    ASSERT_EQ(iterator.Valid(), at_or_before != sets.expected.rend());
    if (iterator.Valid()) {
      EXPECT_EQ(iterator.key().ToString(), at_or_before->first);
      EXPECT_EQ(iterator.value().ToString(), at_or_before->second);
    }
  }
}

}  // namespace
}  // namespace basalt::txn
