#pragma once
#include <concepts>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "base/status.h"
#include "kv/database.h"
#include "lock/lock_manager.h"
#include "txn/transaction.h"

namespace basalt::txn {

// Whether rows that are changed are locked: those of a table that nobody else can open yet are not.
enum class RowLocks : std::uint8_t { kHeld, kNotNeeded };

// What a change of a row will do to keys that others may be looking at.
struct RowChangePlan {
  // What will be put that is not there yet.
  std::span<const std::string_view> new_keys = {};
  // Keys that are there and will get another value, which readers with locks may have passed over
  // as it was.
  std::span<const std::string_view> new_values = {};
  // For range locks of others on both, as in Transaction::await_insert().
  lock::WaitPolicy policy = {};
  RowLocks locks = RowLocks::kHeld;
};

// The changes of one row and of its entries, while change_row() makes them: others who lock ranges
// see all of them or none. They are in the transaction's batch, and undone as it says.
//
// Threads     The transaction's.
class RowChange {
 public:
  RowChange(const RowChange&) = delete;
  RowChange& operator=(const RowChange&) = delete;

  // Before the row or one of its entries is changed: for readers with locks that hold an older
  // iterator. The row's exclusive lock is held.
  void note_row(std::string_view row_key);
  // What the change makes of the table: it has `rows` more, or less if negative. Counts until a
  // rollback undoes the change.
  void note_table(const std::shared_ptr<TableChanges>& table, std::int64_t rows) {
    transaction_.changed_tables_.note(table, rows);
  }

  // For a journal, which others may give up at any time: from here on UndecidedChanges tells that
  // the transaction writes to it. Returns the number of its commit (ChangedIndexes).
  std::uint64_t join_journal(std::uint32_t journal);
  bool has_joined(std::uint32_t journal) const {
    return transaction_.changed_indexes_.has(journal);
  }
  // It was given up, and the transaction has written nothing to it.
  void leave_journal(std::uint32_t journal) { transaction_.changed_indexes_.leave(journal); }

  Status put(kv::FamilyId family, std::string_view key, std::string_view value);
  Status remove(kv::FamilyId family, std::string_view key);
  // For keys that were put exactly once since they were last removed.
  Status remove_single(kv::FamilyId family, std::string_view key);

 private:
  template <std::invocable<RowChange&> Change>
  friend Status change_row(Transaction& transaction, const RowChangePlan& plan, Change&& change);

  RowChange(Transaction& transaction, RowLocks locks) : transaction_(transaction), locks_(locks) {}
  ~RowChange();
  // Waits for range locks of others; then nothing may be waited for any more.
  Status begin(const RowChangePlan& plan);
  void note_removal(std::string_view key);

  Transaction& transaction_;
  const RowLocks locks_;
};

// Has `change` make the changes of one row: a callable that takes a RowChange& and returns Status.
// Fails with kTooLarge if the transaction has no memory left for more rows, and as await_insert()
// does; then `change` is not called.
template <std::invocable<RowChange&> Change>
Status change_row(Transaction& transaction, const RowChangePlan& plan, Change&& change) {
  RowChange row(transaction, plan.locks);
  BASALT_TRY(row.begin(plan));
  return std::forward<Change>(change)(row);
}

}  // namespace basalt::txn
