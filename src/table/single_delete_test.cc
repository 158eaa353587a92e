#include <functional>
#include <string>
#include <vector>

#include "table/test_support.h"

// Goal: entries of secondary indexes are removed with single deletes, which are right only if each
// meets exactly one put. A mistake shows only after flushes and compactions: an entry that comes
// back, or one that is lost. Method: short histories of one key, each with every choice of moments
// at which memtables are written to files, then a compaction.
namespace basalt::table {
namespace {

using basalt::test::must;
using test::Keys;
using test::Row;
using Problems = std::vector<std::string>;

class SingleDeleteTest : public testing::TestWithParam<Keys> {
 protected:
  using Step = std::function<Status()>;

  // Runs the steps, each its own transaction, with a flush behind step i if bit i is set.
  void run(const std::vector<Step>& steps, unsigned flushes) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      must(steps[i]());
      session_.commit();
      if ((flushes >> i & 1) != 0) must(store_.database().flush());
    }
  }
  // Expects the rows to be exactly `rows`, also without obsolete versions.
  void expect_rows(std::size_t rows, unsigned flushes) {
    store_.flush_and_compact();
    for (std::size_t i = 0; i < test::kIndexes; ++i) {
      ASSERT_EQ(store_.entries(i), rows) << "index " << i << ", flushes " << flushes;
    }
    ASSERT_EQ(store_.check(), Problems()) << "flushes " << flushes;
  }
  Step insert(const Row& row) {
    return [this, row] {
      const Status status = session_.insert(row);
      keys_[row.id] = session_.writer().primary_key();
      return status.clone();
    };
  }
  Step update(const Row& from, const Row& to) {
    return [this, from, to] {
      const Status status = session_.update(from, to, keys_[from.id]);
      keys_[to.id] = session_.writer().primary_key();
      return status.clone();
    };
  }
  Step remove(const Row& row) {
    return [this, row] { return session_.remove(row, keys_[row.id]); };
  }

  test::Store store_{GetParam()};
  test::Session session_{store_};
  std::map<int, std::string> keys_;
};

INSTANTIATE_TEST_SUITE_P(AllKeys, SingleDeleteTest, testing::ValuesIn(test::kAllKeys),
                         test::name_of);

const Row kLower{1, "abc", "rome", 10, 100, "n"};
const Row kUpper{1, "ABC", "ROME", 10, 100, "n"};

TEST_P(SingleDeleteTest, AValueThatOnlyLooksDifferentLeavesNoGhostWhenItGoes) {
  for (unsigned flushes = 0; flushes < 16; ++flushes) {
    run({insert(kLower), update(kLower, kUpper), update(kUpper, kLower), remove(kLower)}, flushes);
    expect_rows(0, flushes);
    run({insert(kLower), update(kLower, kUpper)}, flushes);
    expect_rows(1, flushes);
    run({remove(kUpper)}, 0);
  }
}

TEST_P(SingleDeleteTest, AUniqueValueThatMovesFromRowToRowIsAlwaysOneEntry) {
  const Row a{1, "abc", "rome", 10, 100, "n"};
  const Row b{2, "xyz", "oslo", 20, 200, "n"};
  const Row a_away{1, "def", "rome", 10, 101, "n"};
  const Row b_moved{2, "ABC", "oslo", 20, 100, "n"};
  const Row c{3, "Abc", "bonn", 30, 100, "n"};
  for (unsigned flushes = 0; flushes < 64; flushes += 5) {
    run({insert(a), insert(b), update(a, a_away), update(b, b_moved), remove(b_moved), insert(c)},
        flushes);
    expect_rows(2, flushes);
    run({remove(c), remove(a_away)}, flushes);
    expect_rows(0, flushes);
  }
}

TEST_P(SingleDeleteTest, AKeyThatComesAndGoesWithinTransactionsLeavesNothing) {
  const std::vector<Step> all = {insert(kLower), remove(kLower), insert(kUpper),
                                 remove(kUpper), insert(kLower), update(kLower, kUpper),
                                 remove(kUpper), insert(kLower), remove(kLower)};
  const auto batch = [&](std::size_t from, std::size_t to) -> Step {
    return [&all, from, to] {
      for (std::size_t i = from; i < to; ++i) BASALT_TRY(all[i]());
      return Status::ok();
    };
  };
  for (unsigned flushes = 0; flushes < 8; ++flushes) {
    run({batch(0, 9)}, flushes);
    expect_rows(0, flushes);
    run({batch(0, 3), batch(3, 9)}, flushes);
    expect_rows(0, flushes);
    run({batch(0, 1), batch(1, 5), batch(5, 8), batch(8, 9)}, flushes);
    expect_rows(0, flushes);
    run({batch(0, 5)}, flushes);
    expect_rows(1, flushes);
    run({batch(1, 8)}, flushes);
    expect_rows(1, flushes);
    run({batch(8, 9)}, flushes);
    expect_rows(0, flushes);
  }
}

TEST_P(SingleDeleteTest, SnapshotsBetweenTheStepsSeeTheirVersionAndLeaveNoGhosts) {
  for (unsigned flushes = 0; flushes < 16; ++flushes) {
    std::vector<std::unique_ptr<kv::Snapshot>> snapshots;
    for (const Step& step :
         {insert(kLower), update(kLower, kUpper), remove(kUpper), insert(kLower), remove(kLower)}) {
      run({step}, flushes >> snapshots.size());
      snapshots.push_back(store_.database().take_snapshot());
    }
    store_.flush_and_compact();
    const std::size_t expected[] = {1, 1, 0, 1, 0};
    for (std::size_t i = 0; i < snapshots.size(); ++i) {
      kv::Iterator iterator = store_.database().new_iterator(
          store_.table().family(test::kByEmail), {snapshots[i].get(), true},
          store_.table().whole_range(test::kByEmail));
      std::size_t count = 0;
      for (iterator.seek_to_first(); iterator.is_valid(); iterator.next()) ++count;
      ASSERT_EQ(count, expected[i]) << "flushes " << flushes << ", after step " << i;
    }
    snapshots.clear();
    expect_rows(0, flushes);
  }
}

TEST_P(SingleDeleteTest, WhatIsRolledBackDoesNotCountAsAPutOrARemoval) {
  txn::Transaction& transaction = session_.transaction();
  for (unsigned flushes = 0; flushes < 16; ++flushes) {
    run({insert(kLower)}, flushes);
    transaction.begin_statement(txn::IsolationLevel::kReadCommitted);
    must(update(kLower, kUpper)());
    must(transaction.rollback_statement());
    transaction.set_savepoint();
    transaction.begin_statement(txn::IsolationLevel::kReadCommitted);
    must(remove(kLower)());
    transaction.end_statement();
    must(transaction.rollback_to_savepoint(1));
    must(remove(kLower)());
    session_.commit();
    expect_rows(0, flushes);
  }
}

}  // namespace
}  // namespace basalt::table
