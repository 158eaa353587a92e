#include "txn/decided_transactions.h"

#include <utility>

#include "base/assert.h"
#include "txn/transaction.h"

namespace basalt::txn {

void DecidedTransactions::keep(std::shared_ptr<Transaction> transaction, Decision decision,
                               const std::function<void()>& note_kept) {
  BASALT_ASSERT(transaction->state() == Transaction::State::kPrepared ||
                transaction->state() == Transaction::State::kOrdered);
  const MutexLock guard(mutex_);
  decided_.push_back({std::move(transaction), decision});
  count_ = decided_.size();
  note_kept();
}

Status DecidedTransactions::write(const std::function<Status()>& end) {
  const MutexLock guard(mutex_);
  Status first_error;
  std::vector<Decided> left;
  for (Decided& decided : decided_) {
    Status status = decided.decision == Decision::kCommit
                        ? decided.transaction->commit(kv::Durability::kSynced)
                        : decided.transaction->rollback();
    if (status.is_ok()) {
      BASALT_DEBUG_ASSERT(decided.transaction->state() == Transaction::State::kIdle);
      continue;
    }
    left.push_back(std::move(decided));
    if (first_error.is_ok()) first_error = std::move(status);
  }
  decided_ = std::move(left);
  count_ = decided_.size();
  BASALT_TRY(std::move(first_error));
  return end();
}

void DecidedTransactions::for_each(const std::function<void(Transaction&)>& visit) {
  const MutexLock guard(mutex_);
  for (Decided& decided : decided_) visit(*decided.transaction);
}

}  // namespace basalt::txn
