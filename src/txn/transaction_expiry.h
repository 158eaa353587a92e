#pragma once
#include <cstdint>
#include <optional>

#include "base/relaxed.h"
#include "txn/undecided_changes.h"

namespace basalt::kv {
class Database;
}  // namespace basalt::kv

namespace basalt::txn {

class TransactionManager;

// How a transaction takes rows for expired.
enum class Expiry : std::uint8_t {
  kByClock,  // those that are when it first asks
  kShown,    // those that were when a compaction last began: others are read
  // For a replica, whose source has found what it changes, and not what it inserts: those that were
  // an hour before the source's statement, and rows that are inserted replace those that are by the
  // clock. So a source may take an hour for a transaction.
  kOfSource,
  kOfSourcesStatement,  // those that were when the source began the statement, which is done again
};

// By which time rows are expired for one transaction: from when it first asks until its end. No
// compaction takes others meanwhile (kv::ExpiryClock).
//
// Threads     The transaction's.
class TransactionExpiry {
 public:
  TransactionExpiry(TransactionManager& manager, Relaxed<TransactionState>& state)
      : manager_(manager), state_(state) {}
  TransactionExpiry(const TransactionExpiry&) = delete;
  TransactionExpiry& operator=(const TransactionExpiry&) = delete;

  // Nothing if it has begun. An idle transaction becomes active. `source_time`: of the source's
  // statement, seconds since 1970.
  void begin(Expiry expiry, std::uint64_t source_time = 0);
  void end();

  // Rows that are expired at this time are as good as gone, for all that is read.
  std::uint64_t time() {
    if (!time_) begin(Expiry::kByClock);
    return *time_;
  }
  // The same for rows in the way of those that are written.
  std::uint64_t time_of_writes();
  // A read has passed over a stored row or entry because it is expired.
  void note_hidden();

 private:
  kv::Database& database() const;

  TransactionManager& manager_;
  Relaxed<TransactionState>& state_;
  std::optional<std::uint64_t> time_;
  std::uint64_t inserts_by_ = 0;  // a time of the source, whose inserts go by the clock; else 0
};

}  // namespace basalt::txn
