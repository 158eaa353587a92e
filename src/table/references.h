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

// The values of all columns of a foreign key, where an index has some of them behind what its keys
// begin with: which of the rows that are found by the beginning of their keys have them.
struct ReferencedValues {
  codec::ReferenceCodec own;                 // of this table's records
  codec::ReferenceCodec found;               // of the other table's, in the same form
  std::vector<std::uint32_t> found_columns;  // that the latter reads
};

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
  // The catalog's reference_generation(): TableReferences of another one may lack foreign keys.
  virtual std::uint64_t generation() const = 0;
};

// The key whose lock stands for a table's definition. Who has bound foreign keys to it as to their
// parent holds it shared until the transaction's end; copying, emptying and dropping a referenced
// table wait for that. No index has the id of a table.
std::string definition_lock(const catalog::TableDefinition& table);

// A foreign key of which the table is the child: where its parents are.
struct ParentReference {
  catalog::ForeignKeyPointer key;
  std::vector<std::uint32_t> columns;  // that reference
  // The table and its index that find_index_on() gives. Null: there is none, and only
  // rows with a NULL among the columns may be written.
  std::shared_ptr<const Table> parent;
  std::size_t index_number = 0;
  // The index keeps the referenced columns' values unique, those of current rows at least: the
  // prefix is the key of the row's entry, or of the row.
  bool is_unique = false;
  // No two rows that are current have the same values in the referenced columns.
  bool tells_one_row = false;
  // From the child's records to the parent's index. Null as `parent`.
  std::unique_ptr<const codec::ReferenceCodec> codec;
  std::unique_ptr<const ReferencedValues> values;  // null: the prefix tells all
  // What the prefix goes on with where the parent's next part is the row's end: that of current
  // rows.
  std::string current;
  // Where child and parent are one table, from its records as those of the parent, in the form of
  // compared(); else null.
  std::unique_ptr<const codec::ReferenceCodec> own_key;

  // What tells two records apart that reference different values.
  const codec::ReferenceCodec& compared() const { return values ? values->own : *codec; }
};

// A foreign key of which the table is the parent: where its children are.
struct ChildReference {
  catalog::ForeignKeyPointer key;
  std::shared_ptr<const Table> child;
  // That begins with the referencing columns. Without one, and a codec, no row may go that could be
  // referenced.
  std::size_t index_number = 0;
  // The number of a referenced column here, and that of the child's column.
  struct Columns {
    std::uint32_t parent = 0;
    std::uint32_t child = 0;
  };
  std::vector<Columns> columns;
  // From the parent's records to the child's index. Null: there is none.
  std::unique_ptr<const codec::ReferenceCodec> codec;
  std::unique_ptr<const ReferencedValues> values;  // null: the prefix tells all
  std::string current;                             // as of ParentReference, in the child's index
};

// Immutable.
struct TableReferences {
  std::uint64_t generation = 0;  // of the catalog, when they were looked up
  // In the order of the child's indexes that begin with their columns, then of the catalog.
  std::vector<ParentReference> parents;
  // In the order of this table's indexes that begin with their columns, then of the catalog.
  std::vector<ChildReference> children;

  bool is_empty() const { return parents.empty() && children.empty(); }
};

// Looks up the foreign keys of `table`, by the name that its definition has.
Result<std::shared_ptr<const TableReferences>> bind_references(const Table& table,
                                                               const catalog::Catalog& catalog,
                                                               TableSource& tables);

// The numbers of a foreign key's columns on one side, in the table of that side; empty if one is
// missing there.
std::vector<std::uint32_t> columns_of(const catalog::ForeignKeyDefinition& key,
                                      std::string catalog::ForeignKeyColumn::*side,
                                      const catalog::TableDefinition& table);

// Whether rows of a child find their parents in `altered` as they do in `before`, two definitions
// of the key's parent: in the same index, and without a look at what else a row has.
bool is_parent_bound_alike(const catalog::ForeignKeyDefinition& key,
                           const catalog::TableDefinition& before,
                           const catalog::TableDefinition& altered);

}  // namespace basalt::table
