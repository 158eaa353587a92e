#include "table/cursor.h"

#include <initializer_list>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "table/test_support.h"

// Goal: a cursor stands where SQL says. Method: rows in files, in memory and in the open
// transaction; every seek mode with every prefix of every index, and random walks, compared with a
// sorted vector of the rows.
namespace basalt::table {
namespace {

using basalt::test::must;
using basalt::test::succeeds;
using test::Keys;
using test::Row;
using test::SortKey;

constexpr SeekMode kModes[] = {SeekMode::kFirstWithPrefix, SeekMode::kLastWithPrefix,
                               SeekMode::kFirstAtOrAfter,  SeekMode::kFirstAfter,
                               SeekMode::kLastAtOrBefore,  SeekMode::kLastBefore};

// The three ways in which a cursor comes from an entry to the columns.
enum class Reading : std::uint8_t { kWholeRows, kEntriesOnly, kLocking };

class CursorTest : public testing::TestWithParam<Keys> {
 protected:
  CursorTest() {
    const char* const cities[] = {"rome", "ROME", "Romford", "oslo", "", "ro", "bonn"};
    for (int i = 0; i < 60; ++i) {
      Row row;
      row.id = i * 2 - 20;
      if (i % 5 != 0) row.email = (i % 2 == 0 ? "e" : "E") + std::to_string(i % 40 + i / 40 * 100);
      row.city = cities[random_() % 7];
      if (i % 7 != 0) row.amount = static_cast<int>(random_() % 9) - 4;
      row.code = static_cast<std::uint32_t>((i * 37) % 97);
      row.note = std::string(static_cast<std::size_t>(i), 'n');
      must(session_.insert(row));
      keys_[row.id] = session_.writer().primary_key();
      rows_.push_back(row);
      if (i == 20 || i == 40) session_.commit();
      if (i == 20) must(store_.database().flush());
    }
    for (std::size_t i = 0; i < 12; ++i) {
      const std::size_t at = random_() % rows_.size();
      must(session_.remove(rows_[at], keys_[rows_[at].id]));
      rows_.erase(rows_.begin() + static_cast<std::ptrdiff_t>(at));
    }
  }

  void open(std::size_t index_number, Reading reading = Reading::kWholeRows) {
    ReadSettings settings;
    if (reading == Reading::kLocking) {
      settings = LockingRead{.mode = lock::LockMode::kShared, .wait = {.may_wait = false}};
    }
    codec::ColumnSet wanted(test::kColumns, true);
    if (reading == Reading::kEntriesOnly) {
      wanted.clear();
      for (const auto& part : store_.table().index(index_number).parts) {
        if (part.prefix_length == 0) wanted.set(part.column);
      }
      for (const auto& part : store_.table().index(0).parts) wanted.set(part.column);
    }
    cursor_.open(session_.transaction(), index_number, settings, wanted, false);
    wanted_ = wanted;
    sorted_ = rows_;
    std::sort(sorted_.begin(), sorted_.end(), [&](const Row& left, const Row& right) {
      return sort_key(index_number, left) < sort_key(index_number, right);
    });
  }
  SortKey sort_key(std::size_t index_number, const Row& row) const {
    return test::sort_key(GetParam(), index_number, row);
  }
  // Before the fixture's rows in most indexes, or behind them.
  static Row row_at_end(int number) {
    Row row = test::row_of(number < 0 ? number - 1000 : number + 1000);
    if (number < 0) row.email = std::nullopt;
    if (number >= 0) row.amount = std::nullopt;
    row.city = number < 0 ? "" : "zz";
    return row;
  }
  // Where a seek must end: a position in sorted_, or its size if there is no such row.
  std::size_t expected_position(std::size_t index_number, SeekMode mode, const SortKey& prefix) {
    const auto compare = [&](const Row& row) {
      SortKey key = sort_key(index_number, row);
      key.resize(prefix.size());
      return key < prefix ? -1 : key > prefix ? 1 : 0;
    };
    std::vector<std::size_t> with, before, after;
    for (std::size_t i = 0; i < sorted_.size(); ++i) {
      const int order = compare(sorted_[i]);
      (order == 0 ? with : order < 0 ? before : after).push_back(i);
    }
    const std::size_t none = sorted_.size();
    const auto first = [none](const auto& list) { return list.empty() ? none : list.front(); };
    const auto last = [none](const auto& list) { return list.empty() ? none : list.back(); };
    switch (mode) {
      case SeekMode::kFirstWithPrefix: return first(with);
      case SeekMode::kLastWithPrefix: return last(with);
      case SeekMode::kFirstAtOrAfter: return with.empty() ? first(after) : first(with);
      case SeekMode::kFirstAfter: return first(after);
      case SeekMode::kLastAtOrBefore: return with.empty() ? last(before) : last(with);
      case SeekMode::kLastBefore: return last(before);
    }
    BASALT_UNREACHABLE();
  }
  void expect_at(bool found, std::size_t position) {
    ASSERT_EQ(found, position < sorted_.size());
    if (!found) return;
    Row expected = sorted_[position];
    Row row = record_.row();
    if (!wanted_.test(test::kNote)) row.note = expected.note = std::nullopt;
    if (wanted_.test(test::kEmail)) {
      ASSERT_EQ(row.email, expected.email);
    }
    if (wanted_.test(test::kCity)) {
      ASSERT_EQ(row.city, expected.city);
    }
    if (wanted_.test(test::kId)) {
      ASSERT_EQ(row.id, expected.id);
    }
    if (wanted_.test(test::kCode)) {
      ASSERT_EQ(row.code, expected.code);
    }
    if (wanted_.test(test::kNote)) {
      ASSERT_EQ(row, expected);
    }
    ASSERT_EQ(cursor_.primary_key(), keys_[expected.id]);
  }
  // Moves at random from `position`, without leaving the rows.
  void walk(std::size_t position, int steps) {
    for (int i = 0; i < steps && !HasFatalFailure(); ++i) {
      bool forward = random_() % 2 == 0;
      if (position == 0) forward = true;
      if (position + 1 == sorted_.size()) forward = false;
      bool found = false;
      must(forward ? cursor_.next(record_.data(), found) : cursor_.previous(record_.data(), found));
      position = forward ? position + 1 : position - 1;
      expect_at(found, position);
    }
  }
  // A row to search for: one that is there, or values beside those that are.
  Row random_search() {
    Row row = rows_[random_() % rows_.size()];
    if (random_() % 3 == 0) row.id += 1;
    if (random_() % 3 == 0) row.email = "e" + std::to_string(random_() % 200);
    if (random_() % 3 == 0) row.email = std::nullopt;
    if (random_() % 3 == 0) row.city = random_() % 2 == 0 ? "romf" : "RO";
    if (random_() % 3 == 0) row.amount = static_cast<int>(random_() % 12) - 6;
    if (random_() % 3 == 0) row.code = static_cast<std::uint32_t>(random_() % 110);
    return row;
  }

  std::mt19937 random_{20261121};
  test::Store store_{GetParam()};
  test::Session session_{store_};
  std::map<int, std::string> keys_;  // primary keys, by id
  std::vector<Row> rows_;
  std::vector<Row> sorted_;  // in the order of the open index
  codec::ColumnSet wanted_{test::kColumns};
  test::Record record_;
  Cursor cursor_{store_.table()};
};

INSTANTIATE_TEST_SUITE_P(AllKeys, CursorTest, testing::ValuesIn(test::kAllKeys), test::name_of);

class SeekTest : public CursorTest {
 protected:
  void seek_and_walk_everywhere(std::initializer_list<Reading> readings);
};

INSTANTIATE_TEST_SUITE_P(AllKeys, SeekTest, testing::ValuesIn(test::kAllKeys), test::name_of);

void SeekTest::seek_and_walk_everywhere(std::initializer_list<Reading> readings) {
  for (const Reading reading : readings) {
    for (std::size_t index = 0; index < test::kIndexes; ++index) {
      if (GetParam() == Keys::kHidden && index != test::kByCode) continue;
      open(index, reading);
      for (int round = 0; round < 60; ++round) {
        const Row wanted = random_search();
        const std::size_t parts =
            1 + random_() % std::max<std::size_t>(store_.table().index(index).parts.size(), 1);
        const SeekMode mode = kModes[random_() % 6];
        SortKey prefix = sort_key(index, wanted);
        prefix.resize(parts);
        bool found = false;
        must(cursor_.seek(mode, test::search_prefix(store_.table(), index, wanted, parts),
                          record_.data(), found));
        const std::size_t position = expected_position(index, mode, prefix);
        expect_at(found, position);
        if (found) walk(position, 12);
        ASSERT_FALSE(HasFatalFailure())
            << "reading " << static_cast<int>(reading) << ", index " << index << ", round " << round
            << ", mode " << static_cast<int>(mode) << ", parts " << parts << ", for "
            << testing::PrintToString(wanted);
      }
    }
  }
}

TEST_P(SeekTest, EverySeekFindsWhatASortedListHasAndWalksFromThere) {
  seek_and_walk_everywhere({Reading::kWholeRows, Reading::kEntriesOnly, Reading::kLocking});
}

TEST_P(SeekTest, WithoutOwnChangesAllSeeksOfASnapshotFindTheSame) {
  session_.commit();
  session_.transaction().begin_statement(txn::IsolationLevel::kRepeatableRead);
  session_.transaction().open_snapshot();
  test::Session other(store_);
  Row newer = rows_[5];
  newer.city = "newer";
  must(other.update(rows_[5], newer, keys_[newer.id]));
  other.commit();
  seek_and_walk_everywhere({Reading::kWholeRows, Reading::kEntriesOnly});
}

TEST_P(CursorTest, AWholeIndexIsReadInOrderFromBothEnds) {
  for (std::size_t index = 0; index < test::kIndexes; ++index) {
    if (GetParam() == Keys::kHidden && index != test::kByCode) continue;
    open(index);
    bool found = false;
    std::size_t position = 0;
    for (must(cursor_.seek_first(record_.data(), found)); found;
         must(cursor_.next(record_.data(), found))) {
      expect_at(found, position++);
    }
    EXPECT_EQ(position, sorted_.size());
    for (must(cursor_.seek_last(record_.data(), found)); found;
         must(cursor_.previous(record_.data(), found))) {
      expect_at(found, --position);
    }
    EXPECT_EQ(position, 0u);
  }
}

TEST_P(CursorTest, ACursorThatIsOpenedAgainUnpacksTheColumnsThatAreWantedThen) {
  for (int round = 0; round < 200 && !HasFatalFailure(); ++round) {
    const std::size_t index =
        GetParam() == Keys::kHidden ? test::kByCode : random_() % test::kIndexes;
    open(index, static_cast<Reading>(random_() % 3));
    record_ = test::Record();
    bool found = false;
    must(cursor_.seek_first(record_.data(), found));
    expect_at(found, 0);
    if (wanted_.test(test::kNote)) continue;
    EXPECT_EQ(record_.row().note, "") << "it is not wanted";
    wanted_.set_all();
    cursor_.set_wanted(wanted_);
    must(cursor_.next(record_.data(), found));
    expect_at(found, 1);
  }
}

TEST_P(CursorTest, NextWithPrefixEndsWhereThePrefixEnds) {
  if (GetParam() == Keys::kHidden) GTEST_SKIP() << "rows of equal value have no known order";
  open(test::kByCity);
  for (const char* city : {"rome", "oslo", "", "ro"}) {
    const Row wanted{0, {}, city, {}, 0, {}};
    SortKey prefix = {test::sortable(std::string(city))};
    std::size_t position = expected_position(test::kByCity, SeekMode::kFirstWithPrefix, prefix);
    const std::size_t last = expected_position(test::kByCity, SeekMode::kLastWithPrefix, prefix);
    bool found = false;
    must(cursor_.seek(SeekMode::kFirstWithPrefix,
                      test::search_prefix(store_.table(), test::kByCity, wanted, 1), record_.data(),
                      found));
    while (found) {
      expect_at(found, position++);
      must(cursor_.next_with_prefix(record_.data(), found));
    }
    EXPECT_EQ(position, last + 1) << city;
  }
}

TEST_P(CursorTest, ALookupFindsExactlyTheRowWithTheValue) {
  for (const std::size_t index : {test::kPrimary, test::kByEmail, test::kByCode}) {
    if (index == test::kPrimary && GetParam() == Keys::kHidden) continue;
    for (const Reading reading : {Reading::kWholeRows, Reading::kEntriesOnly, Reading::kLocking}) {
      open(index, reading);
      const std::size_t parts = store_.table().index(index).parts.size();
      for (std::size_t at = 0; at < sorted_.size(); ++at) {
        if (index == test::kByEmail && !sorted_[at].email) continue;
        bool found = false;
        must(cursor_.find_unique(test::search_prefix(store_.table(), index, sorted_[at], parts),
                                 record_.data(), found));
        expect_at(found, at);
        ASSERT_FALSE(HasFatalFailure())
            << "index " << index << ", reading " << static_cast<int>(reading);
      }
      Row none = rows_[0];
      none.id = 1001;
      none.email = "none";
      none.code = 1001;
      bool found = true;
      must(cursor_.find_unique(test::search_prefix(store_.table(), index, none, parts),
                               record_.data(), found));
      EXPECT_FALSE(found);
    }
  }
}

TEST_P(CursorTest, ACursorMovesOnFromALookup) {
  for (const std::size_t index : {test::kPrimary, test::kByEmail, test::kByCode}) {
    if (GetParam() == Keys::kHidden && index != test::kByCode) continue;
    open(index);
    const std::size_t parts = store_.table().index(index).parts.size();
    for (std::size_t at = 0; at < sorted_.size() && !HasFatalFailure(); ++at) {
      if (index == test::kByEmail && !sorted_[at].email) continue;
      const std::string key = test::search_prefix(store_.table(), index, sorted_[at], parts);
      bool found = false;
      must(cursor_.find_unique(key, record_.data(), found));
      must(cursor_.next(record_.data(), found));
      expect_at(found, at + 1);
      if (found) walk(at + 1, 4);
      must(cursor_.find_unique(key, record_.data(), found));
      must(cursor_.previous(record_.data(), found));
      expect_at(found, at == 0 ? sorted_.size() : at - 1);
    }
  }
}

TEST_P(CursorTest, AParkedCursorGoesOnInAnotherTransaction) {
  session_.commit();
  for (std::size_t index = 0; index < test::kIndexes; ++index) {
    if (GetParam() == Keys::kHidden && index != test::kByCode) continue;
    for (const bool forward : {true, false}) {
      open(index);
      bool found = false;
      std::size_t position = forward ? 0 : sorted_.size() - 1;
      must(forward ? cursor_.seek_first(record_.data(), found)
                   : cursor_.seek_last(record_.data(), found));
      while (found) {
        expect_at(found, position);
        ASSERT_FALSE(HasFatalFailure()) << "index " << index << ", forward " << forward;
        cursor_.park();
        cursor_.close();
        session_.commit();
        open(index);
        must(forward ? cursor_.next(record_.data(), found)
                     : cursor_.previous(record_.data(), found));
        position += forward ? 1 : static_cast<std::size_t>(-1);
      }
      EXPECT_EQ(position, forward ? sorted_.size() : static_cast<std::size_t>(-1));
    }
  }
}

TEST_P(CursorTest, AScanThatTurnsAtItsEndBeginsWithTheLastRowThatItMet) {
  for (std::size_t index = 0; index < test::kIndexes; ++index) {
    for (const bool is_forward : {true, false}) {
      const auto move = [&](bool forward, bool& found) {
        must(forward ? cursor_.next(record_.data(), found)
                     : cursor_.previous(record_.data(), found));
      };
      open(index);
      bool found = false;
      must(is_forward ? cursor_.seek_first(record_.data(), found)
                      : cursor_.seek_last(record_.data(), found));
      cursor_.park();  // so that it goes on in a part of the index
      int last = 0;
      for (move(is_forward, found); found; move(is_forward, found)) last = record_.id();
      move(!is_forward, found);
      ASSERT_TRUE(found);
      EXPECT_EQ(record_.id(), last) << "index " << index;
    }
  }
}

TEST_P(CursorTest, AScanAtItsEndOutlivesChangesThatAreTakenBackAndTurnsToTheLastRowLeft) {
  txn::Transaction& transaction = session_.transaction();
  const auto move = [&](bool forward, bool& found) {
    must(forward ? cursor_.next(record_.data(), found) : cursor_.previous(record_.data(), found));
  };
  for (const bool is_parked : {true, false}) {
    for (std::size_t index = 0; index < test::kIndexes; ++index) {
      for (const bool is_forward : {true, false}) {
        const std::size_t savepoint = transaction.set_savepoint();
        for (int number = -60; number < 60; ++number) must(session_.insert(row_at_end(number)));
        open(index);
        bool found = false;
        must(is_forward ? cursor_.seek_first(record_.data(), found)
                        : cursor_.seek_last(record_.data(), found));
        while (found) move(is_forward, found);
        if (is_parked) cursor_.park();
        must(transaction.rollback_to_savepoint(savepoint));
        if (is_parked) {
          move(is_forward, found);
          EXPECT_FALSE(found);
        }
        move(!is_forward, found);
        const std::vector<Row> left = session_.rows(index);
        ASSERT_TRUE(found) << "index " << index << ", parked " << is_parked;
        EXPECT_EQ(record_.id(), (is_forward ? left.back() : left.front()).id) << "index " << index;
      }
    }
  }
}

TEST_P(CursorTest, AConfinedCursorNeverLeavesItsRange) {
  open(test::kByCode);
  const auto prefix = [this](std::uint32_t code) {
    return test::search_prefix(store_.table(), test::kByCode, {0, {}, "", {}, code, {}}, 1);
  };
  cursor_.confine(prefix(20), prefix(60));
  std::erase_if(sorted_, [](const Row& row) { return row.code < 20 || row.code >= 60; });
  ASSERT_GT(sorted_.size(), 5u);
  for (int round = 0; round < 200 && !HasFatalFailure(); ++round) {
    const auto code = static_cast<std::uint32_t>(random_() % 100);
    const SeekMode mode = kModes[random_() % 6];
    bool found = false;
    must(cursor_.seek(mode, prefix(code), record_.data(), found));
    const std::size_t position =
        expected_position(test::kByCode, mode, {test::sortable(std::int64_t{code})});
    expect_at(found, position);
    if (found) walk(position, 8);
    ASSERT_FALSE(HasFatalFailure()) << "code " << code << ", mode " << static_cast<int>(mode);
  }
  bool found = false;
  must(cursor_.seek_first(record_.data(), found));
  expect_at(found, 0);
  must(cursor_.previous(record_.data(), found));
  EXPECT_FALSE(found);
  must(cursor_.seek_last(record_.data(), found));
  expect_at(found, sorted_.size() - 1);
  must(cursor_.next(record_.data(), found));
  EXPECT_FALSE(found);
  cursor_.lift_confinement();
  must(cursor_.seek_first(record_.data(), found));
  EXPECT_LT(record_.row().code, 20u);
}

TEST_P(CursorTest, AnEmptyConfinementHasNoRows) {
  open(test::kByCode);
  const std::string at =
      test::search_prefix(store_.table(), test::kByCode, {0, {}, "", {}, 50, {}}, 1);
  cursor_.confine(at, at);
  bool found = true;
  must(cursor_.seek_first(record_.data(), found));
  EXPECT_FALSE(found);
  must(cursor_.seek_last(record_.data(), found));
  EXPECT_FALSE(found);
  must(cursor_.seek(SeekMode::kFirstAtOrAfter, at, record_.data(), found));
  EXPECT_FALSE(found);
}

TEST_P(CursorTest, ARowIsFoundByItsPrimaryKeyWhateverIndexIsOpen) {
  for (const std::size_t index : {test::kPrimary, test::kByCity}) {
    open(index);
    for (const Row& row : rows_) {
      bool found = false;
      must(cursor_.find_row(keys_[row.id], record_.data(), found));
      ASSERT_TRUE(found);
      EXPECT_EQ(record_.row(), row);
      EXPECT_EQ(cursor_.primary_key(), keys_[row.id]);
    }
    bool found = true;
    must(cursor_.find_row(keys_[rows_[0].id] + "x", record_.data(), found));
    EXPECT_FALSE(found);
  }
}

// The record's note points into memory of the cursor; other changes of the transaction, made from
// the row or beside it, must not pull it away.
TEST_P(CursorTest, BlobsOfOwnRowsStayWhileTheTransactionWrites) {
  for (const std::size_t index : {test::kPrimary, test::kByCode}) {
    open(index);
    bool found = false;
    int next_id = 1000 + 200 * static_cast<int>(index);
    for (must(cursor_.seek_last(record_.data(), found)); found && next_id % 200 < 50;
         must(cursor_.previous(record_.data(), found))) {
      const Row before = record_.row();
      for (int i = 0; i < 5; ++i, ++next_id) {
        must(session_.insert({next_id, std::nullopt, "zz", 100, static_cast<std::uint32_t>(next_id),
                              std::string(3000, 'x')}));
      }
      ASSERT_EQ(record_.row(), before) << "index " << index;
    }
  }
}

TEST_P(CursorTest, TheKeyOfAnOwnRowIsKnownAfterFurtherWritesAlsoIfTheyAreTakenBack) {
  session_.commit();
  for (const bool is_taken_back : {false, true}) {
    session_.transaction().begin_statement(txn::IsolationLevel::kReadCommitted);
    must(session_.insert(row_at_end(0)));
    const std::string key = session_.writer().primary_key();
    open(test::kByCode, Reading::kEntriesOnly);
    bool found = false;
    must(cursor_.seek_last(record_.data(), found));
    ASSERT_EQ(record_.row().code, row_at_end(0).code);
    const std::size_t savepoint = session_.transaction().set_savepoint();
    for (int number = 1; number < 60; ++number) must(session_.insert(row_at_end(number)));
    if (is_taken_back) must(session_.transaction().rollback_to_savepoint(savepoint));
    EXPECT_EQ(cursor_.primary_key(), key);
    cursor_.close();
    session_.rollback();
    session_.transaction().end_statement();
  }
}

TEST_P(CursorTest, ABatchReadsTheRowsThatDeferredMovesFound) {
  for (const bool sorts : {false, true}) {
    open(test::kByCity);
    ASSERT_TRUE(cursor_.may_defer_rows());
    cursor_.set_deferral(true);
    RowBatch batch;
    std::vector<int> ranges(2);
    std::vector<std::pair<std::string, int*>> expected;
    for (int& range : ranges) {
      for (const char* city : {"rome", "oslo"}) {
        bool found = false;
        must(cursor_.seek(
            SeekMode::kFirstWithPrefix,
            test::search_prefix(store_.table(), test::kByCity, {0, {}, city, {}, 0, {}}, 1),
            record_.data(), found));
        for (; found; must(cursor_.next_with_prefix(record_.data(), found))) {
          cursor_.add_to(batch, &range);
          expected.emplace_back(cursor_.primary_key(), &range);
        }
      }
    }
    ASSERT_GT(expected.size(), 10u);
    if (sorts) {
      batch.sort();
      std::sort(expected.begin(), expected.end());
    }
    std::vector<std::pair<std::string, int*>> seen;
    bool found = false;
    for (must(cursor_.next_of(batch, record_.data(), found)); found;
         must(cursor_.next_of(batch, record_.data(), found))) {
      seen.emplace_back(batch.primary_key(), static_cast<int*>(batch.range()));
      EXPECT_EQ(cursor_.primary_key(), batch.primary_key());
      EXPECT_EQ(keys_[record_.row().id], batch.primary_key());
    }
    if (sorts) std::sort(seen.begin(), seen.end());
    EXPECT_EQ(seen, expected) << "sorts " << sorts;
  }
}

TEST_P(CursorTest, ABatchPassesOverKeysThatAreNotThere) {
  open(test::kPrimary);
  RowBatch batch;
  for (const Row& row : rows_) {
    std::string absent = keys_[row.id];
    absent.push_back('x');
    batch.add(absent, {}, nullptr);
    batch.add(keys_[row.id], {}, nullptr);
  }
  std::vector<int> seen;
  std::vector<int> expected;
  for (const Row& row : rows_) expected.push_back(row.id);
  bool found = false;
  for (must(cursor_.next_of(batch, record_.data(), found)); found;
       must(cursor_.next_of(batch, record_.data(), found))) {
    seen.push_back(record_.row().id);
  }
  EXPECT_EQ(seen, expected);
}

TEST_P(CursorTest, LargeRowsOfABatchAreReadWithinABoundOfMemory) {
  std::vector<Row> large;
  for (int i = 0; i < 80; ++i) {
    Row row = rows_[0];
    row.id = 1000 + i;
    row.email = std::nullopt;
    row.city = "large";
    row.code = static_cast<std::uint32_t>(1000 + i);
    row.note = std::string(60000, static_cast<char>('a' + i % 26));
    must(session_.insert(row));
    large.push_back(row);
  }
  for (const bool committed : {false, true}) {
    if (committed) {
      session_.commit();
      must(store_.database().flush());
    }
    open(test::kByCode);
    const Row first{0, {}, "", {}, 1000, {}};
    bool found = false;
    std::vector<Row> seen;
    for (must(cursor_.seek(SeekMode::kFirstAtOrAfter,
                           test::search_prefix(store_.table(), test::kByCode, first, 1),
                           record_.data(), found));
         found; must(cursor_.next(record_.data(), found))) {
      seen.push_back(record_.row());
    }
    EXPECT_TRUE(seen == large) << "committed " << committed;
  }
}

}  // namespace
}  // namespace basalt::table
