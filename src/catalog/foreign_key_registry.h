#pragma once
#include <functional>
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
  // Whether the table is the child or the parent of any.
  bool concern(std::string_view table) const {
    return by_child_.contains(table) || by_parent_.contains(table);
  }
  // Null if none has the name ("database/constraint"), in any case of its letters, but for those
  // of the table `except`.
  ForeignKeyPointer find_named(std::string_view name, std::string_view except) const;

  // A table gets another name: one that it is set aside under is kept with that before.
  void note_name(std::string_view from, std::string_view to);
  void forget_set_aside(std::string_view table);
  // Nothing was called `before`, as far as tables that are set aside tell: one that an error has
  // left behind is not the table that the name meant.
  void forget_former(std::string_view before);
  // The name of a table that is set aside, before that; empty for all others.
  std::string_view name_before(std::string_view set_aside) const;
  // The name that such a table has now, which had `before`; empty if there is none.
  std::string_view name_set_aside(std::string_view before) const;

 private:
  using ByTable = std::multimap<std::string, ForeignKeyPointer, std::less<>>;

  std::map<ForeignKeyId, ForeignKeyPointer> keys_;
  ByTable by_child_;
  ByTable by_parent_;
  // Not stored: after a crash the server gives tables their names before anybody uses them.
  std::map<std::string, std::string, std::less<>> set_aside_;
};

}  // namespace basalt::catalog
