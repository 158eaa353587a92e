#include "table/bulk_load.h"

#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "table/test_database.h"
#include "table/test_support.h"

// Goal: rows that are loaded have the entries that rows have which are written one by one, in every
// index, and no value twice where the index is unique. Method: the checker, and the same rows in
// another table.
namespace basalt::table {
namespace {

using basalt::test::fails_with;
using basalt::test::must;
using basalt::test::succeeds;
using test::Keys;
using test::Row;

Row row_of(int i) {
  const std::string number = std::to_string(i);
  return {i,
          i % 3 != 0 ? std::optional("e" + number) : std::nullopt,
          "City" + std::to_string(i * 7919 % 1000),
          i % 5 != 0 ? std::optional(i * 7919 % 100 - 50) : std::nullopt,
          static_cast<std::uint32_t>(i),
          std::string(100, 'n')};
}

class BulkLoadTest : public testing::TestWithParam<Keys>, protected test::NewDatabase {
 protected:
  BulkLoadTest() {
    const catalog::TablePointer definition =
        must(catalog_.create(test::make_definition(GetParam())));
    table_ = std::make_unique<Table>(definition, test::make_layout(),
                                     std::make_shared<TableState>(catalog_, definition->id));
    writer_ = std::make_unique<RowWriter>(*table_);
    begin();
  }
  void begin() {
    transaction_ = transactions_.make_transaction(nullptr);
    load_ = must(BulkLoad::make(*database_, *table_, {memory_bytes_, 2}, *interruption_));
    writer_->set_load(load_.get());
  }
  Status insert(const Row& row) { return writer_->insert(*transaction_, test::Record(row).data()); }
  Status finish() {
    txn::LoadedFiles loaded;
    BASALT_TRY(load_->finish(loaded));
    BASALT_TRY(transaction_->add_loaded(std::move(loaded), {}));
    return transaction_->commit(kv::Durability::kBuffered);
  }
  bool is_sound() {
    const std::vector<std::string> problems = test::check(*database_, *table_);
    for (const std::string& problem : problems) ADD_FAILURE() << problem;
    return problems.empty();
  }
  const ChangedRows& counted() const { return table_->state().changes->rows; }
  std::uint64_t entries(std::size_t index) {
    return kv::test::count_entries(*database_, table_->family(index), table_->whole_range(index));
  }

  // With so much entries are written meanwhile as long as they come in order.
  void begin_with_threads() {
    memory_bytes_ = std::size_t{16} << 20;
    begin();
  }
  std::size_t files() const {
    std::size_t count = 0;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(directory_ / "db/loads")) {
      count += entry.path().extension() == ".sst" ? 1 : 0;
    }
    return count;
  }

  std::size_t memory_bytes_ = std::size_t{1} << 20;
  const test::NeverInterrupted never_;
  const test::AlwaysInterrupted always_;
  const Interruption* interruption_ = &never_;
  std::unique_ptr<Table> table_;
  std::unique_ptr<RowWriter> writer_;
  std::unique_ptr<txn::Transaction> transaction_;
  std::unique_ptr<BulkLoad> load_;
};

INSTANTIATE_TEST_SUITE_P(AllKeys, BulkLoadTest, testing::ValuesIn(test::kAllKeys), test::name_of);

// Enough for sorts that do not fit into memory, and for several threads.
constexpr int kMany = 60'000;

TEST_P(BulkLoadTest, LoadedRowsHaveAllTheirEntries) {
  for (int i = 0; i < kMany; ++i) must(insert(row_of(i * 7919 % kMany)));
  for (std::size_t i = 0; i < test::kIndexes; ++i) EXPECT_EQ(entries(i), 0u);
  EXPECT_EQ(counted().all(), kMany);
  EXPECT_EQ(counted().committed(), 0);
  ASSERT_TRUE(succeeds(finish()));
  for (std::size_t i = 0; i < test::kIndexes; ++i) {
    EXPECT_EQ(entries(i), static_cast<std::uint64_t>(kMany));
  }
  EXPECT_EQ(counted().all(), kMany);
  EXPECT_EQ(counted().committed(), kMany) << "once";
  EXPECT_TRUE(is_sound());
  EXPECT_TRUE(std::filesystem::is_empty(directory_ / "db/loads"));
}

TEST_P(BulkLoadTest, RowsInOrderAreWrittenWhileOthersCome) {
  begin_with_threads();
  for (int i = 0; i < kMany; ++i) must(insert(row_of(i)));
  EXPECT_NE(files(), 0u);
  ASSERT_TRUE(succeeds(finish()));
  for (std::size_t i = 0; i < test::kIndexes; ++i) {
    EXPECT_EQ(entries(i), static_cast<std::uint64_t>(kMany));
  }
  EXPECT_TRUE(is_sound());
  EXPECT_TRUE(std::filesystem::is_empty(directory_ / "db/loads"));
}

TEST_P(BulkLoadTest, ARowOutOfOrderLosesNothingOfThoseThatAreWritten) {
  begin_with_threads();
  for (int i = 1; i < kMany; ++i) must(insert(row_of(i)));
  EXPECT_NE(files(), 0u);
  must(insert(row_of(0)));
  ASSERT_TRUE(succeeds(finish()));
  for (std::size_t i = 0; i < test::kIndexes; ++i) {
    EXPECT_EQ(entries(i), static_cast<std::uint64_t>(kMany));
  }
  EXPECT_TRUE(is_sound());
}

TEST_P(BulkLoadTest, AKeyThatComesTwiceInARowFailsTheEnd) {
  begin_with_threads();
  Row last;
  for (int i = 0; i < kMany; ++i) must(insert(last = row_of(i)));
  last.id = kMany;
  last.email = "other";
  must(insert(last));
  must(insert(row_of(kMany + 1)));
  EXPECT_TRUE(fails_with(ErrorCode::kDuplicateKey, finish()));
  EXPECT_EQ(load_->duplicate_index(), static_cast<std::size_t>(test::kByCode));
  EXPECT_FALSE(load_->duplicate().first_key.empty());
}

TEST_P(BulkLoadTest, AKeyThatWasWrittenBeforeFailsTheEnd) {
  begin_with_threads();
  for (int i = 0; i < kMany; ++i) must(insert(row_of(i)));
  Row row = row_of(kMany);
  row.code = 77;
  must(insert(row));
  EXPECT_TRUE(fails_with(ErrorCode::kDuplicateKey, finish()));
  EXPECT_EQ(load_->duplicate_index(), static_cast<std::size_t>(test::kByCode));
}

TEST_P(BulkLoadTest, WhatIsWrittenIsNotReadBackForAStatementThatIsKilled) {
  interruption_ = &always_;
  begin_with_threads();
  for (int i = 1; i < kMany; ++i) must(insert(row_of(i)));
  ASSERT_NE(files(), 0u);
  const Status status = insert(row_of(0));
  EXPECT_TRUE(fails_with(ErrorCode::kInterrupted, status.is_ok() ? finish() : status.clone()));
  EXPECT_TRUE(fails_with(ErrorCode::kInterrupted, finish())) << "for good";
}

TEST_P(BulkLoadTest, ALoadThatIsGivenUpLeavesNoFiles) {
  begin_with_threads();
  for (int i = 0; i < kMany; ++i) must(insert(row_of(i)));
  EXPECT_NE(files(), 0u);
  load_.reset();
  EXPECT_TRUE(std::filesystem::is_empty(directory_ / "db/loads"));
}

TEST_P(BulkLoadTest, RowsComeAmongOthersThatAreThere) {
  for (int i = 0; i < 100; i += 2) must(insert(row_of(i)));
  must(finish());
  begin();
  for (int i = 99; i > 0; i -= 2) must(insert(row_of(i)));
  ASSERT_TRUE(succeeds(finish()));
  EXPECT_EQ(entries(test::kByCity), 100u);
  EXPECT_TRUE(is_sound());
}

TEST_P(BulkLoadTest, ARowThatIsThereAlreadyIsRefused) {
  must(insert(row_of(1)));
  must(finish());
  begin();
  EXPECT_TRUE(fails_with(ErrorCode::kDuplicateKey, insert(row_of(1))));
  must(insert(row_of(2)));
  ASSERT_TRUE(succeeds(finish()));
  EXPECT_EQ(entries(0), 2u);
  EXPECT_TRUE(is_sound());
}

TEST_P(BulkLoadTest, AUniqueValueThatIsTwiceAmongTheRowsFailsTheEnd) {
  for (int i = 0; i < 1000; ++i) must(insert(row_of(i)));
  Row row = row_of(1000);
  row.code = 77;
  must(insert(row));
  EXPECT_TRUE(fails_with(ErrorCode::kDuplicateKey, finish()));
  EXPECT_EQ(load_->duplicate_index(), static_cast<std::size_t>(test::kByCode));
  test::Record record;
  const codec::SecondaryCodec& by_code = table_->secondary(test::kByCode);
  codec::ColumnSet code(test::kColumns);
  code.set(test::kCode);
  must(by_code.read(load_->duplicate().first_key, load_->duplicate().first_value,
                    by_code.plan(code), record.data()));
  EXPECT_EQ(load_le<std::uint32_t>(record.data() + 43), 77u);
  load_.reset();
  writer_->set_load(nullptr);
  EXPECT_EQ(counted().all(), 1001);
  must(transaction_->rollback());
  EXPECT_EQ(counted().all(), 0) << "although nothing had come into the transaction";
  EXPECT_EQ(entries(0), 0u);
  EXPECT_TRUE(std::filesystem::is_empty(directory_ / "db/loads"));
}

TEST_P(BulkLoadTest, RowsOfAStatementThatFailsCountNoLonger) {
  writer_->set_load(nullptr);
  transaction_->begin_statement(txn::IsolationLevel::kReadCommitted);
  must(insert(row_of(1)));
  transaction_->end_statement();
  transaction_->begin_statement(txn::IsolationLevel::kReadCommitted);
  writer_->set_load(load_.get());
  for (int i = 2; i < 10; ++i) must(insert(row_of(i)));
  EXPECT_EQ(counted().all(), 9);
  must(transaction_->rollback_statement());
  EXPECT_EQ(counted().all(), 1);
  must(transaction_->commit(kv::Durability::kBuffered));
  EXPECT_EQ(counted().committed(), 1);
}

TEST_P(BulkLoadTest, APrimaryKeyThatIsTwiceAmongTheRowsFailsTheEnd) {
  if (GetParam() == Keys::kHidden) GTEST_SKIP() << "keys are made by the engine";
  for (int i = 1000; i > 0; --i) must(insert(row_of(i)));
  Row row = row_of(5);
  row.code = 5000;
  row.email = "other";
  const Status status = insert(row);
  EXPECT_TRUE(fails_with(ErrorCode::kDuplicateKey, status.is_ok() ? finish() : Status::ok()));
  EXPECT_EQ(load_->duplicate_index(), 0u);
}

TEST_P(BulkLoadTest, NullsAreNoDuplicates) {
  for (int i = 0; i < 10; ++i) {
    Row row = row_of(i);
    row.email = std::nullopt;
    must(insert(row));
  }
  EXPECT_TRUE(succeeds(finish()));
  EXPECT_TRUE(is_sound());
}

TEST_P(BulkLoadTest, ItEndsWhenItIsInterrupted) {
  interruption_ = &always_;
  begin();
  for (int i = 0; i < 5000; ++i) must(insert(row_of(i)));
  txn::LoadedFiles loaded;
  EXPECT_TRUE(fails_with(ErrorCode::kInterrupted, load_->finish(loaded)));
  load_.reset();
  EXPECT_TRUE(std::filesystem::is_empty(directory_ / "db/loads"));
}

}  // namespace
}  // namespace basalt::table
