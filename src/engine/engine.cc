#include "engine/engine.h"

#include <algorithm>
#include <set>
#include <vector>

#include "base/bytes.h"
#include "base/log.h"
#include "base/machine.h"
#include "table/stored_layout.h"

namespace basalt::engine {
namespace {

// The part of a small machine's memory that it can spare: one of so many.
constexpr std::uint64_t kSortMemoryShare = 16;

std::size_t sort_bytes(std::uint64_t most) {
  return std::min(most, available_memory_bytes() / kSortMemoryShare);
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::start(const EngineOptions& options,
                                              lock::WaitObserver* observer,
                                              codec::CollationSource* collations) {
  std::unique_ptr<Engine> engine(new Engine);
  Result<std::unique_ptr<kv::Database>> database = kv::Database::open(options.database);
  if (!database.is_ok()) return database.take_status();
  engine->database_ = std::move(database.value());
  engine->catalog_ = std::make_unique<catalog::Catalog>(*engine->database_);
  BASALT_TRY(engine->catalog_->load());
  engine->key_layouts_ = std::make_unique<stats::KeyLayouts>(*engine->catalog_, collations);
  engine->database_->set_key_structures(engine->key_layouts_.get());
  engine->database_->expiry_clock().set_takes_rows(options.takes_expired_rows);
  if (options.is_replica) engine->database_->expiry_clock().set_is_replica(options.is_replica);
  engine->database_->set_lifetimes(engine->catalog_.get());
  for (const catalog::TablePointer& table : engine->catalog_->all_tables()) {
    engine->renew_weekly_compactions(*table);
  }
  engine->collations_ = collations;
  engine->locks_ = std::make_unique<lock::LockManager>(options.locks, observer);
  engine->transactions_ =
      std::make_unique<txn::TransactionManager>(*engine->database_, *engine->locks_);
  txn::TransactionManager& transactions = *engine->transactions_;
  const catalog::Catalog& catalog = *engine->catalog_;
  // A temporary table may be dropped amid the transaction that has changed it.
  transactions.set_index_checks(
      [&](catalog::IndexId index) { return catalog.find_by_index(index) != nullptr; },
      [&](catalog::IndexId index) {
        return catalog.find_by_index(index) != nullptr ||
               catalog.state_of(index) != catalog::IndexState::kUnknown;
      });
  transactions.set_uncounted_commit(
      [&engine = *engine](std::span<const catalog::IndexId> indexes, std::uint64_t changes) {
        engine.note_uncounted(indexes, changes);
      });
  BASALT_TRY(transactions.recover(options.most_row_locks));
  engine->worker_ = std::make_unique<maintenance::Worker>(
      *engine->database_, *engine->catalog_, [&] { return transactions.undecided().indexes(); });
  return engine;
}

Engine::~Engine() {
  worker_.reset();
  for (auto& [id, shared] : shared_tables_) {
    for (table::Counter* counter : {&shared.state->auto_increment, &shared.state->hidden_row_id}) {
      const Status status = counter->save();
      if (!status.is_ok()) {
        log_message(
            LogLevel::kWarning,
            "a counter could not be saved, some values will be skipped: " + status.message());
      }
    }
  }
  shared_tables_.clear();
  replaced_.clear();
  transactions_.reset();
  if (database_ != nullptr) {
    database_->set_key_structures(nullptr);
    database_->set_lifetimes(nullptr);
    const Status status = database_->sync_wal();
    if (!status.is_ok()) log_message(LogLevel::kError, "last log sync: " + status.message());
  }
}

Status Engine::resume() {
  wal::Health& health = database_->health();
  health.measure_space();
  if (health.access() != wal::Access::kReadOnly) return Status::ok();
  if (health.is_final()) return health.check_not_read_only();
  const std::uint64_t mark = health.mark();
  BASALT_TRY(database_->resume());
  // Before others write: what is decided must not wait behind them.
  BASALT_TRY(transactions_->write_decided(
      [&] { return health.clear(mark) ? Status::ok() : health.check_not_read_only(); }));
  worker_->wake();
  return Status::ok();
}

SharedTable& Engine::shared_table(const catalog::TablePointer& definition) {
  SharedTable& shared = shared_tables_[definition->id];
  if (!shared.state) {
    shared.state = std::make_shared<table::TableState>(*catalog_, definition->id);
  }
  if (!shared.statistics) {
    const std::shared_ptr<txn::TableChanges>& changes = shared.state->changes;
    shared.statistics = std::make_shared<stats::TableStatistics>(
        *database_, *catalog_, key_layouts_.get(), definition,
        std::shared_ptr<const ChangedRows>(changes, &changes->rows));
  }
  return shared;
}

Result<std::shared_ptr<table::Table>> Engine::open_table(
    std::string_view name, const catalog::TableDefinition& expected,
    const codec::TableLayout& layout, const table::AutoIncrementSource& auto_increment) {
  catalog::TablePointer definition = catalog_->find(name);
  if (definition == nullptr) return catalog::table_not_found(name);
  const std::string difference = catalog::find_difference(*definition, expected);
  if (!difference.empty()) {
    return Status(
        ErrorCode::kDefinitionMismatch,
        "table '" + std::string(name) + "': " + difference + "; restore the matching .frm file");
  }
  if (catalog::lacks_system_time(*definition, expected)) {
    Result<catalog::TablePointer> completed = catalog_->store_system_time(name, expected.columns);
    // Foreign keys alone need it, for writes.
    if (completed.is_ok()) {
      definition = completed.value();
    } else {
      log_message(LogLevel::kWarning, "table '" + std::string(name) +
                                          "': which rows are history could not be stored: " +
                                          completed.status().message());
    }
  }
  const MutexLock guard(mutex_);
  SharedTable& shared = shared_table(definition);
  const std::shared_ptr<table::Table> opened = bind_table(definition, layout, shared);
  if (!shared.counters_loaded) {
    BASALT_TRY(table::load_counters(*database_, *opened, auto_increment));
    shared.counters_loaded = true;
    shared.has_auto_increment = auto_increment.exists;
  }
  return opened;
}

std::shared_ptr<const table::TableState> Engine::find_state(catalog::TableId table) {
  const MutexLock guard(mutex_);
  const auto shared = shared_tables_.find(table);
  return shared == shared_tables_.end() ? nullptr : shared->second.state;
}

std::optional<std::uint64_t> Engine::next_auto_increment(catalog::TableId table) {
  {
    const MutexLock guard(mutex_);
    const auto shared = shared_tables_.find(table);
    if (shared != shared_tables_.end() && shared->second.counters_loaded) {
      if (!shared->second.has_auto_increment) return std::nullopt;
      return shared->second.state->auto_increment.next();
    }
  }
  const Result<std::uint64_t> mark =
      catalog_->counter_mark(table, catalog::CounterKind::kAutoIncrement);
  if (!mark.is_ok() || mark.value() == 0) return std::nullopt;
  return mark.value();
}

std::shared_ptr<table::Table> Engine::bind_table(const catalog::TablePointer& definition,
                                                 const codec::TableLayout& layout,
                                                 SharedTable& shared) {
  auto table = std::make_shared<table::Table>(definition, layout, shared.state);
  // Without a metadata lock, a table may have got another primary key since its definition was
  // looked up.
  if (!shared.greatest_key_loaded && catalog_->find(definition->name) == definition) {
    table::load_greatest_key(*database_, *transactions_, *table);
    shared.greatest_key_loaded = true;
  }
  return table;
}

std::shared_ptr<stats::TableStatistics> Engine::statistics(
    const catalog::TablePointer& definition) {
  const MutexLock guard(mutex_);
  return shared_table(definition).statistics;
}

void Engine::note_uncounted(std::span<const catalog::IndexId> indexes, std::uint64_t changes) {
  const MutexLock guard(mutex_);
  std::set<catalog::TableId> told;
  for (const catalog::IndexId index : indexes) {
    const catalog::TablePointer definition = catalog_->find_by_index(index);
    if (definition == nullptr || !told.insert(definition->id).second) continue;
    // One that nobody has used yet is counted then.
    const auto shared = shared_tables_.find(definition->id);
    if (shared == shared_tables_.end() || shared->second.statistics == nullptr) continue;
    // A row that came or went has changed each index.
    const std::uint64_t rows = changes / definition->indexes.size() + 1;
    shared->second.statistics->note_uncounted(rows);
  }
}

// Snapshots that are open now do not have the table.
void Engine::note_new_table(const catalog::TablePointer& definition) {
  const MutexLock guard(mutex_);
  shared_table(definition).state->exists_since = database_->newest_sequence();
}

Status Engine::create_table(catalog::TableDefinition definition, std::uint64_t auto_increment_start,
                            const FamilyNames& families,
                            std::vector<catalog::ForeignKeyDefinition> foreign_keys,
                            std::string_view copied) {
  catalog::TablePointer table;
  {
    const MutexLock guard(placement_mutex_);
    BASALT_TRY(place(definition, families));
    Result<catalog::TablePointer> created = catalog_->create(
        std::move(definition), auto_increment_start, std::move(foreign_keys), copied);
    if (!created.is_ok()) return created.take_status();
    table = created.value();
  }
  note_new_table(table);
  renew_weekly_compactions(*table);
  return Status::ok();
}

// Files that nobody changes have expired rows, too.
void Engine::renew_weekly_compactions(const catalog::TableDefinition& table) {
  if (!table.expiry.has_value()) return;
  for (const catalog::IndexDefinition& index : table.indexes) {
    bool has_lifetimes = false;
    Status status;
    do {
      has_lifetimes = catalog_->has_lifetimes(index.family);
      status = database_->set_compacts_weekly(index.family, has_lifetimes);
      // Another table may have come or gone meanwhile.
    } while (status.is_ok() && has_lifetimes != catalog_->has_lifetimes(index.family));
    if (status.is_ok()) continue;
    log_message(LogLevel::kWarning, "expired rows of table '" + table.name +
                                        "' may stay for long: " + status.message());
  }
}

Status Engine::check_decided(const catalog::TableDefinition& table, const void* user) const {
  std::vector<catalog::IndexId> indexes;
  for (const catalog::IndexDefinition& index : table.indexes) indexes.push_back(index.id);
  if (!transactions_->undecided().exist_in(indexes, user)) return Status::ok();
  return Status(ErrorCode::kLockTimeout, "a prepared XA transaction has changed '" + table.name +
                                             "'; decide it first, XA RECOVER lists them");
}

Status Engine::drop_table(std::string_view name, const void* user, Undecided undecided,
                          const Waiter& waiter) {
  const catalog::TablePointer definition = catalog_->find(name);
  if (definition != nullptr && undecided == Undecided::kRefuse) {
    BASALT_TRY(check_decided(*definition, user));
  }
  auto excluded = exclude_references(name, waiter);
  if (!excluded.is_ok()) return excluded.take_status();
  Status dropped = catalog_->drop(name);
  // Also of a table that cannot be dropped: references lead to its copy by now.
  if (definition != nullptr) let_references_go(definition->id);
  BASALT_TRY(std::move(dropped));
  if (definition != nullptr) {
    const MutexLock guard(mutex_);
    shared_tables_.erase(definition->id);
  }
  if (definition != nullptr) renew_weekly_compactions(*definition);
  worker_->wake();
  return Status::ok();
}

Result<catalog::TablePointer> Engine::reserve_indexes(catalog::TableDefinition altered,
                                                      const FamilyNames& families,
                                                      const catalog::TableChange& change,
                                                      const void* user) {
  catalog::TablePointer reserved;
  {
    const MutexLock guard(placement_mutex_);
    BASALT_TRY(place(altered, families));
    Result<catalog::TablePointer> table = catalog_->reserve_indexes(std::move(altered), change);
    if (!table.is_ok()) return table;
    reserved = table.value();
  }
  const std::optional<catalog::IndexId> journal = catalog_->journal_of(reserved);
  if (!journal.has_value()) return reserved;
  const catalog::TablePointer definition = catalog_->find(reserved->name);
  BASALT_ASSERT(definition != nullptr);
  // They are not noted, and their rows are not there yet.
  if (Status status = check_decided(*definition, user); !status.is_ok()) {
    abandon_indexes(reserved);
    return status;
  }
  const MutexLock guard(mutex_);
  shared_table(definition).state->journal.open(*journal);
  return reserved;
}

Result<std::unique_ptr<table::IndexBuild>> Engine::begin_build(const catalog::TablePointer& altered,
                                                               const catalog::TableChange& change,
                                                               const codec::TableLayout& layout,
                                                               std::uint64_t sort_bytes_max,
                                                               table::CompleteRow complete) {
  const catalog::TablePointer definition = catalog_->find(altered->name);
  if (definition == nullptr) return catalog::table_not_found(altered->name);
  const std::optional<catalog::IndexId> journal = catalog_->journal_of(altered);
  BASALT_ASSERT(journal.has_value());
  std::shared_ptr<table::TableState> state;
  {
    const MutexLock guard(mutex_);
    state = shared_table(definition).state;
  }
  std::unique_ptr<const table::Table> rows_before;
  if (change.replaces_primary) {
    auto rows = std::make_shared<const catalog::TableDefinition>(
        catalog::rows_before(*definition, change, *altered));
    BASALT_ASSERT(collations_ != nullptr);
    Result<codec::TableLayout> with_old_key =
        table::with_stored_columns(layout, *rows, *collations_);
    if (!with_old_key.is_ok()) return with_old_key.take_status();
    rows_before = std::make_unique<const table::Table>(std::move(rows),
                                                       std::move(with_old_key.value()), state);
  }
  return std::make_unique<table::IndexBuild>(
      *database_, *transactions_,
      std::make_unique<const table::Table>(altered, layout, std::move(state)),
      std::move(rows_before), catalog::new_indexes(*definition, *altered), *journal,
      table::IndexBuild::Resources{.memory_bytes = sort_bytes(sort_bytes_max),
                                   .threads = threads_of_statement()},
      std::move(complete));
}

// Asked before the last round: who decides such a transaction holds no metadata lock.
Status Engine::complete_build(table::IndexBuild& build, const table::Interruption& interruption,
                              const void* user) {
  // By the indexes that the table has, which may all be others then.
  const catalog::TablePointer definition = catalog_->find(build.table().definition().name);
  if (definition == nullptr) return catalog::table_not_found(build.table().definition().name);
  BASALT_TRY(check_decided(*definition, user));
  Result<std::uint64_t> rows = build.catch_up(interruption);
  return rows.take_status();
}

Status Engine::publish_altered(BuiltTable table, const Waiter& waiter) {
  std::vector<BuiltTable> tables;
  tables.push_back(std::move(table));
  return publish_all_altered(std::move(tables), waiter, std::nullopt);
}

Status Engine::publish_all_altered(std::vector<BuiltTable> tables, const Waiter& waiter,
                                   const std::optional<catalog::AlterationId>& alteration) {
  std::vector<catalog::TablePointer> before;
  std::vector<catalog::AlteredTable> altered;
  std::vector<std::unique_ptr<txn::Transaction>> excluded;
  bool reclaims = false;
  for (const BuiltTable& built : tables) {
    const catalog::TableDefinition& definition = *built.table.definition;
    before.push_back(catalog_->find(definition.name));
    if (before.back() == nullptr) return catalog::table_not_found(definition.name);
    auto references = exclude_bound_references(*before.back(), definition, waiter);
    if (!references.is_ok()) return references.take_status();
    excluded.push_back(std::move(references.value()));
    altered.push_back(built.table);
    reclaims |= catalog_->journal_of(built.table.definition).has_value();
    if (catalog::new_indexes(definition, *before.back()).empty()) continue;
    reclaims = true;
    BASALT_TRY(check_decided(*before.back(), waiter.user));
  }
  for (const catalog::AlteredTable& table : altered) close_journal(table.definition);
  BASALT_TRY(catalog_->publish_all_altered(std::move(altered), alteration));
  for (std::size_t i = 0; i < tables.size(); ++i) note_altered(*before[i], tables[i]);
  if (reclaims) worker_->wake();
  return Status::ok();
}

void Engine::note_altered(const catalog::TableDefinition& before, const BuiltTable& built) {
  const catalog::TablePointer& altered = built.table.definition;
  {
    const MutexLock guard(mutex_);
    // Made for the indexes that the table had.
    SharedTable& shared = shared_tables_[altered->id];
    shared.statistics.reset();
    // The greatest key was that of another primary key.
    if (built.table.change.replaces_primary && shared.state != nullptr) {
      shared.state->greatest_key.forget();
      shared.greatest_key_loaded = false;
    }
    table::TableState& state = *shared_table(altered).state;
    for (const std::size_t number : catalog::new_indexes(before, *altered)) {
      state.indexes_exist_since[altered->indexes[number].id] = database_->newest_sequence();
    }
    for (const std::size_t number : catalog::new_indexes(*altered, before)) {
      state.indexes_exist_since.erase(before.indexes[number].id);
    }
    // To older snapshots rows may have NULL, for which there is no value any more.
    // And rows that have got another primary key are not there for them.
    if (built.table.change.replaces_primary ||
        !catalog::made_not_null(before, built.table.change, *altered).empty()) {
      state.exists_since = database_->newest_sequence();
    }
  }
  if (built.rows.has_value()) statistics(altered)->set_exact_rows(*built.rows);
  renew_weekly_compactions(before);
  renew_weekly_compactions(*altered);
}

void Engine::close_journal(const catalog::TablePointer& altered) {
  if (!catalog_->journal_of(altered).has_value()) return;
  const MutexLock guard(mutex_);
  const auto shared = shared_tables_.find(altered->id);
  if (shared != shared_tables_.end()) shared->second.state->journal.close();
}

void Engine::abandon_indexes(const catalog::TablePointer& altered) {
  close_journal(altered);
  catalog_->abandon_indexes(altered);
  worker_->wake();
}

Result<std::unique_ptr<table::BulkLoad>> Engine::begin_load(
    const table::Table& table, std::size_t loads, std::uint64_t sort_bytes_max,
    const table::Interruption& interruption) {
  const std::size_t most = std::max<std::size_t>(loads, 1);
  return table::BulkLoad::make(*database_, table,
                               {.memory_bytes = sort_bytes(sort_bytes_max) / most,
                                .threads = std::max<std::size_t>(threads_of_statement() / most, 1)},
                               interruption);
}

// Whoever calls holds the family.
Engine::StoredIndex Engine::describe(catalog::IndexId id, const kv::Family& family) {
  const KeyRange range = index_key_range(id);
  const kv::RangeSize size = database_->estimate(family.id, range);
  return {.id = id,
          .family = family.id,
          .family_name = family.name,
          .state = catalog_->state_of(id),
          .table = catalog_->find_by_index(id),
          .bytes = size.bytes + size.memtable_bytes,
          .has_undecided_changes = transactions_->undecided().exist_in({&id, 1})};
}

Result<std::vector<Engine::StoredIndex>> Engine::stored_indexes() {
  std::map<catalog::IndexId, StoredIndex> found;
  const std::vector<kv::Family> families = database_->families();
  for (const catalog::DroppedIndex& dropped : catalog_->dropped_indexes()) {
    const auto family = std::ranges::find(families, dropped.family, &kv::Family::id);
    const kv::FamilyHold hold = database_->hold_family(dropped.family);
    if (family == families.end() || hold == nullptr) continue;
    StoredIndex index = describe(dropped.id, *family);
    // Else it was reclaimed and forgotten meanwhile.
    if (index.state == catalog::IndexState::kDropped) found.emplace(dropped.id, std::move(index));
  }
  for (const kv::Family& family : families) {
    const kv::FamilyHold hold = database_->hold_family(family.id);
    if (family.id == kv::kSystemFamily || hold == nullptr) continue;
    Result<std::vector<std::uint32_t>> ids = database_->stored_indexes(family.id);
    if (!ids.is_ok()) return ids.take_status();
    std::vector<StoredIndex> unknown;
    for (const std::uint32_t id : ids.value()) {
      StoredIndex index = describe(id, family);
      if (index.state == catalog::IndexState::kUnknown) {
        unknown.push_back(std::move(index));
      } else {
        found.emplace(id, std::move(index));
      }
    }
    if (unknown.empty()) continue;
    // One that was reclaimed between the two looks has no entries any more.
    ids = database_->stored_indexes(family.id);
    if (!ids.is_ok()) return ids.take_status();
    for (StoredIndex& index : unknown) {
      if (std::ranges::binary_search(ids.value(), index.id)) found.emplace(index.id, index);
    }
  }
  std::vector<StoredIndex> indexes;
  for (auto& [id, index] : found) indexes.push_back(std::move(index));
  return indexes;
}

}  // namespace basalt::engine
