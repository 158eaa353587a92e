#include <rocksdb/utilities/transaction.h>
#include <rocksdb/utilities/write_batch_with_index.h>

#include "txn/transaction.h"
#include "txn/transaction_manager.h"

namespace basalt::txn {

// Savepoints are those of the batch that is made next, so that nobody returns to before this.
Status Transaction::commit_portion(kv::Durability durability) {
  BASALT_ASSERT(state_ != State::kPrepared && state_ != State::kOrdered && loaded_.empty());
  // What is in files comes all together.
  if (!has_writes_ || !spilled_.is_empty()) return Status::ok();
  const BatchGuard guard(*this);
  BASALT_TRY(check_room());
  check_commit();
  writes_->GetWriteOptions()->sync = durability == kv::Durability::kSynced;
  scans_.leave_own_changes();
  BASALT_TRY(write_commit());
  changed_tables_.commit();
  if (inserts_are_open_) manager_.inserts().note_commit(*inserts_, newest_sequence());
  has_committed_portion_ = true;
  end_changes();
  return Status::ok();
}

}  // namespace basalt::txn
