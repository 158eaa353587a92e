#pragma once
#include <cstdint>

#include "base/relaxed.h"

namespace basalt::txn {

// What takes long of what a transaction with many changes does.
enum class TransactionStep : std::uint8_t {
  kNone,
  kSpilling,     // moves changes from memory to files
  kMerging,      // makes fewer files of many, for the commit
  kIngesting,    // makes files part of the database
  kRollingBack,  // undoes all of it
};

// How many changes a transaction has, and what it does with them, for reports.
//
// Threads     Changed by the transaction's, read by any.
struct TransactionProgress {
  Relaxed<std::uint64_t> bytes_in_memory{0};  // of changes, at the end of the latest row
  Relaxed<std::uint64_t> bytes_in_files{0};   // of keys and values
  Relaxed<std::uint64_t> runs{0};
  Relaxed<TransactionStep> step{TransactionStep::kNone};
  // Of the step, in whatever it counts; a total of 0 is not known.
  Relaxed<std::uint64_t> done{0};
  Relaxed<std::uint64_t> total{0};

  void add_done(std::uint64_t n) { done = done + n; }
};

// That a transaction is in a step, for a block.
class StepScope {
 public:
  StepScope(TransactionProgress& progress, TransactionStep step, std::uint64_t total = 0)
      : progress_(progress), outer_(progress.step) {
    progress_.done = 0;
    progress_.total = total;
    progress_.step = step;
  }
  ~StepScope() { progress_.step = outer_; }
  StepScope(const StepScope&) = delete;
  StepScope& operator=(const StepScope&) = delete;

 private:
  TransactionProgress& progress_;
  const TransactionStep outer_;
};

}  // namespace basalt::txn
