#include "catalog/altered_definition.h"

#include <algorithm>

#include "base/assert.h"

namespace basalt::catalog {
namespace {

using codec::ColumnKind;
using codec::is_integer;
using codec::is_string;
using codec::RowColumn;

// More forms of columns than this are not kept; the table is copied then, and its rows are alike.
constexpr std::size_t kRowColumnsMax = 8192;

// Whether a column has the same role in the history of rows; which of its changes make history may
// become another.
bool keeps_role(SystemTime before, SystemTime after) {
  const auto is_role = [](SystemTime time) {
    return time == SystemTime::kRowEnd || time == SystemTime::kRowStart;
  };
  return before == after || (!is_role(before) && !is_role(after));
}

// Whether rows that hold `before` can be read as `after`, `has_null_value`: there is one for NULL.
bool can_become(const ColumnDefinition& before, const ColumnDefinition& after,
                bool has_null_value) {
  if (before.kind != after.kind || before.stored != after.stored ||
      !keeps_role(before.system_time, after.system_time)) {
    return false;
  }
  if (before.nullable && !after.nullable && (!before.stored || !has_null_value)) return false;
  if (is_integer(before.kind) || is_string(before.kind)) {
    return before.record_length <= after.record_length;
  }
  return before.record_length == after.record_length && before.collation_id == after.collation_id;
}

// Whether a part of a key that is made of the column is the same bytes as before. A VARCHAR's
// length is not in them.
bool has_same_keys(const ColumnDefinition& before, const ColumnDefinition& after) {
  const bool may_be_longer =
      before.kind == ColumnKind::kVariableString || before.kind == ColumnKind::kBlob;
  return before.kind == after.kind && before.nullable == after.nullable &&
         before.stored == after.stored && before.collation_id == after.collation_id &&
         (may_be_longer || before.record_length == after.record_length);
}

// The change, with the tables of before and after.
class Comparison {
 public:
  Comparison(const TableDefinition& table, const TableChange& change,
             const TableDefinition& altered)
      : table_(table), change_(change), altered_(altered) {
    is_possible_ = change.columns.empty() ? table.columns.size() == altered.columns.size()
                                          : change.columns.size() == altered.columns.size();
    after_.resize(table.columns.size(), RowColumn::kNoColumn);
    for (std::uint32_t i = 0; is_possible_ && i < altered.columns.size(); ++i) {
      const std::uint32_t before = change.column_before(i);
      if (before == ColumnOrigin::kNew) continue;
      is_possible_ =
          before < table.columns.size() && after_[before] == RowColumn::kNoColumn &&
          can_become(table.columns[before], altered.columns[i], change.has_initial_value(i));
      if (is_possible_) after_[before] = i;
    }
  }

  bool is_possible() const { return is_possible_; }

  // The number that the column has now; kNoColumn: it has gone.
  std::uint32_t after(std::uint32_t before) const {
    BASALT_DEBUG_ASSERT(is_possible_ && before < after_.size());
    return after_[before];
  }

  bool has_same_entries(const IndexDefinition& before, const IndexDefinition& after) const {
    return before.unique == after.unique && before.value_lock_parts == after.value_lock_parts &&
           std::ranges::equal(before.parts, after.parts,
                              [this](const KeyPartDefinition& old, const KeyPartDefinition& part) {
                                return is_same_part(old, part);
                              });
  }

  // The index of the table that is called `name` afterwards; null if there is none.
  const IndexDefinition* find_before(const std::string& name) const {
    const auto old_name = std::ranges::find(change_.indexes, name, &RenamedIndex::to);
    if (old_name != change_.indexes.end()) return table_.find_secondary(old_name->from);
    const bool has_left =
        std::ranges::find(change_.indexes, name, &RenamedIndex::from) != change_.indexes.end();
    return has_left ? nullptr : table_.find_secondary(name);
  }

  // Whether its entries can be made of rows, one by one.
  bool can_be_built(const IndexDefinition& index) const {
    const bool has_columns = std::ranges::all_of(
        index.parts,
        [this](const KeyPartDefinition& part) { return part.column < altered_.columns.size(); });
    return has_columns && index.value_lock_parts == 0 && !index.parts.empty();
  }

  bool has_stored_columns(const IndexDefinition& index) const {
    return std::ranges::all_of(index.parts, [this](const KeyPartDefinition& part) {
      return altered_.columns[part.column].stored;
    });
  }

 private:
  bool is_same_part(const KeyPartDefinition& old, const KeyPartDefinition& part) const {
    if (part.column >= altered_.columns.size() || after_[old.column] != part.column) return false;
    const ColumnDefinition& before = table_.columns[old.column];
    KeyPartDefinition expected = old;
    expected.column = part.column;
    const bool is_whole_string =
        before.kind == ColumnKind::kVariableString && old.prefix_length == 0;
    if (is_whole_string) expected.tuple_length = part.tuple_length;
    return expected == part && has_same_keys(before, altered_.columns[part.column]);
  }

  const TableDefinition& table_;
  const TableChange& change_;
  const TableDefinition& altered_;
  std::vector<std::uint32_t> after_;  // of each column of the table, its number now
  bool is_possible_ = true;
};

RowColumn present_form(const TableDefinition& table, std::uint32_t column, std::uint32_t since) {
  const ColumnDefinition& definition = table.columns[column];
  BASALT_DEBUG_ASSERT(definition.stored);
  return {
      .column = column,
      .fixed_bytes = is_string(definition.kind) ? RowColumn::kVariable : definition.record_length,
      .nullable = definition.nullable,
      .since = since};
}

// What rows hold that have always held the table's columns.
std::vector<RowColumn> columns_of_rows(const TableDefinition& table) {
  std::vector<RowColumn> columns;
  for (std::uint32_t i = 0; i < table.columns.size(); ++i) {
    if (table.columns[i].stored) columns.push_back(present_form(table, i, 0));
  }
  return columns;
}

// Gives a value the bytes that its column has now.
void lengthen(std::string& value, const ColumnDefinition& column) {
  if (!is_integer(column.kind)) return;
  const std::size_t before = value.size();
  value.resize(column.record_length);
  codec::lengthen_integer(reinterpret_cast<std::uint8_t*>(value.data()), before, value.size(),
                          column.kind == ColumnKind::kSignedInteger);
}

// Makes a value that rows do not hold, or NULL, one of the column `number`, which is `column` now.
void carry(std::optional<std::string>& value, const ColumnDefinition& column,
           const TableChange& change, std::uint32_t number) {
  if (value.has_value()) {
    lengthen(*value, column);
  } else if (!column.nullable) {
    value = change.columns[number].initial_value;
  }
}

// The history of the rows that `altered` has then, whose schema version is set.
codec::RowHistory next_history(const TableDefinition& table, const Comparison& comparison,
                               const TableChange& change, const TableDefinition& altered) {
  const std::uint32_t version = altered.schema_version;
  BASALT_DEBUG_ASSERT(version > table.schema_version);
  codec::RowHistory history = table.rows;
  if (history.is_empty()) history.columns = columns_of_rows(table);
  std::vector<RowColumn> added;
  for (RowColumn& held : history.columns) {
    if (held.column == RowColumn::kNoColumn) continue;
    held.column = comparison.after(held.column);
    if (held.column == RowColumn::kNoColumn) {
      held.null_value.reset();
    } else if (held.nullable) {
      carry(held.null_value, altered.columns[held.column], change, held.column);
    }
    if (held.until != RowColumn::kPresent) continue;
    if (held.column == RowColumn::kNoColumn) {
      held.until = version;
      continue;
    }
    const RowColumn now = present_form(altered, held.column, version);
    if (now.fixed_bytes == held.fixed_bytes && now.nullable == held.nullable) continue;
    held.until = version;
    added.push_back(now);
  }
  history.columns.insert(history.columns.end(), added.begin(), added.end());
  std::erase_if(history.initial_values, [&](codec::InitialValue& initial) {
    initial.column = comparison.after(initial.column);
    return initial.column == RowColumn::kNoColumn;
  });
  for (codec::InitialValue& initial : history.initial_values) {
    carry(initial.value, altered.columns[initial.column], change, initial.column);
  }
  for (std::uint32_t i = 0; i < altered.columns.size(); ++i) {
    if (change.column_before(i) != ColumnOrigin::kNew || !altered.columns[i].stored) continue;
    history.columns.push_back(present_form(altered, i, version));
    history.initial_values.push_back({i, change.columns[i].initial_value});
  }
  BASALT_DEBUG_ASSERT(std::ranges::count(history.columns, RowColumn::kPresent, &RowColumn::until) ==
                      std::ranges::count(altered.columns, true, &ColumnDefinition::stored));
  // Rows are alike, and hold the columns in the table's order.
  if (history.columns == columns_of_rows(altered)) history = {};
  return history;
}

// How rows expire in `altered`, which says how they are to. Nothing if rows would have to be
// written anew: to carry another time.
std::optional<std::optional<RowExpiry>> next_expiry(const TableDefinition& table,
                                                    const Comparison& comparison,
                                                    const TableChange& change,
                                                    const TableDefinition& altered) {
  if (!table.expiry.has_value()) {
    if (altered.expiry.has_value()) return std::nullopt;
    return std::optional<RowExpiry>();
  }
  RowExpiry next = *table.expiry;
  if (next.column != RowExpiry::kNoColumn) {
    next.column = comparison.after(next.column);
    if (next.column == RowColumn::kNoColumn || !can_tell_time(altered.columns[next.column])) {
      return std::nullopt;
    }
  }
  if (altered.expiry.has_value() && altered.expiry->column != next.column) return std::nullopt;
  const std::uint64_t seconds = altered.expiry.has_value() ? altered.expiry->lifetime.seconds : 0;
  if (seconds != next.lifetime.seconds) {
    next.lifetime.gone_before = next.lifetime.expired_before(change.time);
    next.lifetime.seconds = seconds;
  }
  return std::optional<RowExpiry>(next);
}

// Whether the columns of the primary key, as far as they stay, are the same bytes in keys.
bool are_keys_kept(const TableDefinition& table, const Comparison& comparison,
                   const TableDefinition& altered) {
  return std::ranges::all_of(table.indexes.front().parts, [&](const KeyPartDefinition& part) {
    const std::uint32_t after = comparison.after(part.column);
    return after == RowColumn::kNoColumn ||
           has_same_keys(table.columns[part.column], altered.columns[after]);
  });
}

// Whether `altered` may have its primary key. A hidden one would need new numbers, which must be
// the same each time that a row is looked at.
bool may_have_primary(const TableDefinition& table, const TableChange& change,
                      const Comparison& comparison, const TableDefinition& altered) {
  const IndexDefinition& before = table.indexes.front();
  const IndexDefinition& after = altered.indexes.front();
  if (!change.replaces_primary) {
    return before.name == after.name && comparison.has_same_entries(before, after);
  }
  return comparison.can_be_built(after) && comparison.has_stored_columns(after) &&
         are_keys_kept(table, comparison, altered) && !table.expiry.has_value() &&
         !altered.expiry.has_value();
}

}  // namespace

bool alter_in_place(const TableDefinition& table, const TableChange& change,
                    TableDefinition& altered) {
  const Comparison comparison(table, change, altered);
  if (!comparison.is_possible() || !may_have_primary(table, change, comparison, altered)) {
    return false;
  }
  std::vector<const IndexDefinition*> known = {change.replaces_primary ? nullptr
                                                                       : &table.indexes.front()};
  for (std::size_t i = 1; i < altered.indexes.size(); ++i) {
    const IndexDefinition& index = altered.indexes[i];
    const IndexDefinition* before = comparison.find_before(index.name);
    if (change.remakes_indexes || change.replaces_primary ||
        (before != nullptr && !comparison.has_same_entries(*before, index))) {
      before = nullptr;
    }
    if (before == nullptr && !comparison.can_be_built(index)) return false;
    known.push_back(before);
  }
  const auto expiry = next_expiry(table, comparison, change, altered);
  if (!expiry.has_value()) return false;
  // Rows lose times that nothing asks for any more where they are written anew.
  const bool has_old_times = expiry->has_value() && (*expiry)->lifetime.seconds == 0;
  if (change.remakes_indexes && (has_old_times || changes_lifetime(table, altered))) return false;
  BASALT_ASSERT(table.schema_version != UINT32_MAX);
  const std::uint32_t version = table.schema_version + 1;
  TableDefinition next = altered;
  next.schema_version = version;
  next.rows = next_history(table, comparison, change, next);
  if (next.rows.columns.size() > kRowColumnsMax) return false;
  if (change.replaces_primary) next.rows = {};
  next.expiry = *expiry;
  BASALT_ASSERT(has_readable_rows(next));
  next.id = table.id;
  BASALT_ASSERT(known.size() == next.indexes.size());
  for (std::size_t i = 0; i < known.size(); ++i) {
    next.indexes[i].id = known[i] == nullptr ? 0 : known[i]->id;
    if (known[i] != nullptr) next.indexes[i].family = known[i]->family;
  }
  altered = std::move(next);
  return true;
}

TableDefinition rows_before(const TableDefinition& table, const TableChange& change,
                            const TableDefinition& altered) {
  BASALT_ASSERT(change.replaces_primary && altered.schema_version == table.schema_version + 1);
  const Comparison comparison(table, change, altered);
  BASALT_ASSERT(comparison.is_possible());
  TableDefinition rows = altered;
  TableChange more = change;
  rows.indexes = {table.indexes.front()};
  for (KeyPartDefinition& part : rows.indexes.front().parts) {
    const std::uint32_t before = part.column;
    part.column = comparison.after(before);
    if (part.column != RowColumn::kNoColumn) continue;
    part.column = static_cast<std::uint32_t>(rows.columns.size());
    rows.columns.push_back(table.columns[before]);
    more.columns.push_back({before, {}});
  }
  const Comparison with_old_key(table, more, rows);
  BASALT_ASSERT(with_old_key.is_possible());
  rows.rows = next_history(table, with_old_key, more, rows);
  return rows;
}

bool keeps_row_times(const TableDefinition& table, const TableChange& change,
                     const TableDefinition& altered) {
  if (!table.expiry.has_value()) return !altered.expiry.has_value();
  const Comparison comparison(table, change, altered);
  return comparison.is_possible() && next_expiry(table, comparison, change, altered).has_value();
}

bool changes_lifetime(const TableDefinition& table, const TableDefinition& altered) {
  const auto seconds = [](const TableDefinition& definition) {
    return definition.expiry.has_value() ? definition.expiry->lifetime.seconds : 0;
  };
  return seconds(table) != seconds(altered);
}

std::vector<std::size_t> new_indexes(const TableDefinition& table, const TableDefinition& altered) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < altered.indexes.size(); ++i) {
    const auto known =
        std::ranges::find(table.indexes, altered.indexes[i].id, &IndexDefinition::id);
    if (known == table.indexes.end()) numbers.push_back(i);
  }
  return numbers;
}

bool changes_types(const TableDefinition& table, const TableChange& change,
                   const TableDefinition& altered, const std::vector<std::string>& names) {
  const Comparison comparison(table, change, altered);
  if (!comparison.is_possible()) return true;
  return std::ranges::any_of(names, [&](const std::string& name) {
    const std::size_t before = find_column(table, name);
    if (before == table.columns.size()) return false;
    const std::uint32_t after = comparison.after(static_cast<std::uint32_t>(before));
    if (after == RowColumn::kNoColumn) return true;
    ColumnDefinition expected = table.columns[before];
    expected.name = altered.columns[after].name;
    expected.nullable = altered.columns[after].nullable;
    expected.system_time = altered.columns[after].system_time;
    return expected != altered.columns[after];
  });
}

std::vector<std::size_t> made_not_null(const TableDefinition& table, const TableChange& change,
                                       const TableDefinition& altered) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < altered.columns.size(); ++i) {
    const std::uint32_t before = change.column_before(i);
    if (before == ColumnOrigin::kNew || altered.columns[i].nullable) continue;
    if (table.columns[before].nullable) numbers.push_back(i);
  }
  return numbers;
}

std::string renamed_column(const TableDefinition& table, const TableChange& change,
                           const TableDefinition& altered, const std::string& name) {
  const std::size_t before = find_column(table, name);
  if (before == table.columns.size()) return name;
  for (std::size_t i = 0; i < altered.columns.size(); ++i) {
    if (change.column_before(i) == before) return altered.columns[i].name;
  }
  return name;
}

}  // namespace basalt::catalog
