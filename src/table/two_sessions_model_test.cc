#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "table/test_support.h"

// Goal: what one session's statement reads while another commits changes. Method: random changes of
// both on few values, beside a map of what each should see. BASALT_TEST_SEED repeats a run; a
// failure shows what happened.
namespace basalt::table {
namespace {

using basalt::test::must;
using basalt::test::succeeds;
using test::Keys;
using test::Row;
using test::SortKey;

constexpr int kRounds = 600;
constexpr int kRows = 8;

// Rows keep their number, which tells them apart whatever else of them changes.
int number_of(const Row& row) { return std::stoi(*row.note); }

class TwoSessionsModelTest : public testing::TestWithParam<Keys> {
 protected:
  struct Known {
    Row row;
    std::string key;
  };
  // By number, as they are committed; the own session's changes are among them.
  using Rows = std::map<int, Known>;

  std::size_t pick(std::size_t choices) { return random_() % choices; }
  bool one_in(std::size_t choices) { return pick(choices) == 0; }
  void note(const std::string& what) { story_ += "  " + what + "\n"; }

  Row random_row(int number) {
    static const char* const kCities[] = {"rome", "ROME", "oslo", "bonn", "pisa"};
    Row row;
    row.id = static_cast<std::int32_t>(pick(30));
    if (!one_in(4)) row.email = "e" + std::to_string(pick(30));
    row.city = kCities[pick(5)];
    if (!one_in(4)) row.amount = static_cast<std::int32_t>(pick(9));
    row.code = static_cast<std::uint32_t>(pick(30));
    row.note = std::to_string(number);
    return row;
  }
  Row changed(const Row& old) {
    const Row row = random_row(number_of(old));
    Row changed = old;
    if (one_in(3)) changed.id = row.id;
    if (one_in(3)) changed.email = row.email;
    if (one_in(3)) changed.city = row.city;
    if (one_in(2)) changed.amount = row.amount;
    if (one_in(3)) changed.code = row.code;
    return changed;
  }
  // Inserts a row with a number of its own; does nothing if that meets a lock or another row.
  void insert(test::Session& session, Rows& rows, const std::string& who) {
    const Row row = random_row(next_number_++);
    if (!session.insert(row).is_ok()) return;
    note(who + " inserts " + testing::PrintToString(row));
    rows[number_of(row)] = {row, session.writer().primary_key()};
  }
  // Changes or removes a row likewise; false if it could not.
  bool change(test::Session& session, Rows& rows, int number, const std::string& who) {
    const Known old = rows.at(number);
    if (one_in(6)) {
      if (!session.remove(old.row, old.key).is_ok()) return false;
      note(who + " removes " + testing::PrintToString(old.row));
      rows.erase(number);
      return true;
    }
    const Row row = changed(old.row);
    if (!session.update(old.row, row, old.key).is_ok()) return false;
    note(who + " changes " + testing::PrintToString(old.row) + " to " +
         testing::PrintToString(row));
    rows[number] = {row, session.writer().primary_key()};
    return true;
  }
  int any_of(const Rows& rows) {
    return std::next(rows.begin(), static_cast<std::ptrdiff_t>(pick(rows.size())))->first;
  }
  // Begins anew with some committed rows.
  void fill() {
    story_.clear();
    test::Session session(store_);
    for (const auto& [number, known] : rows_) must(session.remove(known.row, known.key));
    rows_.clear();
    for (int i = 0; i < kRows; ++i) insert(session, rows_, "at first, one");
    session.commit();
  }
  // The other session changes something and commits it.
  void disturb() {
    test::Session other(store_);
    Rows rows = rows_;
    for (std::size_t i = 1 + pick(2); i > 0; --i) {
      if (rows.empty() || one_in(5)) {
        insert(other, rows, "the other");
      } else {
        change(other, rows, any_of(rows), "the other");
      }
    }
    other.commit();
    rows_ = std::move(rows);
  }
  // A row that a scan is on is changed by the scan's session, perhaps in vain, and perhaps the
  // changes go to files.
  void change_met(test::Session& session, int number) {
    const Rows before = rows_;
    const std::size_t savepoint = session.transaction().set_savepoint();
    change(session, rows_, number, "the scan");
    if (one_in(3)) {
      note("and takes it back");
      must(session.transaction().rollback_to_savepoint(savepoint));
      rows_ = before;
    }
    must(session.transaction().release_savepoint(savepoint));
    if (!one_in(3)) return;
    session.transaction().set_memory_limits({.spills_at = 1, .writes_meanwhile = one_in(2)});
    must(session.transaction().spill_if_large());
    session.transaction().set_memory_limits({});
  }
  static txn::IsolationLevel level(bool is_repeatable) {
    return is_repeatable ? txn::IsolationLevel::kRepeatableRead
                         : txn::IsolationLevel::kReadCommitted;
  }

  std::mt19937 random_{basalt::test::seed()};
  test::Store store_{GetParam()};
  Rows rows_;
  int next_number_ = 1;
  std::string story_;
};

INSTANTIATE_TEST_SUITE_P(AllKeys, TwoSessionsModelTest, testing::ValuesIn(test::kAllKeys),
                         test::name_of);

// As a function or a trigger reads, that the statement calls again and again.
TEST_P(TwoSessionsModelTest, AStatementSeesItsSnapshotAndInItsPlaceWhatItHasChanged) {
  for (int round = 0; round < kRounds; ++round) {
    fill();
    test::Session own(store_);
    own.transaction().begin_statement(level(one_in(3)));
    const Rows snapshot = rows_;
    own.rows();
    // What the statement has made of primary keys: a row, or nothing.
    std::map<std::string, std::optional<Row>> changes;
    for (std::size_t i = pick(9); i > 0; --i) {
      if (one_in(2)) {
        disturb();
        continue;
      }
      const int number = rows_.empty() || one_in(5) ? next_number_ : any_of(rows_);
      const std::string old_key = rows_.contains(number) ? rows_.at(number).key : "";
      if (number == next_number_) {
        insert(own, rows_, "the statement");
      } else if (change(own, rows_, number, "the statement")) {
        changes[old_key] = std::nullopt;
      } else {
        continue;
      }
      if (rows_.contains(number)) changes[rows_.at(number).key] = rows_.at(number).row;
      std::vector<Row> expected;
      for (const auto& [known_number, known] : snapshot) {
        if (!changes.contains(known.key)) expected.push_back(known.row);
      }
      for (const auto& [key, row] : changes) {
        if (row) expected.push_back(*row);
      }
      std::sort(expected.begin(), expected.end());
      for (std::size_t index = 0; index < test::kIndexes; ++index) {
        std::vector<Row> rows = own.rows(index);
        std::sort(rows.begin(), rows.end());
        ASSERT_EQ(rows, expected) << "index " << index << ", round " << round << "\n" << story_;
      }
    }
    own.commit();
    ASSERT_EQ(store_.check(), std::vector<std::string>()) << "round " << round << "\n" << story_;
  }
}

// The key of a row's entry, comparable as the index is ordered.
SortKey entry_key(Keys keys, std::size_t index, const std::string& primary_key, const Row& row) {
  if (index == test::kPrimary) return {primary_key};
  SortKey key = test::sort_key(keys, index, row);
  key.resize(index == test::kByAmount ? 2 : 1);
  const bool is_unique = index == test::kByCode || (index == test::kByEmail && row.email);
  if (!is_unique) key.push_back(primary_key);
  return key;
}

TEST_P(TwoSessionsModelTest, AScanThatLocksMeetsRowsThatAreMovedAheadOfIt) {
  for (int round = 0; round < kRounds; ++round) {
    fill();
    test::Session own(store_);
    const bool is_repeatable = one_in(3);
    own.transaction().begin_statement(level(is_repeatable));
    const std::size_t index = pick(test::kIndexes);
    const bool is_forward = one_in(2);
    note("scan of index " + std::to_string(index) + (is_forward ? "" : " backward") +
         (is_repeatable ? " with gap locks" : ""));
    LockingRead locking{.wait = {.may_wait = false}, .locks_gaps = is_repeatable};
    if (one_in(2)) locking.stale_rows_max = 1 + static_cast<std::uint32_t>(pick(2));
    Cursor cursor(store_.table());
    cursor.open(own.transaction(), index, locking, codec::ColumnSet(test::kColumns, true), false);
    const auto key_of = [&](const Known& known) {
      return entry_key(GetParam(), index, known.key, known.row);
    };
    std::optional<SortKey> at;
    const auto is_ahead = [&](const Known& known) {
      return !at || (is_forward ? key_of(known) > *at : key_of(known) < *at);
    };
    std::set<int> awaited;  // to be met, as they have been ahead all the time
    for (const auto& [number, known] : rows_) awaited.insert(number);
    std::set<int> met;
    test::Record record;
    bool found = false;
    while (true) {
      for (std::size_t i = pick(3); i > 0; --i) disturb();
      std::erase_if(awaited, [&](int number) {
        return !rows_.contains(number) || !is_ahead(rows_.at(number));
      });
      ASSERT_TRUE(succeeds(!at          ? (is_forward ? cursor.seek_first(record.data(), found)
                                                      : cursor.seek_last(record.data(), found))
                           : is_forward ? cursor.next(record.data(), found)
                                        : cursor.previous(record.data(), found)))
          << "round " << round << "\n"
          << story_;
      if (!found) break;
      const Row row = record.row();
      note("the scan meets " + testing::PrintToString(row));
      ASSERT_TRUE(rows_.contains(number_of(row))) << "round " << round << "\n" << story_;
      const Known& known = rows_.at(number_of(row));
      ASSERT_EQ(row, known.row) << "round " << round << "\n" << story_;
      ASSERT_TRUE(is_ahead(known)) << "round " << round << "\n" << story_;
      ASSERT_TRUE(met.insert(number_of(row)).second) << "round " << round << "\n" << story_;
      awaited.erase(number_of(row));
      at = key_of(known);
      if (one_in(3)) {
        change_met(own, number_of(row));
        continue;
      }
      if (is_repeatable || !one_in(3)) continue;
      // The row does not match; it may be met again.
      cursor.release_row_lock();
      met.erase(number_of(row));
    }
    ASSERT_TRUE(awaited.empty()) << "row " << *awaited.begin() << " is not met, round " << round
                                 << "\n"
                                 << story_;
    cursor.close();
    own.commit();
  }
}

}  // namespace
}  // namespace basalt::table
