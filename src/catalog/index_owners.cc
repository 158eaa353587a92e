#include "catalog/index_owners.h"

#include <algorithm>

#include "base/assert.h"

namespace basalt::catalog {
namespace {

// The family of an index with rows' times; nothing for others, and for a journal, which has none.
std::optional<std::uint32_t> expiring_family(const TableDefinition& table, IndexId index) {
  if (!table.expiry.has_value()) return std::nullopt;
  const auto found = std::ranges::find(table.indexes, index, &IndexDefinition::id);
  if (found == table.indexes.end()) return std::nullopt;
  return found->family;
}

}  // namespace

TablePointer IndexOwners::find(IndexId index) const {
  const MutexLock guard(mutex_);
  const auto found = tables_.find(index);
  BASALT_DEBUG_ASSERT(found == tables_.end() || found->second != nullptr);
  return found == tables_.end() ? nullptr : found->second;
}

std::optional<RowLifetime> IndexOwners::lifetime_of(IndexId index) const {
  const TablePointer table = find(index);
  if (table == nullptr || !expiring_family(*table, index).has_value()) return std::nullopt;
  return table->expiry->lifetime;
}

bool IndexOwners::has_lifetimes(std::uint32_t family) const {
  const MutexLock guard(mutex_);
  return expiring_.contains(family);
}

bool IndexOwners::has_lifetimes() const {
  const MutexLock guard(mutex_);
  return !expiring_.empty();
}

void IndexOwners::add(const TablePointer& table) {
  BASALT_DEBUG_ASSERT(!table->indexes.empty());  // the first is the primary
  const MutexLock guard(mutex_);
  for (const IndexDefinition& index : table->indexes) set(index.id, table);
}

void IndexOwners::add_built(IndexId index, const TablePointer& altered) {
  const MutexLock guard(mutex_);
  set(index, altered);
}

void IndexOwners::remove(IndexId index) {
  const MutexLock guard(mutex_);
  erase(index);
}

void IndexOwners::remove(const TableDefinition& table) {
  const MutexLock guard(mutex_);
  for (const IndexDefinition& index : table.indexes) erase(index.id);
}

void IndexOwners::set(IndexId index, const TablePointer& table) {
  if (tables_.contains(index)) erase(index);
  tables_.emplace(index, table);
  const std::optional<std::uint32_t> family = expiring_family(*table, index);
  if (family.has_value()) ++expiring_[*family];
}

void IndexOwners::erase(IndexId index) {
  const auto found = tables_.find(index);
  BASALT_ASSERT(found != tables_.end());
  const std::optional<std::uint32_t> family = expiring_family(*found->second, index);
  tables_.erase(found);
  if (!family.has_value()) return;
  const auto expiring = expiring_.find(*family);
  BASALT_ASSERT(expiring != expiring_.end() && expiring->second > 0);
  if (--expiring->second == 0) expiring_.erase(expiring);
}

}  // namespace basalt::catalog
