// What foreign keys lead to: tables that no statement has opened, and those that get another
// definition or another name while statements know them by a foreign key.
#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "catalog/partition_names.h"
#include "engine/engine.h"
#include "table/stored_layout.h"

namespace basalt::engine {
namespace {

// No metadata lock keeps such a table, nor what it is made of.
struct StoredTable {
  std::shared_ptr<const table::Table> table;
  std::vector<kv::FamilyHold> families;  // of its indexes, which others may drop meanwhile
};

}  // namespace

Result<std::shared_ptr<const table::Table>> Engine::open_stored(std::string_view name) {
  if (collations_ == nullptr) {
    return Status(ErrorCode::kUnsupported, "foreign keys need the server's collations");
  }
  catalog::TablePointer before;
  while (const catalog::TablePointer definition = catalog_->find(name)) {
    if (definition == before) break;
    before = definition;
    auto stored = std::make_shared<StoredTable>();
    for (const catalog::IndexDefinition& index : definition->indexes) {
      stored->families.push_back(database_->hold_family(index.family));
    }
    // One that has gone is of an index that was dropped since.
    if (std::ranges::find(stored->families, nullptr) != stored->families.end()) continue;
    Result<codec::TableLayout> layout = table::make_stored_layout(*definition, *collations_);
    if (!layout.is_ok()) return layout.take_status();
    const MutexLock guard(mutex_);
    stored->table = bind_table(definition, layout.value(), shared_table(definition));
    const table::Table* const table = stored->table.get();
    return std::shared_ptr<const table::Table>(std::move(stored), table);
  }
  if (before == nullptr || catalog_->find(name) != before) {
    return std::shared_ptr<const table::Table>();
  }
  return Status(ErrorCode::kCorruption, "table '" + std::string(name) +
                                            "' has an index in a column family that is not there");
}

Result<std::shared_ptr<const table::TableReferences>> Engine::references_of(
    const table::Table& table) {
  return table::bind_references(table, *catalog_, *this);
}

std::uint64_t Engine::generation() const { return catalog_->reference_generation(); }

Result<std::unique_ptr<txn::Transaction>> Engine::exclude_references(std::string_view name,
                                                                     const Waiter& waiter) {
  // Foreign keys do not lead to partitions, nor to the names of copies.
  if (catalog::is_being_made(name) || !catalog::table_of_partition(name).empty()) {
    return std::unique_ptr<txn::Transaction>();
  }
  const catalog::TablePointer definition = catalog_->find(name);
  if (definition == nullptr) return std::unique_ptr<txn::Transaction>();
  {
    const MutexLock guard(mutex_);
    if (replaced_.contains(definition->id)) return std::unique_ptr<txn::Transaction>();
  }
  std::unique_ptr<txn::Transaction> holder = transactions_->make_transaction(waiter.user);
  Status status =
      holder->lock(table::definition_lock(*definition), lock::LockMode::kExclusive, waiter.policy);
  if (status.is(ErrorCode::kLockTimeout)) {
    return Status(ErrorCode::kLockTimeout, "a transaction has written to tables that reference '" +
                                               std::string(name) + "'; it must end first");
  }
  if (!status.is_ok()) return status;
  return holder;
}

Status Engine::await_references(std::string_view name, const Waiter& waiter) {
  Result<std::unique_ptr<txn::Transaction>> excluded = exclude_references(name, waiter);
  return excluded.take_status();
}

Result<std::unique_ptr<txn::Transaction>> Engine::exclude_bound_references(
    const catalog::TableDefinition& before, const catalog::TableDefinition& altered,
    const Waiter& waiter) {
  const auto changes = [&](const catalog::ForeignKeyPointer& key) {
    return !key->references_itself() && !table::is_parent_bound_alike(*key, before, altered);
  };
  const std::vector<catalog::ForeignKeyPointer> keys = catalog_->references_to(before.name);
  // Where there is none yet, the lock is free.
  if (!keys.empty() && std::ranges::none_of(keys, changes)) {
    return std::unique_ptr<txn::Transaction>();
  }
  return exclude_references(before.name, waiter);
}

Status Engine::rename_table(std::string_view from, std::string_view to, Renamed renamed,
                            catalog::Catalog::References references, std::string_view known_as,
                            const Waiter& waiter) {
  // With another name it is the same table to those who write to its children. A copy that takes
  // its place is another one, also where it gets another name, and the table is dropped with its
  // own. The way back is always free: nothing references the name that the table has had in
  // between.
  const bool stay = references == catalog::Catalog::References::kStay;
  const std::string_view replaced = known_as.empty() && stay ? from : known_as;
  const catalog::TablePointer before = replaced.empty() ? nullptr : catalog_->find(replaced);
  std::unique_ptr<txn::Transaction> excluded;
  if (before != nullptr) {
    Result<std::unique_ptr<txn::Transaction>> holder = exclude_references(replaced, waiter);
    if (!holder.is_ok()) return holder.take_status();
    excluded = std::move(holder.value());
  }
  BASALT_TRY(catalog_->rename(from, to, references, known_as));
  const catalog::TablePointer definition = catalog_->find(to);
  if (definition == nullptr) return Status::ok();
  const bool is_set_aside = catalog::is_set_aside(to);
  const bool is_beside_its_copy = excluded != nullptr && !known_as.empty();
  if (excluded != nullptr && (is_set_aside || is_beside_its_copy)) {
    keep_references_out(before->id, is_beside_its_copy ? definition->id : 0, std::move(excluded));
  }
  if (renamed == Renamed::kAppears) note_new_table(definition);
  if (is_set_aside || is_beside_its_copy) return Status::ok();
  // It has the name again, or is a copy that has lost its own.
  let_references_go(definition->id);
  const catalog::TablePointer succeeded =
      catalog_->find_set_aside(known_as.empty() ? to : known_as);
  if (succeeded != nullptr) let_references_go(succeeded->id);
  return Status::ok();
}

// The statement may end, with its session, and leave the table so: until the server is started
// again nobody knows what is in the place of the referenced rows then.
void Engine::keep_references_out(catalog::TableId replaced, catalog::TableId copy,
                                 std::unique_ptr<txn::Transaction> holder) {
  locks_->forget_user(holder->lock_owner());
  const MutexLock guard(mutex_);
  const bool is_new = replaced_.emplace(replaced, Replaced{std::move(holder), copy}).second;
  BASALT_ASSERT(is_new);  // its lock keeps others from it
}

void Engine::let_references_go(catalog::TableId table) {
  std::vector<Replaced> gone;  // unlocked without the mutex
  const MutexLock guard(mutex_);
  for (auto entry = replaced_.begin(); entry != replaced_.end();) {
    const bool has_gone = entry->first == table || entry->second.copy == table;
    if (has_gone) gone.push_back(std::move(entry->second));
    entry = has_gone ? replaced_.erase(entry) : std::next(entry);
  }
}

}  // namespace basalt::engine
