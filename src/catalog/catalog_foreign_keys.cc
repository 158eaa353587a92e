#include <utility>

#include "catalog/catalog.h"

namespace basalt::catalog {

std::vector<ForeignKeyPointer> Catalog::foreign_keys_of(std::string_view name) const {
  const MutexLock guard(mutex_);
  return foreign_keys_.of_child(name);
}

std::vector<ForeignKeyPointer> Catalog::references_to(std::string_view name) const {
  const MutexLock guard(mutex_);
  return foreign_keys_.of_parent(name);
}

std::vector<ForeignKeyPointer> Catalog::references_by_name(std::string_view name) const {
  const MutexLock guard(mutex_);
  std::vector<ForeignKeyPointer> found;
  for (ForeignKeyPointer& key : foreign_keys_.of_parent(name)) {
    if (!is_being_made(key->child)) {
      found.push_back(std::move(key));
      continue;
    }
    std::string child(foreign_keys_.name_before(key->child));
    if (child.empty() || tables_.contains(child)) continue;
    ForeignKeyDefinition by_name = *key;
    by_name.child = std::move(child);
    found.push_back(std::make_shared<const ForeignKeyDefinition>(std::move(by_name)));
  }
  return found;
}

TablePointer Catalog::find_set_aside(std::string_view name) const {
  const MutexLock guard(mutex_);
  const auto found = tables_.find(foreign_keys_.name_set_aside(name));
  return found == tables_.end() ? nullptr : found->second;
}

ForeignKeyPointer Catalog::find_foreign_key(std::string_view name, std::string_view except) const {
  const MutexLock guard(mutex_);
  return foreign_keys_.find_named(name, except);
}

void Catalog::replace_foreign_keys(std::vector<ForeignKeyDefinition> keys) {
  for (ForeignKeyDefinition& key : keys) {
    foreign_keys_.remove(key.id);
    foreign_keys_.add(std::move(key));
  }
}

}  // namespace basalt::catalog
