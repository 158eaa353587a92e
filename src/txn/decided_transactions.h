#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"

namespace basalt::txn {

class Transaction;

enum class Decision : std::uint8_t { kCommit, kRollback };

// Transactions that are prepared or ordered, and decided, but whose decision could not be written.
// They keep their locks until it is.
//
// Threads     Safe from any thread; one at a time writes.
class DecidedTransactions {
 public:
  // The session may keep a share while cursors of its statement refer to it, and uses it no more.
  // note_kept() is called before anybody else writes it.
  void keep(std::shared_ptr<Transaction> transaction, Decision decision,
            const std::function<void()>& note_kept);
  // Tries again to write all decisions. The first error, if there is one; else what end() returns,
  // which is called before another one is kept.
  Status write(const std::function<Status()>& end);
  std::size_t count() const { return count_.load(std::memory_order_relaxed); }
  // For the end of the database: nobody else uses this any more.
  void for_each(const std::function<void(Transaction&)>& visit);

 private:
  struct Decided {
    std::shared_ptr<Transaction> transaction;
    Decision decision;
  };

  Mutex mutex_{MutexRank::kDecided};
  std::vector<Decided> decided_ BASALT_GUARDED_BY(mutex_);
  std::atomic<std::size_t> count_{0};
};

}  // namespace basalt::txn
