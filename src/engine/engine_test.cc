#include "engine/engine.h"

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "base/test_support.h"
#include "table/test_support.h"

// Goal: the parts work together: tables open only with matching definitions, counters go on after
// a stop, prepared transactions come back, and engines do not know of each other.
namespace basalt::engine {
namespace {

using basalt::test::fails_with;
using basalt::test::must;
using basalt::test::succeeds;
using table::test::Keys;
using table::test::kId;
using table::test::kPrimary;
using table::test::make_definition;
using table::test::make_layout;
using table::test::Record;
using table::test::Row;
using table::test::row_of;

constexpr table::AutoIncrementSource kCountsIds{true, kPrimary, kId};
constexpr table::AutoIncrementSource kCountsNothing{};

class EngineTest : public testing::Test {
 protected:
  std::unique_ptr<Engine> start(const std::string& name = "db") {
    EngineOptions options;
    options.database = kv::test::small_options(directory_ / name);
    return must(Engine::start(options, nullptr, &collations_));
  }
  static std::shared_ptr<table::Table> open(Engine& engine, Keys keys = Keys::kId) {
    return must(engine.open_table("test/orders", make_definition(keys), make_layout(),
                                  keys == Keys::kId ? kCountsIds : kCountsNothing));
  }
  static void insert(Engine& engine, const table::Table& table, const Row& row) {
    const auto transaction = engine.transactions().make_transaction(nullptr);
    table::RowWriter writer(table);
    must(writer.insert(*transaction, Record(row).data()));
    must(transaction->commit(kv::Durability::kBuffered));
  }
  // Leaves a transaction prepared, named "x", that has inserted `row`.
  static void prepare_insert(Engine& engine, const Row& row) {
    const auto table = open(engine);
    auto transaction = engine.transactions().make_transaction(nullptr);
    table::RowWriter writer(*table);
    must(writer.insert(*transaction, Record(row).data()));
    must(transaction->prepare("x", kv::Durability::kSynced));
    engine.transactions().detach_prepared(std::move(transaction));
  }
  static std::uint64_t take(const table::Table& table) {
    std::uint64_t value = 0;
    must(table.state().auto_increment.take(table::Series(), 1, value));
    return value;
  }
  static std::uint64_t rows(Engine& engine, const table::Table& table) {
    return kv::test::count_entries(engine.database(), table.family(0), table.whole_range(0));
  }

  kv::test::TestDirectory directory_;
  table::test::OneCollation collations_;
  const Row row_{1, "ann", "rome", 10, 100, "n"};
};

TEST_F(EngineTest, ATableThatWasNotCreatedIsNotFound) {
  const auto engine = start();
  const auto opened =
      engine->open_table("test/orders", make_definition(Keys::kId), make_layout(), kCountsIds);
  EXPECT_TRUE(fails_with(ErrorCode::kTableNotFound, opened));
  EXPECT_NE(opened.status().message().find("test/orders"), std::string::npos);
}

TEST_F(EngineTest, ATableOpensOnlyWithItsOwnDefinitionAndTheErrorNamesTheDifference) {
  const auto engine = start();
  must(engine->create_table(make_definition(Keys::kId), 0));
  catalog::TableDefinition other = make_definition(Keys::kId);
  other.columns[2].name = "town";
  auto opened = engine->open_table("test/orders", other, make_layout(), kCountsIds);
  EXPECT_TRUE(fails_with(ErrorCode::kDefinitionMismatch, opened));
  EXPECT_EQ(opened.status().message(),
            "table 'test/orders': column 'city' is now called 'town'; restore the matching .frm "
            "file");
  opened = engine->open_table("test/orders", make_definition(Keys::kCityAndId), make_layout(),
                              kCountsIds);
  EXPECT_TRUE(fails_with(ErrorCode::kDefinitionMismatch, opened));
  EXPECT_NE(opened.status().message().find("PRIMARY"), std::string::npos);
  EXPECT_TRUE(succeeds(
      engine->open_table("test/orders", make_definition(Keys::kId), make_layout(), kCountsIds)));
}

TEST_F(EngineTest, SystemTimeIsStoredWhenATableIsOpenedThatWasMadeWithoutIt) {
  const auto engine = start();
  must(engine->create_table(make_definition(Keys::kId), 1));
  catalog::TableDefinition expected = make_definition(Keys::kId);
  expected.columns.back().system_time = catalog::SystemTime::kRowEnd;
  const auto opened = must(engine->open_table("test/orders", expected, make_layout(), kCountsIds));
  EXPECT_EQ(opened->definition().columns, expected.columns);
  EXPECT_EQ(engine->catalog().find("test/orders")->columns, expected.columns);
}

TEST_F(EngineTest, RowsAndDefinitionsSurviveAStop) {
  auto engine = start();
  must(engine->create_table(make_definition(Keys::kId), 0));
  insert(*engine, *open(*engine), row_);
  engine.reset();
  engine = start();
  EXPECT_EQ(rows(*engine, *open(*engine)), 1u);
}

TEST_F(EngineTest, AllOpeningsOfATableShareItsCountersAndStatistics) {
  const auto engine = start();
  must(engine->create_table(make_definition(Keys::kId), 0));
  const auto first = open(*engine);
  const auto second = open(*engine);
  EXPECT_EQ(take(*first), 1u);
  EXPECT_EQ(take(*second), 2u);
  const catalog::TablePointer definition = engine->catalog().find("test/orders");
  EXPECT_EQ(engine->statistics(definition), engine->statistics(definition));
}

TEST_F(EngineTest, ACleanStopLosesNoAutoIncrementValue) {
  auto engine = start();
  must(engine->create_table(make_definition(Keys::kId), 0));
  for (std::uint64_t expected = 1; expected < 10; ++expected) {
    const auto table = open(*engine);
    EXPECT_EQ(take(*table), expected);
    if (expected % 3 == 0) {
      engine.reset();
      engine = start();
    }
  }
}

TEST_F(EngineTest, AnAutoIncrementStartIsKept) {
  auto engine = start();
  must(engine->create_table(make_definition(Keys::kId), 1000));
  engine.reset();
  engine = start();
  EXPECT_EQ(take(*open(*engine)), 1000u);
}

TEST_F(EngineTest, CountersGoOnAboveTheStoredRows) {
  const auto engine = start();
  must(engine->create_table(make_definition(Keys::kId), 0));
  {
    const table::Table unopened(engine->catalog().find("test/orders"), make_layout(),
                                std::make_shared<table::TableState>(engine->catalog(), 1));
    Row row = row_;
    row.id = 77;
    insert(*engine, unopened, row);
  }
  EXPECT_EQ(take(*open(*engine)), 78u);
}

TEST_F(EngineTest, ATruncatedTableIsEmptyAndCountsFromOne) {
  const auto engine = start();
  must(engine->create_table(make_definition(Keys::kId), 0));
  {
    const auto table = open(*engine);
    insert(*engine, *table, row_);
    take(*table);
    take(*table);
  }
  must(engine->truncate_table("test/orders"));
  const auto table = open(*engine);
  EXPECT_EQ(rows(*engine, *table), 0u);
  EXPECT_EQ(take(*table), 1u);
  EXPECT_EQ(engine->statistics(engine->catalog().find("test/orders"))->size().rows, 0u);
}

TEST_F(EngineTest, ARenamedTableIsNewToOpenSnapshotsOnlyIfItAppears) {
  const auto engine = start();
  must(engine->create_table(make_definition(Keys::kId), 0));
  insert(*engine, *open(*engine), row_);
  catalog::TableDefinition expected = make_definition(Keys::kId);
  const auto reader = engine->transactions().make_transaction(nullptr);
  reader->open_snapshot();
  for (const auto& [name, renamed] : {std::pair{"test/second", Engine::Renamed::kWasThere},
                                      std::pair{"test/third", Engine::Renamed::kAppears}}) {
    must(engine->rename_table(expected.name, name, renamed));
    expected.name = name;
    const auto table = must(engine->open_table(name, expected, make_layout(), kCountsIds));
    EXPECT_EQ(reader->is_snapshot_older_than(table->state().exists_since),
              renamed == Engine::Renamed::kAppears);
  }
}

TEST_F(EngineTest, ARenamedTableKeepsRowsAndCounters) {
  auto engine = start();
  must(engine->create_table(make_definition(Keys::kId), 0));
  insert(*engine, *open(*engine), row_);
  EXPECT_EQ(take(*open(*engine)), 1u);
  must(engine->rename_table("test/orders", "test/renamed", Engine::Renamed::kWasThere));
  catalog::TableDefinition expected = make_definition(Keys::kId);
  expected.name = "test/renamed";
  for (const bool is_restarted : {false, true}) {
    if (is_restarted) {
      engine.reset();
      engine = start();
    }
    const auto table =
        must(engine->open_table("test/renamed", expected, make_layout(), kCountsIds));
    EXPECT_EQ(rows(*engine, *table), 1u);
    EXPECT_EQ(take(*table), is_restarted ? 3u : 2u);
  }
}

TEST_F(EngineTest, ADroppedTableCanBeCreatedAgainAndIsEmpty) {
  const auto engine = start();
  must(engine->create_table(make_definition(Keys::kId), 500));
  insert(*engine, *open(*engine), row_);
  must(engine->drop_table("test/orders"));
  EXPECT_TRUE(fails_with(ErrorCode::kTableNotFound, engine->drop_table("test/orders")));
  must(engine->create_table(make_definition(Keys::kHidden), 0));
  const auto table = open(*engine, Keys::kHidden);
  EXPECT_EQ(rows(*engine, *table), 0u);
  EXPECT_EQ(take(*table), 1u);
  EXPECT_TRUE(
      fails_with(ErrorCode::kTableExists, engine->create_table(make_definition(Keys::kId), 0)));
}

TEST_F(EngineTest, PreparedTransactionsComeBackAfterAStop) {
  auto engine = start();
  must(engine->create_table(make_definition(Keys::kId), 0));
  prepare_insert(*engine, row_);
  engine.reset();
  engine = start();
  const auto table = open(*engine);
  EXPECT_EQ(rows(*engine, *table), 0u);
  bool found = false;
  must(engine->transactions().commit_prepared("x", found));
  EXPECT_TRUE(found);
  EXPECT_EQ(rows(*engine, *table), 1u);
}

TEST_F(EngineTest, RowsOfAPreparedTransactionCountUntilItIsRolledBack) {
  const auto engine = start();
  must(engine->create_table(make_definition(Keys::kId), 0));
  const auto statistics = engine->statistics(engine->catalog().find("test/orders"));
  for (const bool commits : {false, true}) {
    prepare_insert(*engine, row_);
    EXPECT_EQ(statistics->size().rows, 1u);
    bool found = false;
    must(commits ? engine->transactions().commit_prepared("x", found)
                 : engine->transactions().rollback_prepared("x", found));
    EXPECT_EQ(statistics->size().rows, commits ? 1u : 0u);
  }
}

TEST_F(EngineTest, RowsOfATransactionOfBeforeTheStartAreCountedWhenItIsCommitted) {
  auto engine = start();
  must(engine->create_table(make_definition(Keys::kId), 0));
  prepare_insert(*engine, row_);
  engine.reset();
  engine = start();
  const auto statistics = engine->statistics(engine->catalog().find("test/orders"));
  EXPECT_EQ(statistics->size().rows, 0u);
  bool found = false;
  must(engine->transactions().commit_prepared("x", found));
  EXPECT_TRUE(found);
  EXPECT_EQ(statistics->size().rows, 1u);
}

TEST_F(EngineTest, WhatIsRolledBackAfterTheTableWasEmptiedIsNotTakenFromTheEmptyTable) {
  const auto engine = start();
  must(engine->create_table(make_definition(Keys::kId), 0));
  const auto rows_told = [&] {
    return engine->statistics(engine->catalog().find("test/orders"))->size().rows;
  };
  const auto transaction = engine->transactions().make_transaction(nullptr);
  const auto before = open(*engine);
  must(table::RowWriter(*before).insert(*transaction, Record(row_).data()));
  EXPECT_EQ(rows_told(), 1u);
  must(engine->truncate_table("test/orders", nullptr, Engine::Undecided::kLeave));
  EXPECT_EQ(rows_told(), 0u);
  insert(*engine, *open(*engine), row_);
  must(transaction->rollback());
  EXPECT_EQ(rows_told(), 1u);
}

TEST_F(EngineTest, TwoEnginesInOneProcessDoNotKnowOfEachOther) {
  auto first = start("first");
  const auto second = start("second");
  must(first->create_table(make_definition(Keys::kId), 0));
  EXPECT_EQ(second->catalog().find("test/orders"), nullptr);
  must(second->create_table(make_definition(Keys::kId), 0));
  insert(*first, *open(*first), row_);
  EXPECT_EQ(rows(*second, *open(*second)), 0u);
  const auto of_first = first->transactions().make_transaction(nullptr);
  const auto of_second = second->transactions().make_transaction(nullptr);
  must(of_first->lock("k", lock::LockMode::kExclusive, {.may_wait = false}));
  EXPECT_TRUE(succeeds(of_second->lock("k", lock::LockMode::kExclusive, {.may_wait = false})));
  must(of_first->rollback());
  must(of_second->rollback());
}

TEST_F(EngineTest, ADirectoryThatIsInUseOrCannotBeMadeIsAnErrorWithItsPath) {
  const auto engine = start();
  EngineOptions options;
  for (const char* path : {"db", "none/below/none"}) {
    options.database = kv::test::small_options(directory_ / path);
    options.database.create_if_missing = false;
    const auto refused = Engine::start(options, nullptr);
    ASSERT_FALSE(refused.is_ok()) << path;
    EXPECT_NE(refused.status().message().find(options.database.directory), std::string::npos)
        << refused.status().message();
  }
}

// ---- indexes that are added

// What of the table's definition there is before.
catalog::TableDefinition without_by_city() {
  catalog::TableDefinition definition = make_definition(Keys::kId);
  definition.indexes.erase(definition.indexes.begin() + table::test::kByCity);
  return definition;
}

TEST_F(EngineTest, AnAddedIndexIsKnownToAllWhoOpenTheTableAndNewToOpenSnapshots) {
  const auto engine = start();
  must(engine->create_table(without_by_city(), 1));
  const auto before =
      must(engine->open_table("test/orders", without_by_city(), make_layout(), kCountsIds));
  insert(*engine, *before, row_);
  const auto reader = engine->transactions().make_transaction(nullptr);
  reader->open_snapshot();
  const catalog::TablePointer altered = must(engine->reserve_indexes(make_definition(Keys::kId)));
  const table::test::NeverInterrupted never;
  const auto build = must(engine->begin_build(altered, {}, make_layout()));
  must(build->build(never));
  must(engine->complete_build(*build, never));
  EXPECT_EQ(build->rows(), 1u);
  EXPECT_TRUE(fails_with(
      ErrorCode::kDefinitionMismatch,
      engine->open_table("test/orders", make_definition(Keys::kId), make_layout(), kCountsIds)));
  ASSERT_TRUE(succeeds(engine->publish_altered({altered, build->rows()})));
  const auto table = open(*engine);
  EXPECT_FALSE(reader->is_snapshot_older_than(table->state().exists_since));
  const auto late = engine->transactions().make_transaction(nullptr);
  late->open_snapshot();
  for (std::size_t i = 0; i < table->index_count(); ++i) {
    EXPECT_EQ(reader->is_snapshot_older_than(table->index_exists_since(i)),
              before->definition().find_secondary(table->index(i).name) == nullptr && i != 0)
        << i;
    EXPECT_FALSE(late->is_snapshot_older_than(table->index_exists_since(i))) << i;
  }
  EXPECT_EQ(table->state().auto_increment.next(), before->state().auto_increment.next());
  EXPECT_EQ(engine->statistics(altered)->size().rows, 1u);
  EXPECT_EQ(engine->statistics(altered)->rows_per_value(table::test::kByCity, 1), 1u);
}

TEST_F(EngineTest, AnIndexThatIsGivenUpIsReclaimedAndTheTableIsAsItWas) {
  const auto engine = start();
  must(engine->create_table(without_by_city(), 1));
  const auto table =
      must(engine->open_table("test/orders", without_by_city(), make_layout(), kCountsIds));
  insert(*engine, *table, row_);
  engine->worker().start_reclaiming();
  const catalog::TablePointer altered = must(engine->reserve_indexes(make_definition(Keys::kId)));
  const table::test::NeverInterrupted never;
  must(must(engine->begin_build(altered, {}, make_layout()))->build(never));
  engine->abandon_indexes(altered);
  basalt::test::await([&] { return engine->catalog().dropped_indexes().empty(); });
  EXPECT_EQ(engine->catalog().find("test/orders")->indexes.size(), table->index_count());
  EXPECT_TRUE(
      succeeds(engine->open_table("test/orders", without_by_city(), make_layout(), kCountsIds)));
}

// Who has begun to note changes may go on; what is noted is given back when it has ended.
TEST_F(EngineTest, AnIndexIsGivenUpWhileOthersWrite) {
  const auto engine = start();
  must(engine->create_table(without_by_city(), 1));
  const auto table =
      must(engine->open_table("test/orders", without_by_city(), make_layout(), kCountsIds));
  engine->worker().start_reclaiming();
  std::atomic<bool> stops{false};
  std::atomic<int> rows{0};
  std::thread writing([&] {
    table::RowWriter writer(*table);
    const auto transaction = engine->transactions().make_transaction(nullptr);
    while (!stops) {
      must(writer.insert(*transaction, Record(row_of(++rows)).data()));
      if (rows % 3 == 0) must(transaction->commit(kv::Durability::kBuffered));
    }
    must(transaction->commit(kv::Durability::kBuffered));
  });
  const table::test::NeverInterrupted never;
  int given_up = 0;
  while (given_up < 20) {
    // The server excludes writers in this moment; here one may be in the way.
    Result<catalog::TablePointer> altered = engine->reserve_indexes(make_definition(Keys::kId));
    if (!altered.is_ok()) continue;
    ++given_up;
    const auto build = must(engine->begin_build(altered.value(), {}, make_layout()));
    must(build->build(never));
    const int enough = rows + 5;
    basalt::test::await([&] { return rows > enough; });
    must(build->catch_up(never));
    engine->abandon_indexes(altered.value());
  }
  stops = true;
  writing.join();
  EXPECT_FALSE(table->state().journal.is_open());
  engine->worker().wake();
  basalt::test::await([&] { return engine->catalog().dropped_indexes().empty(); });
  for (const Engine::StoredIndex& index : must(engine->stored_indexes())) {
    EXPECT_EQ(index.state, catalog::IndexState::kInUse) << index.id;
  }
}

// ---- changes that are not decided

// The states of the indexes that have entries or are dropped.
std::vector<catalog::IndexState> stored_states(Engine& engine) {
  std::vector<catalog::IndexState> states;
  for (const Engine::StoredIndex& index : must(engine.stored_indexes())) {
    states.push_back(index.state);
  }
  return states;
}
using States = std::vector<catalog::IndexState>;

// With the primary key that the table has, or with another one.
class EngineBuildTest : public EngineTest, public testing::WithParamInterface<bool> {};
INSTANTIATE_TEST_SUITE_P(PrimaryKeys, EngineBuildTest, testing::Bool(),
                         [](const auto& tested) { return tested.param ? "Another" : "Same"; });

TEST_P(EngineBuildTest, ATableWithUndecidedChangesIsNotDroppedEmptiedOrGivenAnIndex) {
  const auto engine = start();
  must(engine->create_table(without_by_city(), 1));
  const auto table =
      must(engine->open_table("test/orders", without_by_city(), make_layout(), kCountsIds));
  int user = 0;
  const auto transaction = engine->transactions().make_transaction(&user);
  table::RowWriter writer(*table);
  must(writer.insert(*transaction, Record(row_).data()));
  catalog::TableChange change;
  change.replaces_primary = GetParam();
  const Keys keys = GetParam() ? Keys::kCityAndId : Keys::kId;
  const auto reserve = [&](const void* asking) {
    return engine->reserve_indexes(make_definition(keys), {}, change, asking);
  };
  EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, engine->drop_table("test/orders")));
  EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, engine->truncate_table("test/orders")));
  EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, reserve(nullptr)));
  EXPECT_FALSE(table->state().journal.is_open());
  EXPECT_NE(engine->drop_table("test/orders").message().find("test/orders"), std::string::npos);
  const catalog::TablePointer altered = must(reserve(&user));  // one's own are not in the way
  EXPECT_TRUE(table->state().journal.is_open());
  const table::test::NeverInterrupted never;
  const auto build = must(engine->begin_build(altered, change, make_layout()));
  must(build->build(never));
  EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, engine->complete_build(*build, never)));
  EXPECT_TRUE(succeeds(engine->complete_build(*build, never, &user)));
  engine->abandon_indexes(altered);
  EXPECT_FALSE(table->state().journal.is_open());
  must(transaction->commit(kv::Durability::kBuffered));
  EXPECT_TRUE(succeeds(engine->drop_table("test/orders")));
}

TEST_F(EngineTest, ATemporaryTableDroppedAmidATransactionIsReclaimedAfterItsCommit) {
  for (const bool empties : {false, true}) {
    const auto engine = start(empties ? "emptied" : "dropped");
    engine->worker().start_reclaiming();
    must(engine->create_table(make_definition(Keys::kId), 0));
    const auto transaction = engine->transactions().make_transaction(nullptr);
    {
      const auto table = open(*engine);
      table::RowWriter writer(*table);
      must(writer.insert(*transaction, Record(row_).data()));
    }
    constexpr auto kLeave = Engine::Undecided::kLeave;
    must(empties ? engine->truncate_table("test/orders", nullptr, kLeave)
                 : engine->drop_table("test/orders", nullptr, kLeave));
    // Another table's indexes are reclaimed meanwhile: those are passed over, not waited for.
    catalog::TableDefinition other = make_definition(Keys::kId);
    other.name = "test/other";
    must(engine->create_table(other, 0));
    must(engine->drop_table("test/other"));
    const std::size_t held = make_definition(Keys::kId).indexes.size();
    basalt::test::await([&] { return engine->catalog().dropped_indexes().size() == held; });
    for (const Engine::StoredIndex& index : must(engine->stored_indexes())) {
      EXPECT_EQ(index.state, catalog::IndexState::kDropped);
      EXPECT_TRUE(index.has_undecided_changes);
    }
    must(transaction->commit(kv::Durability::kBuffered));
    engine->worker().wake();
    basalt::test::await([&] { return engine->catalog().dropped_indexes().empty(); });
    EXPECT_EQ(stored_states(*engine), States{});
  }
}

TEST_F(EngineTest, ADroppedIndexWaitsForARecoveredTransactionToo) {
  auto engine = start();
  must(engine->create_table(make_definition(Keys::kId), 0));
  prepare_insert(*engine, row_);
  engine.reset();
  engine = start();
  EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, engine->drop_table("test/orders")));
  must(engine->drop_table("test/orders", nullptr, Engine::Undecided::kLeave));
  engine->worker().start_reclaiming();
  catalog::TableDefinition other = make_definition(Keys::kId);
  must(engine->create_table(other, 0));
  must(engine->drop_table("test/orders"));
  const std::size_t held = other.indexes.size();
  basalt::test::await([&] { return engine->catalog().dropped_indexes().size() == held; });
  bool found = false;
  must(engine->transactions().commit_prepared("x", found));
  engine->worker().wake();
  basalt::test::await([&] { return engine->catalog().dropped_indexes().empty(); });
  EXPECT_EQ(stored_states(*engine), States{});
}

TEST_F(EngineTest, EveryStoredIndexHasAStateAndWhatNobodyKnowsIsFound) {
  const auto engine = start();
  must(engine->create_table(without_by_city(), 1));
  const auto table =
      must(engine->open_table("test/orders", without_by_city(), make_layout(), kCountsIds));
  insert(*engine, *table, row_);
  const catalog::TablePointer altered = must(engine->reserve_indexes(make_definition(Keys::kId)));
  const table::test::NeverInterrupted never;
  must(must(engine->begin_build(altered, {}, make_layout()))->build(never));
  States expected(without_by_city().indexes.size(), catalog::IndexState::kInUse);
  expected.push_back(catalog::IndexState::kBuilding);
  EXPECT_EQ(stored_states(*engine), expected);
  engine->abandon_indexes(altered);
  expected.back() = catalog::IndexState::kDropped;
  expected.push_back(catalog::IndexState::kDropped);  // the journal
  EXPECT_EQ(stored_states(*engine), expected) << "nothing is reclaimed yet";
  kv::WriteBatch batch;
  std::string key;
  append_be32(key, 70000);
  batch.put(kv::kDefaultFamily, key + "leaked", std::string(1000, 'v'));
  must(engine->database().write(batch, kv::Durability::kBuffered));
  const Engine::StoredIndex leak = must(engine->stored_indexes()).back();
  EXPECT_EQ(leak.id, 70000u);
  EXPECT_EQ(leak.state, catalog::IndexState::kUnknown);
  EXPECT_EQ(leak.table, nullptr);
  EXPECT_GT(leak.bytes, 0u);
}

}  // namespace
}  // namespace basalt::engine
