// Goal: the order and the direction changes of UnionIterator. Method: a random walk over random
// small sets, compared with a plain sorted list of what should be seen.
#include "txn/union_iterator.h"

#include <gtest/gtest.h>
#include <rocksdb/slice.h>
#include <rocksdb/status.h>

#include <algorithm>
#include <map>
#include <random>

#include "rdb/rocksdb_fwd.h"
#include "txn/batch_changes.h"

namespace basalt::txn {
namespace {

class MapIterator final : public rdb::Iterator {
 public:
  // With `unreadable`, every move that comes to that key fails.
  explicit MapIterator(const std::map<std::string, std::string>& entries,
                       std::string unreadable = "")
      : entries_(entries), unreadable_(std::move(unreadable)), position_(entries_.end()) {}
  bool Valid() const override { return position_ != entries_.end() && !has_failed(); }
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
  rdb::Status status() const override {
    return has_failed() ? rdb::Status::IOError() : rdb::Status::OK();
  }

 private:
  bool has_failed() const { return position_ != entries_.end() && position_->first == unreadable_; }

  const std::map<std::string, std::string> entries_;
  const std::string unreadable_;
  std::map<std::string, std::string>::const_iterator position_;
};

struct Sets {
  std::map<std::string, std::string> base;
  std::vector<CopiedChanges::Change> own;
  std::vector<std::pair<std::string, std::string>> expected;
};

Sets random_sets(std::mt19937& random) {
  Sets sets;
  for (char letter = 'a'; letter <= 'h'; ++letter) {
    const std::string key(1, letter);
    const bool in_base = random() % 2 == 0;
    const bool in_own = random() % 2 == 0;
    const bool replaces = in_base && in_own && random() % 2 == 0;
    const bool is_removed = !in_own && random() % 2 == 0;
    if (in_base) sets.base[key] = replaces ? "own row, as it was" : "base";
    if (in_base && !replaces) sets.expected.emplace_back(key, "base");
    if (in_own) sets.own.push_back({key, "own", ChangeKind::kPut});
    if (is_removed) sets.own.push_back({key, "", ChangeKind::kRemove});
    if (in_own) sets.expected.emplace_back(key, "own");
  }
  return sets;
}

const kv::IteratorBounds& no_bounds() {
  static const kv::IteratorBounds bounds{KeyRange()};
  return bounds;
}

// Own entries replace what their row had before.
UnionIterator union_of(std::unique_ptr<rdb::Iterator> base,
                       std::vector<CopiedChanges::Change> own) {
  return UnionIterator(std::move(base), std::make_unique<CopiedChanges>(std::move(own)),
                       no_bounds(), [](std::string_view, std::string_view was, std::string_view) {
                         return was == "own row, as it was";
                       });
}

TEST(UnionIterator, AWalkInBothDirectionsSeesEachEntryInOrder) {
  std::mt19937 random(20);
  for (int round = 0; round < 500; ++round) {
    const Sets sets = random_sets(random);
    UnionIterator iterator = union_of(std::make_unique<MapIterator>(sets.base), sets.own);
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
    UnionIterator iterator = union_of(std::make_unique<MapIterator>(sets.base), sets.own);
    const std::string target(1, static_cast<char>('a' + random() % 9));
    const auto at_or_after = std::find_if(sets.expected.begin(), sets.expected.end(),
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

TEST(UnionIterator, WhereTheBaseCannotBeReadThereIsNoEntryAndTheErrorIsKept) {
  const std::map<std::string, std::string> base{{"b", "base"}, {"d", "base"}, {"f", "base"}};
  const std::vector<CopiedChanges::Change> own{
      {"a", "own"}, {"c", "own"}, {"e", "own"}, {"g", "own"}};
  const auto make = [&] { return union_of(std::make_unique<MapIterator>(base, "d"), own); };
  UnionIterator forward = make();
  std::string seen;
  for (forward.SeekToFirst(); forward.Valid(); forward.Next()) seen += forward.key().ToString();
  EXPECT_EQ(seen, "ab") << "of what lies behind, c comes only if d does not fail";
  EXPECT_TRUE(forward.status().IsIOError());

  UnionIterator backward = make();
  seen.clear();
  for (backward.SeekToLast(); backward.Valid(); backward.Prev()) seen += backward.key().ToString();
  EXPECT_EQ(seen, "gf");
  EXPECT_TRUE(backward.status().IsIOError());

  UnionIterator sought = make();
  sought.Seek("c");
  EXPECT_FALSE(sought.Valid());
  EXPECT_TRUE(sought.status().IsIOError());
  sought.Seek("e");
  EXPECT_TRUE(sought.Valid());
  sought.Prev();
  EXPECT_FALSE(sought.Valid()) << "d is the next one backward";
  EXPECT_TRUE(sought.status().IsIOError());
}

}  // namespace
}  // namespace basalt::txn
