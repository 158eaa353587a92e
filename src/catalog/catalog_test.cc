#include "catalog/catalog.h"

#include <algorithm>
#include <set>
#include <string>

#include "base/bytes.h"
#include "base/test_support.h"
#include "kv/test_directory.h"

// Goal: every change of the dictionary is complete in memory and after a crash, and ids never come
// twice. Method: after each step the catalog is loaded anew, from the closed database or from a
// crash image of it.
namespace basalt::catalog {
namespace {

using namespace std::string_literals;
using basalt::test::fails_with;
using basalt::test::must;
using basalt::test::succeeds;

TableDefinition make_table(std::string name, std::size_t indexes = 2) {
  TableDefinition table;
  table.name = std::move(name);
  table.columns = {{"id", codec::ColumnKind::kSignedInteger, 4, 0, false, true}};
  for (std::size_t i = 0; i < indexes; ++i) {
    table.indexes.push_back({"index" + std::to_string(i), 0, 0, i == 0, {{0, 0, false, 4}}});
  }
  return table;
}

class CatalogTest : public testing::Test {
 protected:
  CatalogTest() { must(catalog_->load()); }

  void reopen() {
    catalog_.reset();
    database_.reset();
    open(path_);
  }
  // Goes on with what a crash at this moment leaves behind.
  void crash() {
    const std::string image = directory_ / ("image" + std::to_string(++images_));
    kv::test::copy_crash_image(path_, image);
    catalog_.reset();
    database_.reset();
    open(image);
    path_ = image;
  }
  void open(const std::string& path) {
    database_ = kv::test::open_database(path);
    catalog_ = std::make_unique<Catalog>(*database_);
    must(catalog_->load());
  }
  std::set<std::string> names() const {
    std::set<std::string> names;
    for (const TablePointer& table : catalog_->all_tables()) names.insert(table->name);
    return names;
  }
  std::set<IndexId> dropped() const {
    std::set<IndexId> ids;
    for (const DroppedIndex& index : catalog_->dropped_indexes()) ids.insert(index.id);
    return ids;
  }
  void plant(std::string_view key, std::string_view value) {
    kv::WriteBatch batch;
    batch.put(kv::kSystemFamily, key, value);
    must(database_->write(batch, kv::Durability::kBuffered));
  }
  Status load_again() { return Catalog(*database_).load(); }

  kv::test::TestDirectory directory_;
  std::string path_ = directory_ / "db";
  int images_ = 0;
  std::unique_ptr<kv::Database> database_ = kv::test::open_database(path_);
  std::unique_ptr<Catalog> catalog_ = std::make_unique<Catalog>(*database_);
};

TEST_F(CatalogTest, ANewDictionaryIsEmpty) {
  EXPECT_TRUE(names().empty());
  EXPECT_TRUE(dropped().empty());
  EXPECT_EQ(catalog_->find("a/t"), nullptr);
}

TEST_F(CatalogTest, ACreatedTableIsFoundAlsoAfterACrash) {
  const TablePointer created = must(catalog_->create(make_table("a/t")));
  EXPECT_EQ(catalog_->find("a/t"), created);
  const TableDefinition expected = *created;
  crash();
  ASSERT_NE(catalog_->find("a/t"), nullptr);
  EXPECT_TRUE(*catalog_->find("a/t") == expected);
  reopen();
  ASSERT_NE(catalog_->find("a/t"), nullptr);
  EXPECT_TRUE(*catalog_->find("a/t") == expected);
}

TEST_F(CatalogTest, ANameThatIsTakenIsRefusedAndNothingChanges) {
  const TablePointer first = must(catalog_->create(make_table("a/t")));
  const auto second = catalog_->create(make_table("a/t", 1));
  EXPECT_TRUE(fails_with(ErrorCode::kTableExists, second));
  EXPECT_NE(second.status().message().find("a/t"), std::string::npos);
  EXPECT_EQ(catalog_->find("a/t"), first);
}

TEST_F(CatalogTest, TablesThatDoNotExistAreNamedInTheError) {
  for (const Status& status : {catalog_->drop("a/none"), catalog_->rename("a/none", "a/t"),
                               catalog_->truncate("a/none").take_status()}) {
    EXPECT_TRUE(fails_with(ErrorCode::kTableNotFound, status));
    EXPECT_NE(status.message().find("a/none"), std::string::npos);
  }
}

TEST_F(CatalogTest, ADroppedTableIsGoneAndItsIndexesWaitInTheQueue) {
  const TablePointer table = must(catalog_->create(make_table("a/t")));
  must(catalog_->create(make_table("a/stays")));
  ASSERT_TRUE(succeeds(catalog_->drop("a/t")));
  const std::set<IndexId> expected = {table->indexes[0].id, table->indexes[1].id};
  EXPECT_EQ(dropped(), expected);
  crash();
  EXPECT_EQ(names(), (std::set<std::string>{"a/stays"}));
  EXPECT_EQ(dropped(), expected);
  ASSERT_TRUE(succeeds(catalog_->forget_dropped(table->indexes[0].id)));
  EXPECT_EQ(dropped(), (std::set<IndexId>{table->indexes[1].id}));
  crash();
  EXPECT_EQ(dropped(), (std::set<IndexId>{table->indexes[1].id}));
}

TEST_F(CatalogTest, ARenamedTableKeepsItsIdsAndItsFacts) {
  const TableDefinition before = *must(catalog_->create(make_table("a/t")));
  must(catalog_->store_counter_mark(before.id, CounterKind::kAutoIncrement, 77,
                                    kv::Durability::kBuffered));
  ASSERT_TRUE(succeeds(catalog_->rename("a/t", "b/u")));
  for (const bool is_reopened : {false, true}) {
    if (is_reopened) crash();
    EXPECT_EQ(names(), (std::set<std::string>{"b/u"}));
    TableDefinition expected = before;
    expected.name = "b/u";
    ASSERT_NE(catalog_->find("b/u"), nullptr);
    EXPECT_TRUE(*catalog_->find("b/u") == expected);
    EXPECT_EQ(must(catalog_->counter_mark(before.id, CounterKind::kAutoIncrement)), 77u);
    EXPECT_TRUE(dropped().empty());
  }
}

TEST_F(CatalogTest, SystemTimeThatIsStoredLaterStaysAndChangesNothingElse) {
  TableDefinition expected = *must(catalog_->create(make_table("a/t")));
  const std::uint64_t generation = catalog_->generation();
  expected.columns[0].system_time = SystemTime::kRowEnd;
  const TablePointer stored = must(catalog_->store_system_time("a/t", expected.columns));
  EXPECT_TRUE(*stored == expected);
  EXPECT_EQ(catalog_->find("a/t"), stored);
  EXPECT_EQ(catalog_->find_by_index(expected.indexes[0].id), stored);
  EXPECT_GT(catalog_->generation(), generation);
  reopen();
  EXPECT_TRUE(*catalog_->find("a/t") == expected);
  EXPECT_TRUE(fails_with(ErrorCode::kTableNotFound, catalog_->store_system_time("a/u", {})));
}

TEST_F(CatalogTest, RenamingOverATableIsRefused) {
  must(catalog_->create(make_table("a/t")));
  must(catalog_->create(make_table("a/u")));
  EXPECT_TRUE(fails_with(ErrorCode::kTableExists, catalog_->rename("a/t", "a/u")));
  reopen();
  EXPECT_EQ(names(), (std::set<std::string>{"a/t", "a/u"}));
}

TEST_F(CatalogTest, TruncatingGivesNewIndexesAndStartsAutoIncrementAgain) {
  const TablePointer before = must(catalog_->create(make_table("a/t")));
  must(catalog_->store_counter_mark(before->id, CounterKind::kAutoIncrement, 77,
                                    kv::Durability::kBuffered));
  must(catalog_->store_counter_mark(before->id, CounterKind::kHiddenRowId, 88,
                                    kv::Durability::kBuffered));
  const TablePointer after = must(catalog_->truncate("a/t"));
  EXPECT_EQ(after->id, before->id);
  EXPECT_EQ(dropped(), (std::set<IndexId>{before->indexes[0].id, before->indexes[1].id}));
  for (std::size_t i = 0; i < 2; ++i) EXPECT_GT(after->indexes[i].id, before->indexes[1].id);
  EXPECT_EQ(find_difference(*before, *after), "");
  const TableDefinition expected = *after;
  crash();
  EXPECT_TRUE(*catalog_->find("a/t") == expected);
  EXPECT_EQ(must(catalog_->counter_mark(expected.id, CounterKind::kAutoIncrement)), 0u);
}

TEST_F(CatalogTest, ADefinitionInUseOutlivesItsTable) {
  const TablePointer table = must(catalog_->create(make_table("a/t")));
  must(catalog_->drop("a/t"));
  EXPECT_EQ(table->name, "a/t");
  EXPECT_EQ(table->indexes.size(), 2u);
}

TEST_F(CatalogTest, IdsAreNeverUsedAgain) {
  std::set<std::uint32_t> used;
  const auto use = [&used](const TableDefinition& table, bool is_new_table) {
    if (is_new_table) {
      EXPECT_TRUE(used.insert(table.id).second) << table.id;
    }
    for (const IndexDefinition& index : table.indexes) {
      EXPECT_TRUE(used.insert(index.id).second) << index.id;
      EXPECT_GE(index.id, 256u) << "reserved for the engine itself";
    }
  };
  for (int round = 0; round < 4; ++round) {
    use(*must(catalog_->create(make_table("a/t", 3))), true);
    use(*must(catalog_->truncate("a/t")), false);
    if (round % 2 == 0) crash();
    must(catalog_->drop("a/t"));
    for (const IndexId id : dropped()) must(catalog_->forget_dropped(id));
    if (round % 2 == 1) reopen();
  }
}

TEST_F(CatalogTest, TheNewestIdGrowsWithEveryNewTableAndIndexAlsoOverCrashes) {
  EXPECT_EQ(0u, catalog_->newest_id());
  const TablePointer table = must(catalog_->create(make_table("a/t", 2)));
  EXPECT_EQ(table->indexes.back().id, catalog_->newest_id());
  const TablePointer emptied = must(catalog_->truncate("a/t"));
  EXPECT_EQ(emptied->indexes.back().id, catalog_->newest_id());
  EXPECT_LT(table->indexes.back().id, catalog_->newest_id());
  must(catalog_->drop("a/t"));
  crash();
  EXPECT_EQ(emptied->indexes.back().id, catalog_->newest_id());
}

TEST_F(CatalogTest, PartitionsThatFollowTheirTableToAnotherNameAreKnownUntilThatIsForgotten) {
  const auto renamed = [this] {
    std::vector<std::string> names;
    for (const RenamedPartition& found : must(catalog_->renamed_partitions())) {
      names.push_back(found.former + " " + found.partition->name);
    }
    return names;
  };
  const std::vector<std::string> none;
  must(catalog_->create(make_table("a/t#P#p0")));
  must(catalog_->create(make_table("a/t#P#p1#SP#s")));
  must(catalog_->create(make_table("a/t")));
  must(catalog_->rename("a/t#P#p0", "a/t#P#p2"));
  must(catalog_->rename("a/t", "a/u"));
  must(catalog_->rename("a/u", "a/v#P#p"));
  EXPECT_EQ(renamed(), none) << "none of these has gone with a table";
  must(catalog_->rename("a/t#P#p1#SP#s", "b/u#P#p1#SP#s"));
  must(catalog_->rename("a/t#P#p2", "b/u#P#p2"));
  must(catalog_->rename("b/u#P#p2", "b/v#P#p2"));
  crash();
  EXPECT_EQ(renamed(),
            (std::vector<std::string>{"b/u#P#p2 b/v#P#p2", "a/t#P#p1#SP#s b/u#P#p1#SP#s"}));
  must(catalog_->forget_renamed_partitions("b/v"));
  crash();
  EXPECT_EQ(renamed(), (std::vector<std::string>{"a/t#P#p1#SP#s b/u#P#p1#SP#s"}));
  must(catalog_->rename("b/u#P#p1#SP#s", "a/t#P#p1#SP#s"));
  EXPECT_EQ(renamed(), none) << "it has come back";
  must(catalog_->rename("a/t#P#p1#SP#s", "b/u#P#p1#SP#s"));
  must(catalog_->drop("b/u#P#p1#SP#s"));
  EXPECT_EQ(renamed(), none);
  EXPECT_EQ(kv::test::value_of(*database_, kv::kSystemFamily, "\x0C\x00\x00\x01\x03"s), "(none)");
}

// ---- indexes that are built

// What a table of two indexes is to become.
TableDefinition with_new_index() {
  TableDefinition table = make_table("a/t", 3);
  for (IndexDefinition& index : table.indexes) index.unique = index.name == "index0";
  return table;
}

TEST_F(CatalogTest, AReservedIndexIsNotTheTablesYetAndNotReclaimed) {
  const TablePointer table = must(catalog_->create(make_table("a/t")));
  const TablePointer altered = must(catalog_->reserve_indexes(with_new_index()));
  EXPECT_EQ(altered->id, table->id);
  EXPECT_EQ(altered->schema_version, table->schema_version + 1);
  EXPECT_EQ(altered->indexes[0].id, table->indexes[0].id);
  EXPECT_EQ(altered->indexes[1].id, table->indexes[1].id);
  const IndexId id = altered->indexes[2].id;
  EXPECT_GT(id, table->indexes[1].id);
  EXPECT_EQ(catalog_->find("a/t"), table);
  EXPECT_EQ(catalog_->find_by_index(id), altered) << "else nobody counts its values";
  EXPECT_EQ(catalog_->find_by_index(table->indexes[1].id), table);
  const IndexId journal = catalog_->journal_of(altered).value();
  EXPECT_GT(journal, id);
  EXPECT_EQ(catalog_->find_by_index(journal), altered);
  EXPECT_EQ(catalog_->state_of(journal), IndexState::kBuilding);
  EXPECT_TRUE(dropped().empty());
}

TEST_F(CatalogTest, AReservedIndexIsADroppedOneAfterACrash) {
  const TablePointer table = must(catalog_->create(make_table("a/t")));
  const TableDefinition before = *table;
  const TablePointer altered = must(catalog_->reserve_indexes(with_new_index()));
  const IndexId id = altered->indexes[2].id;
  const IndexId journal = catalog_->journal_of(altered).value();
  crash();
  EXPECT_TRUE(*catalog_->find("a/t") == before);
  EXPECT_EQ(dropped(), (std::set<IndexId>{id, journal}));
  EXPECT_EQ(catalog_->find_by_index(id), nullptr);
  EXPECT_EQ(catalog_->find_by_index(journal), nullptr);
  EXPECT_EQ(catalog_->newest_id(), std::max(id, journal)) << "they must not come again";
}

TEST_F(CatalogTest, APublishedIndexIsTheTablesAlsoAfterACrash) {
  must(catalog_->create(make_table("a/t")));
  const TablePointer altered = must(catalog_->reserve_indexes(with_new_index()));
  const std::set<IndexId> journal = {catalog_->journal_of(altered).value()};
  ASSERT_TRUE(succeeds(catalog_->publish_altered(altered)));
  EXPECT_EQ(catalog_->find("a/t"), altered);
  for (const IndexDefinition& index : altered->indexes) {
    EXPECT_EQ(catalog_->find_by_index(index.id), altered);
  }
  catalog_->abandon_indexes(altered);  // too late
  EXPECT_EQ(dropped(), journal);
  EXPECT_FALSE(catalog_->journal_of(altered).has_value());
  const TableDefinition expected = *altered;
  crash();
  EXPECT_TRUE(*catalog_->find("a/t") == expected);
  EXPECT_EQ(dropped(), journal);
  must(catalog_->drop("a/t"));
  EXPECT_EQ(dropped().size(), 4u);
}

TEST_F(CatalogTest, AnAbandonedIndexWaitsInTheQueueAndTheTableIsAsItWas) {
  const TablePointer table = must(catalog_->create(make_table("a/t")));
  const TablePointer altered = must(catalog_->reserve_indexes(with_new_index()));
  const IndexId journal = catalog_->journal_of(altered).value();
  catalog_->abandon_indexes(altered);
  const IndexId id = altered->indexes[2].id;
  EXPECT_EQ(dropped(), (std::set<IndexId>{id, journal}));
  EXPECT_EQ(catalog_->find_by_index(id), nullptr);
  EXPECT_EQ(catalog_->find_by_index(journal), nullptr);
  EXPECT_EQ(catalog_->find("a/t"), table);
  must(catalog_->forget_dropped(id));
  must(catalog_->forget_dropped(journal));
  crash();
  EXPECT_TRUE(dropped().empty());
  EXPECT_GT(must(catalog_->reserve_indexes(with_new_index()))->indexes[2].id, id);
}

TEST_F(CatalogTest, OnlyNewIndexesAreReservedAndOnlyForTheTableAsItIs) {
  EXPECT_TRUE(fails_with(ErrorCode::kTableNotFound, catalog_->reserve_indexes(with_new_index())));
  must(catalog_->create(make_table("a/t")));
  TableDefinition other = with_new_index();
  other.columns[0].nullable = true;
  EXPECT_TRUE(fails_with(ErrorCode::kDefinitionMismatch, catalog_->reserve_indexes(other)));
  const TablePointer altered = must(catalog_->reserve_indexes(with_new_index()));
  must(catalog_->drop("a/t"));
  EXPECT_TRUE(fails_with(ErrorCode::kTableNotFound, catalog_->publish_altered(altered)));
  must(catalog_->create(make_table("a/t")));
  EXPECT_TRUE(fails_with(ErrorCode::kDefinitionMismatch, catalog_->publish_altered(altered)));
}

TEST_F(CatalogTest, AnIndexThatGoesWhileTheTableStaysWaitsInTheQueue) {
  const TablePointer table = must(catalog_->create(make_table("a/t", 3)));
  const TablePointer altered = must(catalog_->reserve_indexes(make_table("a/t", 2)));
  EXPECT_TRUE(dropped().empty()) << "not yet";
  must(catalog_->publish_altered(altered));
  const IndexId gone = table->indexes[2].id;
  EXPECT_EQ(dropped(), (std::set<IndexId>{gone}));
  EXPECT_EQ(catalog_->find_by_index(gone), nullptr);
  EXPECT_EQ(catalog_->find_by_index(table->indexes[1].id), altered);
  crash();
  EXPECT_EQ(dropped(), (std::set<IndexId>{gone}));
  EXPECT_TRUE(*catalog_->find("a/t") == *altered);
}

TEST_F(CatalogTest, WithoutNewIndexesNothingIsStoredBeforeThePublication) {
  const TablePointer table = must(catalog_->create(make_table("a/t")));
  TableDefinition renamed = make_table("a/t");
  renamed.columns[0].name = "other";
  const TablePointer altered = must(catalog_->reserve_indexes(renamed));
  EXPECT_EQ(catalog_->newest_id(), table->indexes.back().id);
  EXPECT_FALSE(catalog_->journal_of(altered).has_value());
  catalog_->abandon_indexes(altered);
  EXPECT_EQ(catalog_->find("a/t"), table);
  must(catalog_->publish_altered(must(catalog_->reserve_indexes(renamed))));
  crash();
  EXPECT_EQ(catalog_->find("a/t")->columns[0].name, "other");
}

TEST_F(CatalogTest, TablesThatAreAlteredTogetherAreAllAlteredOrNone) {
  const std::vector<std::string> names = {"a/t#P#p0", "a/t#P#p1", "a/t#P#p2"};
  const auto altered = [&] {
    std::vector<AlteredTable> tables;
    for (const std::string& name : names) {
      tables.emplace_back(must(catalog_->reserve_indexes(make_table(name, 3))));
    }
    return tables;
  };
  const auto index_counts = [&] {
    std::vector<std::size_t> counts;
    for (const std::string& name : names) counts.push_back(catalog_->find(name)->indexes.size());
    return counts;
  };
  for (const std::string& name : names) must(catalog_->create(make_table(name, 2)));
  std::vector<AlteredTable> tables = altered();
  TableDefinition other = make_table(names[2], 2);
  other.columns[0].name = "other";
  must(catalog_->publish_altered(must(catalog_->reserve_indexes(other))));
  EXPECT_TRUE(fails_with(ErrorCode::kDefinitionMismatch,
                         catalog_->publish_all_altered(tables, AlterationId{"a/t", "first"})));
  EXPECT_EQ(index_counts(), (std::vector<std::size_t>{2, 2, 2}));
  EXPECT_FALSE(must(catalog_->is_completed({"a/t", "first"})));
  for (const AlteredTable& table : tables) catalog_->abandon_indexes(table.definition);
  EXPECT_EQ(dropped().size(), 6u) << "of each the index and the journal";
  must(catalog_->publish_all_altered(altered(), AlterationId{"a/t", "second"}));
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(index_counts(), (std::vector<std::size_t>{3, 3, 3}));
    EXPECT_TRUE(must(catalog_->is_completed({"a/t", "second"})));
    EXPECT_FALSE(must(catalog_->is_completed({"a/t", "first"})));
    EXPECT_FALSE(must(catalog_->is_completed({"a/t#P#p0", "second"})));
    EXPECT_EQ(dropped().size(), 9u) << "those, and the journals of now";
    crash();
  }
  must(catalog_->forget_alterations());
  EXPECT_FALSE(must(catalog_->is_completed({"a/t", "second"})));
}

TEST_F(CatalogTest, CounterMarksComeBackAndBelongToOneTableAndKind) {
  const TableId one = must(catalog_->create(make_table("a/one")))->id;
  const TableId two = must(catalog_->create(make_table("a/two")))->id;
  EXPECT_EQ(must(catalog_->counter_mark(one, CounterKind::kAutoIncrement)), 0u);
  must(catalog_->store_counter_mark(one, CounterKind::kAutoIncrement, UINT64_MAX,
                                    kv::Durability::kBuffered));
  must(catalog_->store_counter_mark(one, CounterKind::kHiddenRowId, 5, kv::Durability::kSynced));
  crash();
  EXPECT_EQ(must(catalog_->counter_mark(one, CounterKind::kAutoIncrement)), UINT64_MAX);
  EXPECT_EQ(must(catalog_->counter_mark(one, CounterKind::kHiddenRowId)), 5u);
  EXPECT_EQ(must(catalog_->counter_mark(two, CounterKind::kAutoIncrement)), 0u);
  must(catalog_->drop("a/one"));
  EXPECT_EQ(must(catalog_->counter_mark(one, CounterKind::kAutoIncrement)), 0u);
  EXPECT_EQ(must(catalog_->counter_mark(one, CounterKind::kHiddenRowId)), 0u);
}

TEST_F(CatalogTest, StatisticsComeBackAndEndWithTheirIndex) {
  const TablePointer table = must(catalog_->create(make_table("a/t")));
  const IndexId id = table->indexes[1].id;
  EXPECT_FALSE(catalog_->statistics(id).has_value());
  const IndexStatistics statistics{1'000'000, {1, 300, 1'000'000}};
  must(catalog_->store_statistics(id, statistics));
  must(catalog_->store_statistics(table->indexes[0].id, IndexStatistics{}));
  reopen();
  EXPECT_EQ(catalog_->statistics(id), statistics);
  EXPECT_EQ(catalog_->statistics(table->indexes[0].id), IndexStatistics{});
  must(catalog_->truncate("a/t"));
  EXPECT_FALSE(catalog_->statistics(id).has_value());
}

TEST_F(CatalogTest, APartitionThatBecomesATableHasNoFormerName) {
  must(catalog_->create(make_table("a/t#P#p")));
  must(catalog_->rename("a/t#P#p", "b/t#P#p"));
  ASSERT_EQ(must(catalog_->renamed_partitions()).size(), 1u);
  must(catalog_->rename("b/t#P#p", "b/whole"));
  EXPECT_TRUE(must(catalog_->renamed_partitions()).empty());
}

// Pins keys and values of all records. If this fails, existing dictionaries can no longer be read.
TEST_F(CatalogTest, StoredRecordsAreFrozen) {
  const TablePointer table = must(catalog_->create(make_table("a/t")));
  ASSERT_EQ(table->id, 256u);
  must(catalog_->store_counter_mark(256, CounterKind::kAutoIncrement, 300,
                                    kv::Durability::kBuffered));
  must(catalog_->store_counter_mark(256, CounterKind::kHiddenRowId, 1, kv::Durability::kBuffered));
  must(catalog_->store_statistics(257, {300, {1, 2}}));
  const auto stored = [this](const std::string& key) {
    return kv::test::value_of(*database_, kv::kSystemFamily, key);
  };
  std::string definition;
  append_definition(*table, definition);
  EXPECT_EQ(stored("\x00"s), "\x01"s);
  EXPECT_EQ(stored("\1a/t"s), definition);
  EXPECT_EQ(stored("\x03"s), "\x83\x02"s);
  EXPECT_EQ(stored("\x04\x00\x00\x01\x00"s), "\xAC\x02"s);
  EXPECT_EQ(stored("\x06\x00\x00\x01\x00"s), "\x01"s);
  EXPECT_EQ(stored("\x05\x00\x00\x01\x01"s), "\xAC\x02\x01\x02"s);
  must(catalog_->publish_all_altered({}, AlterationId{"a/t", "id"}));
  EXPECT_EQ(stored("\x0A"s + "a/t"), "id");
  must(catalog_->forget_alterations());
  must(catalog_->create(make_table("a/t#P#p")));
  must(catalog_->rename("a/t#P#p", "b/t#P#p"));
  EXPECT_EQ(stored("\x0C\x00\x00\x01\x03"s), "a/t#P#p");
  must(catalog_->forget_renamed_partitions("b/t"));
  const TablePointer copy = must(catalog_->create(make_table("a/#sql-alter-1-2"), 1, {}, "a/t"));
  ASSERT_EQ(copy->id, 0x106u);
  EXPECT_EQ(stored("\x0D\x00\x00\x01\x06"s), "\x00\x00\x01\x00"s + "a/t");
  must(catalog_->rename("a/#sql-alter-1-2", "b/u"));
  must(catalog_->drop("a/t"));
  EXPECT_EQ(stored("\x02\x00\x00\x01\x01"s), "\x00"s);
  EXPECT_EQ(stored("\x0B"s), "\x00"s) << "kv/expiry_limit_test.cc has it";
  EXPECT_EQ(kv::test::count_entries(*database_, kv::kSystemFamily, {}), 7u);
}

TEST_F(CatalogTest, IndexesInOtherFamiliesAreKnownThereInEveryState) {
  const kv::FamilyId hot = must(database_->ensure_family("hot"));
  std::string user;
  EXPECT_FALSE(catalog_->is_family_in_use(hot, user));
  TableDefinition table = make_table("d/t");
  table.indexes[1].family = hot;
  must(catalog_->create(table));
  crash();
  EXPECT_TRUE(catalog_->is_family_in_use(hot, user));
  EXPECT_EQ(user, "index 'index1' of table 'd/t'");
  must(catalog_->truncate("d/t"));
  EXPECT_TRUE(catalog_->is_family_in_use(hot, user));
  must(catalog_->drop("d/t"));
  crash();
  EXPECT_FALSE(catalog_->is_family_in_use(hot, user));
  std::size_t in_hot = 0;
  for (const DroppedIndex& index : catalog_->dropped_indexes()) in_hot += index.family == hot;
  EXPECT_EQ(in_hot, 2u) << "of before the table was emptied, and after";
}

TEST_F(CatalogTest, ADictionaryOfALaterFormatIsRefusedWithAdvice) {
  plant("\x00"s, "\x03");
  const Status status = load_again();
  EXPECT_TRUE(fails_with(ErrorCode::kUnsupported, status));
  EXPECT_NE(status.message().find("newer engine"), std::string::npos);
}

TEST_F(CatalogTest, DamagedRecordsAreCorruption) {
  std::string definition;
  append_definition(*must(catalog_->create(make_table("a/t"))), definition);
  const std::pair<std::string, std::string> damages[] = {
      {"\x00"s, ""s},                    // format: no number
      {"\x03"s, "\x80"s},                // next id: torn
      {"\x03"s, "\x80\x02\x00"s},        // next id: bytes behind it
      {"\1a/t"s, definition.substr(1)},  // not a definition
      {"\1a/u"s, definition},            // another table's
      {"\x02\x00\x00\x01"s, "\x00"s},    // dropped index: short id
      {"\x02\x00\x00\x01\x01"s, ""s},    // dropped index: no family
  };
  for (const auto& [key, value] : damages) {
    const std::string before = kv::test::value_of(*database_, kv::kSystemFamily, key);
    plant(key, value);
    EXPECT_TRUE(fails_with(ErrorCode::kCorruption, load_again())) << testing::PrintToString(key);
    kv::WriteBatch repair;
    if (before == "(none)") {
      repair.remove(kv::kSystemFamily, key);
    } else {
      repair.put(kv::kSystemFamily, key, before);
    }
    must(database_->write(repair, kv::Durability::kBuffered));
  }
  EXPECT_TRUE(succeeds(load_again()));
}

TEST_F(CatalogTest, ADamagedCounterIsCorruptionAndDamagedStatisticsAreNone) {
  plant("\x04\x00\x00\x01\x00"s, "\xFF");
  EXPECT_TRUE(
      fails_with(ErrorCode::kCorruption, catalog_->counter_mark(256, CounterKind::kAutoIncrement)));
  plant("\x05\x00\x00\x01\x01"s, "\x01\xFF");
  EXPECT_FALSE(catalog_->statistics(257).has_value());
}

}  // namespace
}  // namespace basalt::catalog
