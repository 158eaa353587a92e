#include "table/index_build.h"

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "table/test_database.h"
#include "table/test_support.h"

// Goal: an index that is built while others write has, in the end, the entries that the rows give
// it. Method: rows that change between the steps of a build, and in threads beside it; the checker.
namespace basalt::table {
namespace {

using basalt::test::fails_with;
using basalt::test::must;
using basalt::test::succeeds;
using test::Keys;
using test::Row;
using test::row_of;

constexpr int kRows = 300;
const std::vector<std::size_t> kNew = {test::kByEmail, test::kByCity, test::kByCode,
                                       test::kByAmount};

// Rows that one thread writes, each change in a transaction that the caller ends.
class Writer {
 public:
  Writer(txn::TransactionManager& transactions, const Table& table)
      : transaction_(transactions.make_transaction(nullptr)), writer_(table) {
    writer_.set_wait_policy({.may_wait = false});
  }

  txn::Transaction& transaction() { return *transaction_; }
  std::unique_ptr<txn::Transaction> take_transaction() { return std::move(transaction_); }
  void insert(const Row& row) {
    must(writer_.insert(*transaction_, test::Record(row).data()));
    rows_[row.id] = {row, writer_.primary_key()};
  }
  void update(int id, const Row& to) {
    const Stored& from = rows_.at(id);
    must(writer_.update(*transaction_, test::Record(from.row).data(), test::Record(to).data(),
                        from.primary_key));
    rows_.erase(id);
    rows_[to.id] = {to, writer_.primary_key()};
  }
  void remove(int id) {
    const Stored& stored = rows_.at(id);
    must(writer_.remove(*transaction_, test::Record(stored.row).data(), stored.primary_key));
    rows_.erase(id);
  }
  void commit() {
    must(transaction_->commit(kv::Durability::kBuffered));
    committed_ = rows_;
  }
  void rollback() {
    must(transaction_->rollback());
    rows_ = committed_;
  }
  bool has(int id) const { return rows_.contains(id); }
  const Row& row(int id) const { return rows_.at(id).row; }
  std::size_t count() const { return rows_.size(); }

  // One of the rows `first`, `first` + `step`, ... is changed in some way.
  void change_at_random(std::mt19937& random, int first, int step) {
    const int id = first + step * static_cast<int>(random() % 100);
    if (!has(id)) return insert(variant(id, random()));
    switch (random() % 4) {
      case 0: return remove(id);
      case 1: {
        const int other = first + step * static_cast<int>(100 + random() % 100);
        if (has(other)) return remove(other);
        return update(id, variant(other, random()));  // also under another primary key
      }
      default: return update(id, variant(id, random()));
    }
  }

 private:
  struct Stored {
    Row row;
    std::string primary_key;
  };

  // No two ids have a unique value in common.
  static Row variant(int id, unsigned chance) {
    Row row = row_of(id);
    if (chance % 3 == 0) row.email.reset();
    if (chance % 3 == 1) row.email = "E" + std::to_string(id);
    row.city = chance % 2 == 0 ? "Rome" : "rOME";
    if (chance % 5 == 0) row.amount.reset();
    row.code = static_cast<std::uint32_t>(id) + 100'000 * (chance % 3);
    return row;
  }

  std::unique_ptr<txn::Transaction> transaction_;
  RowWriter writer_;
  std::map<int, Stored> rows_;
  std::map<int, Stored> committed_;
};

// The primary key that the table has, and the one that it gets.
struct Primary {
  Keys before;
  Keys after;
};
constexpr Primary kPrimaries[] = {{Keys::kId, Keys::kId},
                                  {Keys::kHidden, Keys::kHidden},
                                  {Keys::kCityAndId, Keys::kCityAndId},
                                  {Keys::kHidden, Keys::kId},
                                  {Keys::kId, Keys::kCityAndId},
                                  {Keys::kCityAndId, Keys::kId}};

std::string name_of_primary(const testing::TestParamInfo<Primary>& info) {
  const auto name = [](Keys keys) { return test::name_of({keys, 0}); };
  const std::string before = name(info.param.before);
  return info.param.before == info.param.after ? before : before + "To" + name(info.param.after);
}

class IndexBuildTest : public testing::TestWithParam<Primary>, protected test::NewDatabase {
 protected:
  // The table with its primary key alone.
  IndexBuildTest() {
    catalog::TableDefinition definition = test::make_definition(GetParam().before);
    definition.indexes.resize(1);
    const catalog::TablePointer created = must(catalog_.create(std::move(definition)));
    state_ = std::make_shared<TableState>(catalog_, created->id);
    table_ = open(created);
    writer_ = std::make_unique<Writer>(transactions_, *table_);
    for (int id = 1; id <= kRows; ++id) writer_->insert(row_of(id));
    writer_->commit();
  }
  ~IndexBuildTest() override { writer_.reset(); }

  std::unique_ptr<Table> open(const catalog::TablePointer& definition) {
    return std::make_unique<Table>(definition, test::make_layout(), state_);
  }
  std::unique_ptr<IndexBuild> begin() {
    catalog::TableChange change;
    change.replaces_primary = replaces_primary();
    altered_ = must(catalog_.reserve_indexes(test::make_definition(GetParam().after), change));
    journal_ = catalog_.journal_of(altered_).value();
    state_->journal.open(journal_);
    std::vector<std::size_t> indexes = kNew;
    std::unique_ptr<Table> rows_before;
    if (replaces_primary()) {
      indexes.insert(indexes.begin(), 0);
      rows_before = open(std::make_shared<const catalog::TableDefinition>(
          catalog::rows_before(table_->definition(), change, *altered_)));
    }
    return std::make_unique<IndexBuild>(*database_, transactions_, open(altered_),
                                        std::move(rows_before), std::move(indexes), journal_,
                                        IndexBuild::Resources{1 << 20, 2});
  }
  static bool replaces_primary() { return GetParam().before != GetParam().after; }
  std::uint64_t rows_of(const Table& table) {
    return kv::test::count_entries(*database_, table.family(0), table.whole_range(0));
  }
  std::uint64_t catch_up(IndexBuild& build) { return must(build.catch_up(never_)); }
  // The last round; then the table has the indexes.
  void complete(IndexBuild& build) {
    catch_up(build);
    state_->journal.close();
    EXPECT_EQ(rows_of(build.table()), rows_of(*table_));
    must(catalog_.publish_altered(altered_));
    for (const std::string& problem : test::check(*database_, build.table())) {
      ADD_FAILURE() << problem;
    }
    // Each single removal has met one put, also when versions are merged.
    must(database_->flush());
    must(database_->compact(kv::kDefaultFamily, {}));
    for (const std::string& problem : test::check(*database_, build.table())) {
      ADD_FAILURE() << problem << " after a compaction";
    }
    EXPECT_TRUE(std::filesystem::is_empty(directory_ / "db/build"));
  }
  std::uint64_t journal_entries() {
    return kv::test::count_entries(*database_, Journal::kFamily, index_key_range(journal_));
  }

  std::shared_ptr<TableState> state_;
  std::unique_ptr<Table> table_;
  std::unique_ptr<Writer> writer_;
  catalog::TablePointer altered_;
  catalog::IndexId journal_ = 0;
  const test::NeverInterrupted never_;
};

INSTANTIATE_TEST_SUITE_P(AllKeys, IndexBuildTest, testing::ValuesIn(kPrimaries), name_of_primary);

TEST_P(IndexBuildTest, WhatIsChangedDuringTheBuildIsInTheIndexes) {
  const auto build = begin();
  must(build->build(never_));
  writer_->insert(row_of(1000));
  writer_->remove(1);
  Row row = row_of(2);
  row.city = "C2";  // in its value alone
  writer_->update(2, row);
  writer_->update(3, row_of(2003));  // under another primary key
  writer_->commit();
  EXPECT_GE(catch_up(*build), 4u);
  EXPECT_EQ(build->rows(), writer_->count());
  EXPECT_EQ(catch_up(*build), 0u);
  writer_->remove(1000);
  writer_->insert(row_of(1));
  writer_->commit();
  complete(*build);
  EXPECT_EQ(build->rows(), writer_->count());
}

TEST_P(IndexBuildTest, RowsExchangeAUniqueValueInOneRound) {
  const auto build = begin();
  must(build->build(never_));
  Row one = row_of(1);
  Row two = row_of(2);
  std::swap(one.code, two.code);
  std::swap(one.email, two.email);
  Row waiting = row_of(1);
  waiting.code = 9999;
  waiting.email.reset();
  writer_->update(1, waiting);
  writer_->update(2, two);
  writer_->update(1, one);
  writer_->remove(3);
  Row heir = row_of(4);
  heir.code = 3;
  writer_->update(4, heir);
  writer_->commit();
  complete(*build);
}

TEST_P(IndexBuildTest, AValueThatIsTwiceIsFoundWhicheverRowsHaveIt) {
  const auto duplicate = [&](auto&& change) {
    const auto build = begin();
    must(build->build(never_));
    change();
    writer_->commit();
    EXPECT_TRUE(fails_with(ErrorCode::kDuplicateKey, build->catch_up(never_)));
    ASSERT_TRUE(build->duplicate().has_value());
    const DuplicateRow& row = *build->duplicate();
    EXPECT_EQ(row.index_number, test::kByCode);
    test::Record record;
    const codec::PrimaryCodec& primary = build->table().primary();
    const codec::ReadPlan plan = primary.plan(codec::ColumnSet(test::kColumns, true));
    must(primary.read(row.primary_key, row.row, plan, record.data()));
    EXPECT_EQ(record.row().code, 7u);
    state_->journal.close();
    catalog_.abandon_indexes(altered_);
  };
  Row twin = row_of(1000);
  twin.code = 7;
  duplicate([&] { writer_->insert(twin); });  // with a row that has not changed
  writer_->remove(1000);
  writer_->commit();
  Row third = row_of(1001);
  third.code = 7;
  duplicate([&] {  // two that came
    writer_->remove(7);
    writer_->insert(twin);
    writer_->insert(third);
  });
}

TEST_P(IndexBuildTest, AValueThatIsTwiceNoMoreIsNoDuplicate) {
  const auto build = begin();
  must(build->build(never_));
  Row twin = row_of(1000);
  twin.code = 7;
  writer_->insert(twin);
  writer_->commit();
  writer_->remove(7);
  writer_->commit();
  complete(*build);
}

TEST_P(IndexBuildTest, ChangesComeWithTheirCommitWheneverThatIs) {
  const auto build = begin();
  Writer late(transactions_, *table_);
  Writer undone(transactions_, *table_);
  late.insert(row_of(5000));
  undone.insert(row_of(6000));
  must(build->build(never_));
  for (int round = 0; round < 3; ++round) {
    writer_->update(10 + round, row_of(7000 + round));
    writer_->commit();
    EXPECT_EQ(catch_up(*build), GetParam().before == Keys::kHidden ? 1u : 2u);
    late.insert(row_of(5001 + round));
  }
  undone.rollback();
  late.commit();
  EXPECT_EQ(catch_up(*build), 4u);
  complete(*build);
}

TEST_P(IndexBuildTest, PortionsAndSavepointsAndPreparedTransactionsAreFollowed) {
  const auto build = begin();
  must(build->build(never_));
  writer_->insert(row_of(1000));
  must(writer_->transaction().commit_portion(kv::Durability::kBuffered));
  EXPECT_EQ(catch_up(*build), 1u);
  writer_->insert(row_of(1001));
  const std::size_t savepoint = writer_->transaction().set_savepoint();
  writer_->insert(row_of(1002));
  must(writer_->transaction().rollback_to_savepoint(savepoint));
  writer_->commit();
  EXPECT_EQ(catch_up(*build), 1u);
  Writer preparer(transactions_, *table_);
  preparer.insert(row_of(2000));
  must(preparer.transaction().prepare("x", kv::Durability::kSynced, /*keeps_value_locks=*/true));
  transactions_.detach_prepared(preparer.take_transaction());
  EXPECT_EQ(catch_up(*build), 0u);
  bool found = false;
  must(transactions_.commit_prepared("x", found));
  EXPECT_EQ(catch_up(*build), 1u);
  complete(*build);
}

// The number of its commit is that of the other table's journal, older than what was read here.
TEST_P(IndexBuildTest, ATransactionThatHasWrittenToAnotherJournalIsFollowed) {
  catalog::TableDefinition definition = test::make_definition(GetParam().before);
  definition.name = "test/other";
  const catalog::TableDefinition altered = definition;
  definition.indexes.resize(1);
  const catalog::TablePointer created = must(catalog_.create(std::move(definition)));
  const auto state = std::make_shared<TableState>(catalog_, created->id);
  const Table other(created, test::make_layout(), state);
  const catalog::TablePointer reserved = must(catalog_.reserve_indexes(altered));
  state->journal.open(catalog_.journal_of(reserved).value());
  const auto build = begin();
  must(build->build(never_));
  const auto transaction = transactions_.make_transaction(nullptr);
  must(RowWriter(other).insert(*transaction, test::Record(row_of(1)).data()));
  writer_->insert(row_of(1000));
  writer_->commit();
  EXPECT_EQ(catch_up(*build), 1u);
  must(RowWriter(*table_).insert(*transaction, test::Record(row_of(2000)).data()));
  must(transaction->commit(kv::Durability::kBuffered));
  EXPECT_EQ(catch_up(*build), 1u);
  complete(*build);
}

TEST_P(IndexBuildTest, WhoIsInterruptedSaysSo) {
  const auto build = begin();
  must(build->build(never_));
  for (int id = 1001; id < 1200; ++id) writer_->insert(row_of(id));
  writer_->commit();
  EXPECT_TRUE(fails_with(ErrorCode::kInterrupted, build->catch_up(test::AlwaysInterrupted())));
  EXPECT_TRUE(std::filesystem::is_empty(directory_ / "db/build"));
}

TEST_P(IndexBuildTest, ManyChangesOfARoundGoThroughFiles) {
  const auto build = begin();
  must(build->build(never_));
  constexpr int kMany = 30'000;
  for (int id = 1001; id <= 1000 + kMany; ++id) {
    Row row = row_of(id);
    row.note = std::string(40, 'n');
    writer_->insert(row);
    if (id % 1000 == 0) writer_->commit();
  }
  writer_->commit();
  EXPECT_EQ(catch_up(*build), static_cast<std::uint64_t>(kMany));
  for (int id = 1001; id <= 1000 + kMany; id += 2) writer_->remove(id);
  writer_->commit();
  complete(*build);
  EXPECT_EQ(build->rows(), static_cast<std::uint64_t>(kRows + kMany / 2));
}

TEST_P(IndexBuildTest, ManyThreadsWriteBesideABuild) {
  constexpr int kThreads = 4;
  const auto build = begin();
  std::atomic<bool> stops{false};
  std::atomic<int> commits{0};
  std::vector<std::thread> threads;
  for (int number = 0; number < kThreads; ++number) {
    threads.emplace_back([&, number] {
      std::mt19937 random(static_cast<unsigned>(number));
      Writer writer(transactions_, *table_);
      while (!stops) {
        for (unsigned i = random() % 5; i != 0; --i) {
          writer.change_at_random(random, 10'000 + number, kThreads);
        }
        if (random() % 4 == 0) {
          writer.rollback();
        } else {
          writer.commit();
          ++commits;
        }
      }
    });
  }
  const auto await_commits = [&](int more) {
    const int enough = commits + more;
    basalt::test::await([&] { return commits >= enough; });
  };
  await_commits(50);
  must(build->build(never_));
  for (int round = 0; round < 20; ++round) {
    await_commits(20);
    catch_up(*build);
  }
  IndexBuild* const builds[] = {build.get()};
  must(catch_up_with_writers(builds, never_));
  stops = true;
  for (std::thread& thread : threads) thread.join();
  complete(*build);
}

// ---- the journal

TEST_P(IndexBuildTest, NothingIsNotedWhileNoIndexIsBuilt) {
  begin();
  state_->journal.close();
  writer_->insert(row_of(1000));
  writer_->commit();
  EXPECT_EQ(journal_entries(), 0u);
  state_->journal.open(journal_);
  writer_->remove(1000);
  writer_->insert(row_of(1000));
  writer_->commit();
  EXPECT_EQ(journal_entries(), GetParam().before == Keys::kHidden ? 2u : 1u);
  state_->journal.close();
  EXPECT_FALSE(transactions_.undecided().exist_in({&journal_, 1}));
}

// Who gives a journal up, and finds nobody who has written to it, may forget it.
TEST_P(IndexBuildTest, NobodyNotesAfterTheEndOfWhoHasBegunBeforeIt) {
  constexpr int kThreads = 4;
  std::atomic<bool> stops{false};
  std::vector<std::thread> threads;
  for (int number = 0; number < kThreads; ++number) {
    threads.emplace_back([&, number] {
      std::mt19937 random(static_cast<unsigned>(number));
      Writer writer(transactions_, *table_);
      while (!stops) {
        writer.change_at_random(random, 10'000 + number, kThreads);
        writer.commit();
      }
    });
  }
  for (int round = 0; round < 200; ++round) {
    begin();
    std::this_thread::yield();
    state_->journal.close();
    basalt::test::await([&] { return !transactions_.undecided().exist_in({&journal_, 1}); });
    const std::uint64_t entries = journal_entries();
    catalog_.abandon_indexes(altered_);
    must(catalog_.forget_dropped(journal_));
    EXPECT_EQ(journal_entries(), entries);
  }
  stops = true;
  for (std::thread& thread : threads) thread.join();
}

TEST_P(IndexBuildTest, WhatWasUndoneIsNotLookedForAgain) {
  begin();
  JournalReader reader(journal_);
  std::set<std::string> keys;
  const auto read = [&] {
    const std::uint64_t first_open = transactions_.first_open_number();
    must(
        reader.read(*database_, *database_->take_snapshot(), first_open, [&](std::string_view key) {
          keys.emplace(key);
          return Status::ok();
        }));
  };
  Writer open(transactions_, *table_);
  for (int i = 0; i < 100; ++i) {
    writer_->insert(row_of(1000 + i));
    i % 2 == 0 ? writer_->commit() : writer_->rollback();
    if (i == 50) open.insert(row_of(5000));
  }
  read();
  EXPECT_EQ(keys.size(), 50u);
  EXPECT_EQ(reader.open_ranges(), 25u) << "from the open one on, what comes included";
  open.commit();
  keys.clear();
  read();
  EXPECT_EQ(keys.size(), 1u);
  EXPECT_EQ(reader.open_ranges(), 1u);
  read();
  EXPECT_EQ(keys.size(), 1u);
}

// The amount is in no row: it is computed of the code.
class ComputedColumnTest : public testing::Test, protected test::NewDatabase {
 protected:
  static constexpr unsigned kNoAmount = 13;  // a code of which no amount can be computed

  static codec::TableLayout layout() {
    auto layout = test::make_layout();
    layout.columns[test::kAmount].stored = false;
    return layout;
  }
  static catalog::TableDefinition definition(bool is_unique) {
    catalog::TableDefinition definition = test::make_definition(Keys::kId);
    definition.columns[test::kAmount].stored = false;
    definition.indexes[test::kByAmount].unique = is_unique;
    definition.indexes[test::kByAmount].parts.resize(1);
    return definition;
  }
  static Status compute(std::uint8_t* record) {
    const codec::ColumnLayout amount = layout().columns[test::kAmount];
    const auto code = load_le<std::uint32_t>(record + layout().columns[test::kCode].record_offset);
    if (code == kNoAmount) return Status::of(ErrorCode::kInterrupted);
    store_le(record + amount.record_offset, static_cast<std::int32_t>(code / 2));
    std::uint8_t& nulls = record[amount.null_offset];
    nulls = static_cast<std::uint8_t>(nulls & ~amount.null_mask);
    if (code % 3 == 0) nulls = static_cast<std::uint8_t>(nulls | amount.null_mask);
    return Status::ok();
  }

  ComputedColumnTest() {
    catalog::TableDefinition first = definition(false);
    first.indexes.resize(1);
    const catalog::TablePointer created = must(catalog_.create(std::move(first)));
    state_ = std::make_shared<TableState>(catalog_, created->id);
    table_ = std::make_unique<Table>(created, layout(), state_);
    writer_ = std::make_unique<Writer>(transactions_, *table_);
    for (int id = 1; id <= kRows; ++id) writer_->insert(row_with(id, 1000 + 6 * id));
    writer_->commit();
  }

  static Row row_with(int id, int code) {
    Row row = row_of(id);
    row.amount = -1;  // which counts for nothing
    row.code = static_cast<std::uint32_t>(code);
    return row;
  }
  // One of the indexes alone needs a column that it does not have.
  std::unique_ptr<IndexBuild> begin(bool is_unique,
                                    const std::vector<std::size_t>& indexes = {test::kByAmount}) {
    altered_ = must(catalog_.reserve_indexes(definition(is_unique), {}));
    const catalog::IndexId journal = catalog_.journal_of(altered_).value();
    state_->journal.open(journal);
    return std::make_unique<IndexBuild>(
        *database_, transactions_, std::make_unique<Table>(altered_, layout(), state_), nullptr,
        indexes, journal, IndexBuild::Resources{1 << 20, 2}, &ComputedColumnTest::compute);
  }

  std::shared_ptr<TableState> state_;
  std::unique_ptr<Table> table_;
  std::unique_ptr<Writer> writer_;
  catalog::TablePointer altered_;
  const test::NeverInterrupted never_;
};

TEST_F(ComputedColumnTest, EntriesHaveTheValuesOfEachRowBeforeAndAfterItsChanges) {
  const auto build = begin(/*is_unique=*/false, kNew);
  must(build->build(never_));
  writer_->insert(row_with(1000, 7));
  writer_->remove(1);
  writer_->update(2, row_with(2, 8));
  writer_->update(3, row_with(2003, 9));
  writer_->update(4, row_with(4, 1000 + 6 * 4 + 1));  // with the same amount
  writer_->commit();
  EXPECT_EQ(must(build->catch_up(never_)), 6u);
  state_->journal.close();
  must(catalog_.publish_altered(altered_));
  EXPECT_EQ(test::check(*database_, build->table(), compute), std::vector<std::string>());
  EXPECT_FALSE(test::check(*database_, build->table()).empty());
}

TEST_F(ComputedColumnTest, AValueThatTwoRowsHaveIsTold) {
  for (const int code : {2000, 2001, 2004}) writer_->insert(row_with(code - 1000, code));
  writer_->commit();
  const auto build = begin(/*is_unique=*/true);
  must(build->build(never_));
  writer_->insert(row_with(1003, 2006));
  writer_->update(1000, row_with(1000, 2007));  // NULL gives way
  writer_->commit();
  EXPECT_EQ(must(build->catch_up(never_)), 2u);
  for (const int code : {4000, 4001}) writer_->insert(row_with(code, code));
  writer_->commit();
  EXPECT_TRUE(fails_with(ErrorCode::kDuplicateKey, build->catch_up(never_)));
  ASSERT_TRUE(build->duplicate().has_value());
  test::Record record;
  must(build->read_duplicate(record.data()));
  EXPECT_EQ(record.row().amount, 2000);
}

TEST_F(ComputedColumnTest, WhatCannotBeComputedEndsTheBuild) {
  const auto build = begin(/*is_unique=*/false);
  must(build->build(never_));
  writer_->insert(row_with(1000, kNoAmount));
  writer_->commit();
  EXPECT_TRUE(fails_with(ErrorCode::kInterrupted, build->catch_up(never_)));
  EXPECT_TRUE(std::filesystem::is_empty(directory_ / "db/build"));
}

}  // namespace
}  // namespace basalt::table
