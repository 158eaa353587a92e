#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/key_range.h"
#include "base/status.h"
#include "bulk/build_directory.h"
#include "kv/database.h"
#include "lock/lock_owner.h"
#include "txn/batch_sections.h"
#include "txn/loaded_files.h"
#include "txn/own_change.h"
#include "txn/run_merger.h"
#include "txn/spilled_run.h"
#include "txn/transaction_progress.h"

// The changes of a transaction that are in files because they took too much memory.
//
// Runs        The oldest part of the changes becomes a sorted run when there are too many, then the
//             next one: of changes to one key the newest run has the newest, and the batch in
//             memory a newer one still. A savepoint lies between two runs, so that a return to it
//             drops whole runs.
// Commit      Each run comes to level 0, a file for each family. Where there are many they are
//             merged: while the transaction goes on, and the rest before the commit.
namespace basalt::txn {

// The newest of the runs' changes of a family in [lower, upper), which may be wider than what they
// have; null: there are none. An empty bound is none.
std::unique_ptr<ChangeSource> changes_of_runs(const SpilledRuns& runs, kv::FamilyId family,
                                              std::string_view lower, std::string_view upper,
                                              std::unique_ptr<ChangeSource> newer = nullptr);

// Threads     The transaction's; but runs() may be copied by it for others, who read them.
class SpilledChanges {
 public:
  // `owner`: whose changes they are. Both outlive this.
  SpilledChanges(kv::Database& database, const lock::LockOwner& owner,
                 TransactionProgress& progress)
      : database_(database), owner_(owner), progress_(progress) {}

  bool is_empty() const { return runs_.empty(); }
  const SpilledRuns& runs() const { return runs_; }
  std::uint64_t bytes() const { return bytes_; }

  // Appends the entries of a batch. `ends`: those that the sections were made by; set to the number
  // of runs that come before each. kNoSpace, kIoError, as bulk::SstWriter; kInterrupted if
  // `may_interrupt` and somebody has interrupted the owner: nothing has changed.
  Status append(BatchSections& sections, std::span<std::size_t> ends, bool may_interrupt);
  // Begins to make fewer runs of many, meanwhile, if it is not at that and `slot` is free.
  // `savepoints`: how many runs come before each; what is merged lies between two of them.
  void begin_merge(std::span<const std::size_t> savepoints, MergeSlot& slot);
  // Of runs from `count` on, before drop_from() and, with 0, clear(). Waits for the thread, which
  // may be at the end of a file: its filter and its sync.
  void give_up_merge(std::size_t count);
  // Where some runs have become others.
  struct Merged {
    std::size_t end;   // behind the last of those that were merged
    std::size_t less;  // so many runs are gone
  };
  // Of what begin_merge() has begun, if it is done. Whoever has a number of runs that is not below
  // `end` takes `less` off. Nothing: it is not done, or has failed.
  std::optional<Merged> end_merge();
  // Makes fewer runs of more than a commit should take in, or leaves them if there is no room for
  // that. No savepoint will be returned to any more. Calls note_merged() whenever runs were
  // replaced. kIoError, kCorruption; kNoSpace if they are too many to be left: the changes are the
  // same, perhaps in fewer runs.
  Status merge(const std::function<void()>& note_merged);
  // kv::Database::make_way(), for take().
  Status make_way() const;
  // Drops the runs but the first `count`.
  void drop_from(std::size_t count);
  // `value` is set for kPut. kIoError, kCorruption.
  Status find(kv::FamilyId family, std::string_view key, OwnVersion& version,
              std::string& value) const;

  // Gives all of the files away, for the commit. `indexes`: those with changes.
  Result<LoadedFiles> take(std::vector<std::uint32_t> indexes);
  // Removes everything.
  void clear();

 private:
  Status make_directory();
  Status write_run(std::span<const BatchEntry> entries, bool may_interrupt);
  // `left`: how many there are in place of the `count` runs.
  Status merge_group(std::size_t first, std::size_t count, const std::function<void()>& note_merged,
                     std::size_t& left);
  // `merged`: of the runs in [first, end).
  void replace_runs(std::size_t first, std::size_t end, const SpilledRuns& merged);
  std::optional<Merged> take_merged();
  // What the names of the next run's files begin with.
  std::string new_name();
  void note_runs();

  kv::Database& database_;
  const lock::LockOwner& owner_;
  TransactionProgress& progress_;
  std::unique_ptr<bulk::BuildDirectory> directory_;  // if there has been a run
  std::uint32_t next_name_ = 0;
  std::uint64_t bytes_ = 0;  // of keys and values, in all runs there have been
  SpilledRuns runs_;
  bool may_merge_meanwhile_ = true;    // that has not failed yet
  std::unique_ptr<RunMerger> merger_;  // of some of the runs
};

}  // namespace basalt::txn
