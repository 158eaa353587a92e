#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/key_range.h"
#include "base/status.h"
#include "catalog/definitions.h"
#include "kv/database.h"
#include "txn/row_change.h"

namespace basalt::table {

// The journal of a table: which rows transactions change while indexes are built from its rows.
//
// Entries     Of each row that is changed its primary key, behind the journal's index id and the
//             number of the commit (txn::ChangedIndexes), without a value. They are in the batch
//             that has the change: a snapshot sees both or neither, and all of a number or nothing.
// Size        As many entries as rows were changed by each transaction, of 12 bytes and the primary
//             key's. They stay until the journal is dropped.
// Life        Opened and dropped with the indexes that are built (catalog::Catalog).
// Threads     Safe from any thread.
class Journal {
 public:
  // Where all journals are.
  static constexpr kv::FamilyId kFamily = kv::kDefaultFamily;

  // From now on changes of rows are noted. To be called while no transaction has changes of the
  // table that are not committed, and nobody begins to make some.
  void open(catalog::IndexId id) { id_.store(id); }
  // From now on nobody begins to note. Who has begun goes on until its transaction ends:
  // txn::UndecidedChanges knows of it when this returns.
  void close() { id_.store(0); }
  bool is_open() const { return id_.load(std::memory_order_acquire) != 0; }

  // To be called with each change of a row: costs one load while the journal is closed.
  // `primary_key` as stored; `buffer` is overwritten.
  Status note(txn::RowChange& change, std::string_view primary_key, std::string& buffer) {
    const catalog::IndexId id = id_.load(std::memory_order_acquire);
    return id == 0 ? Status::ok() : put(id, change, primary_key, buffer);
  }

 private:
  Status put(catalog::IndexId id, txn::RowChange& change, std::string_view primary_key,
             std::string& buffer);

  std::atomic<catalog::IndexId> id_ = 0;  // 0: closed
};

// Reads a journal, in rounds: which rows were changed since the round before.
//
// Threads     Belongs to one at a time; transactions go on meanwhile.
class JournalReader {
 public:
  // Called with each primary key, as stored, without the index id; one may come several times. An
  // error ends the round.
  using Visit = std::function<Status(std::string_view primary_key)>;

  explicit JournalReader(catalog::IndexId journal) : journal_(journal) {}

  // Visits the rows whose changes `snapshot` has and that of the round before had not; the first
  // round visits all that are noted. `first_open`: as txn::TransactionManager::first_open_number()
  // has returned it before the snapshot was taken. After an error the reader is of
  // no more use.
  Status read(kv::Database& database, const kv::Snapshot& snapshot, std::uint64_t first_open,
              const Visit& visit);
  // Ranges of numbers that may yet come, or come again to be looked for.
  std::size_t open_ranges() const { return unread_.size(); }

 private:
  struct Numbers {
    std::uint64_t first;
    std::uint64_t last;
  };

  const catalog::IndexId journal_;
  // Of those that were not visible, in order: they may be in the next round. All of a number become
  // visible at once, so that those that were are done with.
  std::vector<Numbers> unread_ = {{0, UINT64_MAX}};
};

}  // namespace basalt::table
