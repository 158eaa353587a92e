#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "catalog/altered_definition.h"
#include "catalog/definitions.h"
#include "catalog/foreign_key_registry.h"
#include "catalog/index_owners.h"
#include "kv/database.h"

// The dictionary: which tables and indexes exist.
//
// Purpose     Definitions and foreign keys by name, allocation of ids, and the small persistent
//             facts that belong to a table: the marks of its counters and its index statistics.
// Durability  Every change of a definition is one synced batch: after the call returns it
//             survives a crash, and a crash inside it leaves all or nothing. Marks and statistics
//             are buffered writes; the WAL keeps their order relative to row writes.
// Threads     Safe from any thread. Definitions are immutable and shared.
// Format      docs/formats/catalog.md.
namespace basalt::catalog {

// kTableNotFound for the table of that dictionary name.
Status table_not_found(std::string_view name);

// An index that no table has and whose entries wait to be reclaimed.
struct DroppedIndex {
  IndexId id = 0;
  kv::FamilyId family = 0;
};

// Where an index id is in its life: docs/internals/catalog.md.
enum class IndexState : std::uint8_t {
  kUnknown,  // free or spent: nothing stored may have it
  kBuilding,
  kInUse,
  kDropped,
};

// What the optimizer may know of an index without reading it.
struct IndexStatistics {
  std::uint64_t entries = 0;
  // For each number of leading parts (own, then those of the primary key that follow): how many
  // different values there are.
  std::vector<std::uint64_t> distinct_prefixes;

  bool operator==(const IndexStatistics&) const = default;
};

// What a table becomes.
struct AlteredTable {
  // A pointer alone is an altered table without such changes.
  AlteredTable(TablePointer altered, TableChange table_change = {},
               ForeignKeyChanges foreign_key_changes = {})
      : definition(std::move(altered)),
        change(std::move(table_change)),
        foreign_keys(std::move(foreign_key_changes)) {}

  TablePointer definition;  // as Catalog::reserve_indexes() has returned it
  TableChange change;       // as it was given to that
  ForeignKeyChanges foreign_keys;
};

// One change of a table with partitions, of which the dictionary knows the partitions alone: by it
// the server learns after a crash whether they were all changed.
struct AlterationId {
  std::string table;  // "database/table"
  std::string id;     // another one for each change
};

// A partition that its table has taken along to another name, and what it was called before.
struct RenamedPartition {
  std::string former;
  TablePointer partition;
};

// The counters of a table whose values, once handed out, must not come again after a crash.
enum class CounterKind : std::uint8_t { kAutoIncrement, kHiddenRowId };

class Catalog final : public kv::LifetimeSource {
 public:
  explicit Catalog(kv::Database& database) : database_(database) {}
  Catalog(const Catalog&) = delete;
  Catalog& operator=(const Catalog&) = delete;

  // Reads the dictionary. To be called once, before anything else.
  Status load();

  // Null if there is no such table.
  TablePointer find(std::string_view name) const;
  // Those whose names begin with `prefix`, in the order of their names.
  std::vector<TablePointer> all_tables(std::string_view prefix = {}) const;
  // Whether rows of any table have their time.
  bool has_lifetimes() const { return owners_.has_lifetimes(); }
  // The table that an index belongs to; null if there is none. Unlike find() it never waits for a
  // change of the dictionary, and so neither for a flush, which asks.
  TablePointer find_by_index(IndexId index) const { return owners_.find(index); }
  // Waits for a change of the dictionary.
  IndexState state_of(IndexId index) const;
  // The newest id of a table or index, zero before the first. Grows with every create() and
  // truncate(), also over restarts.
  IndexId newest_id() const;

  // Stores a new table; allocates its table id and index ids. Its AUTO_INCREMENT values begin
  // with `auto_increment_start`, if that is above 1. kTableExists if the name is taken.
  // `foreign_keys`: of which it is the child; their ids are allocated, too. `copied`: the table
  // that an ALTER TABLE copies into it, for copied_table(); empty: it is no copy.
  Result<TablePointer> create(TableDefinition table, std::uint64_t auto_increment_start = 1,
                              std::vector<ForeignKeyDefinition> foreign_keys = {},
                              std::string_view copied = {});
  // What create() was told of the table `copy`, also after a crash: the server may complete then
  // what is known of no statement any more. Empty if it was told nothing.
  Result<std::string> copied_table(std::string_view copy) const;
  // Of copies that have their final names: the tables that they were made of, as far as these are
  // still there, set aside (of one with partitions its first one). When no ALTER TABLE runs nobody
  // else will drop them.
  Result<std::vector<TablePointer>> replaced_tables() const;
  // Forgets the table and its foreign keys, and queues its indexes for reclaiming. Foreign keys of
  // other tables go on referencing the name. kTableNotFound.
  Status drop(std::string_view name);
  // What references a table that is renamed. Its own foreign keys are its own in any case.
  enum class References : std::uint8_t {
    kFollow,  // the table: it has a new name
    kStay,    // the name: the table gives it to another one, or takes it over from one
  };
  // `known_as`: whose references follow, if not those to `from`: a copy that replaces a table takes
  // over what the table had. kTableNotFound, kTableExists.
  Status rename(std::string_view from, std::string_view to,
                References references = References::kFollow, std::string_view known_as = {});
  // Partitions that rename() has brought from one table's name to another's, and not back, in the
  // order of their ids, until that is forgotten. They are renamed one by one: a crash may have come
  // in between.
  Result<std::vector<RenamedPartition>> renamed_partitions() const;
  // To be called when all partitions of `table` have come to that name, and what tells that they
  // are one table: later another table may be called as it was. Survives a crash.
  Status forget_renamed_partitions(std::string_view table);
  // Whether a table without rows is of use.
  enum class Emptied : std::uint8_t { kUsable, kDiscarded };
  // Gives the table new, empty indexes and queues the old ones for reclaiming; its auto-increment
  // mark starts again. kTableNotFound.
  Result<TablePointer> truncate(std::string_view name, Emptied emptied = Emptied::kUsable);

  // Stores what the columns of the table `name` are to system time, as `columns` tell, and returns
  // the table as it is then. kTableNotFound.
  Result<TablePointer> store_system_time(std::string_view name,
                                         const std::vector<ColumnDefinition>& columns);

  // ---- foreign keys

  // Those of which the table `name` is the child, or the parent, in the order of their names, as
  // InnoDB lists and follows them.
  std::vector<ForeignKeyPointer> foreign_keys_of(std::string_view name) const;
  std::vector<ForeignKeyPointer> references_to(std::string_view name) const;
  // The latter for who looks for the children by their names: without the copies that replace
  // tables. A child that is set aside for one has its name, as long as no table is called so.
  std::vector<ForeignKeyPointer> references_by_name(std::string_view name) const;
  // The table that was called `name` and is set aside, so that an ALTER TABLE can give the name to
  // a copy; null if there is none.
  TablePointer find_set_aside(std::string_view name) const;
  // The foreign key called `name` ("database/constraint"), in any case of its letters; null if
  // there is none. Those of the table `except` do not count.
  ForeignKeyPointer find_foreign_key(std::string_view name, std::string_view except) const;
  // Grows with every change of a definition or a foreign key, and before the change is seen: what
  // was looked up at the same number is as it was.
  std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }
  // The same for foreign keys, and for definitions of tables that are the child or the parent of
  // one: other tables come and go, temporary ones all the time, without a look at foreign keys.
  std::uint64_t reference_generation() const {
    return reference_generation_.load(std::memory_order_acquire);
  }

  // ---- definitions that change while the table keeps its rows

  // What the table called so in `altered` becomes by alter_in_place(), with ids for its new
  // indexes. The caller must publish or abandon it. Until then nothing reclaims what is built, and
  // find_by_index() knows the new ids; after a crash they are dropped indexes. Nobody else may
  // change the table meanwhile. kTableNotFound; kDefinitionMismatch if it cannot become that.
  Result<TablePointer> reserve_indexes(TableDefinition altered, const TableChange& change = {});
  // The same for a table that is to get the rows of another one, `rows`, with entries of all its
  // indexes as they are there, but for their ids: the history of the rows becomes its own, and how
  // they expire. The caller has seen to it that the two do not differ otherwise: find_difference().
  Result<TablePointer> reserve_import(std::string_view name, const TableDefinition& rows);
  // The id reserved for what is noted of the table's rows while its new indexes are built, if there
  // are some; nothing if not, or when it is published or abandoned. In the default family. Dropped
  // with either.
  std::optional<IndexId> journal_of(const TablePointer& altered) const;
  // Makes the tables what reserve_indexes() has returned, all or none, at once with the changes of
  // their foreign keys; those that stay, here and in other tables, follow the names of columns.
  // Indexes that a table had before are dropped. With an `alteration` is_completed() is true of it
  // from then on. kTableNotFound, kDefinitionMismatch.
  Status publish_all_altered(std::vector<AlteredTable> tables,
                             const std::optional<AlterationId>& alteration);
  Status publish_altered(AlteredTable table);
  // Whether the newest alteration of its table that was given to publish_all_altered() is that one.
  Result<bool> is_completed(const AlterationId& alteration) const;
  // To be called when nobody asks for alterations of before any more.
  Status forget_alterations();
  // The new indexes are dropped ones from now on, unless they were published.
  void abandon_indexes(const TablePointer& altered);

  // Whether a table, or an ALTER TABLE that is building it, has an index in the family; `user` is
  // then which one, in words. Dropped ones do not count.
  bool is_family_in_use(kv::FamilyId family, std::string& user) const;

  // How long rows of indexes live; of those that are being built, as of their table.
  bool has_lifetimes(kv::FamilyId family) override { return owners_.has_lifetimes(family); }
  std::optional<RowLifetime> lifetime_of(IndexId index) override {
    return owners_.lifetime_of(index);
  }

  std::vector<DroppedIndex> dropped_indexes() const;
  // To be called when an index's entries are gone. Buffered: a crash may bring the index back, to
  // be reclaimed once more.
  Status forget_dropped(IndexId id);

  // The smallest value of the counter that was never promised to anyone; zero if none was stored.
  Result<std::uint64_t> counter_mark(TableId table, CounterKind kind) const;
  Status store_counter_mark(TableId table, CounterKind kind, std::uint64_t mark,
                            kv::Durability durability);

  std::optional<IndexStatistics> statistics(IndexId index) const;
  Status store_statistics(IndexId index, const IndexStatistics& statistics);

 private:
  // Gives ids to those of its indexes that have none.
  Result<TablePointer> reserve(TableDefinition altered) BASALT_REQUIRES(mutex_);
  // An index of a table that is altered, or its journal.
  struct BuiltIndex {
    DroppedIndex index;
    TablePointer altered;
  };
  // A table that is being changed in the dictionary.
  struct Publication {
    AlteredTable table;
    TableDefinition dropped;  // the table as it was, with the indexes alone that go
    std::vector<ForeignKeyDefinition> renamed_keys;
  };

  // Puts what changes; `next` is the next id to be given away, before and after.
  Result<Publication> prepare_publication(AlteredTable table, std::uint32_t& next,
                                          kv::WriteBatch& batch) BASALT_REQUIRES(mutex_);
  void publish(Publication publication) BASALT_REQUIRES(mutex_);
  // Of what is built for `altered`, what is in no table is a dropped index from now on.
  void end_building(const TablePointer& altered) BASALT_REQUIRES(mutex_);
  void put_definition(const TableDefinition& table, kv::WriteBatch& batch) const;
  void queue_indexes(const TableDefinition& table, kv::WriteBatch& batch);
  IndexId allocate_ids(TableDefinition& table, kv::WriteBatch& batch) BASALT_REQUIRES(mutex_);
  // Gives ids from `next` on to `keys` and puts them; returns the next id.
  std::uint32_t put_foreign_keys(std::vector<ForeignKeyDefinition>& keys, std::uint32_t next,
                                 kv::WriteBatch& batch) BASALT_REQUIRES(mutex_);
  // What becomes of the foreign keys when a table is renamed, by their ids.
  std::vector<ForeignKeyDefinition> renamed_foreign_keys(std::string_view from, std::string_view to,
                                                         std::string_view known_as,
                                                         References references) const
      BASALT_REQUIRES(mutex_);
  // The foreign keys, but for dropped ones, that become others when columns of `table` get the
  // names of `altered`.
  std::vector<ForeignKeyDefinition> with_renamed_columns(const TableDefinition& table,
                                                         const TableChange& change,
                                                         const TableDefinition& altered,
                                                         const ForeignKeyChanges& changes) const
      BASALT_REQUIRES(mutex_);
  void replace_foreign_keys(std::vector<ForeignKeyDefinition> keys) BASALT_REQUIRES(mutex_);
  // What a copy is made of; `id` is 0 if that is no table of ours.
  struct Copied {
    TableId id = 0;
    std::string name;
  };
  void note_copy(TableId copy, std::string_view copied, kv::WriteBatch& batch) const
      BASALT_REQUIRES(mutex_);
  Status read_copies(std::map<TableId, Copied>& copies) const;
  // When the table is dropped, and when the copy gets its name.
  Status forget_copies(TableId table, kv::WriteBatch& batch) const BASALT_REQUIRES(mutex_);
  Status forget_finished_copy(TableId copy, kv::WriteBatch& batch) const BASALT_REQUIRES(mutex_);
  TablePointer find_id(TableId id) const BASALT_REQUIRES(mutex_);
  Status load_tables() BASALT_REQUIRES(mutex_);
  Status load_dropped() BASALT_REQUIRES(mutex_);
  Status load_foreign_keys() BASALT_REQUIRES(mutex_);
  // The table changes, or comes or goes, under one of its names.
  void begin_generation(std::string_view table) BASALT_REQUIRES(mutex_) {
    if (foreign_keys_.concern(table)) begin_reference_generation();
    generation_.fetch_add(1, std::memory_order_acq_rel);
  }
  void begin_reference_generation() {
    reference_generation_.fetch_add(1, std::memory_order_acq_rel);
  }
  Status load_counters() BASALT_REQUIRES(mutex_);

  kv::Database& database_;
  // Serializes changes, which write to the database while they hold it; readers of definitions
  // wait for them, which only DDL and the opening of tables notice.
  mutable Mutex mutex_{MutexRank::kCatalog};
  std::map<std::string, TablePointer, std::less<>> tables_ BASALT_GUARDED_BY(mutex_);
  std::map<IndexId, DroppedIndex> dropped_ BASALT_GUARDED_BY(mutex_);
  // Stored as dropped ones, too.
  std::map<IndexId, BuiltIndex> building_ BASALT_GUARDED_BY(mutex_);
  ForeignKeyRegistry foreign_keys_ BASALT_GUARDED_BY(mutex_);
  std::uint32_t next_id_ BASALT_GUARDED_BY(mutex_) = 0;
  std::atomic<std::uint64_t> generation_{0};
  std::atomic<std::uint64_t> reference_generation_{0};
  IndexOwners owners_;
};

}  // namespace basalt::catalog
