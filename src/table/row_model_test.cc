#include <cstdlib>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "table/test_support.h"

// Goal: after any history of statements, savepoints, commits, rollbacks, flushes and restarts every
// index holds exactly the rows that the model holds. Method: random operations on few values, so
// that unique values collide all the time, beside a map of rows. BASALT_TEST_SEED repeats a run.
namespace basalt::table {
namespace {

using basalt::test::fails_with;
using basalt::test::must;
using basalt::test::succeeds;
using test::Keys;
using test::Row;

std::uint32_t seed() {
  const char* const setting = std::getenv("BASALT_TEST_SEED");
  const auto seed = setting != nullptr
                        ? static_cast<std::uint32_t>(std::strtoul(setting, nullptr, 10))
                        : std::random_device()();
  std::cout << "BASALT_TEST_SEED=" << seed << "\n";
  return seed;
}

class RowModelTest : public testing::TestWithParam<Keys> {
 protected:
  using Rows = std::map<std::string, Row>;  // by stored primary key

  std::size_t pick(std::size_t choices) { return random_() % choices; }
  bool one_in(std::size_t choices) { return pick(choices) == 0; }

  Row random_row() {
    static const char* const kEmails[] = {"ann", "ANN", "Ann  ", "bob", "boB", "", " ", "carl"};
    static const char* const kCities[] = {"rome", "ROME", "rome ", "oslo", "", "bonn"};
    Row row;
    row.id = static_cast<std::int32_t>(pick(12)) - 3;
    if (!one_in(4)) row.email = kEmails[pick(8)];
    row.city = kCities[pick(6)];
    if (!one_in(4)) row.amount = static_cast<std::int32_t>(pick(5)) - 2;
    row.code = static_cast<std::uint32_t>(pick(12));
    if (!one_in(3)) row.note = std::string(pick(one_in(5) ? 3000 : 5), 'n');
    return row;
  }
  std::string primary_of(const Row& row) const {
    test::SortKey parts = test::sort_key(GetParam(), test::kPrimary, row);
    return parts[0] + (parts.size() > 1 ? parts[1] : "");
  }
  // The index in which `row` would be a duplicate of a row other than `self`; kIndexes: none.
  std::size_t duplicate_of(const Row& row, const std::string& self) const {
    for (const std::size_t index : {test::kPrimary, test::kByEmail, test::kByCode}) {
      for (const auto& [key, other] : rows_) {
        if (key == self) continue;
        if (index == test::kPrimary && GetParam() != Keys::kHidden &&
            primary_of(row) == primary_of(other)) {
          return index;
        }
        if (index == test::kByEmail && row.email && other.email &&
            test::sortable(*row.email) == test::sortable(*other.email)) {
          return index;
        }
        if (index == test::kByCode && row.code == other.code) return index;
      }
    }
    return test::kIndexes;
  }
  Rows::iterator any_row() {
    return std::next(rows_.begin(), static_cast<std::ptrdiff_t>(pick(rows_.size())));
  }
  void expect_outcome(const Status& status, std::size_t duplicate) {
    if (duplicate == test::kIndexes) {
      ASSERT_TRUE(succeeds(status));
    } else {
      ASSERT_TRUE(fails_with(ErrorCode::kDuplicateKey, status));
      ASSERT_EQ(session_->writer().duplicate_index(), duplicate);
      ASSERT_TRUE(rows_.contains(session_->writer().duplicate_primary_key()));
    }
  }

  void change_a_row() {
    const Row row = random_row();
    if (rows_.empty() || one_in(3)) {
      const std::size_t duplicate = duplicate_of(row, "");
      expect_outcome(session_->insert(row), duplicate);
      if (duplicate == test::kIndexes) rows_[session_->writer().primary_key()] = row;
    } else if (const auto old = any_row(); one_in(3)) {
      ASSERT_TRUE(succeeds(session_->remove(old->second, old->first)));
      rows_.erase(old);
    } else {
      Row changed = old->second;
      if (one_in(3)) changed = row;
      if (one_in(2)) changed.email = row.email;
      if (one_in(3)) changed.city = row.city;
      if (one_in(3)) changed.note = row.note;
      const std::size_t duplicate = duplicate_of(changed, old->first);
      expect_outcome(session_->update(old->second, changed, old->first), duplicate);
      if (duplicate != test::kIndexes) return;
      rows_.erase(old);
      rows_[session_->writer().primary_key()] = changed;
    }
  }
  void run_statement() {
    const Rows before = rows_;
    txn::Transaction& transaction = session_->transaction();
    transaction.begin_statement(one_in(2) ? txn::IsolationLevel::kReadCommitted
                                          : txn::IsolationLevel::kRepeatableRead);
    for (std::size_t i = pick(4); i > 0 && !HasFatalFailure(); --i) change_a_row();
    if (one_in(4)) {
      must(transaction.rollback_statement());
      rows_ = before;
    } else {
      transaction.end_statement();
    }
  }
  void run_transaction() {
    const Rows committed = rows_;
    std::vector<Rows> savepoints;
    for (std::size_t i = 1 + pick(5); i > 0 && !HasFatalFailure(); --i) {
      run_statement();
      if (one_in(3)) {
        savepoints.push_back(rows_);
        session_->transaction().set_savepoint();
      }
      if (!savepoints.empty() && one_in(4)) {
        savepoints.resize(1 + pick(savepoints.size()));
        must(session_->transaction().rollback_to_savepoint(savepoints.size()));
        rows_ = savepoints.back();
      }
    }
    if (!HasFatalFailure() && one_in(3)) expect_rows();
    if (one_in(5)) {
      session_->rollback();
      rows_ = committed;
    } else {
      session_->commit();
    }
  }
  // What the session sees through every index, also of its open transaction.
  void expect_rows() {
    std::vector<Row> expected;
    for (const auto& [key, row] : rows_) expected.push_back(row);
    std::sort(expected.begin(), expected.end());
    for (std::size_t i = 0; i < test::kIndexes; ++i) {
      std::vector<Row> rows = session_->rows(i);
      std::sort(rows.begin(), rows.end());
      ASSERT_EQ(rows, expected) << "index " << i;
    }
  }
  void disturb_the_database(int round) {
    if (one_in(8)) must(store_.database().flush());
    if (round % 50 == 49) store_.flush_and_compact();
    if (round % 200 != 199) return;
    session_.reset();
    one_in(2) ? store_.reopen() : store_.crash();
    session_ = std::make_unique<test::Session>(store_);
  }

  std::mt19937 random_{seed()};
  test::Store store_{GetParam()};
  std::unique_ptr<test::Session> session_ = std::make_unique<test::Session>(store_);
  Rows rows_;
};

INSTANTIATE_TEST_SUITE_P(AllKeys, RowModelTest, testing::ValuesIn(test::kAllKeys), test::name_of);

TEST_P(RowModelTest, EveryIndexHoldsExactlyTheRowsOfTheModel) {
  for (int round = 0; round < 600; ++round) {
    run_transaction();
    ASSERT_FALSE(HasFatalFailure()) << "round " << round;
    disturb_the_database(round);
    if (round % 10 != 9) continue;
    expect_rows();
    ASSERT_FALSE(HasFatalFailure()) << "round " << round;
    ASSERT_EQ(store_.check(), std::vector<std::string>()) << "round " << round;
    for (std::size_t i = 0; i < test::kIndexes; ++i) {
      ASSERT_EQ(store_.entries(i), rows_.size()) << "round " << round << ", index " << i;
    }
  }
}

}  // namespace
}  // namespace basalt::table
