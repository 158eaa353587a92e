#include "catalog/foreign_key_registry.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/names.h"

namespace basalt::catalog {
namespace {

std::vector<ForeignKeyPointer> by_name(std::vector<ForeignKeyPointer> keys) {
  std::ranges::stable_sort(
      keys, {}, [](const ForeignKeyPointer& key) -> std::string_view { return key->name; });
  return keys;
}

}  // namespace

void ForeignKeyRegistry::add(ForeignKeyDefinition key) {
  const ForeignKeyId id = key.id;
  BASALT_DEBUG_ASSERT(id != 0 && !key.columns.empty());
  const bool is_new =
      keys_.emplace(id, std::make_shared<const ForeignKeyDefinition>(std::move(key))).second;
  BASALT_ASSERT(is_new);
}

void ForeignKeyRegistry::remove(ForeignKeyId id) {
  const std::size_t erased = keys_.erase(id);
  BASALT_ASSERT(erased == 1);
}

std::vector<ForeignKeyPointer> ForeignKeyRegistry::of_child(std::string_view table) const {
  std::vector<ForeignKeyPointer> found;
  for (const auto& [id, key] : keys_) {
    if (key->child == table) found.push_back(key);
  }
  return by_name(std::move(found));
}

std::vector<ForeignKeyPointer> ForeignKeyRegistry::of_parent(std::string_view table) const {
  std::vector<ForeignKeyPointer> found;
  for (const auto& [id, key] : keys_) {
    if (key->parent == table) found.push_back(key);
  }
  return by_name(std::move(found));
}

ForeignKeyPointer ForeignKeyRegistry::find_named(std::string_view name,
                                                 std::string_view except) const {
  for (const auto& [id, key] : keys_) {
    if (is_same_name(key->name, name) && key->child != except) return key;
  }
  return nullptr;
}

void ForeignKeyRegistry::note_name(std::string_view from, std::string_view to) {
  BASALT_DEBUG_ASSERT(from != to);
  forget_set_aside(from);
  if (is_set_aside(to)) set_aside_.insert_or_assign(std::string(to), std::string(from));
}

void ForeignKeyRegistry::forget_set_aside(std::string_view table) {
  const auto found = set_aside_.find(table);
  if (found != set_aside_.end()) set_aside_.erase(found);
}

std::string_view ForeignKeyRegistry::name_before(std::string_view set_aside) const {
  const auto found = set_aside_.find(set_aside);
  return found == set_aside_.end() ? std::string_view() : std::string_view(found->second);
}

std::string_view ForeignKeyRegistry::name_set_aside(std::string_view before) const {
  for (const auto& [name, former] : set_aside_) {
    if (former == before) return name;
  }
  return {};
}

}  // namespace basalt::catalog
