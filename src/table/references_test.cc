#include "table/references.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "table/record_values.h"
#include "table/reference_enforcer.h"
#include "table/stored_layout.h"
#include "table/test_support.h"

// Goal: whatever is inserted, changed or removed, each row that references another one finds it,
// and what a foreign key is to do is done wholly or not at all. Method: rows of integers are
// compared with what InnoDB would hold.
namespace basalt::table::test {
namespace {

using basalt::test::fails_with;
using basalt::test::must;
using basalt::test::succeeds;
using catalog::ForeignKeyDefinition;
using catalog::ReferentialAction;
using codec::ColumnKind;

// id, then columns that may be NULL.
using IntegerRow = std::vector<std::optional<int>>;
using IntegerRows = std::vector<IntegerRow>;

class NoCollations final : public codec::CollationSource {
 public:
  const codec::Collation* find_by_id(std::uint16_t, bool) override { return nullptr; }
};

// Tables as the engine would open them.
class IntegerTables final : public TableSource {
 public:
  IntegerTables(catalog::Catalog& catalog, kv::Database& database)
      : catalog_(catalog), database_(database) {}

  Result<std::shared_ptr<const Table>> open_stored(std::string_view name) override {
    const catalog::TablePointer definition = catalog_.find(name);
    if (definition == nullptr) return std::shared_ptr<const Table>();
    std::shared_ptr<TableState>& state = states_[definition->id];
    if (state == nullptr) {
      state = std::make_shared<TableState>(catalog_, definition->id);
    }
    auto table =
        std::make_shared<Table>(definition, must(make_stored_layout(*definition, none_)), state);
    must(load_counters(database_, *table, {}));
    return std::shared_ptr<const Table>(std::move(table));
  }
  Result<std::shared_ptr<const TableReferences>> references_of(const Table& table) override {
    return bind_references(table, catalog_, *this);
  }

 private:
  catalog::Catalog& catalog_;
  kv::Database& database_;
  NoCollations none_;
  std::map<catalog::TableId, std::shared_ptr<TableState>> states_;
};

// A statement of the second `now`, in which a column that is not stored is ten times the one before
// it, which must be below 100 in new rows.
class TestStatement final : public StatementContext {
 public:
  int now = 0;
  bool computes = true;

  SystemTimestamp time() override { return timestamp(now); }
  Status compute_columns(const Table& table, Version version, std::uint8_t* record,
                         std::vector<std::string>&) override {
    if (!computes) return Status::of(ErrorCode::kUnsupported);
    for (std::size_t i = 1; i < table.layout().columns.size(); ++i) {
      const codec::ColumnLayout& column = table.layout().columns[i];
      if (column.stored) continue;
      const codec::ColumnLayout& base = table.layout().columns[i - 1];
      record[column.null_offset] &= static_cast<std::uint8_t>(~column.null_mask);
      if (is_null_in(base, record)) {
        codec::set_column_null(column, record);
        continue;
      }
      const int value = load_le<int>(record + base.record_offset);
      if (version == Version::kNew && value >= 100) return Status::of(ErrorCode::kInterrupted);
      store_le(record + column.record_offset, 10 * value);
    }
    return Status::ok();
  }
  static SystemTimestamp timestamp(int second) {
    return {0, 0, 0, static_cast<std::uint8_t>(second), 0, 0, 0};
  }
};

class ReferencesTest : public testing::Test {
 protected:
  ReferencesTest() {
    must(catalog_.load());
    must(transactions_.recover());
  }

  // `name` ("a") with a primary key and as many integer columns, each with an index of its own,
  // unique if it is among `unique`.
  void create(const std::string& name, std::size_t columns, std::vector<std::size_t> unique = {},
              std::vector<ForeignKeyDefinition> keys = {}) {
    catalog::TableDefinition table;
    table.name = "t/" + name;
    table.columns = {{"id", ColumnKind::kSignedInteger, 4, 0, false, true}};
    table.indexes = {{"PRIMARY", 0, 0, true, {{0, 0, false, 4}}}};
    for (std::uint32_t i = 1; i <= columns; ++i) {
      const std::string column = "c" + std::to_string(i);
      const bool is_unique = std::find(unique.begin(), unique.end(), i) != unique.end();
      table.columns.push_back({column, ColumnKind::kSignedInteger, 4, 0, true, true});
      table.indexes.push_back({"by_" + column, 0, 0, is_unique, {{i, 0, i % 2 == 0, 4}}});
    }
    must(catalog_.create(std::move(table), 1, std::move(keys)));
  }
  // As create(), WITH SYSTEM VERSIONING: a row's last two columns are since when, in seconds, and
  // until when it is current; NULL: it is. The last of the other columns is without versioning.
  void create_versioned(const std::string& name, std::size_t columns,
                        std::vector<std::size_t> unique = {},
                        std::vector<ForeignKeyDefinition> keys = {}) {
    create(name + "_", columns, std::move(unique));
    catalog::TableDefinition table = *catalog_.find("t/" + name + "_");
    table.name = "t/" + name;
    const auto count = static_cast<std::uint32_t>(columns);
    table.columns.back().system_time = catalog::SystemTime::kUnversioned;
    table.columns.push_back({"row_start", ColumnKind::kOrderedBytes, 7, 0, false, true,
                             catalog::SystemTime::kRowStart});
    table.columns.push_back(
        {"row_end", ColumnKind::kOrderedBytes, 7, 0, false, true, catalog::SystemTime::kRowEnd});
    for (catalog::IndexDefinition& index : table.indexes) {
      if (index.unique) index.parts.push_back({count + 2, 0, index.parts[0].descending, 7});
    }
    must(catalog_.create(std::move(table), 1, std::move(keys)));
  }
  // Columns id and c1, and c2, which is computed of c1; both are indexed, c2 perhaps unique.
  void create_computed(const std::string& name, bool is_unique,
                       std::vector<ForeignKeyDefinition> keys) {
    create(name + "_", 2, is_unique ? std::vector<std::size_t>{2} : std::vector<std::size_t>{});
    catalog::TableDefinition table = *catalog_.find("t/" + name + "_");
    table.name = "t/" + name;
    table.columns.back().stored = false;
    must(catalog_.create(std::move(table), 1, std::move(keys)));
  }
  // From column `column` of `child` to `referenced` of `parent`.
  static ForeignKeyDefinition key(const std::string& child, const std::string& column,
                                  const std::string& parent, const std::string& referenced,
                                  ReferentialAction on_delete = ReferentialAction::kRestrict,
                                  ReferentialAction on_update = ReferentialAction::kRestrict) {
    ForeignKeyDefinition key;
    key.name = "t/" + child + "_" + column;
    key.child = "t/" + child;
    key.parent = "t/" + parent;
    key.columns = {{column, referenced}};
    key.on_delete = on_delete;
    key.on_update = on_update;
    return key;
  }

  // A session: a transaction, and a writer of each table.
  class Client {
   public:
    explicit Client(ReferencesTest& test)
        : test_(test), transaction_(test.transactions_.make_transaction(nullptr)) {}

    Status insert(const std::string& name, const IntegerRow& row) {
      Open& open = opened(name);
      return open.writer.insert(*transaction_, record(*open.table, row).data());
    }
    Status remove(const std::string& name, const IntegerRow& row) {
      Open& open = opened(name);
      return open.writer.remove(*transaction_, record(*open.table, row).data(), {});
    }
    Status update(const std::string& name, const IntegerRow& from, const IntegerRow& to) {
      Open& open = opened(name);
      return open.writer.update(*transaction_, record(*open.table, from).data(),
                                record(*open.table, to).data(), {});
    }
    TestStatement& statement() { return statement_; }
    const ReferenceEnforcer::IndexName& duplicate_in_child(const std::string& name) {
      return opened(name).enforcer.duplicate_in_child();
    }
    const ForeignKeyDefinition* failed_key(const std::string& name) {
      return opened(name).enforcer.failed_key().get();
    }
    IntegerRows rows(const std::string& name) {
      Open& open = opened(name);
      const Table& table = *open.table;
      Cursor cursor(table);
      cursor.open(*transaction_, 0, NewestRead{},
                  codec::ColumnSet(table.layout().columns.size(), true), false);
      std::vector<std::uint8_t> record(table.layout().record_length);
      IntegerRows rows;
      bool found = false;
      must(cursor.seek_first(record.data(), found));
      std::vector<std::string> blobs;
      while (found) {
        must(statement_.compute_columns(table, StatementContext::Version::kStored, record.data(),
                                        blobs));
        rows.push_back(row_of_record(table, record));
        must(cursor.next(record.data(), found));
      }
      return rows;
    }
    void commit() {
      transaction_->end_statement();
      must(transaction_->commit(kv::Durability::kBuffered));
    }
    void rollback() { must(transaction_->rollback()); }
    std::vector<std::string> check(const std::string& name) {
      const NeverInterrupted never;
      const Table& table = *opened(name).table;
      Checker checker(*test_.database_, table, never);
      std::vector<std::uint8_t> record(table.layout().record_length);
      std::vector<std::string> problems;
      must(checker.run(
          record.data(),
          [&](std::uint8_t* row) {
            std::vector<std::string> blobs;
            return statement_.compute_columns(table, StatementContext::Version::kStored, row,
                                              blobs);
          },
          [&](const std::string& problem) { problems.push_back(problem); }));
      return problems;
    }

   private:
    struct Open {
      Open(std::shared_ptr<const Table> opened_table, TableSource& tables)
          : table(std::move(opened_table)),
            enforcer(*table, must(tables.references_of(*table)), tables),
            writer(*table) {
        writer.set_wait_policy({.may_wait = false});
        writer.set_references(&enforcer);
      }
      std::shared_ptr<const Table> table;
      ReferenceEnforcer enforcer;
      RowWriter writer;
    };

    Open& opened(const std::string& name) {
      std::unique_ptr<Open>& open = open_[name];
      if (open == nullptr) {
        open = std::make_unique<Open>(must(test_.tables_.open_stored("t/" + name)), test_.tables_);
        open->enforcer.set_context(&statement_);
      }
      return *open;
    }
    static std::vector<std::uint8_t> record(const Table& table, const IntegerRow& row) {
      std::vector<std::uint8_t> record(table.layout().record_length);
      for (std::size_t i = 0; i < row.size(); ++i) {
        const codec::ColumnLayout& column = table.layout().columns[i];
        if (column.kind == ColumnKind::kOrderedBytes) {
          const SystemTimestamp time = row[i] ? TestStatement::timestamp(*row[i]) : kEndOfTime;
          std::copy(time.begin(), time.end(), record.begin() + column.record_offset);
        } else if (row[i]) {
          store_le(record.data() + column.record_offset, *row[i]);
        } else {
          codec::set_column_null(column, record.data());
        }
      }
      return record;
    }
    static IntegerRow row_of_record(const Table& table, const std::vector<std::uint8_t>& record) {
      IntegerRow row;
      for (const codec::ColumnLayout& column : table.layout().columns) {
        if (column.kind == ColumnKind::kOrderedBytes) {
          const bool is_end = record[column.record_offset] != 0;
          row.push_back(is_end ? std::nullopt : std::optional(record[column.record_offset + 3]));
          continue;
        }
        const bool is_null = is_null_in(column, record.data());
        row.push_back(is_null ? std::nullopt
                              : std::optional(load_le<int>(record.data() + column.record_offset)));
      }
      return row;
    }

    ReferencesTest& test_;
    TestStatement statement_;
    std::unique_ptr<txn::Transaction> transaction_;
    std::map<std::string, std::unique_ptr<Open>> open_;
  };

  kv::test::TestDirectory directory_;
  std::unique_ptr<kv::Database> database_ = kv::test::open_database(directory_ / "db");
  catalog::Catalog catalog_{*database_};
  lock::LockManager locks_{lock::LockManager::Options{}};
  txn::TransactionManager transactions_{*database_, locks_};
  IntegerTables tables_{catalog_, *database_};
};

constexpr std::optional<int> kNull;

TEST_F(ReferencesTest, ARowNeedsTheRowThatItReferences) {
  create("parent", 1, {1});
  create("child", 2, {}, {key("child", "c1", "parent", "id"), key("child", "c2", "parent", "c1")});
  Client client(*this);
  EXPECT_TRUE(fails_with(ErrorCode::kNoReferencedRow, client.insert("child", {1, 7, kNull})));
  EXPECT_EQ(client.failed_key("child")->name, "t/child_c1");
  EXPECT_TRUE(succeeds(client.insert("child", {1, kNull, kNull})));
  EXPECT_TRUE(succeeds(client.insert("parent", {7, 70})));
  EXPECT_TRUE(succeeds(client.insert("child", {2, 7, 70})));
  EXPECT_TRUE(
      fails_with(ErrorCode::kNoReferencedRow, client.update("child", {2, 7, 70}, {2, 7, 71})));
  EXPECT_EQ(client.failed_key("child")->name, "t/child_c2");
  EXPECT_TRUE(succeeds(client.update("child", {2, 7, 70}, {2, kNull, 70})));
  EXPECT_EQ(client.rows("child"), (IntegerRows{{1, kNull, kNull}, {2, kNull, 70}}));
}

TEST_F(ReferencesTest, ACopyOfATableIsCheckedForNewForeignKeysAlone) {
  create("parent", 1, {1});
  create("child", 2, {}, {key("child", "c1", "parent", "id")});
  ForeignKeyDefinition kept = key("child", "c1", "parent", "id");
  ForeignKeyDefinition added = key("child", "c2", "parent", "id");
  kept.child = added.child = "t/#sql-alter";
  create("#sql-alter", 2, {}, {kept, added});
  Client client(*this);
  EXPECT_TRUE(succeeds(client.insert("#sql-alter", {1, 7, kNull})));
  EXPECT_TRUE(fails_with(ErrorCode::kNoReferencedRow, client.insert("#sql-alter", {2, 7, 7})));
  kept.on_delete = ReferentialAction::kCascade;
  kept.child = "t/#sql-other";
  create("#sql-other", 2, {}, {kept});
  EXPECT_TRUE(fails_with(ErrorCode::kNoReferencedRow, client.insert("#sql-other", {1, 7, kNull})));
}

TEST_F(ReferencesTest, ValuesOfAnIndexThatIsNotUniqueCanBeReferenced) {
  create("parent", 1);
  create("child", 1, {}, {key("child", "c1", "parent", "c1")});
  Client client(*this);
  must(client.insert("parent", {1, 5}));
  must(client.insert("parent", {2, 5}));
  EXPECT_TRUE(succeeds(client.insert("child", {1, 5})));
  EXPECT_TRUE(fails_with(ErrorCode::kNoReferencedRow, client.insert("child", {2, 6})));
  // As in InnoDB, although another row has the value.
  EXPECT_TRUE(fails_with(ErrorCode::kRowIsReferenced, client.remove("parent", {2, 5})));
}

TEST_F(ReferencesTest, AMissingParentRefusesAllButNulls) {
  create("child", 1, {}, {key("child", "c1", "missing", "id")});
  Client client(*this);
  EXPECT_TRUE(succeeds(client.insert("child", {1, kNull})));
  EXPECT_TRUE(fails_with(ErrorCode::kNoReferencedRow, client.insert("child", {2, 1})));
}

TEST_F(ReferencesTest, AReferencedRowStays) {
  create("parent", 1);
  create("child", 1, {}, {key("child", "c1", "parent", "id")});
  Client client(*this);
  must(client.insert("parent", {1, 10}));
  must(client.insert("child", {1, 1}));
  EXPECT_TRUE(fails_with(ErrorCode::kRowIsReferenced, client.remove("parent", {1, 10})));
  EXPECT_TRUE(fails_with(ErrorCode::kRowIsReferenced, client.update("parent", {1, 10}, {2, 10})));
  EXPECT_TRUE(succeeds(client.update("parent", {1, 10}, {1, 11})));
  EXPECT_EQ(client.rows("parent"), (IntegerRows{{1, 11}}));
  client.commit();
  EXPECT_TRUE(client.check("parent").empty());
  must(client.remove("child", {1, 1}));
  EXPECT_TRUE(succeeds(client.remove("parent", {1, 11})));
}

TEST_F(ReferencesTest, RemovalsAndChangesGoOnOverSeveralTables) {
  const auto cascade = ReferentialAction::kCascade;
  create("a", 0);
  create("b", 2, {1}, {key("b", "c1", "a", "id", cascade, cascade)});
  create("c", 1, {}, {key("c", "c1", "b", "c1", ReferentialAction::kSetNull, cascade)});
  Client client(*this);
  for (int i = 1; i <= 3; ++i) must(client.insert("a", {i}));
  for (int i = 1; i <= 3; ++i) must(client.insert("b", {10 * i, i, kNull}));
  for (int i = 1; i <= 6; ++i) must(client.insert("c", {i, (i + 1) / 2}));
  client.commit();
  EXPECT_TRUE(succeeds(client.remove("a", {2})));
  EXPECT_EQ(client.rows("b"), (IntegerRows{{10, 1, kNull}, {30, 3, kNull}}));
  EXPECT_EQ(client.rows("c"),
            (IntegerRows{{1, 1}, {2, 1}, {3, kNull}, {4, kNull}, {5, 3}, {6, 3}}));
  EXPECT_TRUE(succeeds(client.update("a", {3}, {4})));
  EXPECT_EQ(client.rows("b"), (IntegerRows{{10, 1, kNull}, {30, 4, kNull}}));
  EXPECT_EQ(client.rows("c"),
            (IntegerRows{{1, 1}, {2, 1}, {3, kNull}, {4, kNull}, {5, 4}, {6, 4}}));
  client.commit();
  for (const char* table : {"a", "b", "c"}) EXPECT_TRUE(client.check(table).empty()) << table;
}

TEST_F(ReferencesTest, AFailureFurtherDownUndoesAllOfTheRowsChange) {
  create("a", 0);
  create("b", 1, {1}, {key("b", "c1", "a", "id", ReferentialAction::kCascade)});
  create("c", 1, {}, {key("c", "c1", "b", "id")});
  Client client(*this);
  must(client.insert("a", {1}));
  must(client.insert("b", {1, 1}));
  must(client.insert("c", {1, 1}));
  EXPECT_TRUE(fails_with(ErrorCode::kRowIsReferenced, client.remove("a", {1})));
  EXPECT_EQ(client.failed_key("a")->name, "t/c_c1");
  EXPECT_EQ(client.rows("a"), (IntegerRows{{1}}));
  EXPECT_EQ(client.rows("b"), (IntegerRows{{1, 1}}));
  client.commit();
  EXPECT_TRUE(client.check("b").empty());
}

TEST_F(ReferencesTest, ATreeInOneTableGoesWithItsRoot) {
  create("tree", 1, {}, {key("tree", "c1", "tree", "id", ReferentialAction::kCascade)});
  Client client(*this);
  EXPECT_TRUE(succeeds(client.insert("tree", {1, 1})));  // references itself
  for (int i = 2; i <= 8; ++i) must(client.insert("tree", {i, i / 2}));
  must(client.insert("tree", {100, kNull}));
  EXPECT_TRUE(succeeds(client.remove("tree", {1, 1})));
  EXPECT_EQ(client.rows("tree"), (IntegerRows{{100, kNull}}));
}

TEST_F(ReferencesTest, OtherColumnsOfARowWithoutItsParentCanBeChanged) {
  create("b", 2, {}, {key("b", "c1", "missing", "id")});
  Client client(*this);
  must(client.insert("b", {1, kNull, 1}));
  EXPECT_TRUE(succeeds(client.update("b", {1, kNull, 1}, {1, kNull, 2})));
  EXPECT_TRUE(
      fails_with(ErrorCode::kNoReferencedRow, client.update("b", {1, kNull, 2}, {1, 5, 2})));
  // As foreign_key_checks=0 lets it come.
  create("c", 2);
  must(client.insert("c", {1, 5, 1}));
  must(catalog_.change_foreign_keys("t/c", {}, {key("c", "c1", "missing", "id")}));
  client.commit();
  Client later(*this);
  EXPECT_TRUE(succeeds(later.update("c", {1, 5, 1}, {1, 5, 2})));
  EXPECT_TRUE(fails_with(ErrorCode::kNoReferencedRow, later.update("c", {1, 5, 2}, {1, 6, 2})));
}

TEST_F(ReferencesTest, ARowThatReferencesItselfStaysUnlessItsRemovalIsHandedOn) {
  create("kept", 1, {}, {key("kept", "c1", "kept", "id")});
  create(
      "gone", 1, {},
      {key("gone", "c1", "gone", "id", ReferentialAction::kSetNull, ReferentialAction::kCascade)});
  Client client(*this);
  for (const char* const name : {"kept", "gone"}) {
    must(client.insert(name, {1, 1}));
    EXPECT_TRUE(fails_with(ErrorCode::kRowIsReferenced, client.update(name, {1, 1}, {2, 2})));
  }
  EXPECT_TRUE(fails_with(ErrorCode::kRowIsReferenced, client.remove("kept", {1, 1})));
  EXPECT_TRUE(succeeds(client.update("kept", {1, 1}, {1, kNull})));
  EXPECT_TRUE(succeeds(client.remove("kept", {1, kNull})));
  EXPECT_TRUE(succeeds(client.remove("gone", {1, 1})));
}

TEST_F(ReferencesTest, OfSeveralKeysTheOneWithTheFirstIndexIsNamed) {
  create("a", 0);
  create("b", 2, {}, {key("b", "c2", "a", "id"), key("b", "c1", "a", "id")});
  create("c", 2, {}, {key("c", "c1", "a", "id"), key("c", "c2", "a", "id")});
  must(catalog_.rename("t/c", "t/d"));
  Client client(*this);
  for (const char* const name : {"b", "d"}) {
    EXPECT_TRUE(fails_with(ErrorCode::kNoReferencedRow, client.insert(name, {1, 5, 5})));
    EXPECT_EQ(client.failed_key(name)->columns.front().child, "c1");
  }
}

TEST_F(ReferencesTest, AChildThatIsReplacedByACopyIsNeverMissed) {
  using References = catalog::Catalog::References;
  create("a", 0);
  create("b", 1, {}, {key("b", "c1", "a", "id")});
  ForeignKeyDefinition of_copy = key("b", "c1", "a", "id");
  of_copy.child = "t/#sql-alter-1";
  create("#sql-alter-1", 1, {}, {of_copy});
  Client client(*this);
  must(client.insert("a", {1}));
  must(client.insert("a", {2}));
  must(client.insert("#sql-alter-1", {1, 1}));
  client.commit();
  const auto may_go = [&](int id) {
    Client other(*this);
    const Status status = other.remove("a", {id});
    other.rollback();
    return status.is_ok();
  };
  EXPECT_TRUE(may_go(1));  // the rows of the child count, which has none
  must(catalog_.rename("t/b", "t/#sql-backup-1", References::kStay));
  EXPECT_FALSE(may_go(1));
  EXPECT_TRUE(may_go(2));
  must(catalog_.rename("t/#sql-alter-1", "t/b", References::kStay));
  EXPECT_FALSE(may_go(1));
  EXPECT_TRUE(may_go(2));
}

TEST_F(ReferencesTest, RowsOfACopyCountForAKeyThatOnlyTheCopyHas) {
  create("a", 0);
  create("b", 1);
  ForeignKeyDefinition added = key("b", "c1", "a", "id");
  added.child = "t/#sql-alter-1";
  create("#sql-alter-1", 1, {}, {added});
  Client client(*this);
  must(client.insert("a", {1}));
  must(client.insert("#sql-alter-1", {1, 1}));
  EXPECT_TRUE(fails_with(ErrorCode::kRowIsReferenced, client.remove("a", {1})));
}

TEST_F(ReferencesTest, ACircleOfTablesIsRemovedOnce) {
  create("a", 1, {}, {key("a", "c1", "b", "id", ReferentialAction::kCascade)});
  create("b", 1, {}, {key("b", "c1", "a", "id", ReferentialAction::kCascade)});
  Client client(*this);
  must(client.insert("a", {1, kNull}));
  must(client.insert("b", {1, 1}));
  must(client.update("a", {1, kNull}, {1, 1}));
  EXPECT_TRUE(succeeds(client.remove("b", {1, 1})));
  EXPECT_TRUE(client.rows("a").empty());
  EXPECT_TRUE(client.rows("b").empty());
}

TEST_F(ReferencesTest, AChainIsFollowedOverFifteenRowsAndNoMore) {
  create("chain", 1, {}, {key("chain", "c1", "chain", "id", ReferentialAction::kCascade)});
  Client client(*this);
  must(client.insert("chain", {0, kNull}));
  for (int i = 1; i <= 15; ++i) must(client.insert("chain", {i, i - 1}));
  EXPECT_TRUE(fails_with(ErrorCode::kCascadeTooDeep, client.remove("chain", {0, kNull})));
  EXPECT_EQ(client.rows("chain").size(), 16U);
  EXPECT_TRUE(succeeds(client.remove("chain", {1, 0})));
  EXPECT_EQ(client.rows("chain"), (IntegerRows{{0, kNull}}));
}

TEST_F(ReferencesTest, AChangeThatComesBackToItsOwnTableIsRefused) {
  create(
      "tree", 1, {},
      {key("tree", "c1", "tree", "id", ReferentialAction::kSetNull, ReferentialAction::kCascade)});
  Client client(*this);
  must(client.insert("tree", {1, kNull}));
  must(client.insert("tree", {2, 1}));
  EXPECT_TRUE(
      fails_with(ErrorCode::kRowIsReferenced, client.update("tree", {1, kNull}, {3, kNull})));
  EXPECT_TRUE(succeeds(client.remove("tree", {1, kNull})));
  EXPECT_EQ(client.rows("tree"), (IntegerRows{{2, kNull}}));
}

TEST_F(ReferencesTest, ARowAndWhatReferencesItNeverMissEachOther) {
  create("parent", 0);
  create("child", 1, {}, {key("child", "c1", "parent", "id", ReferentialAction::kCascade)});
  Client first(*this);
  must(first.insert("parent", {1}));
  must(first.insert("parent", {2}));
  first.commit();
  Client second(*this);
  must(first.insert("child", {1, 1}));
  EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, second.remove("parent", {1})));
  second.rollback();
  must(first.remove("parent", {2}));
  EXPECT_TRUE(fails_with(ErrorCode::kLockTimeout, second.insert("child", {2, 2})));
  second.rollback();
  first.commit();
  EXPECT_TRUE(fails_with(ErrorCode::kNoReferencedRow, second.insert("child", {2, 2})));
  EXPECT_TRUE(succeeds(second.remove("parent", {1})));
  second.commit();
  EXPECT_TRUE(second.rows("child").empty());
}

// It has a snapshot of before.
TEST_F(ReferencesTest, RowsAreLookedForInTheirNewestVersions) {
  create("parent", 0);
  create("child", 1, {}, {key("child", "c1", "parent", "id", ReferentialAction::kCascade)});
  Client first(*this);
  must(first.insert("parent", {1}));
  first.commit();
  auto old = transactions_.make_transaction(nullptr);
  old->begin_statement(txn::IsolationLevel::kRepeatableRead);
  old->open_snapshot();
  must(first.insert("parent", {2}));
  must(first.insert("child", {1, 1}));
  first.commit();
  const auto parent = must(tables_.open_stored("t/parent"));
  const auto child = must(tables_.open_stored("t/child"));
  ReferenceEnforcer of_parent(*parent, must(tables_.references_of(*parent)), tables_);
  ReferenceEnforcer of_child(*child, must(tables_.references_of(*child)), tables_);
  RowWriter parents(*parent);
  parents.set_references(&of_parent);
  RowWriter children(*child);
  children.set_references(&of_child);
  std::vector<std::uint8_t> record(child->layout().record_length);
  store_le(record.data() + child->layout().columns[0].record_offset, 2);
  store_le(record.data() + child->layout().columns[1].record_offset, 2);
  EXPECT_TRUE(succeeds(children.insert(*old, record.data())));
  std::vector<std::uint8_t> gone(parent->layout().record_length);
  store_le(gone.data() + parent->layout().columns[0].record_offset, 1);
  EXPECT_TRUE(succeeds(parents.remove(*old, gone.data(), {})));
  old->end_statement();
  must(old->commit(kv::Durability::kBuffered));
  EXPECT_EQ(first.rows("child"), (IntegerRows{{2, 2}}));
  EXPECT_EQ(first.rows("parent"), (IntegerRows{{2}}));
}

TEST_F(ReferencesTest, HistoryReferencesNothingAndIsNotReferenced) {
  create_versioned("parent", 1);
  create_versioned("child", 1, {}, {key("child", "c1", "parent", "id")});
  Client client(*this);
  EXPECT_TRUE(succeeds(client.insert("child", {5, 9, 1, 2})));
  EXPECT_TRUE(fails_with(ErrorCode::kNoReferencedRow, client.insert("child", {5, 9, 1, kNull})));
  must(client.insert("parent", {7, 70, 1, kNull}));
  must(client.insert("child", {1, 7, 1, kNull}));
  const auto remove = [&] { return client.update("parent", {7, 70, 1, kNull}, {7, 70, 1, 3}); };
  EXPECT_TRUE(fails_with(ErrorCode::kRowIsReferenced, remove()));
  must(client.update("child", {1, 7, 1, kNull}, {1, 7, 1, 2}));
  must(remove());
  EXPECT_TRUE(fails_with(ErrorCode::kNoReferencedRow, client.insert("child", {1, 7, 3, kNull})));
  EXPECT_TRUE(succeeds(client.remove("parent", {7, 70, 1, 3})));
}

TEST_F(ReferencesTest, HistoryIsPassedOverInEveryIndexThatIsReferenced) {
  create_versioned("parent", 2, {2});
  create("child", 2, {}, {key("child", "c1", "parent", "c1"), key("child", "c2", "parent", "c2")});
  Client client(*this);
  must(client.insert("parent", {1, 5, 6, 1, 2}));
  EXPECT_TRUE(fails_with(ErrorCode::kNoReferencedRow, client.insert("child", {1, 5, kNull})));
  EXPECT_TRUE(fails_with(ErrorCode::kNoReferencedRow, client.insert("child", {1, kNull, 6})));
  must(client.insert("parent", {1, 5, 6, 2, kNull}));
  EXPECT_TRUE(succeeds(client.insert("child", {1, 5, 6})));
}

TEST_F(ReferencesTest, ChangesOfVersionedChildrenMakeHistory) {
  create("parent", 0);
  create_versioned("child", 2, {},
                   {key("child", "c1", "parent", "id", ReferentialAction::kCascade,
                        ReferentialAction::kCascade)});
  Client client(*this);
  must(client.insert("parent", {1}));
  must(client.insert("child", {10, 1, 0, 1, kNull}));
  client.statement().now = 2;
  EXPECT_TRUE(succeeds(client.update("parent", {1}, {2})));
  EXPECT_EQ(client.rows("child"), (IntegerRows{{10, 1, 0, 1, 2}, {10, 2, 0, 2, kNull}}));
  client.statement().now = 3;
  EXPECT_TRUE(succeeds(client.remove("parent", {2})));
  EXPECT_EQ(client.rows("child"), (IntegerRows{{10, 1, 0, 1, 2}, {10, 2, 0, 2, 3}}));
}

TEST_F(ReferencesTest, ColumnsWithoutVersioningMakeNoHistory) {
  create("parent", 0);
  create_versioned("child", 1, {},
                   {key("child", "c1", "parent", "id", ReferentialAction::kSetNull)});
  Client client(*this);
  must(client.insert("parent", {1}));
  must(client.insert("child", {10, 1, 1, kNull}));
  client.statement().now = 2;
  EXPECT_TRUE(succeeds(client.remove("parent", {1})));
  EXPECT_EQ(client.rows("child"), (IntegerRows{{10, kNull, 1, kNull}}));
}

TEST_F(ReferencesTest, ASecondHistoryOfOneMomentIsADuplicateOrLeftOut) {
  create("parent", 0);
  create_versioned("child", 2, {},
                   {key("child", "c1", "parent", "id", ReferentialAction::kCascade,
                        ReferentialAction::kCascade)});
  Client client(*this);
  must(client.insert("parent", {1}));
  must(client.insert("child", {10, 1, 0, 1, kNull}));
  must(client.insert("child", {10, 9, 0, 1, 2}));
  client.statement().now = 2;
  EXPECT_TRUE(fails_with(ErrorCode::kDuplicateInChild, client.update("parent", {1}, {2})));
  EXPECT_EQ(client.duplicate_in_child("parent").table, "t/child");
  EXPECT_EQ(client.rows("child"), (IntegerRows{{10, 9, 0, 1, 2}, {10, 1, 0, 1, kNull}}));
  EXPECT_TRUE(succeeds(client.remove("parent", {1})));
  EXPECT_EQ(client.rows("child"), (IntegerRows{{10, 9, 0, 1, 2}}));
}

TEST_F(ReferencesTest, IndexesOnComputedColumnsOfChildrenFollow) {
  create("parent", 0);
  create_computed("cascaded", false,
                  {key("cascaded", "c1", "parent", "id", ReferentialAction::kCascade,
                       ReferentialAction::kCascade)});
  create_computed("emptied", false,
                  {key("emptied", "c1", "parent", "id", ReferentialAction::kSetNull,
                       ReferentialAction::kCascade)});
  Client client(*this);
  for (const int id : {1, 2}) {
    must(client.insert("parent", {id}));
    must(client.insert("cascaded", {id, id, 10 * id}));
    must(client.insert("emptied", {id, id, 10 * id}));
  }
  EXPECT_TRUE(succeeds(client.update("parent", {1}, {3})));
  EXPECT_TRUE(succeeds(client.remove("parent", {2})));
  client.commit();
  EXPECT_EQ(client.rows("cascaded"), (IntegerRows{{1, 3, 30}}));
  EXPECT_EQ(client.rows("emptied"), (IntegerRows{{1, 3, 30}, {2, kNull, kNull}}));
  EXPECT_TRUE(client.check("cascaded").empty());
  EXPECT_TRUE(client.check("emptied").empty());
}

TEST_F(ReferencesTest, ARowThatCannotBeComputedStays) {
  create("parent", 0);
  create_computed("child", true,
                  {key("child", "c1", "parent", "id", ReferentialAction::kCascade,
                       ReferentialAction::kCascade)});
  Client client(*this);
  must(client.insert("parent", {1}));
  must(client.insert("child", {1, 1, 10}));
  EXPECT_TRUE(fails_with(ErrorCode::kInterrupted, client.update("parent", {1}, {100})));
  must(client.insert("child", {2, kNull, 50}));
  EXPECT_TRUE(fails_with(ErrorCode::kDuplicateInChild, client.update("parent", {1}, {5})));
  EXPECT_EQ(client.duplicate_in_child("parent").index, "by_c2");
  EXPECT_EQ(client.rows("parent"), (IntegerRows{{1}}));
  client.statement().computes = false;
  EXPECT_TRUE(fails_with(ErrorCode::kUnsupported, client.remove("parent", {1})));
}

}  // namespace
}  // namespace basalt::table::test
