#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/foreign_keys.h"

namespace basalt::catalog {

// The foreign keys there are, by their ids and by both tables.
//
// Threads     As the owner guards it.
class ForeignKeyRegistry {
 public:
  void add(ForeignKeyDefinition key);
  // It is there.
  void remove(ForeignKeyId id);

  // Those of which the table is the child, or the parent; in the order of their names, as InnoDB
  // lists and follows them.
  std::vector<ForeignKeyPointer> of_child(std::string_view table) const;
  std::vector<ForeignKeyPointer> of_parent(std::string_view table) const;
  // Null if none has the name ("database/constraint"), in any case of its letters, but for those
  // of the table `except`.
  ForeignKeyPointer find_named(std::string_view name, std::string_view except) const;

 private:
  std::map<ForeignKeyId, ForeignKeyPointer> keys_;
};

}  // namespace basalt::catalog
