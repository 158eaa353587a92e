#pragma once
#include <cstdint>
#include <variant>

#include "lock/lock_manager.h"

namespace basalt::table {

// A read of the transaction's or statement's snapshot, without locks.
struct ConsistentRead {
  // False only for a statement that reads a single key of a single index once: not for an entry and
  // the row that it leads to.
  bool needs_snapshot = true;
};

// A read of what is newest, as one with locks does, but without any: for values that the
// transaction has locked itself.
struct NewestRead {};

// What a read does about a row that another transaction has locked.
enum class OnLockedRow : std::uint8_t {
  kWait,
  kSkip,  // passes over it: SKIP LOCKED
  // Gives it as it was last committed, without a lock: semi-consistent reads.
  kPeek,
};

// What a scan does about keys that its own transaction puts in its index while it goes on.
enum class NewOwnKeys : std::uint8_t {
  kPassed,  // passes over them: StatementBoundary remembers each
  // The same, for a scan that goes forward over the range of one seek and never elsewhere: keys
  // outside of it, and behind the scan, are not remembered.
  kPassedInRange,
  kMet,  // gives them, where they lie ahead
};

// A read that locks rows, and gives their newest committed versions.
struct LockingRead {
  lock::LockMode mode = lock::LockMode::kExclusive;
  lock::WaitPolicy wait;
  OnLockedRow on_locked = OnLockedRow::kWait;
  // What the read went over stays as it is, also where there was nothing. Ranges are locked against
  // inserts by others, exactly as far as the read has looked; a key that a lookup did not find
  // stays locked.
  bool locks_gaps = false;
  // A row that others changed after the transaction's snapshot was taken is an error,
  // kSnapshotConflict, instead of being given as it is now.
  bool rejects_newer = false;
  NewOwnKeys new_own_keys = NewOwnKeys::kPassed;
  // So many rows are read once more by their keys, since others have committed since the iterator
  // was made, before a scan makes it anew: a reading costs some microseconds, an iterator some ten.
  std::uint32_t stale_rows_max = 64;
};

// How a statement reads rows.
using ReadSettings = std::variant<ConsistentRead, NewestRead, LockingRead>;

}  // namespace basalt::table
