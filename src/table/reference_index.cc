#include "table/reference_index.h"

#include <algorithm>

namespace basalt::table {
namespace {

using catalog::IndexDefinition;
using catalog::KeyPartDefinition;
using catalog::TableDefinition;
using Columns = std::vector<std::uint32_t>;

bool is_row_end(const TableDefinition& table, const KeyPartDefinition& part) {
  return table.columns[part.column].system_time == catalog::SystemTime::kRowEnd;
}

bool has_whole_column(const IndexDefinition& index, std::uint32_t column) {
  return std::ranges::any_of(index.parts, [&](const KeyPartDefinition& part) {
    return part.column == column && part.prefix_length == 0;
  });
}

// How many of `columns` the parts begin with, as whole columns.
std::size_t count_common(const std::vector<KeyPartDefinition>& parts, const Columns& columns) {
  std::size_t count = 0;
  while (count < columns.size() && count < parts.size() && parts[count].prefix_length == 0 &&
         parts[count].column == columns[count]) {
    ++count;
  }
  return count;
}

}  // namespace

ReferenceParts reference_parts(const TableDefinition& table, std::size_t index_number) {
  const IndexDefinition& index = table.indexes[index_number];
  ReferenceParts found = {index.parts, index.parts.size()};
  if (index_number == 0) return found;
  bool is_in_key = !index.unique;
  for (const KeyPartDefinition& part : table.indexes.front().parts) {
    if (has_whole_column(index, part.column)) {
      // Keys have the first bytes of a whole column once more.
      is_in_key = is_in_key && part.prefix_length == 0;
      continue;
    }
    found.parts.push_back(part);
    if (is_in_key) ++found.in_key;
  }
  return found;
}

bool begins_with(const TableDefinition& table, std::size_t index_number, const Columns& columns) {
  const std::vector<KeyPartDefinition> parts = reference_parts(table, index_number).parts;
  return columns.size() <= parts.size() &&
         std::equal(columns.begin(), columns.end(), parts.begin(),
                    [](std::uint32_t column, const KeyPartDefinition& part) {
                      return part.column == column;
                    });
}

bool begins_with_whole(const TableDefinition& table, std::size_t index_number,
                       const Columns& columns) {
  return count_common(reference_parts(table, index_number).parts, columns) == columns.size();
}

std::size_t find_index_on(const TableDefinition& table, const Columns& columns) {
  std::size_t best = table.indexes.size();
  for (std::size_t i = 0; i < table.indexes.size(); ++i) {
    if (!begins_with_whole(table, i, columns)) continue;
    if (is_unique_on(table, i, columns.size())) return i;
    if (best == table.indexes.size()) best = i;
  }
  return best;
}

bool has_prefix_index_on(const TableDefinition& table, const Columns& columns) {
  for (std::size_t i = 0; i < table.indexes.size(); ++i) {
    const std::vector<KeyPartDefinition> parts = reference_parts(table, i).parts;
    const std::size_t common = count_common(parts, columns);
    // InnoDB's primary index has all columns, and others have a row id that is a column, too.
    const std::size_t size = parts.size() + (table.has_hidden_key() ? 1 : 0);
    const bool is_long_enough = i == 0 || columns.size() <= size;
    if (is_long_enough && common < std::min(columns.size(), parts.size()) &&
        parts[common].prefix_length != 0) {
      return true;
    }
  }
  return false;
}

bool goes_on_with_row_end(const TableDefinition& table, const ReferenceParts& parts,
                          std::size_t count) {
  return count < parts.in_key && is_row_end(table, parts.parts[count]);
}

bool is_unique_on(const TableDefinition& table, std::size_t index_number, std::size_t count) {
  const IndexDefinition& index = table.indexes[index_number];
  if (!index.unique || index.parts.size() < count) return false;
  for (std::size_t i = 0; i < count; ++i) {
    if (is_row_end(table, index.parts[i])) return false;
  }
  return index.parts.size() == count ||
         (index.parts.size() == count + 1 && is_row_end(table, index.parts[count]));
}

bool tells_one_row(const TableDefinition& table, std::size_t index_number, std::size_t count) {
  std::vector<KeyPartDefinition> first = reference_parts(table, index_number).parts;
  first.resize(std::min(first.size(), count));
  const auto is_told = [&](const KeyPartDefinition& part) {
    return is_row_end(table, part) ||
           std::ranges::find(first, part.column, &KeyPartDefinition::column) != first.end();
  };
  const auto tells = [&](const IndexDefinition& unique) {
    return !unique.parts.empty() && std::ranges::all_of(unique.parts, is_told);
  };
  const IndexDefinition& index = table.indexes[index_number];
  return (index.unique && tells(index)) || tells(table.indexes.front());
}

}  // namespace basalt::table
