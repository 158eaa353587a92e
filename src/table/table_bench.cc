// Measures what rows cost, RocksDB's part included: one that is read by its key, the next of a
// scan, those of a range or an index, and changes. A table like sysbench's, all of it in one level
// of files and, once it was read, in the cache.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/test_support.h"
#include "table/cursor.h"
#include "table/row_writer.h"
#include "table/table.h"
#include "table/table_opening.h"
#include "table/test_database.h"

namespace basalt::table {
namespace {

using basalt::test::must;
using Kind = codec::ColumnKind;

constexpr std::int32_t kRows = 20'000;
constexpr std::int32_t kRowsOfTransaction = 100;
constexpr std::size_t kPrimary = 0;
constexpr std::size_t kByK = 1;
enum Column : std::uint32_t { kId, kK, kC, kPad, kColumns };

codec::TableLayout make_layout() {
  codec::TableLayout layout;
  layout.columns = {{Kind::kSignedInteger, 1, 4, 0, false, 0, 0, true, nullptr},
                    {Kind::kSignedInteger, 5, 4, 0, false, 0, 0, true, nullptr},
                    {Kind::kFixedString, 9, 120, 0, false, 0, 0, true, nullptr},
                    {Kind::kFixedString, 129, 60, 0, false, 0, 0, true, nullptr}};
  layout.record_length = 189;
  return layout;
}

catalog::TableDefinition make_definition() {
  catalog::TableDefinition table;
  table.name = "test/sbtest";
  const char* const names[] = {"id", "k", "c", "pad"};
  const codec::TableLayout layout = make_layout();
  for (std::size_t i = 0; i < kColumns; ++i) {
    table.columns.push_back(
        {names[i], layout.columns[i].kind, layout.columns[i].record_length, 0, false, true});
  }
  table.indexes = {{"PRIMARY", 0, 0, true, {{kId, 0, false, 4}}},
                   {"k", 0, 0, false, {{kK, 0, false, 4}}}};
  return table;
}

// A multiplicative generator: the same ids in each run.
class Ids {
 public:
  std::int32_t next() {
    state_ = state_ * 48271 % 2147483647;
    return static_cast<std::int32_t>(state_ % kRows) + 1;
  }

 private:
  std::uint64_t state_ = 1;
};

class Store : test::NewDatabase {
 public:
  Store() {
    const catalog::TablePointer definition = must(catalog_.create(make_definition()));
    table_ = std::make_unique<Table>(definition, make_layout(),
                                     std::make_shared<TableState>(catalog_, definition->id));
    must(load_counters(*database_, *table_, {}));
    load_greatest_key(*database_, transactions_, *table_);
    writer_ = std::make_unique<RowWriter>(*table_);
    transaction_ = transactions_.make_transaction(nullptr);
    for (std::int32_t id = 1; id <= kRows; ++id) insert(id);
    commit();
    must(database_->flush());
    must(database_->compact(kv::kDefaultFamily, {}));
  }

  const Table& table() const { return *table_; }
  txn::Transaction& transaction() { return *transaction_; }

  std::uint8_t* record_of(std::int32_t id, std::int32_t k) {
    store_le(record_.data() + 1, id);
    store_le(record_.data() + 5, k);
    auto digits = static_cast<std::uint32_t>(id);
    for (std::size_t i = 9; i < record_.size(); ++i) {
      digits = digits * 1664525 + 1013904223;
      record_[i] = static_cast<std::uint8_t>('0' + (digits >> 24) % 10);
    }
    return record_.data();
  }
  static std::int32_t k_of(std::int32_t id) {
    return static_cast<std::int32_t>(std::int64_t{id} * 7919 % kRows);
  }
  void insert(std::int32_t id) {
    must(writer_->insert(*transaction_, record_of(id, k_of(id))));
    if (id % kRowsOfTransaction == 0) commit();
  }
  // Gives the row another value of the index, in a transaction of its own.
  void update(std::int32_t id, std::int32_t from, std::int32_t to) {
    const std::vector<std::uint8_t> old(record_of(id, from), record_of(id, from) + 189);
    must(writer_->update(*transaction_, old.data(), record_of(id, to), {}));
    commit();
  }
  void commit() {
    transaction_->end_statement();
    must(transaction_->commit(kv::Durability::kBuffered));
  }
  std::string key_of(std::int32_t id) {
    std::string key;
    table_->primary().make_key(record_of(id, 0), 0, key);
    return key;
  }

 private:
  std::unique_ptr<Table> table_;
  std::unique_ptr<RowWriter> writer_;
  std::unique_ptr<txn::Transaction> transaction_;
  std::vector<std::uint8_t> record_ = std::vector<std::uint8_t>(189);
};

// One for all that only read.
Store& shared_store() {
  static Store store;
  return store;
}

void begin(Store& store) {
  store.transaction().begin_statement(txn::IsolationLevel::kReadCommitted);
}

void read_by_key(benchmark::State& state) {
  Store& store = shared_store();
  Cursor cursor(store.table());
  std::vector<std::uint8_t> record(189);
  Ids ids;
  const ReadSettings settings = ConsistentRead{.needs_snapshot = false};
  const codec::ColumnSet wanted(kColumns, true);
  for (auto _ : state) {
    begin(store);
    bool found = false;
    cursor.open(store.transaction(), kPrimary, settings, wanted, false);
    must(cursor.find_unique(store.key_of(ids.next()), record.data(), found));
    cursor.close();
    store.transaction().end_statement();
    if (!found) state.SkipWithError("a row is missing");
  }
}
BENCHMARK(read_by_key);

// A row or an entry after the other, over and over.
void scan(benchmark::State& state, std::size_t index, bool reads_rows) {
  Store& store = shared_store();
  Cursor cursor(store.table());
  std::vector<std::uint8_t> record(189);
  codec::ColumnSet wanted(kColumns, reads_rows);
  wanted.set(kId);
  wanted.set(kK);
  begin(store);
  cursor.open(store.transaction(), index, {}, wanted, false);
  bool found = false;
  for (auto _ : state) {
    must(found ? cursor.next(record.data(), found) : cursor.seek_first(record.data(), found));
  }
  cursor.release();
  store.commit();
}
BENCHMARK_CAPTURE(scan, rows, kPrimary, true);
BENCHMARK_CAPTURE(scan, entries, kByK, false);
BENCHMARK_CAPTURE(scan, rows_by_index, kByK, true);

void read_range(benchmark::State& state) {
  Store& store = shared_store();
  Cursor cursor(store.table());
  std::vector<std::uint8_t> record(189);
  Ids ids;
  const codec::ColumnSet wanted(kColumns, true);
  for (auto _ : state) {
    begin(store);
    const std::int32_t first = ids.next();
    cursor.open(store.transaction(), kPrimary, {}, wanted, false);
    cursor.confine(store.key_of(first), store.key_of(first + 100));
    bool found = false;
    must(cursor.seek_first(record.data(), found));
    while (found) must(cursor.next(record.data(), found));
    cursor.release();
    store.transaction().end_statement();
  }
}
BENCHMARK(read_range)->Unit(benchmark::kMicrosecond);

void insert_rows(benchmark::State& state) {
  Store store;
  std::int32_t id = kRows;
  for (auto _ : state) store.insert(++id);
}
BENCHMARK(insert_rows)->Iterations(100'000);

void update_indexed_column(benchmark::State& state) {
  Store store;
  std::int32_t id = 0;
  std::int32_t round = 0;
  for (auto _ : state) {
    if (++id > kRows) {
      id = 1;
      ++round;
    }
    store.update(id, Store::k_of(id) + round, Store::k_of(id) + round + 1);
  }
}
BENCHMARK(update_indexed_column)->Iterations(50'000);

}  // namespace
}  // namespace basalt::table
