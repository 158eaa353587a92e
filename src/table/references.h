#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "catalog/catalog.h"
#include "codec/reference_codec.h"
#include "table/table.h"

// The foreign keys of an open table, bound to the tables and indexes that they lead to.
namespace basalt::table {

struct TableReferences;

// Opens tables that the statement has not opened, for foreign keys.
//
// Threads     Safe from any thread.
class TableSource {
 public:
  virtual ~TableSource() = default;
  // The table with the layout of make_stored_layout(). Null if there is none of that name.
  virtual Result<std::shared_ptr<const Table>> open_stored(std::string_view name) = 0;
  // As bind_references().
  virtual Result<std::shared_ptr<const TableReferences>> references_of(const Table& table) = 0;
};

// A foreign key of which the table is the child: where its parents are.
struct ParentReference {
  catalog::ForeignKeyPointer key;
  std::vector<std::uint32_t> columns;  // that reference
  // The table and its index that begins with the referenced columns. Null: there is none, and only
  // rows with a NULL among the columns may be written.
  std::shared_ptr<const Table> parent;
  std::size_t index_number = 0;
  // The index keeps the referenced columns' values unique, those of current rows at least: the
  // prefix is the key of the row's entry, or of the row.
  bool is_unique = false;
  // From the child's records to the parent's index. Null as `parent`.
  std::unique_ptr<const codec::ReferenceCodec> codec;
  // What the prefix goes on with where the parent's next part is the row's end: that of current
  // rows.
  std::string current;
  // Where child and parent are one table, from its records as those of the parent; else null.
  std::unique_ptr<const codec::ReferenceCodec> own_key;
};

// A foreign key of which the table is the parent: where its children are.
struct ChildReference {
  catalog::ForeignKeyPointer key;
  std::shared_ptr<const Table> child;
  // That begins with the referencing columns. Without one, and a codec, no row may go that could be
  // referenced.
  std::size_t index_number = 0;
  // Of each referenced column: its number here, and that of the child's column.
  struct Columns {
    std::uint32_t parent = 0;
    std::uint32_t child = 0;
  };
  std::vector<Columns> columns;
  // From the parent's records to the child's index. Null: there is none.
  std::unique_ptr<const codec::ReferenceCodec> codec;
  std::string current;  // as of ParentReference, in the child's index
};

// Immutable.
struct TableReferences {
  std::uint64_t generation = 0;  // of the catalog, when they were looked up
  // In the order of the child's indexes that begin with their columns, then of the catalog.
  std::vector<ParentReference> parents;
  // In the order of the catalog.
  std::vector<ChildReference> children;

  bool is_empty() const { return parents.empty() && children.empty(); }
};

// Looks up the foreign keys of `table`, by the name that its definition has.
Result<std::shared_ptr<const TableReferences>> bind_references(const Table& table,
                                                               const catalog::Catalog& catalog,
                                                               TableSource& tables);

// The number of the column called `name`, in any case of its letters; the number of columns if
// there is none.
std::size_t find_column(const catalog::TableDefinition& table, std::string_view name);
// The index of `table` that begins with `columns`, in this order and as a whole; one that keeps the
// values unique, of current rows at least, goes before all others. The number of indexes if there
// is none.
std::size_t find_index_on(const catalog::TableDefinition& table,
                          const std::vector<std::uint32_t>& columns);

}  // namespace basalt::table
