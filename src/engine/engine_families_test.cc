#include <algorithm>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/test_support.h"
#include "engine/engine.h"
#include "kv/reports.h"
#include "table/cursor.h"
#include "table/test_support.h"

// Goal: indexes are in the column families that were asked for, whatever becomes of their tables,
// and a family goes only when nothing is in it and nothing can come.
namespace basalt::engine {
namespace {

using basalt::test::fails_with;
using basalt::test::must;
using basalt::test::succeeds;
using table::test::Keys;
using table::test::make_definition;
using table::test::make_layout;
using table::test::Record;
using table::test::row_of;

// As make_definition() has the indexes.
const Engine::FamilyNames kFamilies = {"", "two", "two", "three", ""};
const std::vector<std::string> kPlaces = {"default", "two", "two", "three", "default"};

class EngineFamiliesTest : public testing::Test {
 protected:
  EngineFamiliesTest() { start(); }
  void start() {
    engine_.reset();
    EngineOptions options;
    options.database = kv::test::small_options(path_);
    engine_ = must(Engine::start(options, nullptr, &collations_));
  }
  void crash() {
    const std::string image = path_ + "x";
    kv::test::copy_crash_image(path_, image);
    path_ = image;
    start();
  }
  std::shared_ptr<table::Table> open() {
    return must(engine_->open_table("test/orders", make_definition(Keys::kId), make_layout(), {}));
  }
  void insert(txn::Transaction& transaction, int id) {
    const auto opened = open();
    table::RowWriter writer(*opened);
    must(writer.insert(transaction, Record(row_of(id)).data()));
  }
  // The names of the families of the table's indexes.
  std::vector<std::string> places() {
    std::vector<std::string> names;
    const std::vector<kv::Family> families = engine_->database().families();
    for (const catalog::IndexDefinition& index : engine_->catalog().find("test/orders")->indexes) {
      names.push_back(std::ranges::find(families, index.family, &kv::Family::id)->name);
    }
    return names;
  }
  // How many entries there are where each index is to be.
  std::vector<std::uint64_t> entries() {
    std::vector<std::uint64_t> counts;
    const auto table = open();
    for (std::size_t i = 0; i < table->index_count(); ++i) {
      counts.push_back(
          kv::test::count_entries(engine_->database(), table->family(i), table->whole_range(i)));
    }
    return counts;
  }
  Status remove(std::string_view name) {
    return engine_->remove_family(name, [] { return true; });
  }

  kv::test::TestDirectory directory_;
  std::string path_ = directory_ / "db";
  table::test::OneCollation collations_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(EngineFamiliesTest, IndexesAreWhereTheirFamiliesWereNamedAlsoAfterACrash) {
  must(engine_->create_table(make_definition(Keys::kId), 1, kFamilies));
  auto transaction = engine_->transactions().make_transaction(nullptr);
  for (int id = 1; id <= 3; ++id) insert(*transaction, id);
  must(transaction->commit(kv::Durability::kSynced));
  transaction.reset();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(places(), kPlaces);
    EXPECT_EQ(entries(), std::vector<std::uint64_t>(5, 3));
    for (const Engine::StoredIndex& index : must(engine_->stored_indexes())) {
      EXPECT_EQ(index.state, catalog::IndexState::kInUse) << index.family_name;
    }
    if (i == 0) crash();
  }
}

TEST_F(EngineFamiliesTest, ThatAFamilyIsNotDescendingIsToldOnceWhenItIsMade) {
  static int notes = 0;
  notes = 0;
  set_log_sink([](LogLevel, std::string_view message) {
    notes += message.starts_with("column family 'rev:hot' has its entries in ascending order");
  });
  must(engine_->create_table(make_definition(Keys::kId), 1, {"rev:hot", "rev:hot", "two", "", ""}));
  EXPECT_EQ(notes, 1);
  must(engine_->drop_table("test/orders"));
  must(engine_->create_table(make_definition(Keys::kId), 1, {"", "rev:hot", "", "", ""}));
  EXPECT_EQ(notes, 1);
  set_log_sink(nullptr);
}

TEST_F(EngineFamiliesTest, ARenamedOrEmptiedTableStaysInItsFamilies) {
  must(engine_->create_table(make_definition(Keys::kId), 1, kFamilies));
  must(engine_->rename_table("test/orders", "test/away", Engine::Renamed::kWasThere));
  must(engine_->rename_table("test/away", "test/orders", Engine::Renamed::kWasThere));
  EXPECT_EQ(places(), kPlaces);
  must(engine_->truncate_table("test/orders"));
  EXPECT_EQ(places(), kPlaces);
}

TEST_F(EngineFamiliesTest, AnIndexIsBuiltInTheFamilyThatIsNamedForItAndOthersStay) {
  catalog::TableDefinition small = make_definition(Keys::kId);
  small.indexes.erase(small.indexes.begin() + table::test::kByCity);
  must(engine_->create_table(small, 1, {"", "two", "three", ""}));
  const auto transaction = engine_->transactions().make_transaction(nullptr);
  {
    const auto opened = must(engine_->open_table("test/orders", small, make_layout(), {}));
    table::RowWriter writer(*opened);
    for (int id = 1; id <= 3; ++id) must(writer.insert(*transaction, Record(row_of(id)).data()));
  }
  must(transaction->commit(kv::Durability::kBuffered));
  const auto altered = must(
      engine_->reserve_indexes(make_definition(Keys::kId), {"", "other", "new", "other", "other"}));
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, remove("new"))) << "it is being built";
  const table::test::NeverInterrupted never;
  const auto build = must(engine_->begin_build(altered, {}, make_layout()));
  must(build->build(never));
  must(engine_->complete_build(*build, never));
  must(engine_->publish_altered({altered, build->rows()}));
  EXPECT_EQ(places(), (std::vector<std::string>{"default", "two", "new", "three", "default"}));
  EXPECT_EQ(entries(), std::vector<std::uint64_t>(5, 3));
}

TEST_F(EngineFamiliesTest, FamiliesAreCompactedWeeklyAsLongAsTheyHaveTablesWhoseRowsExpire) {
  const auto are_compacted = [&] {
    std::vector<std::string> names;
    kv::Database& database = engine_->database();
    for (const kv::Family& family : database.families()) {
      for (const auto& [option, value] : kv::family_options(database, family.id)) {
        if (option == "periodic_compaction_seconds" && value != "0") names.push_back(family.name);
      }
    }
    std::ranges::sort(names);
    return names;
  };
  using Names = std::vector<std::string>;
  catalog::TableDefinition expires = make_definition(Keys::kId);
  expires.expiry = catalog::RowExpiry{{.seconds = 10}, catalog::RowExpiry::kNoColumn};
  catalog::TableDefinition small = expires;
  small.indexes.erase(small.indexes.begin() + table::test::kByCity);
  must(engine_->create_table(small, 1, {"one", "one", "two", "two"}));
  EXPECT_EQ(are_compacted(), (Names{"one", "two"}));
  const auto altered = must(engine_->reserve_indexes(expires, {"", "", "new", "", ""}));
  EXPECT_EQ(are_compacted(), (Names{"one", "two"}));
  must(engine_->publish_altered(altered));
  EXPECT_EQ(are_compacted(), (Names{"new", "one", "two"}));
  expires.name = "test/other";
  must(engine_->create_table(expires, 1, kFamilies));
  crash();
  EXPECT_EQ(are_compacted(), (Names{"default", "new", "one", "three", "two"}));
  must(engine_->drop_table("test/orders"));
  EXPECT_EQ(are_compacted(), (Names{"default", "three", "two"}));
  must(engine_->truncate_table("test/other"));
  EXPECT_EQ(are_compacted(), (Names{"default", "three", "two"}));
  must(engine_->drop_table("test/other"));
  EXPECT_EQ(are_compacted(), Names());
}

TEST_F(EngineFamiliesTest, AFamilyGoesWhenItsTablesAreGoneAndNotBefore) {
  must(engine_->create_table(make_definition(Keys::kId), 1, kFamilies));
  const Status refused = remove("two");
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, refused));
  EXPECT_NE(refused.message().find("'by_email' of table 'test/orders'"), std::string::npos)
      << refused.message();
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, remove("default")));
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, remove("__system__")));
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, remove("nowhere")));
  must(engine_->drop_table("test/orders"));
  EXPECT_TRUE(fails_with(ErrorCode::kInterrupted, engine_->remove_family("two", [] {
    return false;
  }))) << "what was dropped is not reclaimed yet";
  engine_->worker().start_reclaiming();
  EXPECT_TRUE(succeeds(remove("two")));
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, remove("two")));
  crash();
  EXPECT_EQ(engine_->database().find_family("two"), std::nullopt);
  EXPECT_NE(engine_->database().find_family("three"), std::nullopt);
  must(engine_->create_table(make_definition(Keys::kId), 1, kFamilies));
  EXPECT_EQ(places(), kPlaces);
}

TEST_F(EngineFamiliesTest, WhatAForeignKeyLeadsToCanBeReadWhenItsFamilyIsRemoved) {
  must(engine_->create_table(make_definition(Keys::kId), 1, kFamilies));
  std::shared_ptr<const table::Table> stored = must(engine_->open_stored("test/orders"));
  must(engine_->drop_table("test/orders"));
  EXPECT_EQ(must(engine_->open_stored("test/orders")), nullptr);
  engine_->worker().start_reclaiming();
  ASSERT_TRUE(succeeds(remove("two")));
  auto transaction = engine_->transactions().make_transaction(nullptr);
  {
    table::Cursor cursor(*stored);
    cursor.open(*transaction, 1, {}, codec::ColumnSet(stored->layout().columns.size(), true),
                false);
    std::vector<std::uint8_t> record(stored->layout().record_length);
    bool found = true;
    EXPECT_TRUE(succeeds(cursor.seek_first(record.data(), found)));
    EXPECT_FALSE(found);
  }
  stored.reset();
}

TEST_F(EngineFamiliesTest, AFamilyWaitsForTransactionsThatMayYetWriteToIt) {
  must(engine_->create_table(make_definition(Keys::kId), 1, kFamilies));
  auto transaction = engine_->transactions().make_transaction(nullptr);
  insert(*transaction, 1);
  must(transaction->prepare("x", kv::Durability::kSynced));
  engine_->transactions().detach_prepared(std::move(transaction));
  for (int i = 0; i < 2; ++i) {
    if (i == 1) must(engine_->drop_table("test/orders", nullptr, Engine::Undecided::kLeave));
    engine_->worker().start_reclaiming();
    EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, remove("three"))) << i;
    crash();
  }
  bool found = false;
  must(engine_->transactions().commit_prepared("x", found));
  EXPECT_TRUE(found);
  engine_->worker().start_reclaiming();
  EXPECT_TRUE(succeeds(remove("three")));
  EXPECT_TRUE(succeeds(remove("two")));
}

TEST_F(EngineFamiliesTest, PreparedChangesComeBackInTheirFamilies) {
  must(engine_->create_table(make_definition(Keys::kId), 1, kFamilies));
  auto transaction = engine_->transactions().make_transaction(nullptr);
  insert(*transaction, 1);
  must(transaction->prepare("x", kv::Durability::kSynced));
  engine_->transactions().detach_prepared(std::move(transaction));
  crash();
  EXPECT_EQ(entries(), std::vector<std::uint64_t>(5, 0));
  bool found = false;
  must(engine_->transactions().commit_prepared("x", found));
  EXPECT_EQ(entries(), std::vector<std::uint64_t>(5, 1));
  must(engine_->database().flush());
  crash();
  EXPECT_EQ(entries(), std::vector<std::uint64_t>(5, 1));
}

TEST_F(EngineFamiliesTest, CompactingAFamilyRewritesItAndAnUnknownOneIsNotFound) {
  must(engine_->create_table(make_definition(Keys::kId), 1, kFamilies));
  const auto transaction = engine_->transactions().make_transaction(nullptr);
  insert(*transaction, 1);
  must(transaction->commit(kv::Durability::kBuffered));
  kv::Database& database = engine_->database();
  const kv::FamilyId family = *database.find_family("three");
  const std::uint64_t version = database.structure_version(family);
  EXPECT_TRUE(succeeds(engine_->compact_family("three", nullptr)));
  EXPECT_NE(database.structure_version(family), version);
  EXPECT_TRUE(fails_with(ErrorCode::kNotFound, engine_->compact_family("nowhere", nullptr)));
}

}  // namespace
}  // namespace basalt::engine
