#pragma once
#include <algorithm>
#include <compare>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/test_support.h"
#include "catalog/catalog.h"
#include "codec/collation_source.h"
#include "codec/layout.h"
#include "kv/test_directory.h"
#include "lock/lock_manager.h"
#include "table/checker.h"
#include "table/cursor.h"
#include "table/row_writer.h"
#include "table/table.h"
#include "table/table_opening.h"
#include "txn/transaction_manager.h"

// What the tests of rows and indexes share: one table with every kind of index, its records by
// hand, and an independent statement of how its keys compare.
namespace basalt::table::test {

// Folds ASCII case and pads with spaces.
class CaseInsensitive final : public codec::Collation {
 public:
  CaseInsensitive()
      : Collation({.id = 8,
                   .weight_width = 1,
                   .space_weight = ' ',
                   .pads_with_space = true,
                   .bytes_are_weights = false}) {}

  static char fold(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 0x20) : c; }
  std::size_t prefix_bytes(std::string_view value, std::size_t characters) const override {
    return std::min(value.size(), characters);
  }
  void append_weights(std::string_view value, std::size_t /*level*/,
                      std::string& out) const override {
    for (const char c : value) out.push_back(fold(c));
  }
};

// Has that one alone.
class OneCollation final : public codec::CollationSource {
 public:
  const codec::Collation* find_by_id(std::uint16_t /*id*/, bool /*is_char*/) override {
    return &collation_;
  }

 private:
  CaseInsensitive collation_;
};

// How rows of the table are identified.
enum class Keys : std::uint8_t { kId, kHidden, kCityAndId };

inline constexpr Keys kAllKeys[] = {Keys::kId, Keys::kHidden, Keys::kCityAndId};

inline std::string name_of(const testing::TestParamInfo<Keys>& tested) {
  switch (tested.param) {
    case Keys::kId: return "Id";
    case Keys::kHidden: return "Hidden";
    case Keys::kCityAndId: return "CityAndId";
  }
  BASALT_UNREACHABLE();
}

enum Column : std::uint32_t { kId, kEmail, kCity, kAmount, kCode, kNote, kColumns };
enum Index : std::size_t { kPrimary, kByEmail, kByCity, kByCode, kByAmount, kIndexes };

struct Row {
  std::int32_t id = 0;
  std::optional<std::string> email;  // unique, but for NULLs; case-insensitive
  std::string city;                  // case-insensitive
  std::optional<std::int32_t> amount;
  std::uint32_t code = 0;  // unique
  std::optional<std::string> note;

  auto operator<=>(const Row&) const = default;
};

inline void PrintTo(const Row& row, std::ostream* out) {
  *out << "{" << row.id << ", " << testing::PrintToString(row.email) << ", '" << row.city << "', "
       << testing::PrintToString(row.amount) << ", " << row.code << ", "
       << testing::PrintToString(row.note) << "}";
}

inline codec::TableLayout make_layout() {
  static const CaseInsensitive collation;
  using Kind = codec::ColumnKind;
  codec::TableLayout layout;
  layout.columns = {
      {Kind::kSignedInteger, 1, 4, 0, false, 0, 0, true, nullptr},
      {Kind::kVariableString, 5, 21, 1, true, 0, 1, true, &collation},
      {Kind::kVariableString, 26, 13, 1, false, 0, 0, true, &collation},
      {Kind::kSignedInteger, 39, 4, 0, true, 0, 2, true, nullptr},
      {Kind::kUnsignedInteger, 43, 4, 0, false, 0, 0, true, nullptr},
      {Kind::kBlob, 47, 10, 2, true, 0, 4, true, nullptr},
  };
  layout.record_length = 57;
  return layout;
}

inline catalog::TableDefinition make_definition(Keys keys) {
  catalog::TableDefinition table;
  table.name = "test/orders";
  const codec::TableLayout layout = make_layout();
  const char* const names[] = {"id", "email", "city", "amount", "code", "note"};
  for (std::size_t i = 0; i < kColumns; ++i) {
    const codec::ColumnLayout& column = layout.columns[i];
    table.columns.push_back({names[i], column.kind, column.record_length,
                             static_cast<std::uint16_t>(column.collation == nullptr ? 0 : 8),
                             column.nullable, true});
  }
  std::vector<catalog::KeyPartDefinition> primary;
  if (keys == Keys::kCityAndId) primary.push_back({kCity, 0, false, 12});
  if (keys != Keys::kHidden) primary.push_back({kId, 0, false, 4});
  table.indexes = {
      {"PRIMARY", 0, 0, true, primary},
      {"by_email", 0, 0, true, {{kEmail, 0, false, 20}}},
      {"by_city", 0, 0, false, {{kCity, 0, false, 12}}},
      {"by_code", 0, 0, true, {{kCode, 0, false, 4}}},
      {"by_amount", 0, 0, false, {{kAmount, 0, true, 4}, {kCity, 3, false, 3}}},
  };
  return table;
}

// A record in the server's format; a blob's bytes live as long as the Record.
class Record {
 public:
  Record() : bytes_(make_layout().record_length, 0) {}
  explicit Record(const Row& row) : Record() {
    store_le(bytes_.data() + 1, row.id);
    set_string(kEmail, 1, row.email);
    set_string(kCity, 0, row.city);
    if (row.amount) {
      store_le(bytes_.data() + 39, *row.amount);
    } else {
      bytes_[0] |= 2;
    }
    store_le(bytes_.data() + 43, row.code);
    if (!row.note) {
      bytes_[0] |= 4;
      return;
    }
    note_ = std::make_unique<const std::string>(*row.note);
    store_le(bytes_.data() + 47, static_cast<std::uint16_t>(note_->size()));
    store_le(bytes_.data() + 49, note_->data());
  }

  std::uint8_t* data() { return bytes_.data(); }
  const std::uint8_t* data() const { return bytes_.data(); }
  // Asks for nothing else of the record, of which perhaps no more has been read: a blob's bytes may
  // be an earlier row's.
  int id() const { return load_le<std::int32_t>(data() + 1); }
  Row row() const {
    Row row;
    row.id = id();
    if ((bytes_[0] & 1) == 0) row.email = string_at(5);
    row.city = string_at(26);
    if ((bytes_[0] & 2) == 0) row.amount = load_le<std::int32_t>(data() + 39);
    row.code = load_le<std::uint32_t>(data() + 43);
    if ((bytes_[0] & 4) == 0) {
      const auto size = load_le<std::uint16_t>(data() + 47);
      row.note = std::string(load_le<const char*>(data() + 49), size);
    }
    return row;
  }

 private:
  void set_string(Column column, std::uint8_t null_mask, const std::optional<std::string>& value) {
    std::uint8_t* const field = data() + make_layout().columns[column].record_offset;
    if (!value) {
      bytes_[0] |= null_mask;
      return;
    }
    field[0] = static_cast<std::uint8_t>(value->size());
    std::memcpy(field + 1, value->data(), value->size());
  }
  std::string string_at(std::size_t offset) const {
    return {reinterpret_cast<const char*>(data() + offset + 1), bytes_[offset]};
  }

  std::vector<std::uint8_t> bytes_;
  std::unique_ptr<const std::string> note_;
};

// A row whose every column tells its id.
inline Row row_of(int id) {
  Row row;
  row.id = id;
  row.email = "e" + std::to_string(id);
  row.city = "c" + std::to_string(id);
  row.amount = id;
  row.code = static_cast<std::uint32_t>(id);
  return row;
}

// Strings that compare as the values do: parts of an index, then those of the primary key.
using SortKey = std::vector<std::string>;

inline std::string sortable(std::int64_t number) {
  char digits[24];
  std::snprintf(digits, sizeof digits, "%011lld",
                static_cast<long long>(number) + (std::int64_t{1} << 32));
  return digits;
}
inline std::string sortable(std::string value, std::size_t characters = 20) {
  value.resize(characters, ' ');
  std::transform(value.begin(), value.end(), value.begin(), &CaseInsensitive::fold);
  return value;
}
template <typename T>
std::string sortable(const std::optional<T>& value) {
  return value ? "1" + sortable(*value) : "0";
}
// NULL sorts first ascending, so last descending.
inline std::string descending(const std::optional<std::int32_t>& value) {
  return value ? "0" + sortable(-static_cast<std::int64_t>(*value)) : "1";
}

inline SortKey sort_key(Keys keys, std::size_t index_number, const Row& row) {
  SortKey key;
  switch (index_number) {
    case kByEmail: key = {sortable(row.email)}; break;
    case kByCity: key = {sortable(row.city)}; break;
    case kByCode: key = {sortable(std::int64_t{row.code})}; break;
    case kByAmount: key = {descending(row.amount), sortable(row.city, 3)}; break;
    default: break;
  }
  if (keys == Keys::kCityAndId) key.push_back(sortable(row.city));
  key.push_back(sortable(std::int64_t{row.id}));
  return key;
}

// The key tuple, as the server passes it, of the first `parts` own parts; as a stored prefix.
inline std::string search_prefix(const Table& table, std::size_t index_number, const Row& row,
                                 std::size_t parts) {
  const Record record(row);
  std::string tuple;
  for (std::size_t i = 0; i < parts; ++i) {
    const catalog::KeyPartDefinition& part = table.index(index_number).parts[i];
    const codec::ColumnLayout& column = table.layout().columns[part.column];
    const std::uint8_t* field = record.data() + column.record_offset;
    const bool is_null = column.nullable && (record.data()[0] & column.null_mask) != 0;
    if (column.nullable) tuple.push_back(is_null ? '\1' : '\0');
    std::string data(reinterpret_cast<const char*>(field), column.record_length);
    if (column.length_bytes != 0) {
      data = data.substr(1, std::min<std::size_t>(field[0], part.tuple_length));
      tuple.push_back(static_cast<char>(data.size()));
      tuple.push_back('\0');
    }
    data.resize(part.tuple_length);
    tuple += data;
  }
  std::string prefix;
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(tuple.data());
  if (index_number == kPrimary) {
    table.primary().make_search_prefix(bytes, parts, prefix);
  } else {
    table.secondary(index_number).make_search_prefix(bytes, parts, prefix);
  }
  return prefix;
}

class NeverInterrupted final : public Interruption {
 public:
  bool is_raised() const override { return false; }
};

class AlwaysInterrupted final : public Interruption {
 public:
  bool is_raised() const override { return true; }
};

// What the checker has to say of the table; nothing if it is sound.
inline std::vector<std::string> check(
    kv::Database& database, const Table& table,
    const CompleteRow& complete = [](std::uint8_t*) { return Status::ok(); }) {
  const NeverInterrupted never;
  Checker checker(database, table, never);
  Record record;
  std::vector<std::string> problems;
  const bool is_sound = basalt::test::must(checker.run(
      record.data(), complete, [&](const std::string& problem) { problems.push_back(problem); }));
  EXPECT_EQ(is_sound, problems.empty());
  return problems;
}

// A database with the table open, which can be closed and opened again. With Keys::kCityAndId its
// indexes are in three column families.
class Store {
 public:
  // `value_lock_parts`: of the index by_amount.
  explicit Store(Keys keys, std::uint32_t value_lock_parts = 0,
                 const std::optional<catalog::RowExpiry>& expiry = std::nullopt)
      : keys_(keys) {
    open_database();
    catalog::TableDefinition definition = make_definition(keys);
    definition.expiry = expiry;
    definition.indexes[kByAmount].value_lock_parts = value_lock_parts;
    if (keys == Keys::kCityAndId) {
      definition.indexes[kByEmail].family = basalt::test::must(database_->ensure_family("two"));
      definition.indexes[kByCity].family = basalt::test::must(database_->ensure_family("two"));
      definition.indexes[kByCode].family = basalt::test::must(database_->ensure_family("three"));
    }
    basalt::test::must(catalog_->create(std::move(definition)));
    open_table();
  }
  ~Store() { close(); }

  // All transactions and cursors must be gone.
  void close() {
    table_.reset();
    transactions_.reset();
    locks_.reset();
    if (database_ != nullptr) database_->set_lifetimes(nullptr);
    catalog_.reset();
    database_.reset();
  }
  void reopen() {
    close();
    open_database();
    open_table();
  }
  // Goes on with what a crash at this moment leaves behind.
  void crash() {
    const std::string image = path_ + "x";
    kv::test::copy_crash_image(path_, image);
    close();
    path_ = image;
    open_database();
    open_table();
  }
  void flush_and_compact() {
    basalt::test::must(database_->flush());
    for (const kv::Family& family : database_->families()) {
      if (family.id == kv::kSystemFamily) continue;
      basalt::test::must(database_->compact(family.id, {}));
    }
  }

  Keys keys() const { return keys_; }
  kv::Database& database() { return *database_; }
  catalog::Catalog& catalog() { return *catalog_; }
  txn::TransactionManager& transactions() { return *transactions_; }
  const Table& table() const { return *table_; }
  std::unique_ptr<txn::Transaction> begin() { return transactions_->make_transaction(nullptr); }

  // Committed entries of an index.
  std::uint64_t entries(std::size_t index_number) {
    return kv::test::count_entries(*database_, table_->family(index_number),
                                   table_->whole_range(index_number));
  }
  // Where the index of a key has its entries.
  kv::FamilyId family_of(std::string_view key) const {
    for (std::size_t i = 0; i < table_->index_count(); ++i) {
      if (table_->index(i).id == load_be32(key.data())) return table_->family(i);
    }
    BASALT_UNREACHABLE();
  }
  // What the checker has to say; nothing if the table is sound.
  std::vector<std::string> check() { return test::check(*database_, *table_); }

 private:
  void open_database() {
    database_ = kv::test::open_database(path_);
    catalog_ = std::make_unique<catalog::Catalog>(*database_);
    basalt::test::must(catalog_->load());
    database_->set_lifetimes(catalog_.get());
    locks_ = std::make_unique<lock::LockManager>(lock::LockManager::Options{});
    transactions_ = std::make_unique<txn::TransactionManager>(*database_, *locks_);
    basalt::test::must(transactions_->recover());
  }
  void open_table() {
    const catalog::TablePointer definition = catalog_->find("test/orders");
    auto state = std::make_shared<TableState>(*catalog_, definition->id);
    table_ = std::make_unique<Table>(definition, make_layout(), state);
    basalt::test::must(load_counters(*database_, *table_, {}));
    load_greatest_key(*database_, *transactions_, *table_);
  }

  const Keys keys_;
  kv::test::TestDirectory directory_;
  std::string path_ = directory_ / "db";
  std::unique_ptr<kv::Database> database_;
  std::unique_ptr<catalog::Catalog> catalog_;
  std::unique_ptr<lock::LockManager> locks_;
  std::unique_ptr<txn::TransactionManager> transactions_;
  std::unique_ptr<Table> table_;
};

// One session: its transaction and the row writer of its handler.
class Session {
 public:
  explicit Session(Store& store)
      : store_(store), transaction_(store.begin()), writer_(store.table()) {
    writer_.set_wait_policy({.may_wait = false});
  }

  txn::Transaction& transaction() { return *transaction_; }
  RowWriter& writer() { return writer_; }
  // The session is of no use without it.
  std::unique_ptr<txn::Transaction> take_transaction() { return std::move(transaction_); }

  Status insert(const Row& row) { return writer_.insert(*transaction_, Record(row).data()); }
  Status update(const Row& from, const Row& to, std::string_view primary_key = {}) {
    return writer_.update(*transaction_, Record(from).data(), Record(to).data(), primary_key);
  }
  Status remove(const Row& row, std::string_view primary_key = {}) {
    return writer_.remove(*transaction_, Record(row).data(), primary_key);
  }
  void commit() {
    transaction_->end_statement();
    basalt::test::must(transaction_->commit(kv::Durability::kBuffered));
  }
  void rollback() { basalt::test::must(transaction_->rollback()); }

  // All rows in the order of an index, as a consistent read sees them.
  std::vector<Row> rows(std::size_t index_number = kPrimary, ReadSettings settings = {}) {
    Cursor cursor(store_.table());
    cursor.open(*transaction_, index_number, settings, codec::ColumnSet(kColumns, true), false);
    Record record;
    std::vector<Row> rows;
    bool found = false;
    basalt::test::must(cursor.seek_first(record.data(), found));
    while (found) {
      rows.push_back(record.row());
      basalt::test::must(cursor.next(record.data(), found));
    }
    return rows;
  }

 private:
  Store& store_;
  std::unique_ptr<txn::Transaction> transaction_;
  RowWriter writer_;
};

}  // namespace basalt::table::test
