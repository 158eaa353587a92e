#pragma once
#include <array>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "table/record_values.h"
#include "table/reference_enforcer.h"
#include "table/references.h"
#include "table/stored_layout.h"
#include "table/test_database.h"
#include "table/test_support.h"

// Tables of integers with foreign keys, and clients who change their rows.
namespace basalt::table::test {

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
  std::uint64_t generation() const override { return catalog_.reference_generation(); }

 private:
  catalog::Catalog& catalog_;
  kv::Database& database_;
  NoCollations none_;
  std::map<catalog::TableId, std::shared_ptr<TableState>> states_;
};

inline codec::ColumnSet all_columns(const Table& table) {
  return codec::ColumnSet(table.layout().columns.size(), true);
}

// A statement of the second `now`, in which a column that is not stored is ten times the one before
// it, which must be below 100 in new rows.
class TestStatement final : public StatementContext {
 public:
  int now = 0;
  bool computes = true;
  std::string locked;                // table that others lock
  std::vector<std::string> changed;  // tables, in the order of the calls

  Status begin_changes(const Table& table) override {
    changed.push_back(table.definition().name);
    return table.definition().name == locked ? Status::of(ErrorCode::kDeadlock) : Status::ok();
  }
  SystemTimestamp time() override { return timestamp(now); }
  Status compute_columns(const Table& table, const codec::ColumnSet& wanted, Version version,
                         std::uint8_t* record, std::vector<std::string>&) override {
    if (!computes) return Status::of(ErrorCode::kUnsupported);
    for (std::size_t i = 1; i < table.layout().columns.size(); ++i) {
      const codec::ColumnLayout& column = table.layout().columns[i];
      if (column.stored || !wanted.test(i)) continue;
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

class ReferencesTest : public testing::Test, protected NewDatabase {
 protected:
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
  // Columns id, c1 and c2, and one index, on the latter two.
  void create_with_pairs(const std::string& name, std::vector<ForeignKeyDefinition> keys) {
    create(name + "_", 2);
    catalog::TableDefinition table = *catalog_.find("t/" + name + "_");
    table.name = "t/" + name;
    table.indexes[1].parts.push_back(table.indexes[2].parts.front());
    table.indexes.pop_back();
    must(catalog_.create(std::move(table), 1, std::move(keys)));
  }
  // As create_with_pairs(), with an index on c2, too.
  void create_with_pairs_and_second(const std::string& name,
                                    std::vector<ForeignKeyDefinition> keys) {
    create(name + "_", 2);
    catalog::TableDefinition table = *catalog_.find("t/" + name + "_");
    table.name = "t/" + name;
    table.indexes[1].parts.push_back({2, 0, false, 4});
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

  // From two columns to two, without actions.
  static ForeignKeyDefinition key_of_two(const std::string& child,
                                         const std::array<std::string, 2>& columns,
                                         const std::string& parent,
                                         const std::array<std::string, 2>& referenced) {
    ForeignKeyDefinition two = key(child, columns[0], parent, referenced[0]);
    two.columns.push_back({columns[1], referenced[1]});
    return two;
  }

  // The names of a parent with an index on c1, and of a child whose c1 and c2 reference its c1 and
  // id.
  std::pair<std::string, std::string> create_linked_by_primary_key(bool is_unique) {
    const std::string tag = is_unique ? "unique" : "plain";
    const std::string parent = tag + "_parent";
    const std::string child = tag + "_child";
    create(parent, 1, is_unique ? std::vector<std::size_t>{1} : std::vector<std::size_t>{});
    create_with_pairs(child, {key_of_two(child, {"c1", "c2"}, parent, {"c1", "id"})});
    return {parent, child};
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
    void set_parents_transaction(const std::string& child, Client& statement) {
      opened(child).enforcer.set_parents_transaction(statement.transaction_.get());
    }
    TestStatement& statement() { return statement_; }
    // Between any two rows what was changed goes to files.
    void spill_always() {
      transaction_->set_memory_limits({.spills_at = 1, .writes_meanwhile = true});
    }
    bool has_changes_in_files() const { return transaction_->has_changes_in_files(); }
    const ReferenceEnforcer::IndexName& duplicate_in_child(const std::string& name) {
      return opened(name).enforcer.duplicate_in_child();
    }
    const ReferenceEnforcer::Refusal& refusal(const std::string& name) {
      return opened(name).enforcer.refusal();
    }
    const ForeignKeyDefinition* failed_key(const std::string& name) {
      return refusal(name).key.get();
    }
    // How many rows the table has got, less those that it has lost.
    std::int64_t counted_rows(const std::string& name) {
      return opened(name).table->state().changes->rows.all();
    }
    IntegerRows rows(const std::string& name) {
      Open& open = opened(name);
      const Table& table = *open.table;
      Cursor cursor(table);
      cursor.open(*transaction_, 0, NewestRead{}, all_columns(table), false);
      std::vector<std::uint8_t> record(table.layout().record_length);
      IntegerRows rows;
      bool found = false;
      must(cursor.seek_first(record.data(), found));
      std::vector<std::string> blobs;
      while (found) {
        must(statement_.compute_columns(table, all_columns(table),
                                        StatementContext::Version::kStored, record.data(), blobs));
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
            return statement_.compute_columns(table, all_columns(table),
                                              StatementContext::Version::kStored, row, blobs);
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

  IntegerTables tables_{catalog_, *database_};
};

constexpr std::optional<int> kNull;

}  // namespace basalt::table::test
