#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "catalog/catalog.h"
#include "engine/engine_options.h"
#include "kv/database.h"
#include "lock/lock_manager.h"
#include "maintenance/worker.h"
#include "stats/key_layouts.h"
#include "stats/table_statistics.h"
#include "table/bulk_load.h"
#include "table/complete_row.h"
#include "table/exported_table.h"
#include "table/index_build.h"
#include "table/interruption.h"
#include "table/references.h"
#include "table/table.h"
#include "table/table_opening.h"
#include "txn/transaction_manager.h"

// The composition root: builds all parts in order, hands them out by reference, tears them down
// in reverse. Two engines in one process do not know of each other.
namespace basalt::engine {

// What all sessions share of one table, kept while the engine runs.
struct SharedTable {
  std::shared_ptr<table::TableState> state;
  std::shared_ptr<stats::TableStatistics> statistics;
  // Whether the counters were set from the stored rows.
  bool counters_loaded = false;
  bool has_auto_increment = false;  // known when the counters are loaded
  // Whether the bound of primary keys was set: before the first row is written.
  bool greatest_key_loaded = false;
};

// Who waits until no transaction has bound foreign keys to a referenced table, and how long.
struct Waiter {
  void* user = nullptr;  // as of txn::TransactionManager::make_transaction()
  lock::WaitPolicy policy;
};

class Engine final : public table::TableSource {
 public:
  // Opens the database, recovers prepared transactions and starts the background work.
  // `observer` and `collations` may be null and outlive the engine.
  static Result<std::unique_ptr<Engine>> start(const EngineOptions& options,
                                               lock::WaitObserver* observer,
                                               codec::CollationSource* collations = nullptr);
  ~Engine() override;
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  kv::Database& database() { return *database_; }
  catalog::Catalog& catalog() { return *catalog_; }
  lock::LockManager& locks() { return *locks_; }
  txn::TransactionManager& transactions() { return *transactions_; }
  maintenance::Worker& worker() { return *worker_; }

  // Goes on after a failure that made the engine read-only, and whose cause an administrator has
  // removed: writes what is in memory to files, completes the transactions that were decided
  // meanwhile, and lets others write again. An error: it is as read-only as before.
  Status resume();

  // Opens the stored table `name` with the server's record layout. `expected` is what the server
  // believes the definition to be. kTableNotFound, kDefinitionMismatch.
  Result<std::shared_ptr<table::Table>> open_table(
      std::string_view name, const catalog::TableDefinition& expected,
      const codec::TableLayout& layout, const table::AutoIncrementSource& auto_increment);
  std::shared_ptr<stats::TableStatistics> statistics(const catalog::TablePointer& definition);

  // ---- foreign keys: table::TableSource

  Result<std::shared_ptr<const table::Table>> open_stored(std::string_view name) override;
  Result<std::shared_ptr<const table::TableReferences>> references_of(
      const table::Table& table) override;
  std::uint64_t generation() const override;

  // The names of the column families for indexes, in the order of a definition's; an empty one, or
  // none, is the default family. Those that do not exist are made.
  using FamilyNames = std::vector<std::string>;

  // Catalog changes, with what else must follow them.
  Status create_table(catalog::TableDefinition definition, std::uint64_t auto_increment_start,
                      const FamilyNames& families = {},
                      std::vector<catalog::ForeignKeyDefinition> foreign_keys = {},
                      std::string_view copied = {});
  // What to do about changes of the table that are neither committed nor rolled back.
  enum class Undecided : std::uint8_t {
    kRefuse,  // as check_decided()
    kLeave,   // a temporary table, which goes with its session: they go to nobody's index
  };
  // Space is given back when nobody can write to the table any more. `user`: as check_decided().
  Status drop_table(std::string_view name, const void* user = nullptr,
                    Undecided undecided = Undecided::kRefuse, const Waiter& waiter = {});
  // What a rename means to who looked before it.
  enum class Renamed : std::uint8_t {
    kWasThere,  // the table was there, under its old name
    kAppears,   // nobody could see it: to snapshots that are open now it is a new table
  };
  Status rename_table(
      std::string_view from, std::string_view to, Renamed renamed,
      catalog::Catalog::References references = catalog::Catalog::References::kFollow,
      std::string_view known_as = {}, const Waiter& waiter = {});
  // Waits until no transaction has bound foreign keys to the table, as what replaces it by a copy
  // will do at its end: better it waits in vain at its beginning. Afterwards others may come.
  Status await_references(std::string_view name, const Waiter& waiter);
  // kDiscarded: it is of no use until import_table().
  Status truncate_table(std::string_view name, const void* user = nullptr,
                        Undecided undecided = Undecided::kRefuse, const Waiter& waiter = {},
                        catalog::Catalog::Emptied how = catalog::Catalog::Emptied::kUsable);
  // Gives a table that is discarded the rows of an exported one, whose files lie at `path`, as
  // table::read_exported() has found them. `row_key_bytes_max`: as of table::import_entries().
  // Nobody else may use the table, and
  // table::find_difference() has found none. Errors of table::import_entries(): it stays discarded.
  Status import_table(std::string_view name, const table::ExportedTable& exported,
                      const std::string& path, std::size_t row_key_bytes_max, const Waiter& waiter,
                      const table::Interruption& interruption);
  // kLockTimeout, with what to do in its message, if a transaction has changed the table that has
  // not ended and is not of `user` (null: of anybody). The caller must ask before it drops, empties
  // or copies the rows, and at a time when nobody can begin to change the table: no metadata lock
  // stands for transactions that XA PREPARE has left.
  Status check_decided(const catalog::TableDefinition& table, const void* user) const;

  // Enough for a million of small entries.
  static constexpr std::uint64_t kSortBytes = std::uint64_t{64} << 20;

  // ---- definitions that change while the table keeps its rows: reserve -> if there are new
  // indexes, begin_build, build and catch up, while others read and write, and complete_build,
  // while nobody writes -> publish, or abandon at any time before.

  // As catalog::Catalog::reserve_indexes(); indexes that the table has stay where they are. If
  // there are new ones nobody may be writing to the table, which has its changes noted from then on
  // (table::Journal), and kLockTimeout as check_decided().
  Result<catalog::TablePointer> reserve_indexes(catalog::TableDefinition altered,
                                                const FamilyNames& families = {},
                                                const catalog::TableChange& change = {},
                                                const void* user = nullptr);
  // What makes the entries of the new indexes; `change` is that of reserve_indexes(), `layout` that
  // of the altered table. `sort_bytes_max`: of memory for sorting. `complete`: as of
  // table::IndexBuild.
  Result<std::unique_ptr<table::IndexBuild>> begin_build(const catalog::TablePointer& altered,
                                                         const catalog::TableChange& change,
                                                         const codec::TableLayout& layout,
                                                         std::uint64_t sort_bytes_max = kSortBytes,
                                                         table::CompleteRow complete = nullptr);
  // The last of catching up: nobody may be writing, until it is published. Errors as of
  // table::IndexBuild and check_decided().
  Status complete_build(table::IndexBuild& build, const table::Interruption& interruption,
                        const void* user = nullptr);
  // A table whose new indexes are complete.
  struct BuiltTable {
    // A pointer alone is an altered table for which no indexes were built.
    BuiltTable(catalog::AlteredTable altered, std::optional<std::uint64_t> row_count = std::nullopt)
        : table(std::move(altered)), rows(row_count) {}
    BuiltTable(catalog::TablePointer altered, std::optional<std::uint64_t> row_count = std::nullopt)
        : BuiltTable(catalog::AlteredTable(std::move(altered)), row_count) {}

    catalog::AlteredTable table;
    std::optional<std::uint64_t> rows;  // as table::IndexBuild has counted them, if there was one
  };
  // From now on the tables are those, or all are as they were if it fails. Nobody may have one open
  // who goes on with it. Snapshots that are open now must not read new indexes:
  // Table::index_exists_since(). `alteration` as for catalog::Catalog::publish_all_altered().
  // kLockTimeout as check_decided(), of `waiter.user`, if indexes come. Where foreign keys of other
  // tables are to find their rows another way it waits as drop_table() does.
  Status publish_all_altered(std::vector<BuiltTable> tables, const Waiter& waiter,
                             const std::optional<catalog::AlterationId>& alteration);
  Status publish_altered(BuiltTable table, const Waiter& waiter = {});
  // Has what was built reclaimed, unless it was published.
  void abandon_indexes(const catalog::TablePointer& altered);

  // ---- column families

  // Removes a family without tables. Waits until the indexes of dropped ones are reclaimed, which
  // takes the background a moment; `may_wait` is asked ten times a second. kNotFound;
  // kInvalidArgument, with what is in it, if a table has an index there, or a transaction that has
  // not ended has changed a dropped one; kInterrupted.
  Status remove_family(std::string_view name, const std::function<bool()>& may_wait);
  // Rewrites all files of a family, without what is obsolete. kNotFound; as Database::compact().
  Status compact_family(std::string_view name, const std::function<bool()>& is_interrupted);

  // ---- rows that come in files

  // A load of rows into `table`, one of `loads` at the same time, which share `sort_bytes_max` of
  // memory for sorting, and threads. Errors as of BulkLoad::make().
  Result<std::unique_ptr<table::BulkLoad>> begin_load(const table::Table& table, std::size_t loads,
                                                      std::uint64_t sort_bytes_max,
                                                      const table::Interruption& interruption);
  // So many rows were given to a transaction in files.
  void note_loaded_rows(std::uint64_t rows) { loaded_rows_ += rows; }
  std::uint64_t loaded_rows() const { return loaded_rows_; }

  // ---- what there is

  // What was done with the table since the start; null if nobody has opened it.
  std::shared_ptr<const table::TableState> find_state(catalog::TableId table);
  // The AUTO_INCREMENT value that the table gives next; nothing if it gives none. Of a table that
  // was not opened yet it may be too great.
  std::optional<std::uint64_t> next_auto_increment(catalog::TableId table);

  struct StoredIndex {
    catalog::IndexId id = 0;
    kv::FamilyId family = 0;
    std::string family_name;
    catalog::IndexState state = catalog::IndexState::kUnknown;
    catalog::TablePointer table;  // null without one
    std::uint64_t bytes = 0;      // about
    bool has_undecided_changes = false;
  };
  // Every index that has entries, and every dropped one. One that is kUnknown is a leak: nothing
  // will ever give its space back.
  Result<std::vector<StoredIndex>> stored_indexes();

 private:
  Engine() = default;
  SharedTable& shared_table(const catalog::TablePointer& definition) BASALT_REQUIRES(mutex_);
  // Nobody begins to note changes of the table any more for what it is to become.
  void close_journal(const catalog::TablePointer& altered);
  // After `built` has taken the place of `before` in the dictionary.
  void note_altered(const catalog::TableDefinition& before, const BuiltTable& built);
  // Waits until no transaction has bound foreign keys to the table, and keeps others from it as
  // long as what is returned lives, those of keys that come meanwhile too; null for a table that
  // nothing can reference. kLockTimeout, kInterrupted, kDeadlock.
  Result<std::unique_ptr<txn::Transaction>> exclude_references(std::string_view name,
                                                               const Waiter& waiter);
  // The same if `altered`, which takes the place of `before`, is not what those who reference the
  // table have bound: they would look at an index that nobody keeps any more.
  Result<std::unique_ptr<txn::Transaction>> exclude_bound_references(
      const catalog::TableDefinition& before, const catalog::TableDefinition& altered,
      const Waiter& waiter);
  // Has a table that its copy replaces kept from references for as long as it has no successor, or
  // is there beside it: rows that reference it wait, they would find none.
  // `copy`: that which is there beside it, or 0.
  void keep_references_out(catalog::TableId replaced, catalog::TableId copy,
                           std::unique_ptr<txn::Transaction> holder);
  // The table, or its copy beside it, has gone, or there is a table of its name again. Does nothing
  // for other tables.
  void let_references_go(catalog::TableId table);
  // The table with that layout, ready for rows to be written.
  std::shared_ptr<table::Table> bind_table(const catalog::TablePointer& definition,
                                           const codec::TableLayout& layout, SharedTable& shared)
      BASALT_REQUIRES(mutex_);
  void note_new_table(const catalog::TablePointer& definition);
  // The table has other rows, which nobody has seen.
  void replace_state(const catalog::TablePointer& definition);
  // So many changes of these indexes at most are committed of which nobody has counted the rows.
  void note_uncounted(std::span<const catalog::IndexId> indexes, std::uint64_t changes);
  // Has the families of a table whose rows expire, or did, compacted as often as their tables need.
  void renew_weekly_compactions(const catalog::TableDefinition& table);
  Status place(catalog::TableDefinition& table, const FamilyNames& families)
      BASALT_REQUIRES(placement_mutex_);
  StoredIndex describe(catalog::IndexId id, const kv::Family& family);

  std::unique_ptr<kv::Database> database_;
  std::unique_ptr<catalog::Catalog> catalog_;
  std::unique_ptr<stats::KeyLayouts> key_layouts_;
  std::unique_ptr<lock::LockManager> locks_;
  std::unique_ptr<txn::TransactionManager> transactions_;
  std::unique_ptr<maintenance::Worker> worker_;
  // Held from the choice of a family for an index until the dictionary has the index, so that
  // nobody removes the family meanwhile.
  Mutex placement_mutex_{MutexRank::kPlacement};
  codec::CollationSource* collations_ = nullptr;
  std::atomic<std::uint64_t> loaded_rows_ = 0;
  Mutex mutex_{MutexRank::kEngine};
  std::map<catalog::TableId, SharedTable> shared_tables_ BASALT_GUARDED_BY(mutex_);
  // Tables that their copies are replacing.
  struct Replaced {
    std::unique_ptr<txn::Transaction> holder;  // keeps references out
    catalog::TableId copy;                     // as of keep_references_out()
  };
  std::map<catalog::TableId, Replaced> replaced_ BASALT_GUARDED_BY(mutex_);
};

}  // namespace basalt::engine
