#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

// What the dictionary knows of a foreign key. Plain values; the stored form is in
// docs/formats/catalog.md.
namespace basalt::catalog {

using ForeignKeyId = std::uint32_t;

// What happens to rows that reference a row which is deleted, or whose referenced columns change.
// The numbers are stored.
enum class ReferentialAction : std::uint8_t {
  kRestrict = 0,
  kNoAction = 1,  // as kRestrict, but the definition says so
  kCascade = 2,
  kSetNull = 3,
};

struct ForeignKeyColumn {
  std::string child;   // name of the referencing column
  std::string parent;  // name of the referenced one

  bool operator==(const ForeignKeyColumn&) const = default;
};

// A constraint of the table `child`: each of its rows without NULL in the columns has a row of
// `parent` with the same values. Tables are known by name, since the parent may be missing, or be
// another table of that name later.
struct ForeignKeyDefinition {
  ForeignKeyId id = 0;  // from the sequence of table and index ids
  // "database/constraint", in the child's database. Encoded as tables' names are, so that one that
  // is generated has a part of the table's name.
  std::string name;
  std::string child;  // as TableDefinition::name
  std::string parent;
  std::vector<ForeignKeyColumn> columns;
  ReferentialAction on_delete = ReferentialAction::kRestrict;
  ReferentialAction on_update = ReferentialAction::kRestrict;

  // Without the database.
  std::string_view constraint_name() const {
    return std::string_view(name).substr(name.find('/') + 1);
  }
  bool references_itself() const { return child == parent; }
  // Whether the two demand the same of the rows of their tables.
  bool has_same_rule(const ForeignKeyDefinition& other) const {
    return parent == other.parent && columns == other.columns && on_delete == other.on_delete &&
           on_update == other.on_update;
  }
  bool operator==(const ForeignKeyDefinition&) const = default;
};

// What becomes of the foreign keys of which a table is the child.
struct ForeignKeyChanges {
  std::vector<ForeignKeyId> dropped;  // it has them
  std::vector<ForeignKeyDefinition> added;
};

using ForeignKeyPointer = std::shared_ptr<const ForeignKeyDefinition>;

// Whether the server makes the table for itself, "database/#sql...": a copy that replaces another
// table, whose foreign keys hold until then, or one that was replaced.
bool is_being_made(std::string_view table);
// Whether it is one of these that a copy is about to replace, or has replaced.
bool is_set_aside(std::string_view table);

// Appends the stored form of `key` to `out`.
void append_foreign_key(const ForeignKeyDefinition& key, std::string& out);
// kCorruption if `bytes` is not exactly one foreign key; nothing is read out of bounds. The id is
// not in the stored form: it is the record's key.
Result<ForeignKeyDefinition> parse_foreign_key(std::string_view bytes);

// The name that a foreign key of the table `child` has when nobody gives it one, without the
// database: "table_ibfk_N", as InnoDB names it.
std::string generated_name(std::string_view child, std::uint32_t number);
// The N of such a name of the table; 0 if `name` ("database/constraint") is no such name.
std::uint32_t generated_number(std::string_view name, std::string_view child);
// What the name of a foreign key of `from` becomes when the table is called `to`: it moves to the
// other database, and a generated name follows the table's.
std::string renamed_constraint(std::string_view name, std::string_view from, std::string_view to);

}  // namespace basalt::catalog
