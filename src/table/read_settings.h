#pragma once
#include <optional>

#include "lock/lock_manager.h"

namespace basalt::table {

// How a statement reads rows.
struct ReadSettings {
  // Empty: a consistent read, without locks. Otherwise rows are locked and read in their newest
  // committed version.
  std::optional<lock::LockMode> lock;
  lock::WaitPolicy wait;
  // Pass over rows that others have locked.
  bool skip_locked = false;
  // With `lock`: what the read went over stays as it is, also where there was nothing. Ranges are
  // locked against inserts by others, exactly as far as the read has looked; a key that a lookup
  // did not find stays locked.
  bool locks_gaps = false;
  // With `lock`: a row that others changed after the transaction's snapshot was taken is an error,
  // kSnapshotConflict, instead of being given as it is now.
  bool rejects_newer = false;
  // False only for a statement that reads a single key of a single index once: not for an entry and
  // the row that it leads to.
  bool needs_snapshot = true;
  // Without locks, but what is newest, as a read with locks does: for values that the transaction
  // has locked itself.
  bool reads_newest = false;

  // Whether the rows read are those of the transaction's or statement's snapshot.
  bool is_consistent() const { return !lock && !reads_newest; }
};

}  // namespace basalt::table
