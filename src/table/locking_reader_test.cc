#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "table/test_support.h"
#include "txn/row_change.h"

// Goal: what a cursor sees and locks while other sessions change rows, and what filters and
// interruptions do to a scan.
namespace basalt::table {
namespace {

using basalt::test::fails_with;
using basalt::test::must;
using basalt::test::succeeds;
using test::Keys;
using test::Row;
using Ids = std::vector<int>;

Row row_of(int id) {
  return {id, "e" + std::to_string(id),       "city" + std::to_string(id / 3),
          id, static_cast<std::uint32_t>(id), "note" + std::to_string(id)};
}

class LockingReaderTest : public testing::Test {
 protected:
  LockingReaderTest() {
    for (int id = 1; id <= 9; ++id) must(a_.insert(row_of(id)));
    a_.commit();
  }

  void open(Cursor& cursor, test::Session& session, std::size_t index_number,
            const ReadSettings& settings) {
    cursor.open(session.transaction(), index_number, settings,
                codec::ColumnSet(test::kColumns, true), false);
  }
  static LockingRead locking(lock::LockMode mode = lock::LockMode::kExclusive) {
    LockingRead settings;
    settings.mode = mode;
    settings.wait.may_wait = false;
    return settings;
  }
  static LockingRead skipping() {
    LockingRead settings = locking();
    settings.on_locked = OnLockedRow::kSkip;
    return settings;
  }
  Ids ids(test::Session& session, std::size_t index_number, const ReadSettings& settings) {
    Ids ids;
    for (const Row& row : session.rows(index_number, settings)) ids.push_back(row.id);
    return ids;
  }
  std::string prefix(std::size_t index_number, const Row& row) {
    return test::search_prefix(store_.table(), index_number, row, 1);
  }
  bool is_locked(int id) {
    test::Session other(store_);
    test::Record record;
    Cursor cursor(store_.table());
    open(cursor, other, test::kPrimary, locking());
    bool found = false;
    const Status status =
        cursor.find_unique(prefix(test::kPrimary, row_of(id)), record.data(), found);
    return status.is(ErrorCode::kLockTimeout);
  }

  test::Store store_{Keys::kId};
  test::Session a_{store_};
  test::Session b_{store_};
  test::Record record_;
  bool found_ = false;
};

TEST_F(LockingReaderTest, AConsistentReadSeesItsSnapshotThroughEveryIndex) {
  b_.transaction().begin_statement(txn::IsolationLevel::kRepeatableRead);
  b_.transaction().open_snapshot();
  Row changed = row_of(5);
  changed.city = "aaa";
  changed.amount = 100;
  changed.note = "changed";
  must(a_.update(row_of(5), changed));
  must(a_.remove(row_of(6)));
  must(a_.insert(row_of(10)));
  a_.commit();
  for (std::size_t i = 0; i < test::kIndexes; ++i) {
    std::vector<Row> rows = b_.rows(i);
    std::sort(rows.begin(), rows.end());
    ASSERT_EQ(rows.size(), 9u) << "index " << i;
    for (int id = 1; id <= 9; ++id) EXPECT_EQ(rows[static_cast<std::size_t>(id - 1)], row_of(id));
  }
}

// The reader's snapshot has entries of the rows as they were, its own changes those of the rows as
// they have become; what others committed between has left entries that belong to neither.
TEST_F(LockingReaderTest, ARowThatWasChangedAfterItsSnapshotIsReadOnceAfterAnOwnChange) {
  b_.transaction().begin_statement(txn::IsolationLevel::kRepeatableRead);
  b_.transaction().open_snapshot();
  Row theirs = row_of(5);
  theirs.city = "aaa";
  theirs.email = "theirs";
  theirs.amount = 100;
  theirs.code = 500;
  must(a_.update(row_of(5), theirs));
  Row gone = row_of(6);
  gone.city = "zzz";
  must(a_.update(row_of(6), gone));
  a_.commit();
  Row own = theirs;
  own.city = "bbb";
  own.email = "own";
  own.amount = -100;
  own.code = 501;
  must(b_.update(theirs, own));
  must(b_.remove(gone));
  std::vector<Row> expected = {own};
  for (const int id : {1, 2, 3, 4, 7, 8, 9}) expected.push_back(row_of(id));
  std::sort(expected.begin(), expected.end());
  for (std::size_t i = 0; i < test::kIndexes; ++i) {
    std::vector<Row> rows = b_.rows(i);
    std::sort(rows.begin(), rows.end());
    EXPECT_EQ(rows, expected) << "index " << i;
  }
  for (const std::size_t index : {test::kByEmail, test::kByCode}) {
    for (const Row& old : {row_of(5), row_of(6), theirs}) {
      Cursor cursor(store_.table());
      open(cursor, b_, index, {});
      must(cursor.find_unique(prefix(index, old), record_.data(), found_));
      EXPECT_FALSE(found_) << "index " << index << ", row " << testing::PrintToString(old);
    }
  }
}

TEST_F(LockingReaderTest, ALockingReadSeesTheNewestCommittedRowsThroughEveryIndex) {
  b_.transaction().begin_statement(txn::IsolationLevel::kRepeatableRead);
  b_.transaction().open_snapshot();
  Row changed = row_of(5);
  changed.city = "aaa";
  changed.email = "new";
  changed.amount = 100;
  changed.code = 500;
  must(a_.update(row_of(5), changed));
  must(a_.remove(row_of(6)));
  must(a_.insert(row_of(10)));
  a_.commit();
  for (std::size_t i = 0; i < test::kIndexes; ++i) {
    std::vector<Row> rows = b_.rows(i, locking());
    std::sort(rows.begin(), rows.end());
    ASSERT_EQ(rows.size(), 9u) << "index " << i;
    EXPECT_EQ(rows[4], changed);
    EXPECT_EQ(rows[5], row_of(7));
    EXPECT_EQ(rows[8], row_of(10));
  }
}

TEST_F(LockingReaderTest, AReadOfTheNewestSeesNewCommitsThroughEveryIndexAndLocksNothing) {
  test::Session reader(store_);
  EXPECT_EQ(ids(reader, test::kPrimary, {}).size(), 9U);  // opens the snapshot
  must(b_.remove(row_of(4)));
  must(b_.insert(row_of(10)));
  b_.commit();
  must(b_.remove(row_of(5)));
  const ReadSettings newest = NewestRead{};
  for (std::size_t i = 0; i < test::kIndexes; ++i) {
    Ids seen = ids(reader, i, newest);
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(seen, (Ids{1, 2, 3, 5, 6, 7, 8, 9, 10})) << "index " << i;
  }
  for (const int id : {1, 10}) EXPECT_FALSE(is_locked(id)) << id;
  EXPECT_EQ(ids(reader, test::kPrimary, {}).size(), 9U);
}

TEST_F(LockingReaderTest, ALockingReadLocksWhatItReadsInItsMode) {
  Cursor cursor(store_.table());
  open(cursor, a_, test::kByCity, locking(lock::LockMode::kShared));
  must(cursor.seek(SeekMode::kFirstWithPrefix, prefix(test::kByCity, row_of(4)), record_.data(),
                   found_));
  ASSERT_TRUE(found_);
  EXPECT_EQ(record_.row(), row_of(3));
  EXPECT_TRUE(is_locked(3));
  EXPECT_FALSE(is_locked(4));
  Cursor shared(store_.table());
  open(shared, b_, test::kPrimary, locking(lock::LockMode::kShared));
  EXPECT_TRUE(
      succeeds(shared.find_unique(prefix(test::kPrimary, row_of(3)), record_.data(), found_)));
  a_.rollback();
  b_.rollback();
  EXPECT_FALSE(is_locked(3));
}

TEST_F(LockingReaderTest, ALockedRowIsAnErrorForALockingReadOnly) {
  must(a_.remove(row_of(5)));
  for (std::size_t i = 0; i < test::kIndexes; ++i) {
    EXPECT_EQ(b_.rows(i).size(), 9u);
    b_.rollback();
    Cursor cursor(store_.table());
    open(cursor, b_, i, locking());
    Status status = cursor.seek_first(record_.data(), found_);
    while (status.is_ok() && found_) status = cursor.next(record_.data(), found_);
    EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, status)) << "index " << i;
    b_.rollback();
  }
}

TEST_F(LockingReaderTest, SkipLockedPassesOverLockedRowsOnly) {
  must(a_.remove(row_of(5)));
  Row moved = row_of(7);
  moved.amount = -100;
  must(a_.update(row_of(7), moved));
  for (std::size_t i = 0; i < test::kIndexes; ++i) {
    Ids seen = ids(b_, i, skipping());
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(seen, (Ids{1, 2, 3, 4, 6, 8, 9})) << "index " << i;
    b_.rollback();
  }
  for (const std::size_t index : {test::kPrimary, test::kByEmail, test::kByCode}) {
    Cursor cursor(store_.table());
    open(cursor, b_, index, skipping());
    found_ = true;
    must(cursor.find_unique(prefix(index, row_of(5)), record_.data(), found_));
    EXPECT_FALSE(found_) << "index " << index;
    b_.rollback();
  }
}

TEST_F(LockingReaderTest, NextWithPrefixDoesNotSkipLockedRowsIntoAnotherPrefix) {
  must(a_.remove(row_of(4)));
  must(a_.remove(row_of(5)));
  for (const SeekMode mode : {SeekMode::kFirstWithPrefix, SeekMode::kFirstAtOrAfter}) {
    Cursor cursor(store_.table());
    open(cursor, b_, test::kByCity, skipping());
    must(cursor.seek(mode, prefix(test::kByCity, row_of(3)), record_.data(), found_));
    ASSERT_TRUE(found_);
    EXPECT_EQ(record_.row(), row_of(3));
    must(cursor.next_with_prefix(record_.data(), found_));
    EXPECT_FALSE(found_) << "came to " << record_.row().id << ", which has another city";
    b_.rollback();
  }
}

TEST_F(LockingReaderTest, AReleasedRowLockIsFreeUnlessItWasHeldBefore) {
  for (const std::size_t index : {test::kPrimary, test::kByCity}) {
    Cursor cursor(store_.table());
    open(cursor, a_, index, locking());
    must(cursor.seek_first(record_.data(), found_));
    cursor.release_row_lock();
    cursor.release_row_lock();
    EXPECT_FALSE(is_locked(1));
    must(cursor.next(record_.data(), found_));
    EXPECT_TRUE(is_locked(2));
    a_.commit();
    must(a_.update(row_of(1), row_of(1)));
    open(cursor, a_, index, locking());
    must(cursor.seek_first(record_.data(), found_));
    cursor.release_row_lock();
    EXPECT_TRUE(is_locked(1)) << "its update needs the lock until the commit";
    a_.commit();
  }
}

TEST_F(LockingReaderTest, ARowThatIsNotThereIsNotLocked) {
  Cursor cursor(store_.table());
  open(cursor, a_, test::kPrimary, locking());
  must(cursor.find_unique(prefix(test::kPrimary, row_of(77)), record_.data(), found_));
  EXPECT_FALSE(found_);
  EXPECT_EQ(a_.transaction().lock_owner().held_count(), 0u);
}

// The reader comes to an entry, waits for its row, and the row leaves the entry meanwhile.
TEST_F(LockingReaderTest, ARowThatLeftItsEntryDuringTheWaitIsPassedOver) {
  Row moved = row_of(1);
  moved.city = "zzz";
  must(a_.update(row_of(1), moved));
  const std::size_t locks = store_.transactions().locks().snapshot().size();
  Cursor cursor(store_.table());
  LockingRead settings = locking();
  settings.wait = {};
  open(cursor, b_, test::kByCity, settings);
  std::thread committer([this, locks] {
    while (store_.transactions().locks().snapshot().size() == locks) std::this_thread::yield();
    a_.commit();
  });
  must(cursor.seek_first(record_.data(), found_));
  committer.join();
  ASSERT_TRUE(found_);
  EXPECT_EQ(record_.row().id, 2);
  EXPECT_FALSE(is_locked(1)) << "the lock it waited for is given back";
}

TEST_F(LockingReaderTest, AUniqueValueThatMovedDuringTheWaitIsFoundAtItsNewRow) {
  Row away = row_of(1);
  away.code = 100;
  Row moved = row_of(2);
  moved.code = 1;
  must(a_.update(row_of(1), away));
  must(a_.update(row_of(2), moved));
  const std::size_t locks = store_.transactions().locks().snapshot().size();
  Cursor cursor(store_.table());
  LockingRead settings = locking();
  settings.wait = {};
  open(cursor, b_, test::kByCode, settings);
  std::thread committer([this, locks] {
    while (store_.transactions().locks().snapshot().size() == locks) std::this_thread::yield();
    a_.commit();
  });
  must(cursor.find_unique(prefix(test::kByCode, row_of(1)), record_.data(), found_));
  committer.join();
  ASSERT_TRUE(found_);
  EXPECT_EQ(record_.row(), moved);
  EXPECT_FALSE(is_locked(1));
  EXPECT_TRUE(is_locked(2));
}

// The statement's snapshot changes under the scan, as it must not: its entries are of the old one.
TEST_F(LockingReaderTest, AnEntryOfAnotherSnapshotThanItsRowIsNoDamage) {
  for (const bool is_damaged : {false, true}) {
    txn::Transaction& transaction = b_.transaction();
    transaction.begin_statement(txn::IsolationLevel::kReadCommitted);
    Cursor cursor(store_.table());
    open(cursor, b_, test::kByCity, {});
    must(cursor.seek_first(record_.data(), found_));
    ASSERT_TRUE(found_);
    if (is_damaged) {
      std::string key;
      store_.table().primary().make_key(test::Record(row_of(5)).data(), 0, key);
      must(change_row(a_.transaction(), {}, [&](txn::RowChange& change) {
        return change.remove(store_.table().family(0), key);
      }));
    } else {
      must(a_.remove(row_of(4)));
    }
    a_.commit();
    transaction.end_statement();
    transaction.begin_statement(txn::IsolationLevel::kReadCommitted);
    Status status;
    while (status.is_ok() && found_) status = cursor.next(record_.data(), found_);
    EXPECT_TRUE(
        fails_with(is_damaged ? ErrorCode::kCorruption : ErrorCode::kInconsistentRead, status));
    transaction.end_statement();
  }
}

TEST_F(LockingReaderTest, AScanFindsAUniqueValueThatMovedDuringTheWaitAtItsNewRow) {
  Row before = row_of(2);
  for (const std::size_t index : {test::kByCode, test::kByEmail}) {
    for (const bool locks_gaps : {false, true}) {
      Row moved = before;
      moved.id += 100;
      must(a_.update(before, moved));
      Cursor cursor(store_.table());
      LockingRead settings = locking();
      settings.wait = {};
      settings.locks_gaps = locks_gaps;
      open(cursor, b_, index, settings);
      std::thread committer([this] {
        basalt::test::await([this] { return store_.transactions().locks().waiting_count() != 0; });
        a_.commit();
      });
      must(cursor.seek(SeekMode::kFirstAtOrAfter, prefix(index, moved), record_.data(), found_));
      committer.join();
      ASSERT_TRUE(found_);
      EXPECT_EQ(record_.row(), moved) << "index " << index;
      EXPECT_FALSE(is_locked(before.id));
      EXPECT_TRUE(is_locked(moved.id));
      b_.rollback();
      before = moved;
    }
  }
}

TEST_F(LockingReaderTest, ASemiConsistentScanFindsAUniqueValueAtTheRowItHasMovedTo) {
  Row moved = row_of(2);
  moved.id = 102;
  must(a_.update(row_of(2), moved));
  Cursor cursor(store_.table());
  open(cursor, b_, test::kByCode, locking());
  cursor.set_semi_consistent(true);
  must(cursor.seek(SeekMode::kFirstAtOrAfter, prefix(test::kByCode, row_of(2)), record_.data(),
                   found_));
  ASSERT_TRUE(found_);
  EXPECT_EQ(record_.row(), row_of(2));
  EXPECT_TRUE(cursor.read_semi_consistently());
  a_.commit();
  must(cursor.next(record_.data(), found_));
  ASSERT_TRUE(found_);
  EXPECT_EQ(record_.row(), moved);
  EXPECT_FALSE(cursor.read_semi_consistently());
  EXPECT_TRUE(is_locked(102));
}

TEST_F(LockingReaderTest, ALockingScanSeesWhatWasCommittedAfterItBegan) {
  for (const std::size_t index : {test::kPrimary, test::kByCity, test::kByCode}) {
    Cursor cursor(store_.table());
    open(cursor, b_, index, locking());
    must(cursor.seek_first(record_.data(), found_));
    EXPECT_EQ(record_.row(), row_of(1));
    Row changed = row_of(2);
    changed.note = "changed";
    must(a_.update(row_of(2), changed));
    must(a_.remove(row_of(3)));
    a_.commit();
    must(a_.remove(row_of(5)));
    a_.rollback();
    Row own = row_of(7);
    own.note = "own";
    must(b_.update(row_of(7), own));
    must(b_.remove(row_of(8)));
    const std::vector<Row> expected = {changed, row_of(4), row_of(5), row_of(6), own, row_of(9)};
    for (const Row& row : expected) {
      must(cursor.next(record_.data(), found_));
      ASSERT_TRUE(found_) << "index " << index;
      EXPECT_EQ(record_.row(), row) << "index " << index;
    }
    must(cursor.next(record_.data(), found_));
    EXPECT_FALSE(found_);
    b_.rollback();
    must(a_.update(changed, row_of(2)));
    must(a_.insert(row_of(3)));
    a_.commit();
  }
}

// Every session adds one to every row, over and over, reading through a scan that locks.
TEST_F(LockingReaderTest, NoUpdateThroughALockingScanIsLost) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 40;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([this, index = i % 2 == 0 ? test::kPrimary : test::kByCity] {
      test::Session session(store_);
      test::Record record;
      Cursor cursor(store_.table());
      LockingRead settings;
      settings.mode = lock::LockMode::kExclusive;
      for (int round = 0; round < kRounds; ++round) {
        settings.stale_rows_max = round % 3 == 0 ? 1 : 64;
        open(cursor, session, index, settings);
        bool found = false;
        for (must(cursor.seek_first(record.data(), found)); found;
             must(cursor.next(record.data(), found))) {
          const Row row = record.row();
          Row changed = row;
          changed.amount = *row.amount + 1;
          must(session.update(row, changed));
        }
        cursor.release();
        round % 5 == 4 ? session.rollback() : session.commit();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Row& row : a_.rows()) {
    EXPECT_EQ(row.amount, row.id + kThreads * kRounds * 4 / 5) << "row " << row.id;
  }
  EXPECT_TRUE(store_.check().empty());
}

TEST_F(LockingReaderTest, AScanThatChangesItsRowsSeesEachOnce) {
  Cursor cursor(store_.table());
  open(cursor, a_, test::kPrimary, locking());
  Ids seen;
  for (must(cursor.seek_first(record_.data(), found_)); found_;
       must(cursor.next(record_.data(), found_))) {
    const Row row = record_.row();
    seen.push_back(row.id);
    Row changed = row;
    changed.note = std::string(2000, 'x');
    changed.city = "other";
    if (row.id % 3 == 0) {
      must(a_.remove(row));
    } else {
      must(a_.update(row, changed));
    }
    EXPECT_EQ(cursor.primary_key(), prefix(test::kPrimary, row));
  }
  EXPECT_EQ(seen, (Ids{1, 2, 3, 4, 5, 6, 7, 8, 9}));
  a_.commit();
  EXPECT_EQ(ids(b_, test::kPrimary, {}), (Ids{1, 2, 4, 5, 7, 8}));
  EXPECT_TRUE(store_.check().empty());
}

TEST_F(LockingReaderTest, AScanThatTurnsAroundAfterAWriteAheadGoesBack) {
  must(a_.update(row_of(1), row_of(1)));
  for (const bool is_locking : {false, true}) {
    Cursor cursor(store_.table());
    open(cursor, a_, test::kPrimary, is_locking ? ReadSettings(locking()) : ReadSettings());
    must(cursor.seek(SeekMode::kFirstAtOrAfter, prefix(test::kPrimary, row_of(5)), record_.data(),
                     found_));
    must(a_.insert(row_of(is_locking ? 11 : 10)));
    must(cursor.previous(record_.data(), found_));
    ASSERT_TRUE(found_);
    EXPECT_EQ(record_.row(), row_of(4));
    must(a_.remove(row_of(is_locking ? 2 : 3)));
    must(cursor.next(record_.data(), found_));
    ASSERT_TRUE(found_);
    EXPECT_EQ(record_.row(), row_of(5));
  }
}

// Accepts even ids; ends the range at `end`.
class EvenIds final : public EntryFilter {
 public:
  EvenIds(const test::Record& record, int end) : record_(record), end_(end) {}
  Verdict check() override {
    ++calls;
    const int id = record_.id();
    if (id >= end_) return end_verdict;
    return id % 2 == 0 ? Verdict::kAccept : Verdict::kReject;
  }
  int calls = 0;
  Verdict end_verdict = Verdict::kEndOfRange;

 private:
  const test::Record& record_;
  const int end_;
};

TEST_F(LockingReaderTest, AFilterDecidesBeforeTheRowIsLockedAndEndsTheRange) {
  Cursor cursor(store_.table());
  open(cursor, a_, test::kByCode, locking());
  EvenIds filter(record_, 7);
  codec::ColumnSet columns(test::kColumns);
  columns.set(test::kId);
  columns.set(test::kCode);
  cursor.set_filter(&filter, columns);
  Ids seen;
  for (must(cursor.seek_first(record_.data(), found_)); found_;
       must(cursor.next(record_.data(), found_))) {
    seen.push_back(record_.row().id);
    EXPECT_EQ(record_.row(), row_of(record_.row().id)) << "the whole row, not only the entry";
  }
  EXPECT_EQ(seen, (Ids{2, 4, 6}));
  EXPECT_EQ(filter.calls, 7);
  EXPECT_EQ(a_.transaction().lock_owner().held_count(), 3u);
}

TEST_F(LockingReaderTest, AFilterOfAConsistentReadDecidesBeforeRowsAreRead) {
  for (int id = 10; id <= 200; ++id) must(a_.insert(row_of(id)));
  a_.commit();
  for (const int end : {3, 7, 8, 40, 151, 400}) {
    Cursor cursor(store_.table());
    open(cursor, a_, test::kByCode, {});
    EvenIds filter(record_, end);
    codec::ColumnSet columns(test::kColumns);
    columns.set(test::kId);
    cursor.set_filter(&filter, columns);
    Ids seen;
    for (must(cursor.seek_first(record_.data(), found_)); found_;
         must(cursor.next(record_.data(), found_))) {
      seen.push_back(record_.row().id);
      ASSERT_EQ(record_.row(), row_of(record_.row().id));
    }
    Ids expected;
    for (int id = 2; id <= std::min(end, 200); id += 2) {
      if (id != end) expected.push_back(id);
    }
    EXPECT_EQ(seen, expected) << end;
  }
}

TEST_F(LockingReaderTest, ASearchForOneRowReadsNoEntryAhead) {
  Cursor cursor(store_.table());
  open(cursor, a_, test::kByCode, {});
  EvenIds filter(record_, 9);
  codec::ColumnSet columns(test::kColumns);
  columns.set(test::kId);
  cursor.set_filter(&filter, columns);
  must(cursor.seek_first(record_.data(), found_));
  EXPECT_EQ(record_.row().id, 2);
  EXPECT_EQ(filter.calls, 2);
}

TEST_F(LockingReaderTest, ASeekSeesWhatWasWrittenOrCommittedSinceTheOneBefore) {
  Cursor cursor(store_.table());
  b_.transaction().begin_statement(txn::IsolationLevel::kReadCommitted);
  const auto count = [&] {
    int rows = 0;
    open(cursor, b_, test::kByCity, {});
    for (must(cursor.seek_first(record_.data(), found_)); found_;
         must(cursor.next(record_.data(), found_))) {
      ++rows;
    }
    return rows;
  };
  EXPECT_EQ(count(), 9);
  must(a_.insert(row_of(20)));
  a_.commit();
  EXPECT_EQ(count(), 9) << "one snapshot per statement";
  b_.transaction().end_statement();
  b_.transaction().begin_statement(txn::IsolationLevel::kReadCommitted);
  EXPECT_EQ(count(), 10) << "the next statement sees the commit";
  must(b_.insert(row_of(21)));
  EXPECT_EQ(count(), 11) << "own changes at once";
  must(b_.insert(row_of(22)));
  EXPECT_EQ(count(), 12);
  b_.rollback();
  b_.transaction().begin_statement(txn::IsolationLevel::kReadCommitted);
  EXPECT_EQ(count(), 10);
}

TEST_F(LockingReaderTest, RowsReadAheadAreThoseOfTheSnapshot) {
  for (int id = 10; id <= 100; ++id) must(a_.insert(row_of(id)));
  a_.commit();
  Cursor cursor(store_.table());
  b_.transaction().begin_statement(txn::IsolationLevel::kRepeatableRead);
  open(cursor, b_, test::kByCity, {});
  std::size_t rows = 0;
  for (must(cursor.seek_first(record_.data(), found_)); found_;
       must(cursor.next(record_.data(), found_))) {
    ++rows;
    const int id = record_.row().id;
    ASSERT_EQ(record_.row(), row_of(id));
    Row changed = row_of(id);
    changed.note = "changed";
    must(a_.update(row_of(id), changed));
    if (id % 2 == 0) must(a_.remove(changed));
    a_.commit();
  }
  EXPECT_EQ(rows, 100u);
}

TEST_F(LockingReaderTest, AFilterThatFailsOrIsInterruptedEndsTheScanWithAnError) {
  const std::pair<EntryFilter::Verdict, ErrorCode> cases[] = {
      {EntryFilter::Verdict::kInterrupted, ErrorCode::kInterrupted},
      {EntryFilter::Verdict::kFailed, ErrorCode::kInvalidArgument}};
  for (const auto& [verdict, code] : cases) {
    Cursor cursor(store_.table());
    open(cursor, a_, test::kByCode, {});
    EvenIds filter(record_, 0);
    filter.end_verdict = verdict;
    cursor.set_filter(&filter, codec::ColumnSet(test::kColumns, true));
    EXPECT_TRUE(fails_with(code, cursor.seek_first(record_.data(), found_)));
    EXPECT_FALSE(found_);
  }
}

TEST_F(LockingReaderTest, ALongScanIsInterruptedAtTheLatestAfter128Rows) {
  for (int id = 10; id <= 300; ++id) must(a_.insert(row_of(id)));
  a_.commit();
  const test::AlwaysInterrupted always;
  Cursor cursor(store_.table());
  open(cursor, a_, test::kPrimary, {});
  cursor.set_interruption(&always);
  int moves = 0;
  Status status = cursor.seek_first(record_.data(), found_);
  for (; status.is_ok() && found_; ++moves) status = cursor.next(record_.data(), found_);
  EXPECT_TRUE(fails_with(ErrorCode::kInterrupted, status));
  EXPECT_LE(moves, 128);
}

TEST_F(LockingReaderTest, AnEntryWithoutItsRowIsCorruptionThatNamesTheIndex) {
  kv::WriteBatch batch;
  batch.remove(kv::kDefaultFamily, prefix(test::kPrimary, row_of(1)));
  must(store_.database().write(batch, kv::Durability::kBuffered));
  for (const ReadSettings& settings : {ReadSettings(), ReadSettings(locking())}) {
    Cursor cursor(store_.table());
    open(cursor, a_, test::kByCity, settings);
    const Status status = cursor.seek_first(record_.data(), found_);
    EXPECT_TRUE(fails_with(ErrorCode::kCorruption, status));
    EXPECT_NE(status.message().find("by_city"), std::string::npos);
    EXPECT_NE(status.message().find("CHECK TABLE"), std::string::npos);
  }
  Cursor cursor(store_.table());
  open(cursor, a_, test::kByCode, locking());
  EXPECT_TRUE(
      fails_with(ErrorCode::kCorruption,
                 cursor.find_unique(prefix(test::kByCode, row_of(1)), record_.data(), found_)));
}

TEST_F(LockingReaderTest, ACoveredReadDoesNotVisitTheRow) {
  kv::WriteBatch batch;
  batch.remove(kv::kDefaultFamily, prefix(test::kPrimary, row_of(1)));
  must(store_.database().write(batch, kv::Durability::kBuffered));
  Cursor cursor(store_.table());
  codec::ColumnSet covered(test::kColumns);
  covered.set(test::kCity);
  covered.set(test::kId);
  cursor.open(a_.transaction(), test::kByCity, {}, covered, false);
  must(cursor.seek_first(record_.data(), found_));
  ASSERT_TRUE(found_);
  EXPECT_EQ(record_.row().city, "city0");
  cursor.open(a_.transaction(), test::kByCity, {}, codec::ColumnSet(test::kColumns, true), true);
  must(cursor.seek_first(record_.data(), found_));
  EXPECT_TRUE(found_) << "may_skip_row";
}

}  // namespace
}  // namespace basalt::table
