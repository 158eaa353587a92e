#pragma once
#include <algorithm>
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
#include "txn/own_runs.h"
#include "txn/pending_write.h"
#include "txn/run_merger.h"
#include "txn/spilled_run.h"
#include "txn/transaction_progress.h"

// The changes of a transaction that are in files, or will be, because they took too much memory.
//
// Runs        The oldest part of the changes becomes a sorted run when there are too many, then the
//             next one: of changes to one key the newest run has the newest, and the batch in
//             memory a newer one still. A savepoint lies between two runs, so that a return to it
//             drops whole runs.
// Pending     They come from a batch, which nobody changes any more. What is read of them comes
//             from there until they are written: meanwhile, by a thread.
// Commit      Each run comes to level 0, a file for each family. Where there are many they are
//             merged: while the transaction goes on, and the rest before the commit.
namespace basalt::txn {

// How runs are counted where some have become others.
struct Renumbering {
  std::size_t begin;              // so many are as they were
  std::vector<std::size_t> ends;  // how many there are now up to each of those that are not
  // How many runs there are now of the first `count`.
  std::size_t of(std::size_t count) const {
    if (count <= begin) return count;
    const std::size_t replaced = std::min(count - begin, ends.size());
    return ends[replaced - 1] + (count - begin - replaced);
  }
};

// Threads     The transaction's; but runs() may be copied by it for others, who read them.
class SpilledChanges {
 public:
  // `owner`: whose changes they are. Both outlive this.
  SpilledChanges(kv::Database& database, const lock::LockOwner& owner,
                 TransactionProgress& progress)
      : database_(database), owner_(owner), progress_(progress) {}

  bool is_empty() const { return runs_.is_empty(); }
  const OwnRuns& runs() const { return runs_; }
  std::uint64_t bytes() const { return bytes_; }
  // Of the runs that are not written yet, the memory and the bytes of changes: all of their batch
  // while one of them is there.
  std::uint64_t pending_memory() const { return has_pending() ? pending_memory_ : 0; }
  std::uint64_t pending_changes() const { return has_pending() ? pending_changes_ : 0; }
  bool has_pending() const { return !runs_.pending.empty(); }
  // How many changes those runs were made of.
  std::uint64_t pending_entries() const;

  // So that add() cannot fail. kNoSpace, kIoError.
  Status make_directory();
  // Takes the sections of a batch as runs; there must be none that is pending. `batch` has the
  // entries and keeps them, in `memory` bytes with what it takes to sort them. `ends`: those that
  // the sections were made by; set to the number of runs that come before each.
  void add(std::shared_ptr<const void> batch, BatchSections sections, std::uint64_t memory,
           std::span<std::size_t> ends);
  // Begins to write what is pending, meanwhile, which no thread does.
  void begin_write();
  bool is_being_written() const { return writer_ != nullptr; }
  // Whether end_write() or end_merge() may return something.
  bool has_finished() const {
    return (writer_ != nullptr && writer_->is_done()) || (merger_ != nullptr && merger_->is_done());
  }
  // Where the thread has written all that is pending. Nothing: it has not, or has failed.
  std::optional<Renumbering> end_write();
  // Writes what is pending, or waits for the thread that does. kNoSpace, kIoError, as
  // bulk::SstWriter; kInterrupted if `may_interrupt` and somebody has interrupted the owner: it is
  // pending still.
  Result<Renumbering> write_pending(bool may_interrupt);
  // Begins to make fewer runs of many, meanwhile, if it is not at that and `slot` is free.
  // `savepoints`: how many runs come before each; what is merged lies between two of them.
  void begin_merge(std::span<const std::size_t> savepoints, MergeSlot& slot);
  // What threads do with runs from `count` on, before drop_from() and, with 0, clear(). Waits for
  // them; they may be sorting, or at the end of a file: its filter and its sync.
  void give_up(std::size_t count);
  // Of what begin_merge() has begun, if it is done. Nothing: it is not done, or has failed.
  std::optional<Renumbering> end_merge();
  // Makes fewer runs of more than a commit should take in, or leaves them if there is no room for
  // that. None is pending, and no savepoint will be returned to any more. Calls note_merged()
  // whenever runs were replaced. kIoError, kCorruption; kNoSpace if they are too many to be left:
  // the changes are the same, perhaps in fewer runs.
  Status merge(const std::function<void()>& note_merged);
  // kv::Database::make_way(), for take().
  Status make_way() const;
  // Drops the runs but the first `count`.
  void drop_from(std::size_t count);
  // Gives all of the files away, for the commit. `indexes`: those with changes.
  Result<LoadedFiles> take(std::vector<std::uint32_t> indexes);
  // Removes everything.
  void clear();

 private:
  // Of runs that were pending.
  Renumbering take_written(WrittenRuns written);
  // `left`: how many there are in place of the `count` runs.
  Status merge_group(std::size_t first, std::size_t count, const std::function<void()>& note_merged,
                     std::size_t& left);
  // `merged`: of the runs in [first, end).
  void replace_runs(std::size_t first, std::size_t end, const SpilledRuns& merged);
  std::optional<Renumbering> take_merged();
  // What the names of the next files begin with, which `what` tells.
  std::string new_name(std::string_view what);
  void note_runs();

  kv::Database& database_;
  const lock::LockOwner& owner_;
  TransactionProgress& progress_;
  std::unique_ptr<bulk::BuildDirectory> directory_;  // if there has been a run
  std::uint32_t next_name_ = 0;
  std::uint64_t bytes_ = 0;  // of keys and values, in all runs there have been
  OwnRuns runs_;
  // Of the batch that all pending runs come from.
  std::uint64_t pending_memory_ = 0;
  std::uint64_t pending_changes_ = 0;
  // Of the pending runs, if a thread is at it or has done it; null also where one has failed.
  std::unique_ptr<PendingWrite> writer_;
  bool may_merge_meanwhile_ = true;    // that has not failed yet
  std::unique_ptr<RunMerger> merger_;  // of some of the runs
};

}  // namespace basalt::txn
