#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

#include "catalog/definitions.h"

// Which index of a table leads from the values of a foreign key's columns to the rows that have
// them, on either side of the key.
namespace basalt::table {

// The parts that an index has for foreign keys: its own, and behind them those columns of the
// primary key that it has not as a whole, since its entries carry the primary key. So InnoDB counts
// them.
struct ReferenceParts {
  std::vector<catalog::KeyPartDefinition> parts;
  // So many of them are what the keys of the entries begin with, as long as none of the index's own
  // parts is NULL: entries of a unique index have the primary key in their values, and some other
  // keys go on with parts that are not to be compared.
  std::size_t in_key = 0;
};
ReferenceParts reference_parts(const catalog::TableDefinition& table, std::size_t index_number);

// Whether the index has `columns`, in this order, as its first parts; of some it may have the first
// bytes alone.
bool begins_with(const catalog::TableDefinition& table, std::size_t index_number,
                 const std::vector<std::uint32_t>& columns);
// The same, but not where it has the first bytes alone of one of them.
bool begins_with_whole(const catalog::TableDefinition& table, std::size_t index_number,
                       const std::vector<std::uint32_t>& columns);
// The index of `table` that begins with `columns`, in this order and as a whole; one that keeps the
// values unique, of current rows at least, goes before all others. The number of indexes if there
// is none.
std::size_t find_index_on(const catalog::TableDefinition& table,
                          const std::vector<std::uint32_t>& columns);
// Whether an index begins with some of `columns`, or none, and goes on with the first bytes of a
// column: it is not what find_index_on() looks for.
bool has_prefix_index_on(const catalog::TableDefinition& table,
                         const std::vector<std::uint32_t>& columns);

// Whether the part behind the first `count` is the row's end.
bool goes_on_with_row_end(const catalog::TableDefinition& table, const ReferenceParts& parts,
                          std::size_t count);
// Whether the index keeps the values of its own first `count` parts unique, of current rows at
// least: they are the key of an entry, but for the row's end.
bool is_unique_on(const catalog::TableDefinition& table, std::size_t index_number,
                  std::size_t count);
// Whether the first `count` parts of the index, those of the primary key among them, tell one
// current row from all others.
bool tells_one_row(const catalog::TableDefinition& table, std::size_t index_number,
                   std::size_t count);

}  // namespace basalt::table
