#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "catalog/catalog.h"

// What users call tables and keys of the engine.
namespace basalt::server {

struct TableName {
  std::string schema;
  std::string table;
  std::optional<std::string> partition;
};
// The parts of a name in the dictionary: "database/table#P#partition", as its files would be
// called.
TableName split_name(std::string_view name);

// Hexadecimal digits, upper case, as MyRocks shows keys.
std::string hex_of(std::string_view bytes);

// The index that a key begins with the id of. Without one: an empty table, and the default family.
struct KeyOwner {
  catalog::TablePointer table;
  const catalog::IndexDefinition* index = nullptr;

  kv::FamilyId family() const { return index == nullptr ? kv::kDefaultFamily : index->family; }
  std::string index_name() const { return index == nullptr ? "" : index->name; }
  // "database.table", and its partition.
  std::string table_name() const;
};
KeyOwner owner_of(std::string_view key);
// "index NAME of database/table, key HEX"; the number of an index that no table has.
std::string key_text(std::string_view key);

}  // namespace basalt::server
