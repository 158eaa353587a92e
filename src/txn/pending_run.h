#pragma once
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "kv/database.h"
#include "txn/batch_sections.h"
#include "txn/key_spans.h"
#include "txn/own_change.h"

namespace basalt::txn {

// A part of a transaction's changes that is no longer in its batch and not yet in files, in memory:
// the transaction goes on, and finds them, while a thread writes them.
//
// Threads     Any.
class PendingRun : public std::enable_shared_from_this<PendingRun> {
 public:
  // Each key once, in the order of families and keys.
  struct Sorted {
    std::vector<BatchEntry> removals;  // for a run below: see net_change()
    std::vector<BatchEntry> newest;
  };

  // `batch` has the entries, in the order in which they came, and keeps them as they are.
  PendingRun(std::shared_ptr<const void> batch, std::vector<BatchEntry> entries);

  const KeySpans& keys() const { return keys_; }
  // Before they were sorted.
  std::uint64_t entry_count() const { return entry_count_; }
  // The first who asks sorts them, and others wait for that.
  const Sorted& sorted() const;
  // The changes of a family, which keep the run. Only those in [lower, upper) have to be seen; an
  // empty bound is none.
  std::unique_ptr<ChangeSource> changes(kv::FamilyId family, std::string_view lower,
                                        std::string_view upper) const;
  // `value` is set for kPut.
  void find(kv::FamilyId family, std::string_view key, OwnVersion& version,
            std::string& value) const;

 private:
  const std::shared_ptr<const void> batch_;
  const std::uint64_t entry_count_;
  KeySpans keys_;
  mutable std::once_flag is_sorted_;
  mutable Sorted sorted_;
};

// The oldest first.
using PendingRuns = std::vector<std::shared_ptr<const PendingRun>>;

}  // namespace basalt::txn
