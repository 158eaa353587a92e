#include "catalog/foreign_key_registry.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/names.h"

namespace basalt::catalog {
namespace {

template <typename ByTable>
std::vector<ForeignKeyPointer> keys_of(const ByTable& keys, std::string_view table) {
  std::vector<ForeignKeyPointer> found;
  const auto [begin, end] = keys.equal_range(table);
  for (auto key = begin; key != end; ++key) found.push_back(key->second);
  std::ranges::sort(found, {}, [](const ForeignKeyPointer& key) {
    return std::pair<std::string_view, ForeignKeyId>(key->name, key->id);
  });
  return found;
}

template <typename ByTable>
void remove_from(ByTable& keys, std::string_view table, ForeignKeyId id) {
  auto [key, end] = keys.equal_range(table);
  while (key != end && key->second->id != id) ++key;
  BASALT_ASSERT(key != end);
  keys.erase(key);
}

}  // namespace

void ForeignKeyRegistry::add(ForeignKeyDefinition key) {
  const ForeignKeyId id = key.id;
  BASALT_DEBUG_ASSERT(id != 0 && !key.columns.empty());
  const auto pointer = std::make_shared<const ForeignKeyDefinition>(std::move(key));
  const bool is_new = keys_.emplace(id, pointer).second;
  BASALT_ASSERT(is_new);
  by_child_.emplace(pointer->child, pointer);
  by_parent_.emplace(pointer->parent, pointer);
  BASALT_DEBUG_ASSERT(by_child_.size() == keys_.size() && by_parent_.size() == keys_.size());
}

void ForeignKeyRegistry::remove(ForeignKeyId id) {
  const auto found = keys_.find(id);
  BASALT_ASSERT(found != keys_.end());
  remove_from(by_child_, found->second->child, id);
  remove_from(by_parent_, found->second->parent, id);
  keys_.erase(found);
}

std::vector<ForeignKeyPointer> ForeignKeyRegistry::of_child(std::string_view table) const {
  return keys_of(by_child_, table);
}

std::vector<ForeignKeyPointer> ForeignKeyRegistry::of_parent(std::string_view table) const {
  return keys_of(by_parent_, table);
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
  // A copy that loses the name again gives it back to the table that is set aside.
  if (is_set_aside(to) || !is_being_made(to)) forget_former(from);
  if (is_set_aside(to)) set_aside_.insert_or_assign(std::string(to), std::string(from));
}

void ForeignKeyRegistry::forget_former(std::string_view before) {
  std::erase_if(set_aside_, [&](const auto& table) { return table.second == before; });
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
