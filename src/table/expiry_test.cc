#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "table/row_batch.h"
#include "table/test_support.h"

// Goal: what single reads and writes make of rows that are expired. Random sequences of all of it
// are in expiry_model_test.cc.
namespace basalt::table {
namespace {

using basalt::test::fails_with;
using basalt::test::must;
using test::Keys;
using test::Row;
using test::row_of;
using txn::Expiry;

constexpr std::uint64_t kSeconds = 100;

class ExpiryTest : public testing::Test {
 protected:
  ExpiryTest() {
    store_.database().expiry_clock().set_now([this] { return now_; });
    writer_.emplace(store_);
    writer_->writer().set_statement_time(now_);
  }

  void insert(const Row& row) {
    writer_->writer().set_statement_time(now_);
    must(writer_->insert(row));
    writer_->commit();
  }
  void compact(std::size_t index_number) {
    must(store_.database().flush());
    must(store_.database().compact(store_.table().family(index_number), {}));
  }
  std::vector<Row> rows(std::size_t index_number = test::kPrimary) {
    test::Session reader(store_);
    return reader.rows(index_number);
  }
  std::string key_of(const Row& row) {
    std::string key;
    store_.table().primary().make_key(test::Record(row).data(), 0, key);
    return key;
  }

  std::uint64_t now_ = 10'000;
  // Its indexes are in three column families, of which one can be compacted alone.
  test::Store store_{Keys::kCityAndId, 0, catalog::RowExpiry{{.seconds = kSeconds}}};
  std::optional<test::Session> writer_;
};

TEST_F(ExpiryTest, ARowIsNotFoundByAnyReadOnceItIsExpired) {
  const Row row = row_of(1);
  insert(row);
  now_ += kSeconds;
  test::Session reader(store_);
  test::Record record;
  for (const ReadSettings& settings :
       {ReadSettings(ConsistentRead{}), ReadSettings(ConsistentRead{.needs_snapshot = false}),
        ReadSettings(NewestRead{}), ReadSettings(LockingRead{})}) {
    Cursor cursor(store_.table());
    bool found = true;
    cursor.open(reader.transaction(), test::kPrimary, settings,
                codec::ColumnSet(test::kColumns, true), false);
    must(cursor.find_row(key_of(row), record.data(), found));
    EXPECT_FALSE(found);
    cursor.open(reader.transaction(), test::kByCode, settings,
                codec::ColumnSet(test::kColumns, true), false);
    must(cursor.find_unique(test::search_prefix(store_.table(), test::kByCode, row, 1),
                            record.data(), found));
    EXPECT_FALSE(found);
  }
  for (std::size_t i = 0; i < test::kIndexes; ++i) EXPECT_EQ(reader.rows(i).size(), 0u) << i;
}

TEST_F(ExpiryTest, RowsThatAreReadTogetherAreLookedAtOneByOne) {
  insert(row_of(1));
  now_ += kSeconds / 2;
  insert(row_of(2));
  now_ += kSeconds / 2;
  test::Session reader(store_);
  Cursor cursor(store_.table());
  cursor.open(reader.transaction(), test::kPrimary, ConsistentRead{},
              codec::ColumnSet(test::kColumns, true), false);
  RowBatch batch;
  batch.add(key_of(row_of(1)), "", nullptr);
  batch.add(key_of(row_of(2)), "", nullptr);
  test::Record record;
  bool found = false;
  must(cursor.next_of(batch, record.data(), found));
  ASSERT_TRUE(found);
  EXPECT_EQ(record.row(), row_of(2));
  must(cursor.next_of(batch, record.data(), found));
  EXPECT_FALSE(found);
}

TEST_F(ExpiryTest, ATransactionKeepsWhatItHasReadAndCanChangeItThoughItExpires) {
  const Row row = row_of(1);
  insert(row);
  now_ += kSeconds - 1;
  test::Session holder(store_);
  EXPECT_EQ(holder.rows().size(), 1u);
  now_ += kSeconds;
  EXPECT_EQ(rows().size(), 0u) << "to others it is gone";
  store_.flush_and_compact();
  EXPECT_EQ(holder.rows(test::kByCode).size(), 1u);
  EXPECT_EQ(holder.rows(test::kByAmount, LockingRead{}).size(), 1u);
  Row changed = row;
  changed.amount = 77;
  must(holder.update(row, changed));
  EXPECT_EQ(holder.rows(test::kByAmount), std::vector<Row>{changed});
  holder.commit();
  EXPECT_EQ(store_.check(), std::vector<std::string>());
  store_.flush_and_compact();
  for (std::size_t i = 0; i < test::kIndexes; ++i) EXPECT_EQ(store_.entries(i), 0u) << i;
}

TEST_F(ExpiryTest, AnUpdateKeepsTheTimeOfARow) {
  const Row row = row_of(1);
  insert(row);
  now_ += kSeconds - 1;
  Row changed = row;
  changed.city = "elsewhere";
  writer_->writer().set_statement_time(now_);
  must(writer_->update(row, changed));
  writer_->commit();
  EXPECT_EQ(rows(), std::vector<Row>{changed});
  now_ += 1;
  EXPECT_EQ(rows().size(), 0u);
}

TEST_F(ExpiryTest, ARowThatIsExpiredGoesForAnotherOneWithAllItsEntries) {
  Row row = row_of(1);
  insert(row);
  now_ += kSeconds;
  Row other = row;
  other.amount = 5;
  other.email = "new";
  insert(other);
  EXPECT_EQ(rows(), std::vector<Row>{other});
  for (std::size_t i = 0; i < test::kIndexes; ++i) EXPECT_EQ(store_.entries(i), 1u) << i;
  EXPECT_EQ(store_.check(), std::vector<std::string>());
}

TEST_F(ExpiryTest, AUniqueValueOfARowThatIsExpiredIsFree) {
  const Row row = row_of(1);
  insert(row);
  now_ += kSeconds;
  Row other = row_of(2);
  other.code = row.code;
  insert(other);
  EXPECT_EQ(rows(), std::vector<Row>{other});
  for (std::size_t i = 0; i < test::kIndexes; ++i) EXPECT_EQ(store_.entries(i), 1u) << i;
  Row third = row_of(3);
  third.code = row.code;
  EXPECT_TRUE(fails_with(ErrorCode::kDuplicateKey, writer_->insert(third)));
}

// A compaction takes entries and leaves their rows, as it comes by.
TEST_F(ExpiryTest, AValueThatHasGoneToAnotherRowStaysThereWhenTheExpiredRowGoes) {
  const Row expired = row_of(1);
  insert(expired);
  now_ += kSeconds;
  compact(test::kByCode);
  ASSERT_EQ(store_.entries(test::kByCode), 0u);
  ASSERT_EQ(store_.entries(test::kPrimary), 1u);
  Row heir = row_of(2);
  heir.code = expired.code;
  insert(heir);
  Row again = expired;
  again.code = 99;
  insert(again);
  EXPECT_EQ(rows(test::kByCode).size(), 2u);
  EXPECT_EQ(store_.check(), std::vector<std::string>());
}

TEST_F(ExpiryTest, AnEntryWhoseRowACompactionHasTakenIsInNobodysWay) {
  const Row row = row_of(1);
  insert(row);
  now_ += kSeconds;
  compact(test::kPrimary);
  ASSERT_EQ(store_.entries(test::kPrimary), 0u);
  ASSERT_EQ(store_.entries(test::kByCode), 1u);
  EXPECT_EQ(rows(test::kByCode).size(), 0u);
  insert(row);
  EXPECT_EQ(rows(test::kByCode), std::vector<Row>{row});
  must(writer_->remove(row));
  writer_->commit();
  store_.flush_and_compact();
  for (std::size_t i = 0; i < test::kIndexes; ++i) EXPECT_EQ(store_.entries(i), 0u) << i;
}

TEST_F(ExpiryTest, ExpiredRowsThatAreShownAreThereUntilACompactionMayTakeThem) {
  insert(row_of(1));
  now_ += kSeconds;
  {
    test::Session reader(store_);
    reader.transaction().expiry().begin(Expiry::kShown);
    EXPECT_EQ(reader.rows().size(), 1u);
    EXPECT_EQ(reader.rows(test::kByEmail).size(), 1u);
    EXPECT_TRUE(fails_with(ErrorCode::kDuplicateKey, reader.insert(row_of(1))));
    compact(test::kPrimary);
    EXPECT_EQ(reader.rows().size(), 1u) << "compactions are held back";
  }
  compact(test::kPrimary);
  test::Session reader(store_);
  reader.transaction().expiry().begin(Expiry::kShown);
  EXPECT_EQ(reader.rows(test::kByEmail).size(), 0u) << "the row has gone, its entry not yet";
}

TEST_F(ExpiryTest, AReplicaFindsWhatItsSourceFoundAndReplacesWhatItsSourceDidNot) {
  insert(row_of(1));
  insert(row_of(2));
  now_ += kSeconds;
  test::Session applier(store_);
  applier.transaction().expiry().begin(Expiry::kOfSource, now_);
  Row changed = row_of(1);
  changed.amount = 50;
  must(applier.update(row_of(1), changed));
  applier.writer().set_statement_time(now_);
  must(applier.insert(row_of(2)));
  applier.commit();
  EXPECT_EQ(rows(), std::vector<Row>{row_of(2)});
  EXPECT_EQ(store_.check(), std::vector<std::string>());
}

TEST_F(ExpiryTest, NothingIsTakenWhileThatIsSwitchedOff) {
  insert(row_of(1));
  now_ += kSeconds;
  store_.database().expiry_clock().set_takes_rows(false);
  store_.flush_and_compact();
  EXPECT_EQ(store_.entries(test::kPrimary), 1u);
  EXPECT_EQ(rows().size(), 0u) << "reads pass over it all the same";
  store_.database().expiry_clock().set_takes_rows(true);
  store_.flush_and_compact();
  EXPECT_EQ(store_.entries(test::kPrimary), 0u);
}

TEST_F(ExpiryTest, AnExpiredRowIsLeftUnlockedUnlessWhatWasReadIsToStay) {
  insert(row_of(1));
  now_ += kSeconds;
  test::Session reader(store_);
  EXPECT_EQ(reader.rows(test::kPrimary, LockingRead{}).size(), 0u);
  insert(row_of(1));
  now_ += kSeconds;
  test::Session keeper(store_);
  LockingRead settings;
  settings.locks_gaps = true;
  EXPECT_EQ(keeper.rows(test::kByCode, settings).size(), 0u);
  EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, writer_->insert(row_of(1))));
}

TEST_F(ExpiryTest, WhatIsTakenAndWhatIsPassedOverIsCounted) {
  kv::EventCounters& events = store_.database().events();
  insert(row_of(1));
  now_ += kSeconds;
  EXPECT_EQ(rows(test::kByCode).size(), 0u);
  EXPECT_EQ(events.count(kv::Event::kRowFiltered), 1u);
  EXPECT_EQ(events.count(kv::Event::kRowExpired), 0u);
  store_.flush_and_compact();
  EXPECT_EQ(events.count(kv::Event::kRowExpired), test::kIndexes);
}

// When rows got a longer life, what had been expired was gone: what comes later is not.
TEST(ExpiryOfLongerLife, ARowOfAnEarlierTimeThanWhatIsGoneIsThere) {
  test::Store store(Keys::kId, 0, catalog::RowExpiry{{.seconds = kSeconds, .gone_before = 9'950}});
  store.database().expiry_clock().set_now([] { return std::uint64_t{10'000}; });
  test::Session session(store);
  session.writer().set_statement_time(9'920);
  must(session.insert(row_of(1)));
  session.commit();
  EXPECT_EQ(session.rows(test::kByCode).size(), 1u);
}

}  // namespace
}  // namespace basalt::table
