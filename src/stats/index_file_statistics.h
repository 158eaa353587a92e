#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kv/database.h"

// What the files say of one index, put together.
//
// Purpose     The number of entries, of entries per value, and of entries in ranges, from the
//             properties of files alone. What is in memtables is not in here.
// Threads     Immutable.
namespace basalt::stats {

// Where between two keys a third one is, from 0 to 1, if keys were spread evenly between them.
double fraction_between(std::string_view lower, std::string_view upper, std::string_view key);

class IndexFileStatistics {
 public:
  struct Estimate {
    double entries = 0;
    // Bounds that hold as far as files do not overlap: the ends of the range are somewhere between
    // two known positions of each file.
    double least = 0;
    double most = 0;
  };
  // Known positions around a range: keys without index id, empty where there is none.
  struct Bracket {
    std::string lower;
    std::string upper;
  };

  IndexFileStatistics() = default;
  explicit IndexFileStatistics(kv::IndexFiles files);

  // Whether every file said what it holds. If not, the figures are of no use.
  bool is_complete() const { return !has_unknown_; }
  // The number of keys that exist: a key with versions in several files counts once, a deleted one
  // not at all.
  double entries() const { return entries_; }
  // Versions of entries that are overwritten or removed, and removals, as a part of all.
  double dead_share() const;
  // Whether entries() is a count and no estimate.
  bool is_exact() const { return is_exact_; }
  // Bytes of a key and its value.
  double entry_bytes() const;
  // Stored bytes of a block: the unit of RocksDB's estimates.
  double block_bytes() const { return block_bytes_; }
  // Between these all entries in files are: keys without index id, cut to kKeyBytesMax. Empty if no
  // file has entries.
  std::string_view first_key() const {
    return files_.empty() ? std::string_view() : files_.front().first_key;
  }
  std::string_view last_key() const { return last_key_; }
  // The number of files whose entries are mixed with each other: each adds an error to estimates.
  std::size_t depth() const { return runs_; }

  // Entries per distinct value of the first `parts` parts. Nothing if the files that know it hold
  // less than half of `entries_in_all`.
  std::optional<double> entries_per_value(std::size_t parts, double entries_in_all) const;

  // Entries in [lower, upper); keys without index id; an empty upper bound is none.
  Estimate entries_between(std::string_view lower, std::string_view upper) const;
  // The smallest range between known positions of the largest file that holds [lower, upper).
  Bracket bracket_of(std::string_view lower, std::string_view upper) const;

 private:
  // How many puts and deletions of a file precede a key.
  struct Position {
    double puts = 0;
    double puts_least = 0;
    double puts_most = 0;
    double deletions = 0;
  };
  // A distinct count that was merged.
  struct Distinct {
    double values = 0;
    double puts = 0;  // of the files that know it
  };

  static Position end_of(const index_stats::IndexProperties& file);
  static Position position_of(const index_stats::IndexProperties& file, std::string_view key);
  double without_overwritten(const std::vector<double>& puts_of_runs, double deletions) const;
  void merge_versions();
  void merge_distinct();
  void find_runs();
  double largest_run_puts() const;

  bool has_unknown_ = false;
  bool is_exact_ = false;
  double entries_ = 0;
  double puts_ = 0;
  double deletions_ = 0;
  double bytes_ = 0;
  double block_bytes_ = 0;
  std::string last_key_;
  // How many of the puts beside those of the largest run are of keys that are in it, too.
  double overwritten_share_ = 0;
  // How many of the deletions are of keys that a file has; the others remove nothing any more.
  double effective_deletions_ = 1;
  std::vector<Distinct> distinct_;
  // Without their samples, which are used up. By first key.
  std::vector<index_stats::IndexProperties> files_;
  // For each file: the number of its run. Files of a run do not overlap.
  std::vector<std::size_t> run_of_;
  std::size_t runs_ = 0;
};

}  // namespace basalt::stats
