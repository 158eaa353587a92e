#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "base/changed_rows.h"
#include "base/mutex.h"
#include "base/status.h"
#include "catalog/catalog.h"
#include "kv/database.h"
#include "stats/index_file_statistics.h"
#include "stats/key_sampler.h"
#include "stats/live_shares.h"

// What the optimizer is told of a table.
namespace basalt::stats {

// Sizes of a table. Estimates, from file metadata and memtables. Bytes are as they are stored in
// files; what is in memtables counts with the size that it is expected to have there.
struct TableSize {
  std::uint64_t rows = 0;
  std::uint64_t row_bytes = 0;    // of the primary index
  std::uint64_t index_bytes = 0;  // of all secondary indexes
};

// Shared by all sessions that have the table open.
//
// Threads     Safe from any thread. size(), entry_bytes() and generation(), which every plan asks
//             for several times, read atomics unless a refresh is due; nobody waits for a refresh
//             of another thread.
// Cost        A refresh happens when somebody asks, a second or more after the last one, or at once
//             after a quarter of the rows were changed; and it takes less than 1 % of the time:
//             after a slow one the next waits longer.
class TableStatistics {
 public:
  // Microseconds since some moment.
  using Clock = std::int64_t (*)();

  // `changes`: what transactions do to the rows from now on, and have done before.
  // `key_parts` may be null: then values are counted by analyze() alone. `clock` says when a
  // refresh is due; it never goes back, and any thread may call it. `cost_clock` says what one
  // costs, which the next early one waits a multiple of: the processor time of the calling thread.
  TableStatistics(kv::Database& database, catalog::Catalog& catalog,
                  index_stats::KeyStructureSource* key_parts, catalog::TablePointer table,
                  std::shared_ptr<const ChangedRows> changes, Clock clock = &steady_us,
                  Clock cost_clock = &thread_us);

  // Rows that are not committed count, for everybody, and go with their rollback.
  TableSize size();
  // About how many of the rows are in files, as of the last refresh; all where files do not tell.
  std::uint64_t rows_in_files() const;
  // So many rows, or fewer, were inserted and removed that `changes` does not tell, and are
  // committed. Rows are counted or estimated anew if these are many for the table.
  void note_uncounted(std::uint64_t changes);
  // Bytes of a key and its value as they are in memory, not as they are compressed. 0: nobody
  // knows.
  double entry_bytes(std::size_t index_number) const {
    return entry_bytes_[index_number].load(std::memory_order_relaxed);
  }

  // The same, as files hold them.
  double stored_entry_bytes(std::size_t index_number) const {
    return stored_entry_bytes_[index_number].load(std::memory_order_relaxed);
  }

  // Rows per distinct value of the first `parts` (extended) parts of an index: at least 1. From
  // the last analyze() if it still fits the table, else from the files, else from some entries.
  std::uint64_t rows_per_value(std::size_t index_number, std::size_t parts);
  // Changes when rows_per_value() may give other answers than before.
  std::uint64_t generation() const { return generation_.load(std::memory_order_relaxed); }

  // Reads the whole index in order and stores how many distinct prefixes it has.
  // `common_parts(a, b)` gives the number of equal leading parts of two keys; `is_interrupted`
  // is asked now and then. Returns the number of entries; that of the primary index is the number
  // of rows from then on.
  using CommonParts = std::function<std::size_t(std::string_view, std::string_view)>;
  Result<std::uint64_t> analyze(std::size_t index_number, std::size_t parts,
                                const CommonParts& common_parts,
                                const std::function<bool()>& is_interrupted);
  // The number of rows that are committed now, as somebody else has found.
  void set_exact_rows(std::uint64_t rows);

  // Number of entries in [lower, upper) of an index: exact when small, estimated otherwise, and
  // never 0 unless there is none. Small ranges of a unique integer whose values mostly exist are
  // estimated, too, and not read.
  Result<std::uint64_t> entries_in_range(std::size_t index_number, const KeyRange& range);

 private:
  // Removed entries that a count passes between two others before it becomes an estimate.
  static constexpr std::uint64_t kSkippedMax = 1000;
  // 0 if it is negative.
  static std::uint64_t rounded(double number);
  static std::int64_t steady_us();
  static std::int64_t thread_us();

  struct Index {
    catalog::IndexStatistics analyzed;  // empty where never analyzed
    std::shared_ptr<const IndexFileStatistics> figures;
    std::vector<double> entries_per_value;  // for each number of parts
    LiveShares live_shares;
  };

  // What was seen of a range from its beginning on.
  struct Counted {
    std::uint64_t entries = 0;
    bool is_all = false;
    // How many entries it has if they are spread evenly between its first and its last key; 0: not
    // known.
    double extrapolated = 0;
  };

  kv::FamilyId family_of(std::size_t index_number) const;
  KeyRange range_of(std::size_t index_number) const;
  std::uint64_t row_count() const;
  std::shared_ptr<const IndexFileStatistics> figures_of(std::size_t index_number) const;
  // What has happened to the table. Rows that are not committed count, and so do those that are
  // committed later, when files and memtables have them, which tell of values.
  struct Seen {
    std::uint64_t rows = 0;
    std::int64_t committed = 0;
    std::uint64_t updates = 0;

    // Rows inserted, deleted and updated meanwhile, as far as they do not cancel out.
    std::uint64_t distance_to(const Seen& later) const;
  };
  Seen seen_now() const;
  // Since the last refresh.
  std::uint64_t changes() const;
  void refresh_if_due();
  void refresh() BASALT_REQUIRES(refresh_mutex_);
  // The sum for the families of all indexes: each one's number only grows, and so the sum changes
  // with each.
  std::uint64_t structure_version() const {
    std::uint64_t sum = 0;
    for (const auto& index : table_->indexes) sum += database_.structure_version(index.family);
    return sum;
  }
  void read_files() BASALT_REQUIRES(refresh_mutex_);
  void refresh_sizes() BASALT_REQUIRES(refresh_mutex_);
  void refresh_entry_size(std::size_t index_number, std::uint64_t in_memtables)
      BASALT_REQUIRES(refresh_mutex_);
  void set_committed_rows(std::uint64_t rows, std::int64_t committed)
      BASALT_REQUIRES(refresh_mutex_);
  void refresh_rows(bool files_changed) BASALT_REQUIRES(refresh_mutex_);
  void adjust_rows(const kv::RangeSize& size) BASALT_REQUIRES(refresh_mutex_);
  std::uint64_t first_row_count(const kv::RangeSize& size) BASALT_REQUIRES(refresh_mutex_);
  std::uint64_t guess_rows(const kv::RangeSize& size) BASALT_REQUIRES(refresh_mutex_);
  void refresh_values() BASALT_REQUIRES(refresh_mutex_);
  std::vector<double> values_of(std::size_t index_number) BASALT_REQUIRES(refresh_mutex_);
  bool is_told_by_files(std::size_t index_number, const IndexFileStatistics& figures) const;

  bool fits(const catalog::IndexStatistics& analyzed) const;
  double estimate_entries(std::size_t index_number, const KeyRange& range, const Counted& counted);
  std::optional<std::uint64_t> entries_by_values(std::size_t index_number,
                                                 const KeyRange& range) const;
  Result<Counted> count_entries(std::size_t index_number, const KeyRange& range);
  double estimate_in_files(std::size_t index_number, const IndexFileStatistics& figures,
                           const KeyRange& range, const Counted& counted);
  // Entries in a range, removed and older ones included.
  double estimate_versions(std::size_t index_number, const IndexFileStatistics& figures,
                           const KeyRange& range) const;
  // The share of `all` versions in the range that are entries, by a sample: of the range as it is,
  // or as it was when it had about as many versions.
  double live_share(std::size_t index_number, const KeyRange& range, double all,
                    const KeySampler::Estimate& versions);
  double memtable_weight(std::size_t index_number, const IndexFileStatistics& figures) const;

  kv::Database& database_;
  catalog::Catalog& catalog_;
  index_stats::KeyStructureSource* const key_structures_;
  const catalog::TablePointer table_;
  const Clock clock_;
  const Clock cost_clock_;
  const std::shared_ptr<const ChangedRows> changed_rows_;
  // The rows that were there, less those that transactions had committed by then.
  std::atomic<std::int64_t> base_rows_{0};
  std::atomic<std::uint64_t> uncounted_changes_{0};
  std::atomic<std::uint64_t> row_bytes_{0};
  std::atomic<std::uint64_t> index_bytes_{0};
  std::vector<std::atomic<double>> entry_bytes_;  // of each index
  std::vector<std::atomic<double>> stored_entry_bytes_;
  std::atomic<std::int64_t> next_refresh_ms_{0};
  // After so many changes a refresh is due from that moment on.
  std::atomic<std::uint64_t> changes_until_refresh_{0};
  std::atomic<std::int64_t> next_early_refresh_us_{0};
  // As they were at the last refresh.
  std::atomic<std::uint64_t> refreshed_rows_{0};
  std::atomic<std::int64_t> refreshed_committed_{0};
  std::atomic<std::uint64_t> refreshed_updates_{0};
  std::atomic<std::uint64_t> generation_{1};
  Mutex refresh_mutex_{MutexRank::kRefresh};
  // That of the files that were read; 0: none.
  std::uint64_t structure_version_ BASALT_GUARDED_BY(refresh_mutex_) = 0;
  // When values were last refreshed.
  Seen values_seen_ BASALT_GUARDED_BY(refresh_mutex_);
  bool values_are_due_ BASALT_GUARDED_BY(refresh_mutex_) = true;
  bool rows_known_ BASALT_GUARDED_BY(refresh_mutex_) = false;
  // Held for moments only, also under refresh_mutex_.
  mutable Mutex mutex_{MutexRank::kTableStatistics};
  std::vector<Index> indexes_ BASALT_GUARDED_BY(mutex_);  // their number does not change
};

}  // namespace basalt::stats
