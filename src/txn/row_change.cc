#include "txn/row_change.h"

#include <rocksdb/utilities/transaction.h>

#include "base/assert.h"
#include "rdb/slice.h"
#include "rdb/status_conversion.h"
#include "txn/transaction_manager.h"

namespace basalt::txn {

RowChange::~RowChange() {
  if (transaction_.hold_batch_.owns_lock()) transaction_.hold_batch_.unlock();
}

// Announced first, then asked, then put: InsertRegistry says why.
Status RowChange::begin(const RowChangePlan& plan) {
  Transaction& transaction = transaction_;
  BASALT_DEBUG_ASSERT(!transaction.hold_batch_.owns_lock());
  BASALT_TRY(transaction.check_size());
  transaction.activate();
  if (!plan.new_keys.empty()) transaction.announce_inserts(plan.new_keys);
  if (!plan.new_values.empty()) transaction.announce_inserts(plan.new_values);
  while (true) {
    transaction.hold_batch_.lock();
    const std::string_view* blocked = transaction.find_blocked(plan.new_keys);
    if (blocked == nullptr) blocked = transaction.find_blocked(plan.new_values);
    if (blocked == nullptr) break;
    transaction.hold_batch_.unlock();
    BASALT_TRY(
        transaction.manager_.locks().await_insert(transaction.owner_, *blocked, plan.policy));
  }
  transaction.inserts_->batch_mutex().assert_held();
  EmptyRanges& empty = transaction.manager_.empty_ranges();
  for (const std::string_view key : plan.new_values) empty.note_insert(key);
  for (const std::string_view key : plan.new_keys) {
    empty.note_insert(key);
    transaction.scans_.note_new_key(key);
  }
  return transaction.begin_writing();
}

void RowChange::note_row(std::string_view row_key) {
  BASALT_DEBUG_ASSERT(locks_ == RowLocks::kNotNeeded ||
                      transaction_.manager_.locks().holds(transaction_.owner_, row_key,
                                                          lock::LockMode::kExclusive));
  transaction_.note_changed_row(row_key);
}

std::uint64_t RowChange::join_journal(std::uint32_t journal) {
  return transaction_.manager_.join_journal(transaction_.changed_indexes_, journal);
}

// Puts into private tables are not announced: no ranges of them may be known to be empty.
void RowChange::note_removal(std::string_view key) {
  if (locks_ != RowLocks::kNotNeeded) transaction_.manager_.empty_ranges().note_removal(key);
}

Status RowChange::put(kv::FamilyId family, std::string_view key, std::string_view value) {
  BASALT_DEBUG_ASSERT(transaction_.state() == Transaction::State::kActive);
  transaction_.inserts_->batch_mutex().assert_held();
  transaction_.note_change(key);
  return rdb::from_rocksdb(
      transaction_.writes_->PutUntracked(transaction_.manager_.database().family_handle(family),
                                         rdb::slice_of(key), rdb::slice_of(value)));
}

Status RowChange::remove(kv::FamilyId family, std::string_view key) {
  BASALT_DEBUG_ASSERT(transaction_.state() == Transaction::State::kActive);
  transaction_.inserts_->batch_mutex().assert_held();
  note_removal(key);
  return transaction_.queue_remove(family, key);
}

Status RowChange::remove_single(kv::FamilyId family, std::string_view key) {
  BASALT_DEBUG_ASSERT(transaction_.state() == Transaction::State::kActive);
  transaction_.inserts_->batch_mutex().assert_held();
  transaction_.note_change(key);
  note_removal(key);
  return rdb::from_rocksdb(transaction_.writes_->SingleDeleteUntracked(
      transaction_.manager_.database().family_handle(family), rdb::slice_of(key)));
}

}  // namespace basalt::txn
