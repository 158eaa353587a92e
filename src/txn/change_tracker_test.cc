#include "txn/change_tracker.h"

#include <memory>
#include <string>

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
    return tracker_->is_unchanged_since("k", sequence);
  }

  const std::unique_ptr<ChangeTracker> tracker_ = std::make_unique<ChangeTracker>();
};

TEST_F(ChangeTrackerTest, WhatNobodyChangedIsUnchanged) {
  EXPECT_TRUE(is_unchanged_since(0));
  EXPECT_TRUE(is_unchanged_since(UINT64_MAX - 1));
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
  EXPECT_FALSE(tracker_->is_unchanged_since("another", 19));
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
