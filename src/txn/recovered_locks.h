#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "kv/database.h"
#include "lock/lock_manager.h"
#include "rdb/rocksdb_fwd.h"
#include "txn/insert_registry.h"
#include "txn/loaded_files.h"
#include "txn/undecided_changes.h"

// The locks of transactions that are found prepared when the database is opened.
//
// Purpose     Until it is decided, a transaction keeps from others what it kept from them when it
//             was prepared: what it changes, they neither lock nor insert.
// Batch       Each key is locked, and announced if it is put: which of them are rows is known only
//             to the catalog, and a few locks too many cost nothing.
// Files       So is each key of a load (txn/loaded_files.h), if a transaction has no more than
//             `most_keys`. Of more, the keys of one index in one file are locked as a range: rows
//             of others that lie between them have to wait, too. Of files that cannot be read, the
//             whole index of the rows; the transaction can only be rolled back.
// Threads     One. While nobody else uses the database.
namespace basalt::txn {

class RecoveredLocks {
 public:
  // Who holds them: the parts of one transaction.
  struct Holder {
    lock::LockOwner& owner;
    PendingInserts& inserts;
    ChangedIndexes& changed;
  };

  RecoveredLocks(kv::Database& database, lock::LockManager& locks, std::uint64_t most_keys)
      : database_(database), locks_(locks), most_keys_(most_keys) {}

  // Locks the keys of a batch, and of the loads that it names, which are appended to `loads`. Notes
  // all of their indexes. kCorruption: the batch does not decode, or another has locked a key.
  Status lock_keys(const Holder& holder, const rdb::WriteBatch& batch,
                   std::vector<LoadedFiles>& loads);
  // Locks the ranges. When the keys of all transactions are locked: one that is in another's range
  // is none of that one's keys.
  void lock_ranges();

 private:
  struct Range {
    lock::LockOwner& owner;
    std::string lower;
    std::string upper;
  };

  Status lock_files(const Holder& holder, std::vector<LoadedFiles>& loads);
  void lock_unread(const Holder& holder, std::vector<LoadedFiles>& loads, const Status& cause);

  kv::Database& database_;
  lock::LockManager& locks_;
  const std::uint64_t most_keys_;
  std::vector<Range> ranges_;
};

}  // namespace basalt::txn
