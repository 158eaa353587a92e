#include "txn/change_tracker.h"

#include <map>
#include <memory>
#include <random>
#include <string>

#include "base/bytes.h"
#include "txn/changed_buckets.h"
#include "txn/test_support.h"

// Goal: the tracker never calls a row unchanged that was changed, also when rows of several
// transactions share a bucket.
namespace basalt::txn {
namespace {

class ChangeTrackerTest : public testing::Test {
 protected:
  void change() { tracker_->note_change(ChangeTracker::bucket_of("k")); }
  void end(std::uint64_t sequence) { tracker_->note_end(ChangeTracker::bucket_of("k"), sequence); }
  bool is_unchanged_since(std::uint64_t sequence) const {
    return tracker_->is_unchanged_since(ChangeTracker::bucket_of("k"), sequence);
  }

  const std::unique_ptr<ChangeTracker> tracker_ = std::make_unique<ChangeTracker>();
};

TEST_F(ChangeTrackerTest, WhatNobodyChangedIsUnchanged) {
  EXPECT_TRUE(is_unchanged_since(0));
  EXPECT_TRUE(is_unchanged_since(UINT64_MAX - 1));
}

TEST_F(ChangeTrackerTest, OwnChangesOfOtherRowsDoNotMatterAndThoseOfOthersDo) {
  const std::size_t bucket = ChangeTracker::bucket_of("k");
  change();
  change();
  EXPECT_TRUE(tracker_->is_unchanged_since(bucket, 0, 2));
  EXPECT_FALSE(tracker_->is_unchanged_since(bucket, 0, 1));
  tracker_->note_end(bucket, 20, 2);
  EXPECT_FALSE(tracker_->is_unchanged_since(bucket, 19));
  EXPECT_TRUE(tracker_->is_unchanged_since(bucket, 20));
}

TEST(ChangedBuckets, CountEachChangeWhetherThereAreFewOrMany) {
  ChangedBuckets buckets;
  std::map<std::size_t, std::uint32_t> expected;
  std::mt19937 random(7);
  for (std::size_t i = 0; i < 3 * ChangedBuckets::kListMax; ++i) {
    const std::size_t bucket = random() % 700;
    buckets.add(bucket);
    ++expected[bucket];
    if (i % 100 != 0) continue;
    std::map<std::size_t, std::uint32_t> visited;
    buckets.for_each([&](std::size_t at, std::uint32_t count) { visited[at] += count; });
    ASSERT_EQ(visited, expected) << i;
    for (std::size_t at = 0; at < 700; ++at) {
      ASSERT_EQ(buckets.count(at), expected.contains(at) ? expected[at] : 0) << i;
    }
  }
  buckets.clear();
  EXPECT_TRUE(buckets.is_empty());
  EXPECT_EQ(buckets.count(1), 0u);
}

TEST_F(ChangeTrackerTest, AKeyIsChangedFromTheChangeOnAndSinceEarlierPointsForEver) {
  change();
  EXPECT_FALSE(is_unchanged_since(1'000'000));
  end(20);
  EXPECT_FALSE(is_unchanged_since(19));
  EXPECT_TRUE(is_unchanged_since(20));
}

TEST_F(ChangeTrackerTest, AKeyIsChangedUntilTheLastOfItsBucketHasEnded) {
  change();
  change();
  end(20);
  EXPECT_FALSE(is_unchanged_since(20)) << "the other transaction is still open";
  end(25);
  EXPECT_FALSE(is_unchanged_since(24));
  EXPECT_TRUE(is_unchanged_since(25));
}

TEST_F(ChangeTrackerTest, AnOlderEndDoesNotHideANewerOne) {
  change();
  change();
  end(20);
  end(15);
  EXPECT_FALSE(is_unchanged_since(17));
  EXPECT_TRUE(is_unchanged_since(20));
}

TEST_F(ChangeTrackerTest, TheEndOfATransactionWithUnknownRowsCountsForAll) {
  tracker_->note_end_of_unknown(20);
  EXPECT_FALSE(is_unchanged_since(19));
  EXPECT_TRUE(is_unchanged_since(20));
  EXPECT_FALSE(tracker_->is_unchanged_since(ChangeTracker::bucket_of("another"), 19));
}

std::string key_of(std::uint32_t number) {
  std::string key;
  append_be32(key, 300);
  append_be32(key, number);
  return key;
}

// The first one from `number` on that is in the bucket of `key`.
std::uint32_t of_same_bucket(std::string_view key, std::uint32_t number) {
  while (ChangeTracker::bucket_of(key_of(number)) != ChangeTracker::bucket_of(key)) ++number;
  return number;
}

TEST_F(ChangeTrackerTest, ATransactionTrustsRowsBeyondItsOwnUnlessOthersChangeThem) {
  for (const std::uint32_t changes : {10u, 3000u}) {
    SCOPED_TRACE(changes);
    test::Store store;
    const auto own = store.begin();
    const auto other = store.begin();
    for (std::uint32_t i = 0; i < changes; ++i) test::put_noted(*own, key_of(i), "v");
    const std::uint64_t now = own->newest_sequence();
    const std::uint32_t beyond = of_same_bucket(key_of(3), changes);
    const std::uint32_t another = of_same_bucket(key_of(3), beyond + 1);
    EXPECT_FALSE(own->is_unchanged_since(key_of(3), now)) << "an iterator may lack own changes";
    EXPECT_TRUE(own->is_unchanged_since(key_of(beyond), now));
    EXPECT_FALSE(other->is_unchanged_since(key_of(beyond), now));
    test::put_noted(*other, key_of(another), "v");
    EXPECT_FALSE(own->is_unchanged_since(key_of(beyond), now)) << "it could be that one";
    basalt::test::must(other->commit(kv::Durability::kBuffered));
    EXPECT_FALSE(own->is_unchanged_since(key_of(beyond), now));
    EXPECT_TRUE(own->is_unchanged_since(key_of(beyond), own->newest_sequence()));
    basalt::test::must(own->rollback());
    EXPECT_TRUE(other->is_unchanged_since(key_of(beyond), other->newest_sequence()));
    EXPECT_TRUE(other->is_unchanged_since(key_of(3), other->newest_sequence()));
  }
}

TEST_F(ChangeTrackerTest, TransactionsReportWhatTheyChangeUntilTheyEnd) {
  test::Store store;
  const auto writer = store.begin();
  const auto reader = store.begin();
  for (const bool is_commit : {true, false}) {
    const std::uint64_t before = reader->newest_sequence();
    EXPECT_TRUE(reader->is_unchanged_since("k", before));
    test::put_noted(*writer, "k", "v");
    EXPECT_FALSE(reader->is_unchanged_since("k", before));
    basalt::test::must(is_commit ? writer->commit(kv::Durability::kBuffered) : writer->rollback());
    EXPECT_TRUE(reader->is_unchanged_since("k", reader->newest_sequence()));
    EXPECT_EQ(reader->is_unchanged_since("k", before), !is_commit);
  }
}

}  // namespace
}  // namespace basalt::txn
