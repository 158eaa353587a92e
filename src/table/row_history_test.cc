#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/test_support.h"
#include "catalog/altered_definition.h"
#include "catalog/layouts.h"
#include "codec/primary_codec.h"
#include "table/stored_layout.h"
#include "table/table.h"
#include "table/test_support.h"

// Goal: whatever has become of a table's columns, each row gives the values that were written, and
// of columns that came later what they came with. Tables are altered at random, rows are written
// and written anew in between, beside a map of what they should hold. BASALT_TEST_SEED says which.
namespace basalt::table {
namespace {

using basalt::test::must;
using catalog::ColumnDefinition;
using catalog::ColumnOrigin;
using catalog::TableChange;
using catalog::TableDefinition;
using codec::ColumnKind;
using codec::is_string;

using Value = std::optional<std::string>;  // as codec::InitialValue has it

class AlteredTable {
 public:
  AlteredTable(std::uint32_t seed, bool has_hidden_key) : random_(seed) {
    table_.id = 300;
    table_.name = "test/t";
    table_.columns = {{"id", ColumnKind::kSignedInteger, 4, 0, false, true}};
    table_.indexes = {{"PRIMARY", 301, 0, true, {}}};
    if (!has_hidden_key) table_.indexes[0].parts = {{0, 0, false, 4}};
    names_ = {0};
    for (std::size_t i = pick(5); i > 0; --i) {
      table_.columns.push_back(draw_column());
      names_.push_back(next_name_++);
    }
  }

  void alter() {
    TableDefinition altered = table_;
    TableChange change;
    for (std::uint32_t i = 0; i < table_.columns.size(); ++i) change.columns.push_back({i, {}});
    std::vector<int> names = names_;
    std::map<int, Value> came_with;
    for (std::size_t steps = 1 + pick(3); steps > 0; --steps) {
      switch (pick(5)) {
        case 0:
        case 1: add(altered, change, names, came_with); break;
        case 2: drop(altered, change, names); break;
        case 3: move(altered, change, names); break;
        default: become_another(altered.columns[pick(altered.columns.size())]);
      }
    }
    const std::map<int, Value> null_values = draw_null_values(altered, change, names);
    for (catalog::KeyPartDefinition& part : altered.indexes[0].parts) {
      part.column = static_cast<std::uint32_t>(std::ranges::find(names, 0) - names.begin());
    }
    ASSERT_TRUE(catalog::alter_in_place(table_, change, altered));
    std::string stored;
    catalog::append_definition(altered, stored);
    table_ = must(catalog::parse_definition(stored));
    ASSERT_EQ(table_, altered);
    names_ = names;
    for (Row& row : rows_) {
      for (const auto& [name, value] : came_with) row.values[name] = value;
      for (std::size_t i = 0; i < names_.size(); ++i) {
        Value& value = row.values[names_[i]];
        const auto null_value = null_values.find(names_[i]);
        if (!value.has_value() && null_value != null_values.end()) value = null_value->second;
        if (value.has_value()) value = as_long_as(table_.columns[i], *value);
      }
    }
  }

  void write() {
    std::size_t number = pick(2 * rows_.size() + 1);
    if (number >= rows_.size()) {
      number = rows_.size();
      rows_.emplace_back();
      rows_.back().id = static_cast<std::uint32_t>(rows_.size());
    }
    Row& row = rows_[number];
    row.values.clear();
    for (std::size_t i = 0; i < names_.size(); ++i) {
      row.values[names_[i]] = draw_value(table_.columns[i]);
    }
    // The key stays, also as a column, which may have become longer.
    const auto id_at = static_cast<std::size_t>(std::ranges::find(names_, 0) - names_.begin());
    if (id_at < names_.size()) {
      std::string id(table_.columns[id_at].record_length, '\0');
      store_le_sized(reinterpret_cast<std::uint8_t*>(id.data()), row.id, id.size());
      row.values[0] = id;
    }
    const codec::TableLayout layout = must(make_stored_layout(table_, collations_));
    const codec::PrimaryCodec codec = codec_of(layout);
    const std::vector<std::uint8_t> record = record_of(layout, row);
    codec.make_key(record.data(), row.id, row.key);
    codec.make_row(record.data(), table_.schema_version, row.bytes);
  }

  void check() {
    const codec::TableLayout layout = must(make_stored_layout(table_, collations_));
    const codec::PrimaryCodec codec = codec_of(layout);
    codec::ColumnSet wanted(names_.size());
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (pick(3) != 0) wanted.set(i);
    }
    const codec::ReadPlan plan = codec.plan(wanted);
    for (const Row& row : rows_) {
      std::vector<std::uint8_t> record(layout.record_length, 0xA5);
      must(codec.read(row.key, row.bytes, plan, record.data()));
      for (std::size_t i = 0; i < names_.size(); ++i) {
        if (!wanted.test(i)) continue;
        ASSERT_EQ(codec::value_in_record(layout.columns[i], record.data()),
                  row.values.at(names_[i]))
            << "column " << i << " of row " << row.id << ", schema version "
            << table_.schema_version;
      }
    }
  }

 private:
  struct Row {
    std::uint32_t id = 0;
    std::string key;
    std::string bytes;
    std::map<int, Value> values;  // by what columns are called here
  };

  std::size_t pick(std::size_t choices) { return random_() % choices; }

  ColumnDefinition draw_column() {
    ColumnDefinition column;
    column.name = "c" + std::to_string(next_name_);
    column.kind = static_cast<ColumnKind>(pick(8));
    column.nullable = pick(2) == 0;
    switch (column.kind) {
      case ColumnKind::kSignedInteger:
      case ColumnKind::kUnsignedInteger:
        column.record_length = static_cast<std::uint32_t>(1 + pick(8));
        break;
      case ColumnKind::kFloat: column.record_length = 4; break;
      case ColumnKind::kDouble: column.record_length = 8; break;
      case ColumnKind::kBlob: column.record_length = static_cast<std::uint32_t>(9 + pick(4)); break;
      case ColumnKind::kOrderedBytes:
      case ColumnKind::kFixedString:
      case ColumnKind::kVariableString:
        column.record_length = static_cast<std::uint32_t>(2 + pick(300));
    }
    return column;
  }

  Value draw_value(const ColumnDefinition& column) {
    if (column.nullable && pick(4) == 0) return {};
    if (!is_string(column.kind)) {
      std::string bytes(column.record_length, '\0');
      for (char& byte : bytes) byte = static_cast<char>(pick(3) == 0 ? 0xFF : pick(256));
      return bytes;
    }
    // Shorter than the shortest one, and without the spaces that a CHAR would lose.
    return std::string(pick(column.record_length - (column.kind == ColumnKind::kBlob ? 8 : 1)),
                       static_cast<char>('a' + pick(26)));
  }

  static std::string as_long_as(const ColumnDefinition& column, std::string value) {
    if (is_string(column.kind)) return value;
    const bool is_negative =
        column.kind == ColumnKind::kSignedInteger && (value.back() & 0x80) != 0;
    value.resize(column.record_length, is_negative ? '\xFF' : '\0');
    return value;
  }

  void add(TableDefinition& altered, TableChange& change, std::vector<int>& names,
           std::map<int, Value>& came_with) {
    const auto at = static_cast<std::ptrdiff_t>(pick(altered.columns.size() + 1));
    const ColumnDefinition column = draw_column();
    const Value value = draw_value(column);
    altered.columns.insert(altered.columns.begin() + at, column);
    change.columns.insert(change.columns.begin() + at, ColumnOrigin{ColumnOrigin::kNew, value});
    names.insert(names.begin() + at, next_name_);
    came_with[next_name_++] = value;
  }

  void drop(TableDefinition& altered, TableChange& change, std::vector<int>& names) {
    const std::size_t number = pick(altered.columns.size());
    const bool has_key = !altered.indexes[0].parts.empty();
    if (altered.columns.size() == 1 || (has_key && names[number] == 0)) return;
    const auto at = static_cast<std::ptrdiff_t>(number);
    altered.columns.erase(altered.columns.begin() + at);
    change.columns.erase(change.columns.begin() + at);
    names.erase(names.begin() + at);
  }

  void move(TableDefinition& altered, TableChange& change, std::vector<int>& names) {
    const std::size_t a = pick(altered.columns.size());
    const std::size_t b = pick(altered.columns.size());
    std::swap(altered.columns[a], altered.columns[b]);
    std::swap(change.columns[a], change.columns[b]);
    std::swap(names[a], names[b]);
  }

  // Of a column that the same statement adds, the value that it comes with would have to follow.
  void become_another(ColumnDefinition& column) {
    const bool is_known = std::ranges::any_of(
        table_.columns, [&](const ColumnDefinition& known) { return known.name == column.name; });
    if (!is_known || column.name == "id") return;
    column.nullable = pick(2) == 0;
    if (is_integer(column.kind)) {
      column.record_length =
          static_cast<std::uint32_t>(column.record_length + pick(9 - column.record_length));
    } else if (column.kind == ColumnKind::kBlob) {
      column.record_length = 12;
    } else if (is_string(column.kind)) {
      column.record_length += static_cast<std::uint32_t>(pick(100));
    }
  }

  // What NULL becomes in columns that are made NOT NULL.
  std::map<int, Value> draw_null_values(const TableDefinition& altered, TableChange& change,
                                        const std::vector<int>& names) {
    std::map<int, Value> values;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::uint32_t before = change.columns[i].before;
      if (before == ColumnOrigin::kNew || altered.columns[i].nullable) continue;
      if (!table_.columns[before].nullable) continue;
      values[names[i]] = change.columns[i].initial_value = draw_value(altered.columns[i]);
    }
    return values;
  }

  codec::PrimaryCodec codec_of(const codec::TableLayout& layout) const {
    return {layout, catalog::index_layout(table_.indexes.front()), table_.rows};
  }

  std::vector<std::uint8_t> record_of(const codec::TableLayout& layout, const Row& row) const {
    std::vector<std::uint8_t> record(layout.record_length, 0);
    for (std::size_t i = 0; i < names_.size(); ++i) {
      const codec::ColumnLayout& column = layout.columns[i];
      const Value& value = row.values.at(names_[i]);
      std::uint8_t* const field = record.data() + column.record_offset;
      if (!value.has_value()) {
        record[column.null_offset] |= column.null_mask;
      } else if (column.kind == ColumnKind::kVariableString) {
        store_le_sized(field, value->size(), column.length_bytes);
        std::copy(value->begin(), value->end(), field + column.length_bytes);
      } else if (column.kind == ColumnKind::kBlob) {
        store_le_sized(field, value->size(), column.length_bytes);
        const char* const data = value->data();
        std::memcpy(field + column.length_bytes, &data, sizeof data);
      } else {
        std::fill_n(field, column.record_length, ' ');
        std::copy(value->begin(), value->end(), field);
      }
    }
    return record;
  }

  std::mt19937 random_;
  test::OneCollation collations_;
  TableDefinition table_;
  std::vector<int> names_;  // of each column, what it is called here, for ever
  int next_name_ = 1;
  std::vector<Row> rows_;
};

class RowHistory : public testing::TestWithParam<bool> {};

TEST_P(RowHistory, RowsOfEveryAgeGiveTheirValues) {
  const std::uint32_t seed = basalt::test::seed();
  for (std::uint32_t i = 0; i < 60; ++i) {
    SCOPED_TRACE(seed + i);
    AlteredTable table(seed + i, GetParam());
    for (int step = 0; step < 40; ++step) {
      for (int writes = 0; writes < 3; ++writes) table.write();
      table.alter();
      if (HasFatalFailure()) return;
      table.check();
      if (HasFatalFailure()) return;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Keys, RowHistory, testing::Bool(),
                         [](const testing::TestParamInfo<bool>& tested) {
                           return tested.param ? "Hidden" : "Id";
                         });

}  // namespace
}  // namespace basalt::table
