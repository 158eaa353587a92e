#include <utility>

#include "engine/engine.h"
#include "table/table_import.h"

// Tables that lose or get all of their rows at once.
namespace basalt::engine {

Status Engine::truncate_table(std::string_view name, const void* user, Undecided undecided,
                              const Waiter& waiter, catalog::Catalog::Emptied how) {
  const catalog::TablePointer definition = catalog_->find(name);
  if (definition != nullptr && undecided == Undecided::kRefuse) {
    BASALT_TRY(check_decided(*definition, user));
  }
  auto excluded = exclude_references(name, waiter);
  if (!excluded.is_ok()) return excluded.take_status();
  Result<catalog::TablePointer> emptied = catalog_->truncate(name, how);
  if (!emptied.is_ok()) return emptied.take_status();
  replace_state(emptied.value());
  worker_->wake();
  return Status::ok();
}

Status Engine::import_table(std::string_view name, const table::ExportedTable& exported,
                            const std::string& path, std::size_t row_key_bytes_max,
                            const Waiter& waiter, const table::Interruption& interruption) {
  const catalog::TablePointer discarded = catalog_->find(name);
  if (discarded == nullptr) return catalog::table_not_found(name);
  BASALT_TRY(check_decided(*discarded, waiter.user));
  // Better it waits in vain now than when all is written.
  BASALT_TRY(await_references(name, waiter));
  Result<catalog::TablePointer> reserved = catalog_->reserve_import(name, exported.definition);
  if (!reserved.is_ok()) return reserved.take_status();
  const catalog::TableDefinition& imported = *reserved.value();
  std::uint64_t rows = 0;
  Status status = table::import_entries(*database_, exported, path, imported, row_key_bytes_max,
                                        interruption, rows);
  using catalog::CounterKind;
  for (const auto& [kind, next] :
       {std::pair(CounterKind::kAutoIncrement, exported.next_auto_increment),
        std::pair(CounterKind::kHiddenRowId, exported.next_row_id)}) {
    if (!status.is_ok() || next == 0) continue;
    status = catalog_->store_counter_mark(imported.id, kind, next, kv::Durability::kBuffered);
  }
  std::unique_ptr<txn::Transaction> excluded;
  if (status.is_ok()) {
    auto references = exclude_references(name, waiter);
    status = references.take_status();
    if (status.is_ok()) excluded = std::move(references.value());
  }
  // Synced, and so is what was written before.
  if (status.is_ok()) status = catalog_->publish_altered(catalog::AlteredTable(reserved.value()));
  if (!status.is_ok()) {
    abandon_indexes(reserved.value());
    return status;
  }
  replace_state(reserved.value());
  statistics(reserved.value())->set_exact_rows(rows);
  renew_weekly_compactions(imported);
  worker_->wake();
  return Status::ok();
}

void Engine::replace_state(const catalog::TablePointer& definition) {
  {
    const MutexLock guard(mutex_);
    const std::shared_ptr<table::TableState> before = shared_tables_[definition->id].state;
    shared_tables_.erase(definition->id);
    // That is no change of rows, and does not undo those of before.
    if (before) shared_table(definition).state->changes->time = before->changes->time.load();
  }
  note_new_table(definition);
}

}  // namespace basalt::engine
