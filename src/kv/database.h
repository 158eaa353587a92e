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

#include "base/key_range.h"
#include "base/machine.h"
#include "base/mutex.h"
#include "base/status.h"
#include "index_stats/index_properties.h"
#include "index_stats/key_structure.h"
#include "kv/events.h"
#include "kv/expiry_clock.h"
#include "kv/expiry_filter.h"
#include "kv/families.h"
#include "kv/iterator.h"
#include "kv/options.h"
#include "kv/read_counts.h"
#include "rdb/rocksdb_fwd.h"
#include "wal/group_sync.h"
#include "wal/health.h"
#include "wal/wal_write.h"

// The door to RocksDB: an ordered, durable, multi-version map of byte strings.
//
// Purpose     Open and close the library, name its column families, read, iterate, write
//             atomically, and estimate sizes, without showing RocksDB's types to other layers.
// Errors      kIoError, kNoSpace and kCorruption with the file and cause as RocksDB names them.
// Threads     Database is safe from any thread. Iterator, PinnedValue and WriteBatch belong to
//             one thread at a time.
namespace basalt::block_cache {
class BlockCache;
class MemoryBudget;
class CacheWarmer;
}  // namespace basalt::block_cache

namespace basalt::wal {
class GuardedFileSystem;
class WalContinuity;
struct WalGap;
struct WalMark;
}  // namespace basalt::wal

namespace basalt::bulk {
struct BuildPlace;
class ExternalSort;
class SstWriter;
}  // namespace basalt::bulk

namespace basalt::index_stats {
class KeyStructureSlot;
}  // namespace basalt::index_stats

namespace basalt::kv {

// Whether a write must be on disk when the call returns.
enum class Durability : std::uint8_t { kBuffered, kSynced };

// A value read from the database, kept in memory (block cache or memtable) without a copy
// until it is reset, overwritten or destroyed.
class PinnedValue {
 public:
  PinnedValue();
  ~PinnedValue();
  PinnedValue(PinnedValue&&) noexcept;
  PinnedValue& operator=(PinnedValue&&) noexcept;

  std::string_view view() const;
  void reset();
  rdb::PinnableSlice& slice() { return *slice_; }

 private:
  std::unique_ptr<rdb::PinnableSlice> slice_;
};

// The values of several keys that were read together, kept in memory without copies until the
// next read, reset() or destruction.
class PinnedValues {
 public:
  enum class State : std::uint8_t {
    kFound,
    kMissing,
    kUnread,  // the values before it took more memory than one read should keep: get() it alone
  };

  PinnedValues();
  ~PinnedValues();
  PinnedValues(PinnedValues&&) noexcept;
  PinnedValues& operator=(PinnedValues&&) noexcept;

  // How many keys were read.
  std::size_t count() const;
  State state(std::size_t number) const;
  // Returns the value of a key that was found.
  std::string_view view(std::size_t number) const;
  void reset();

  // For layers that may see RocksDB: room for the values of `keys`, see rocksdb_reads.h.
  struct Slots;
  Slots& prepare(std::span<const std::string> keys);
  // What the latest read has put there.
  Slots& slots() {
    BASALT_DEBUG_ASSERT(slots_ != nullptr);
    return *slots_;
  }
  // After a read into the slots: its error, if there was one.
  Status status() const;

 private:
  std::unique_ptr<Slots> slots_;
};

class FamilyOptions;
class SnapshotPool;

// A point in the history of the database. Reads through it see exactly what was committed
// when it was taken. Must not outlive its Database.
class Snapshot {
 public:
  explicit Snapshot(SnapshotPool& pool);
  ~Snapshot();
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;
  const rdb::Snapshot* handle() const { return handle_; }
  std::uint64_t sequence() const;

 private:
  SnapshotPool& pool_;
  const rdb::Snapshot* const handle_;
};

// A set of changes that become visible and durable together.
class WriteBatch {
 public:
  WriteBatch();
  ~WriteBatch();
  WriteBatch(WriteBatch&&) noexcept;
  WriteBatch& operator=(WriteBatch&&) noexcept;

  void put(FamilyId family, std::string_view key, std::string_view value);
  void remove(FamilyId family, std::string_view key);
  // For keys that were put exactly once since they were last removed.
  void remove_single(FamilyId family, std::string_view key);
  bool is_empty() const;
  std::size_t count() const { return changes_.size(); }

 private:
  friend class Database;
  enum class Kind : std::uint8_t { kPut, kRemove, kRemoveSingle };
  struct Change {
    FamilyId family;
    Kind kind;
    std::string key;
    std::string value;
  };
  std::vector<Change> changes_;
};

// What a read sees.
struct ReadView {
  // Null: the newest committed data at the time of the call.
  const Snapshot* snapshot = nullptr;
  // False for scans that would only push hot blocks out of the cache.
  bool fill_cache = true;
  // An iterator gives up when a single move passes more removed entries than this; 0: never.
  std::uint64_t skipped_max = 0;
  // About how many stored bytes an iterator is going over, forward from where it seeks first; 0:
  // nobody knows. Those of a few blocks are then read with one request, not one each.
  std::uint64_t expected_bytes = 0;
  // Where it is counted what is read; null: nowhere. Outlives what is made with the view.
  ReadCounts* counts = nullptr;
};

// Estimated amount of data in a key range.
struct RangeSize {
  std::uint64_t bytes = 0;  // compressed, in files
  std::uint64_t memtable_bytes = 0;
  std::uint64_t memtable_entries = 0;
};

// What the files say of an index.
struct IndexFiles {
  // One of each file that holds entries of it and says so.
  std::vector<index_stats::IndexProperties> properties;
  // Stored bytes of a data block of these files.
  double block_bytes = 0;
  // Whether there are files that do not tell what they hold: older than this, or damaged.
  bool has_unknown = false;
};

// Files of one family, to be ingested.
struct FamilyFiles {
  FamilyId family = 0;
  std::vector<std::string> paths;
};

// What becomes of files that are written, and so how they are.
enum class WrittenFiles : std::uint8_t {
  kIngested,  // as large as compactions make them, as the lowest level has them
  kExported,  // the same, to be read entry by entry
  kOneFile,   // as level 0 has them: it is read by a transaction, and ingested
};

// Adds files of a family to those of all, which have each family once.
void append_files(std::vector<FamilyFiles>& files, FamilyId family,
                  std::span<const std::string> paths);

// Who sees entries that are ingested.
enum class Ingested : std::uint8_t {
  kSeenByAll,       // snapshots of before, too: nobody may look for the keys in them
  kNewToSnapshots,  // those who read from now on, as of a commit
};

// Files that are about to be ingested: Database::prepare_ingestion(). As long as there is one no
// data file that is made meanwhile is given back, so it is not kept for long.
class PreparedIngestion {
 public:
  PreparedIngestion();  // of nothing
  PreparedIngestion(PreparedIngestion&& other) noexcept;
  PreparedIngestion& operator=(PreparedIngestion&& other) noexcept;
  // What was not ingested is given up. Not behind the end of the database.
  ~PreparedIngestion();

  bool is_empty() const { return handle_ == nullptr; }

 private:
  friend class Database;

  std::unique_ptr<rdb::FileIngestionHandle> handle_;
  std::size_t file_count_ = 0;
  Ingested seen_ = Ingested::kSeenByAll;
};

class Database {
 public:
  // Opens or creates the database and replays its WAL. A WAL that ends in the middle of a record
  // is replayed up to there; one that is damaged before its end is an error. `files`: where the
  // files are, for tests that let them fail; null: the system's.
  static Result<std::unique_ptr<Database>> open(const DatabaseOptions& options,
                                                std::shared_ptr<rdb::FileSystem> files = nullptr);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  const DatabaseOptions& options() const { return options_; }
  // What options() were chosen by: the machine, and what was given.
  const Machine& machine() const { return machine_; }
  // What open() was given, or an administrator since; zero is the engine's to choose.
  DatabaseOptions given_options() const BASALT_EXCLUDES(given_mutex_);
  // What is in force now: as options(), but for what was given since and the size that the block
  // cache has at this moment.
  DatabaseOptions current_options() const BASALT_EXCLUDES(given_mutex_);
  // What an administrator gives now; 0 leaves it to the engine, whatever open() was given. Of two
  // sizes of the cache that are given at the same time either may be in force: give the last again.
  void set_block_cache_bytes(std::uint64_t bytes) BASALT_EXCLUDES(given_mutex_);
  void set_reserved_disk_bytes(std::uint64_t bytes) BASALT_EXCLUDES(given_mutex_);
  Status set_background_jobs(int jobs) BASALT_EXCLUDES(given_mutex_);
  // Whether it may be written. Callers that write through rocksdb() must ask it before; write()
  // does so itself.
  wal::Health& health() { return *health_; }
  // Makes RocksDB write again after a failure whose cause is gone, and proves that it can. All that
  // is in memory is in files then, and the WAL is a new one. health() stays read-only, since the
  // caller may have something to finish before others write.
  Status resume();

  // Reads one key. `found` tells whether it exists; `value` is set only then.
  Status get(FamilyId family, std::string_view key, const ReadView& view, PinnedValue& value,
             bool& found);
  // Reads several keys, in any order: cheaper than one by one from about four on.
  Status get_many(FamilyId family, std::span<const std::string> keys, const ReadView& view,
                  PinnedValues& values);
  Iterator new_iterator(FamilyId family, const ReadView& view, const KeyRange& range);
  // Cheap while nothing is committed, see kv/snapshot_pool.h.
  std::unique_ptr<Snapshot> take_snapshot();
  // Lets go what is kept for those who read next, and with it what only that needed: old versions,
  // memtables, files. To be called about once a second.
  void release_idle();
  // The sequence number of the newest committed change.
  std::uint64_t newest_sequence() const;
  // kReadOnly while the database is, and then nothing has changed.
  Status write(const WriteBatch& batch, Durability durability);

  // Of directories for what is built for ingest(), see bulk/build_directory.h.
  bulk::BuildPlace build_place() const;
  // Sorts entries of one index, see bulk/external_sort.h; `path`: of a file for what does not fit
  // into `memory_bytes`.
  std::unique_ptr<bulk::ExternalSort> new_external_sort(std::string path, std::size_t memory_bytes);
  // Writes files for ingest(), whose paths begin with `path`, see bulk/sst_writer.h.
  std::unique_ptr<bulk::SstWriter> new_sst_writer(FamilyId family, std::string path,
                                                  WrittenFiles kind = WrittenFiles::kIngested);
  // Makes the entries of files (bulk/sst_writer.h) part of the database, all at once and durably;
  // the files are gone then. Of the entries' keys none may be there, and nobody may be writing one.
  // kReadOnly while the database is.
  Status ingest(std::span<const FamilyFiles> files, Ingested seen);
  // The same for one family's files, kSeenByAll.
  Status ingest(FamilyId family, const std::vector<std::string>& paths);
  // What ingest() does first, with the files and on disk, while others write; and the rest of it,
  // for which they wait. An error of either leaves the files as they were.
  Result<PreparedIngestion> prepare_ingestion(std::span<const FamilyFiles> files, Ingested seen);
  Status ingest(PreparedIngestion ready);
  // ingest() writes memtables to files that have keys between those of its files, and all who write
  // wait. To be called before, with the families and a range of all the keys: does so while others
  // write, unless the memtables are small. An error is one of writing files.
  Status make_way(std::span<const FamilyId> families, const KeyRange& range);

  // Makes everything written so far survive a crash of the machine. Concurrent calls share a sync;
  // writes go on meanwhile.
  Status sync_wal() { return wal_sync_.sync(); }
  // How many syncs sync_wal() has done.
  std::uint64_t wal_sync_count() const { return wal_sync_.count(); }
  // Writes memtables to files.
  Status flush();
  // Rewrites a range so that it holds no obsolete versions, with threads_of_statement(). Slow; for
  // statements that ask for it, and tests. If `is_interrupted`, which another thread asks ten times
  // a second, says so, it ends with kInterrupted: what is rewritten stays so.
  Status compact(FamilyId family, const KeyRange& range,
                 const std::function<bool()>& is_interrupted = nullptr);
  // Gives the space of a range back that nobody reads or writes any more, now or later: whole files
  // at once, the rest as compaction comes by. Until then reads may still find what was there, as
  // no read looks for ranges that were reclaimed.
  Status reclaim(FamilyId family, const KeyRange& range);
  RangeSize estimate(FamilyId family, const KeyRange& range);
  // The ids of the indexes that have entries, in order. Unlike other reads it passes over ranges
  // that were reclaimed. Costs a search for each, and more after many removals.
  Result<std::vector<std::uint32_t>> stored_indexes(FamilyId family);
  // Only the entries in memtables, of which RangeSize has the size, too.
  std::uint64_t estimate_memtable_entries(FamilyId family, const KeyRange& range);
  // How many bytes of keys and values a stored byte holds, in the files that overlap the range;
  // 1 if there are none.
  double expansion(FamilyId family, const KeyRange& range);
  // The properties of an index in all files, in no order. Costs a few microseconds per file.
  Result<IndexFiles> index_files(FamilyId family, std::uint32_t index_id);
  // What has happened since the database was opened.
  EventCounters& events() { return events_; }
  // A number that changes when files or memtables come or go: estimates may have changed then.
  std::uint64_t structure_version(FamilyId family);
  // From now on flushes and compactions ask `source` for the parts of keys. It must be unset (null)
  // before it is destroyed; the call waits until nobody asks it any more.
  void set_key_structures(index_stats::KeyStructureSource* source);
  // By which rows are expired.
  ExpiryClock& expiry_clock() { return expiry_clock_; }
  // From now on compactions ask `source` which entries are expired, and take them, as far as the
  // limit goes. As with set_key_structures().
  void set_lifetimes(LifetimeSource* source);
  // Stores the limit of what compactions may take as expired (ExpiryClock::wanted_limit()), with a
  // synced write, so that what they have taken is known after a restart; then they go by it.
  // Nothing while nothing expires, or none takes it or may run, nor where the limit would move by
  // less than `step` seconds, at least 1. Not by a thread that compacts: it would wait for itself.
  // To be called about once a second; and with 1 by who wants what is expired now to go. Errors as
  // of write(): the limit stays.
  static constexpr std::uint64_t kExpiryStep = 60;
  Status renew_expiry_limit(std::uint64_t step = kExpiryStep);
  // From now on files of the family, also those that nobody changes any more, are compacted within
  // a week, so that what is expired goes; or are not. What an administrator has said stays.
  Status set_compacts_weekly(FamilyId family, bool is_set);
  // Changes an option of RocksDB's while the database is open. kInvalidArgument, with its text.
  Status set_option(const std::string& name, const std::string& value);
  // Changes options of column families: FamilyOptions::change(). kInvalidArgument if RocksDB cannot
  // read some of it, or not change it any more.
  Status set_family_options(std::string_view text);
  // Limits what flushes and compactions write in a second. False if there was no limit, or there is
  // to be none: that is decided when the database is opened.
  bool set_rate_limit(std::uint64_t bytes);
  // What RocksDB's own log has, as log_level_name().
  void set_log_level(unsigned long level);
  // No flush and no compaction begins, and those that run are waited for; or they go on. Writers
  // stop when memory is full.
  Status pause_background_work(bool is_paused);
  // Errors      kInvalidArgument while it is paused: what waits for it would not end.
  Status check_not_paused() const;
  // Writes memtables to files, and what lies in level 0 into the next one.
  Status flush_and_compact_level0();
  // Held from a commit whose entries are in files that are not ingested until they are: no copy is
  // made meanwhile, which would lack them.
  Mutex& publication_mutex() BASALT_RETURN_CAPABILITY(publication_mutex_) {
    return publication_mutex_;
  }
  // A consistent copy of the whole database as hard links, in a directory that must not exist.
  Status create_checkpoint(const std::string& path);
  // RocksDB's text properties ("rocksdb.stats", ...); empty if unknown.
  std::string property(FamilyId family, std::string_view name);

  // ---- column families. Who uses one by its id has something in it, or holds it: who has neither
  // may come when it was removed.

  // In the order of their ids.
  std::vector<Family> families() const { return families_.all(); }
  std::optional<FamilyId> find_family(std::string_view name) const { return families_.find(name); }
  // Null if there is no such family.
  FamilyHold hold_family(FamilyId family) const { return families_.hold(family); }
  // The family of that name, which is made if there is none: it is there after a crash then, also
  // when nothing was put in it. Errors as of Families::make() and flush().
  Result<FamilyId> ensure_family(std::string_view name);
  // Removes a family for tables other than the default one, in which nobody has anything.
  Status remove_family(FamilyId family);

  // Calls `write`, which writes to the WAL by rocksdb() and returns what rocksdb() has returned. If
  // that fails, what was appended to the WAL is taken back, so that no later start finds it. If
  // RocksDB only says that the WAL has failed before, another thread has met the cause: waits a
  // moment until it is known, and returns it.
  template <typename Write>
  Status write_wal(const Write& write) const {
    const wal::WalWrite scope;
    return outcome_of_write(write());
  }

  rdb::TransactionDB& rocksdb();
  rdb::ColumnFamilyHandle* family_handle(FamilyId family) const { return families_.handle(family); }

 private:
  Status outcome_of_write(const rdb::Status& status) const;
  Database(const Machine& machine, const DatabaseOptions& given,
           std::shared_ptr<rdb::FileSystem> files);
  Status verify_wals();
  Status handle_wal_gap(const rdb::DBOptions& db_options,
                        const std::vector<rdb::ColumnFamilyDescriptor>& families,
                        std::map<std::uint64_t, std::uint64_t>& taken_before);
  Result<std::uint64_t> numbers_taken_in(const wal::WalGap& gap, const rdb::DBOptions& db_options,
                                         const std::vector<rdb::ColumnFamilyDescriptor>& families);
  Status open_families();
  Result<std::vector<rdb::ColumnFamilyDescriptor>> stored_families(const rdb::DBOptions& options);
  // With what administrators give to the family of that name on top.
  Result<rdb::ColumnFamilyOptions> table_family_options(std::string_view name)
      BASALT_EXCLUDES(resume_mutex_);
  void begin_caching();
  Status sync_once();
  Status sync_wal_once();  // also while it is read-only
  // Begins with the stored limit, or stores one: the time of the manifest, where an engine has
  // compacted that stored none.
  Status load_expiry_limit(std::optional<std::uint64_t> manifest_time);
  Status store_expiry_limit(std::uint64_t limit) BASALT_REQUIRES(expiry_limit_mutex_);
  // At the end: to what compactions have taken, if that is less. So the next start need not take it
  // for granted that they have gone as far as they might, by a clock that was wrong perhaps.
  void lower_expiry_limit();
  bool has_lifetimes();
  // Writes a record that changes nothing. It comes to disk before what is written behind it does.
  Status write_mark(const wal::WalMark& mark);
  // The same, with how many numbers ingestions may have taken that no record has told of.
  Status tell_of_taken_numbers() BASALT_REQUIRES(ingestion_mutex_);
  // What the cache's capacity must not exceed where budget_ sizes it.
  std::uint64_t budgeted_bytes_max(const DatabaseOptions& given) const;
  void await_cause() const;
  Status known_cause(Status unexplained) const;

  const Machine machine_;
  // Held while what is given takes effect.
  mutable Mutex given_mutex_{MutexRank::kGivenOptions};
  DatabaseOptions given_ BASALT_GUARDED_BY(given_mutex_);
  const DatabaseOptions options_;
  const std::shared_ptr<wal::Health> health_;
  const std::shared_ptr<wal::GuardedFileSystem> files_;
  const std::unique_ptr<rdb::Env> env_;
  std::unique_ptr<wal::WalContinuity> continuity_;
  Mutex publication_mutex_{MutexRank::kPublication};
  // Also held while options of column families change.
  Mutex resume_mutex_{MutexRank::kResume};
  // Held from the mark before an ingestion to the one behind it.
  Mutex ingestion_mutex_{MutexRank::kIngestion};
  std::uint64_t taken_numbers_ BASALT_GUARDED_BY(ingestion_mutex_) = 0;  // not told of yet
  const std::shared_ptr<index_stats::KeyStructureSlot> key_structures_;
  const std::shared_ptr<LifetimeSlot> lifetimes_;
  ExpiryClock expiry_clock_;
  // Held while the limit is stored.
  Mutex expiry_limit_mutex_{MutexRank::kExpiryLimit};
  const std::unique_ptr<FamilyOptions> family_options_ BASALT_GUARDED_BY(resume_mutex_);
  std::atomic<bool> is_paused_ = false;
  EventCounters events_;
  rdb::TransactionDB* db_ = nullptr;
  Families families_;
  std::shared_ptr<block_cache::BlockCache> cache_;
  std::unique_ptr<SnapshotPool> snapshots_;
  const std::shared_ptr<IteratorPool> iterators_;
  std::unique_ptr<block_cache::MemoryBudget> budget_;
  std::unique_ptr<block_cache::CacheWarmer> loader_;
  wal::GroupSync wal_sync_;
};

}  // namespace basalt::kv
