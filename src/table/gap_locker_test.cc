#include <algorithm>
#include <atomic>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "codec/search_bounds.h"
#include "table/test_support.h"

// Goal: a read that locks keeps others from inserting where it has looked, and nowhere else, waits
// for what they are inserting there, and misses nothing that was committed meanwhile.
namespace basalt::table {
namespace {

using basalt::test::await;
using basalt::test::fails_with;
using basalt::test::must;
using basalt::test::succeeds;
using test::Keys;
using test::Row;
using test::row_of;
using Ids = std::vector<int>;

Row changed_row_of(int id) {
  Row row = row_of(id);
  row.note = "changed";
  return row;
}

LockingRead locking(bool may_wait = false, lock::LockMode mode = lock::LockMode::kExclusive) {
  LockingRead settings;
  settings.mode = mode;
  settings.locks_gaps = true;
  settings.wait = {.may_wait = may_wait, .timeout_ms = 300'000};
  return settings;
}

// Rows have the ids 10, 20, ... 90; their codes and amounts are the same numbers.
class GapLockerTest : public testing::Test {
 protected:
  GapLockerTest() {
    for (int id = 10; id <= 90; id += 10) must(a_.insert(row_of(id)));
    a_.commit();
  }

  Cursor& open(test::Session& session, std::size_t index_number,
               const ReadSettings& settings = locking()) {
    cursor_.emplace(store_.table());
    cursor_->open(session.transaction(), index_number, settings,
                  codec::ColumnSet(test::kColumns, true), false);
    return *cursor_;
  }
  std::string prefix(std::size_t index_number, int id) {
    return test::search_prefix(store_.table(), index_number, row_of(id), 1);
  }
  // A new cursor on the first row at or after that of `id`.
  Cursor& open_at(test::Session& session, std::size_t index_number, int id,
                  const ReadSettings& settings = locking()) {
    Cursor& cursor = open(session, index_number, settings);
    bool found = false;
    must(cursor.seek(SeekMode::kFirstAtOrAfter, prefix(index_number, id), record_.data(), found));
    EXPECT_TRUE(found) << id;
    return cursor;
  }
  // Whether the row is there. The cursor is a new one.
  bool find_unique(test::Session& session, std::size_t index_number, int id,
                   const ReadSettings& settings = locking()) {
    bool found = false;
    must(open(session, index_number, settings)
             .find_unique(prefix(index_number, id), record_.data(), found));
    return found;
  }
  // The ids from the row on which the cursor is.
  Ids rest(Cursor& cursor, bool found = true) {
    Ids ids;
    while (found) {
      ids.push_back(record_.row().id);
      must(cursor.next(record_.data(), found));
    }
    return ids;
  }
  // Opens the snapshot of `session`; reads with these settings reject what is newer.
  ReadSettings reject_newer_rows(test::Session& session) {
    session.transaction().begin_statement(txn::IsolationLevel::kRepeatableRead);
    session.transaction().open_snapshot();
    LockingRead settings = locking();
    settings.rejects_newer = true;
    return settings;
  }
  // The ids in [first, last], read with locks.
  Ids scan(test::Session& session, std::size_t index_number, int first, int last,
           const ReadSettings& settings = locking()) {
    Cursor& cursor = open(session, index_number, settings);
    std::string upper = prefix(index_number, last);
    codec::make_successor(upper);
    cursor.confine(prefix(index_number, first), upper);
    bool found = false;
    must(
        cursor.seek(SeekMode::kFirstAtOrAfter, prefix(index_number, first), record_.data(), found));
    return rest(cursor, found);
  }
  // Returns when some transaction waits for a lock.
  void await_waiting_request() {
    await([this] {
      const std::vector<lock::LockInfo> locks = store_.transactions().locks().snapshot();
      return std::any_of(locks.begin(), locks.end(),
                         [](const lock::LockInfo& lock) { return !lock.granted; });
    });
  }
  // Whether another transaction may insert the row; it is not kept.
  bool may_insert(int id) {
    test::Session other(store_);
    const Status status = other.insert(row_of(id));
    EXPECT_TRUE(status.is_ok() || status.is(ErrorCode::kLockTimeout)) << status.message();
    return status.is_ok();
  }

  test::Store store_{Keys::kId};
  test::Session a_{store_};
  test::Session b_{store_};
  test::Record record_;
  std::optional<Cursor> cursor_;
};

TEST_F(GapLockerTest, ARangeThatWasReadIsClosedForInsertsAndTheRestIsOpen) {
  EXPECT_EQ(scan(b_, test::kPrimary, 25, 55), (Ids{30, 40, 50}));
  for (const int id : {25, 29, 31, 45, 55}) EXPECT_FALSE(may_insert(id)) << id;
  for (const int id : {24, 21, 56, 59, 95}) EXPECT_TRUE(may_insert(id)) << id;
  b_.rollback();
  for (const int id : {25, 45}) EXPECT_TRUE(may_insert(id)) << id;
}

TEST_F(GapLockerTest, AnEmptyRangeIsClosedToo) {
  EXPECT_EQ(scan(b_, test::kPrimary, 31, 39), Ids{});
  for (const int id : {31, 35, 39}) EXPECT_FALSE(may_insert(id)) << id;
  EXPECT_TRUE(may_insert(41));
}

TEST_F(GapLockerTest, AScanThatStopsEarlyLeavesTheRestOpen) {
  Cursor& cursor = open(b_, test::kPrimary);
  bool found = false;
  must(cursor.seek_first(record_.data(), found));
  must(cursor.next(record_.data(), found));
  EXPECT_EQ(record_.row().id, 20);
  for (const int id : {1, 15, 19}) EXPECT_FALSE(may_insert(id)) << id;
  for (const int id : {21, 95}) EXPECT_TRUE(may_insert(id)) << id;
}

TEST_F(GapLockerTest, ABackwardScanClosesWhatItHasSeen) {
  Cursor& cursor = open(b_, test::kPrimary);
  bool found = false;
  must(cursor.seek_last(record_.data(), found));
  must(cursor.previous(record_.data(), found));
  EXPECT_EQ(record_.row().id, 80);
  for (const int id : {81, 89, 91, 200}) EXPECT_FALSE(may_insert(id)) << id;
  for (const int id : {79, 5}) EXPECT_TRUE(may_insert(id)) << id;
}

TEST_F(GapLockerTest, AScanThatTurnsAroundClosesBothSides) {
  Cursor& cursor = open_at(b_, test::kPrimary, 45);
  EXPECT_EQ(record_.row().id, 50);
  bool found = false;
  must(cursor.previous(record_.data(), found));
  EXPECT_EQ(record_.row().id, 40);
  for (const int id : {41, 45, 49}) EXPECT_FALSE(may_insert(id)) << id;
  for (const int id : {39, 51}) EXPECT_TRUE(may_insert(id)) << id;
}

TEST_F(GapLockerTest, ASecondaryIndexIsClosedForEntriesThatMoveThere) {
  EXPECT_EQ(scan(b_, test::kByCode, 25, 55), (Ids{30, 40, 50}));
  Row moved = row_of(90);
  moved.code = 45;
  EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, a_.update(row_of(90), moved)));
  moved.code = 60;
  EXPECT_TRUE(fails_with(ErrorCode::kDuplicateKey, a_.update(row_of(90), moved)));
  moved.code = 61;
  EXPECT_TRUE(succeeds(a_.update(row_of(90), moved)));
  EXPECT_FALSE(may_insert(45));
  EXPECT_TRUE(may_insert(56));
}

TEST_F(GapLockerTest, ANonUniqueValueIsClosedForMoreOfItsKind) {
  Cursor& cursor = open(b_, test::kByCity);
  bool found = false;
  must(cursor.seek(SeekMode::kFirstWithPrefix, prefix(test::kByCity, 30), record_.data(), found));
  must(cursor.next_with_prefix(record_.data(), found));
  EXPECT_FALSE(found);
  Row same = row_of(35);
  same.city = "c30";
  EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, a_.insert(same)));
  EXPECT_TRUE(may_insert(36)) << "of another city";
}

TEST_F(GapLockerTest, AMissingKeyStaysLockedAndItsNeighboursAreFree) {
  for (const std::size_t index : {test::kPrimary, test::kByCode}) {
    EXPECT_FALSE(find_unique(b_, index, 35));
    EXPECT_FALSE(may_insert(35));
    EXPECT_TRUE(may_insert(34));
    EXPECT_TRUE(may_insert(36));
    EXPECT_TRUE(succeeds(b_.insert(row_of(35)))) << "by who has looked";
    b_.rollback();
  }
}

TEST_F(GapLockerTest, AFoundKeyLocksItsRowOnly) {
  EXPECT_TRUE(find_unique(b_, test::kByCode, 30));
  EXPECT_TRUE(may_insert(29));
  EXPECT_TRUE(may_insert(31));
}

// Accepts what is not of the row with this id.
class AllBut final : public EntryFilter {
 public:
  AllBut(const test::Record& record, int id) : record_(record), id_(id) {}
  Verdict check() override { return record_.id() == id_ ? Verdict::kReject : Verdict::kAccept; }

 private:
  const test::Record& record_;
  const int id_;
};

TEST_F(GapLockerTest, AUniqueValueOfARejectedEntryDoesNotGoToAnotherRow) {
  AllBut filter(record_, 30);
  codec::ColumnSet columns(test::kColumns);
  columns.set(test::kId);
  columns.set(test::kCode);
  Row moved = row_of(30);
  moved.id = 35;
  for (const bool is_range : {false, true}) {
    for (const bool locks_gaps : {false, true}) {
      LockingRead settings = locking();
      settings.locks_gaps = locks_gaps;
      Cursor& cursor = open(b_, test::kByCode, settings);
      cursor.set_filter(&filter, columns);
      bool found = true;
      if (is_range) {
        cursor.confine(prefix(test::kByCode, 25), prefix(test::kByCode, 35));
        must(cursor.seek_first(record_.data(), found));
      } else {
        must(cursor.find_unique(prefix(test::kByCode, 30), record_.data(), found));
      }
      EXPECT_FALSE(found);
      const Status status = a_.update(row_of(30), moved);
      EXPECT_EQ(status.is(ErrorCode::kLockTimeout), locks_gaps) << status.message();
      EXPECT_EQ(status.is_ok(), !locks_gaps) << status.message();
      a_.rollback();
      b_.rollback();
    }
  }
}

// Accepts entries that have their text in capitals: keys do not tell.
class Capitals final : public EntryFilter {
 public:
  Capitals(const test::Record& record, std::size_t index_number)
      : record_(record), reads_city_(index_number == test::kByCity) {}
  Verdict check() override {
    const std::string text = reads_city_ ? record_.row().city : record_.row().email.value();
    return text.front() == (reads_city_ ? 'C' : 'E') ? Verdict::kAccept : Verdict::kReject;
  }

 private:
  const test::Record& record_;
  const bool reads_city_;
};

class CapitalsTest : public GapLockerTest {
 protected:
  struct Access {
    std::size_t index_number;
    bool is_range;
  };
  static constexpr Access kAll[] = {
      {test::kByCity, true}, {test::kByEmail, true}, {test::kByEmail, false}};

  CapitalsTest() {
    capitals_.city = "C30";
    capitals_.email = "E30";
  }
  // Whether row 30 is found in capitals.
  bool finds(Access access, bool locks_gaps, bool may_wait) {
    LockingRead settings = locking(may_wait);
    settings.locks_gaps = locks_gaps;
    Cursor& cursor = open(b_, access.index_number, settings);
    Capitals filter(record_, access.index_number);
    codec::ColumnSet columns(test::kColumns);
    columns.set(access.index_number == test::kByCity ? test::kCity : test::kEmail);
    cursor.set_filter(&filter, columns);
    const std::string value = prefix(access.index_number, 30);
    bool found = false;
    if (!access.is_range) {
      must(cursor.find_unique(value, record_.data(), found));
      return found;
    }
    std::string upper = value;
    codec::make_successor(upper);
    cursor.confine(value, upper);
    must(cursor.seek_first(record_.data(), found));
    return found;
  }
  // The same while another session changes the row, which commits when the read waits.
  bool finds_during(const Row& from, const Row& to, Access access, bool locks_gaps) {
    must(a_.update(from, to));
    std::atomic<bool> is_over = false;
    std::thread other([&] {
      await([&] { return is_over || store_.transactions().locks().waiting_count() != 0; });
      a_.commit();
    });
    const bool found = finds(access, locks_gaps, true);
    is_over = true;
    other.join();
    b_.commit();
    return found;
  }

  const Row small_ = row_of(30);
  Row capitals_ = row_of(30);
};

TEST_F(CapitalsTest, ARejectedEntryDoesNotBecomeOneThatIsAccepted) {
  for (const Access access : kAll) {
    for (const bool locks_gaps : {false, true}) {
      EXPECT_FALSE(finds(access, locks_gaps, false));
      const Status status = a_.update(small_, capitals_);
      EXPECT_EQ(status.is(ErrorCode::kLockTimeout), locks_gaps)
          << access.index_number << access.is_range << status.message();
      EXPECT_EQ(status.is_ok(), !locks_gaps) << status.message();
      a_.rollback();
      b_.rollback();
    }
  }
}

TEST_F(CapitalsTest, AnEntryThatAnotherMakesOneThatIsAcceptedIsWaitedFor) {
  for (const Access access : kAll) {
    EXPECT_TRUE(finds_during(small_, capitals_, access, true))
        << access.index_number << access.is_range;
    must(a_.update(capitals_, small_));
    a_.commit();
  }
}

TEST_F(CapitalsTest, AnEntryThatBecomesOneThatIsRejectedDuringTheWaitIsPassedOver) {
  for (const Access access : kAll) {
    for (const bool locks_gaps : {false, true}) {
      must(a_.update(small_, capitals_));
      a_.commit();
      EXPECT_FALSE(finds_during(capitals_, small_, access, locks_gaps))
          << access.index_number << access.is_range << locks_gaps;
    }
  }
}

TEST_F(GapLockerTest, WithoutGapLocksInsertsAreFree) {
  LockingRead settings = locking();
  settings.locks_gaps = false;
  scan(b_, test::kPrimary, 25, 55, settings);
  EXPECT_TRUE(may_insert(45));
  EXPECT_FALSE(find_unique(b_, test::kPrimary, 35, settings));
  EXPECT_TRUE(may_insert(35));
}

TEST_F(GapLockerTest, WhatAnotherIsInsertingIsWaitedFor) {
  for (const std::size_t index : {test::kPrimary, test::kByCode, test::kByCity}) {
    must(a_.insert(row_of(45)));
    std::thread other([this] {
      await_waiting_request();
      a_.commit();
    });
    EXPECT_EQ(scan(b_, index, 30, 60, locking(true)), (Ids{30, 40, 45, 50, 60})) << index;
    other.join();
    must(b_.remove(row_of(45)));
    b_.commit();
  }
}

TEST_F(GapLockerTest, WhoIsWaitedForMayInsertMoreRowsIntoTheRange) {
  must(a_.insert(row_of(45)));
  Ids ids;
  std::thread waiting([&] { ids = scan(b_, test::kPrimary, 30, 60, locking(true)); });
  await_waiting_request();
  for (const int id : {43, 47}) EXPECT_TRUE(succeeds(a_.insert(row_of(id)))) << id;
  a_.commit();
  waiting.join();
  EXPECT_EQ(ids, (Ids{30, 40, 43, 45, 47, 50, 60}));
}

TEST_F(GapLockerTest, WhatAnotherTakesBackIsNotSeen) {
  must(a_.insert(row_of(45)));
  std::thread other([this] {
    await_waiting_request();
    a_.rollback();
  });
  EXPECT_EQ(scan(b_, test::kPrimary, 30, 60, locking(true)), (Ids{30, 40, 50, 60}));
  other.join();
  EXPECT_FALSE(may_insert(45));
}

TEST_F(GapLockerTest, AReadThatMayNotWaitFailsBeforeAnInsertAndOneThatSkipsPassesIt) {
  must(a_.insert(row_of(45)));
  Cursor& cursor = open_at(b_, test::kPrimary, 40);
  bool found = false;
  EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, cursor.next(record_.data(), found)));
  b_.rollback();
  LockingRead skipping = locking();
  skipping.on_locked = OnLockedRow::kSkip;
  EXPECT_EQ(scan(b_, test::kPrimary, 30, 60, skipping), (Ids{30, 40, 50, 60}));
}

TEST_F(GapLockerTest, WhatIsInsertedElsewhereIsNotWaitedFor) {
  must(a_.insert(row_of(15)));
  must(a_.insert(row_of(75)));
  EXPECT_EQ(scan(b_, test::kPrimary, 30, 60), (Ids{30, 40, 50, 60}));
}

TEST_F(GapLockerTest, WhatWasCommittedAfterTheScanBeganIsSeen) {
  Cursor& cursor = open_at(b_, test::kPrimary, 30);
  for (const int id : {35, 55}) must(a_.insert(row_of(id)));
  must(a_.remove(row_of(40)));
  a_.commit();
  EXPECT_EQ(rest(cursor), (Ids{30, 35, 50, 55, 60, 70, 80, 90}));
}

TEST_F(GapLockerTest, APreparedTransactionsInsertsAreWaitedForAfterARestart) {
  must(a_.insert(row_of(45)));
  a_.transaction().end_statement();
  must(a_.transaction().prepare("name", kv::Durability::kSynced));
  store_.transactions().detach_prepared(a_.take_transaction());
  b_.take_transaction().reset();
  store_.reopen();
  test::Session reader(store_);
  cursor_.emplace(store_.table());
  cursor_->open(reader.transaction(), test::kByCode, locking(),
                codec::ColumnSet(test::kColumns, true), false);
  bool found = false;
  must(cursor_->seek(SeekMode::kFirstAtOrAfter, prefix(test::kByCode, 40), record_.data(), found));
  EXPECT_EQ(record_.row().id, 40);
  EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, cursor_->next(record_.data(), found)));
  reader.rollback();
  must(store_.transactions().commit_prepared("name", found));
  must(cursor_->seek(SeekMode::kFirstAtOrAfter, prefix(test::kByCode, 41), record_.data(), found));
  EXPECT_EQ(record_.row().id, 45);
  cursor_.reset();
}

// ---- semi-consistent reads and snapshot isolation

TEST_F(GapLockerTest, ASemiConsistentReadGivesALockedRowAsCommittedAndThenWaits) {
  for (const std::size_t index : {test::kPrimary, test::kByAmount, test::kByCity}) {
    const Row changed = changed_row_of(20);
    must(a_.update(row_of(20), changed));
    LockingRead settings = locking();
    settings.locks_gaps = false;
    Cursor& cursor = open(b_, index, settings);
    cursor.set_semi_consistent(true);
    bool found = false;
    must(cursor.seek(SeekMode::kFirstWithPrefix, prefix(index, 20), record_.data(), found));
    ASSERT_TRUE(found);
    EXPECT_EQ(record_.row(), row_of(20));
    EXPECT_TRUE(cursor.read_semi_consistently());
    EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, cursor.next(record_.data(), found)))
        << "the row is wanted";
    must(cursor.seek(SeekMode::kFirstWithPrefix, prefix(index, 20), record_.data(), found));
    cursor.pass_over_row();
    must(cursor.next(record_.data(), found));
    EXPECT_FALSE(cursor.read_semi_consistently()) << "nobody has locked the next one";
    must(cursor.seek(SeekMode::kFirstWithPrefix, prefix(index, 20), record_.data(), found));
    a_.commit();
    must(cursor.next(record_.data(), found));
    EXPECT_EQ(record_.row(), changed);
    EXPECT_FALSE(cursor.read_semi_consistently());
    b_.rollback();
    must(a_.update(changed, row_of(20)));
    a_.commit();
  }
}

TEST_F(GapLockerTest, ANewerRowIsAnErrorIfTheReadRejectsIt) {
  const ReadSettings settings = reject_newer_rows(b_);
  must(a_.update(row_of(30), changed_row_of(30)));
  must(a_.remove(row_of(50)));
  must(a_.insert(row_of(65)));
  a_.commit();
  bool found = false;
  for (const int id : {30, 50, 65}) {
    Cursor& cursor = open(b_, test::kPrimary, settings);
    EXPECT_TRUE(fails_with(ErrorCode::kSnapshotConflict,
                           cursor.find_unique(prefix(test::kPrimary, id), record_.data(), found)))
        << id;
  }
  Cursor& cursor = open_at(b_, test::kByCode, 20, settings);  // nobody has changed it
  EXPECT_TRUE(fails_with(ErrorCode::kSnapshotConflict, cursor.next(record_.data(), found)));
  b_.rollback();
  EXPECT_EQ(scan(b_, test::kPrimary, 60, 70, settings), (Ids{60, 65, 70}))
      << "there is no snapshot";
}

TEST_F(GapLockerTest, OwnChangesAreNoConflict) {
  const ReadSettings settings = reject_newer_rows(b_);
  must(b_.update(row_of(30), changed_row_of(30)));
  must(b_.insert(row_of(35)));
  EXPECT_EQ(scan(b_, test::kPrimary, 30, 40, settings), (Ids{30, 35, 40}));
}

// ---- many at once

// Readers read a range twice with locks, on several indexes; writers insert, move, remove, commit
// and roll back all the time. Whatever a reader saw first it must see again.
TEST_F(GapLockerTest, ARangeReadTwiceIsTheSameWhileOthersInsert) {
  constexpr int kReaders = 3;
  constexpr int kWriters = 3;
  constexpr int kRounds = 150;
  constexpr int kChanges = 20;
  const std::uint32_t seed = basalt::test::seed();
  std::atomic<int> readers_left = kReaders;
  std::atomic<int> changes = 0;
  std::atomic<int> differences = 0;
  std::vector<std::thread> threads;
  for (int reader = 0; reader < kReaders; ++reader) {
    threads.emplace_back([&, reader] {
      std::mt19937 random(seed + static_cast<unsigned>(reader));
      test::Session session(store_);
      test::Record record;
      const auto read = [&](std::size_t index, int first, int last, Ids& ids) {
        Cursor cursor(store_.table());
        cursor.open(session.transaction(), index, locking(true, lock::LockMode::kShared),
                    codec::ColumnSet(test::kColumns, true), false);
        std::string upper = prefix(index, last);
        codec::make_successor(upper);
        cursor.confine(prefix(index, first), upper);
        bool found = false;
        Status status =
            cursor.seek(SeekMode::kFirstAtOrAfter, prefix(index, first), record.data(), found);
        for (; status.is_ok() && found; status = cursor.next(record.data(), found)) {
          ids.push_back(record.row().id);
        }
        return status.is_ok();
      };
      // Not before there is something to see: writers may begin late.
      for (int round = 0; round < kRounds || changes <= kChanges; ++round) {
        const std::size_t index = random() % 2 == 0 ? test::kPrimary : test::kByCode;
        const int first = static_cast<int>(random() % 60);
        const int last = first + static_cast<int>(random() % 30);
        Ids once;
        Ids twice;
        if (read(index, first, last, once)) {
          std::this_thread::yield();
          if (read(index, first, last, twice) && once != twice) ++differences;
        }
        session.rollback();
      }
      --readers_left;
    });
  }
  for (int writer = 0; writer < kWriters; ++writer) {
    threads.emplace_back([&, writer] {
      std::mt19937 random(seed + 100 + static_cast<unsigned>(writer));
      test::Session session(store_);
      session.writer().set_wait_policy({.may_wait = true, .timeout_ms = 300'000});
      while (readers_left > 0) {
        bool failed = false;
        for (unsigned i = 0; i < 1 + random() % 3 && !failed; ++i) {
          const Row row = row_of(static_cast<int>(random() % 100) * 3 + writer);
          const Status inserted = session.insert(row);
          failed = !inserted.is_ok() && !inserted.is(ErrorCode::kDuplicateKey);
          if (inserted.is(ErrorCode::kDuplicateKey) && row.id % 10 != 0) {
            // The duplicate is locked, if it is the row itself: nobody else makes such ids.
            failed = !session.remove(row).is_ok();
          }
        }
        if (failed || random() % 4 == 0) {
          session.rollback();
        } else {
          session.commit();
          ++changes;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(differences, 0) << "seed " << seed;
  EXPECT_GT(changes, kChanges);
  EXPECT_TRUE(store_.check().empty());
}

}  // namespace
}  // namespace basalt::table
