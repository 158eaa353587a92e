#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "kv/database.h"
#include "lock/lock_manager.h"
#include "table/table.h"
#include "txn/transaction.h"

namespace basalt::txn {
class RowChange;
}  // namespace basalt::txn

namespace basalt::table {

class BulkLoad;
class ReferenceEnforcer;

// Writes whole rows: the row and its entry in every index, inside a transaction.
//
// Atomicity   A call that fails has changed nothing, so the statement may go on with other rows.
//             All waits and duplicate checks come before the first write.
// Gaps        A key that an index did not have, or not with this value, waits for the range locks
//             of others.
// Locks       Exclusive on the primary key, on the values that enter or leave a unique index or go
//             to another row in it, and on those of value-locked parts (catalog::IndexDefinition)
//             that enter or leave. So whoever holds the lock of a unique value knows whose it is.
//             A row that is refused gives back the locks of the keys that it would have got, if
//             they are new with it; not that of the value that is there already.
// Errors      kDuplicateKey: duplicate_index() and duplicate_primary_key() name the row that is
//             there already; it is locked. Errors of locks as in LockManager.
// References  Foreign keys are looked at behind duplicates, as a row may be there that is updated
//             instead; a row whose removal or change is followed to other tables is undone with all
//             that was done there if that fails.
// Counts      Each row that the table gets or loses counts in its state's changes, within the
//             transaction and the savepoint (txn::ChangedTables), whoever has it written.
// Journal     While the table's is open each row that is changed is noted there.
// Expiry      A row that is expired, and has the primary key or a unique value of one that is
//             written, goes with all its entries, in the same change. In a table whose rows have
//             their time entries are removed with plain deletes: compactions take rows and entries
//             one by one, so that an entry may be put where one is whose row has gone.
// Threads     Belongs to one handler. Buffers are reused: no allocation per row in the long run.
class RowWriter {
 public:
  explicit RowWriter(const Table& table);

  void set_wait_policy(const lock::WaitPolicy& policy) { policy_ = policy; }
  // While nobody else can open the table, rows are inserted without locks and announcements.
  void set_private(bool is_private) { is_private_ = is_private; }
  // Holds the table's foreign keys with each row; null: nobody does. It outlives the calls.
  void set_references(ReferenceEnforcer* references) { references_ = references; }
  // Whether there are any: not only that somebody looks for newer ones.
  bool has_references() const;

  // While there is one, rows that are inserted go into the load, not into the transaction's batch.
  // Not while the table's journal is open, which would not tell of them.
  // Whether two of these have the same key is left to it.
  void set_load(BulkLoad* load) { load_ = load; }

  // The time of rows that are inserted, if none of their columns tells it: seconds since 1970.
  void set_statement_time(std::uint64_t time) { statement_time_ = time; }

  Status insert(txn::Transaction& transaction, const std::uint8_t* record);
  // `old_primary_key` is the stored key of the row; needed only without a visible primary key.
  Status update(txn::Transaction& transaction, const std::uint8_t* old_record,
                const std::uint8_t* new_record, std::string_view old_primary_key);
  Status remove(txn::Transaction& transaction, const std::uint8_t* record,
                std::string_view primary_key);
  // Reads all that is stored of the row now, of which `old_record` was read before; its lock is
  // held. `record` is one of the table's; its blobs are good until the next call.
  Status read_again(txn::Transaction& transaction, const std::uint8_t* old_record,
                    std::string_view old_primary_key, std::uint8_t* record, bool& exists);
  // Whether an update would write what is stored already, byte for byte.
  bool is_same_row(const std::uint8_t* old_record, const std::uint8_t* new_record);

  // The index of the last kDuplicateKey, and the row that has the value.
  std::size_t duplicate_index() const { return duplicate_index_; }
  const std::string& duplicate_primary_key() const { return duplicate_primary_key_; }
  // That of the last row written.
  const std::string& primary_key() const { return new_key_; }

 private:
  // A secondary entry, before and after.
  struct Entry {
    std::string old_key;
    std::string old_value;
    std::string key;
    std::string value;
    bool has_new_lock = false;  // on `key`, by check_unique() for this row
  };

  // The entry with its row's time, if the table's rows have one.
  void make_entry(std::size_t index_number, const std::uint8_t* record,
                  std::string_view primary_key, std::uint64_t time, std::string& key,
                  std::string& value) const;
  Status remove_entry(txn::RowChange& change, std::size_t index_number, std::string_view key) const;
  // The time of a row that is there and is changed: an update leaves it as it is, but for columns.
  Status stored_time(txn::Transaction& transaction, const std::uint8_t* record,
                     std::uint64_t& time);
  // Whether what is stored under the key of a row or entry that is written is expired.
  bool is_expired(txn::Transaction& transaction, std::string_view value) const;
  // Has a row that is expired, and whose lock is held, go with the next change. Nothing if what is
  // stored under the key is none, or not expired: then only an entry is left of one that was.
  Status add_expired(txn::Transaction& transaction, const std::string& primary_key);
  Status is_entry_of(txn::Transaction& transaction, std::size_t index_number, std::string_view key,
                     std::string_view primary_key, bool& is_so);
  Status remove_expired(txn::RowChange& change) const;
  void forget_expired() {
    expired_rows_.clear();
    expired_entries_.clear();
  }
  // `primary_key`: needed only without a visible one.
  void take_old_key(const std::uint8_t* record, std::string_view primary_key);
  void make_row(const std::uint8_t* record, std::uint64_t time);

  // All that may refuse a row that is inserted, or that is to be stored under other keys or for
  // another time than it is.
  Status check_insert(txn::Transaction& transaction, const std::uint8_t* record,
                      std::uint64_t time);
  Status check_update(txn::Transaction& transaction, const std::uint8_t* old_record,
                      const std::uint8_t* new_record, std::uint64_t old_time, std::uint64_t time);
  void forget_new_locks();
  void give_back_new_locks(txn::Transaction& transaction);

  // `is_new`: whether it was not locked before.
  Status lock_exclusive(txn::Transaction& transaction, std::string_view key,
                        bool* is_new = nullptr);
  Status check_primary(txn::Transaction& transaction);
  Status check_unique(txn::Transaction& transaction, std::size_t index_number,
                      const std::uint8_t* record, Entry& entry);
  // Locks the values of the record's value-locked parts, in every index that has them.
  Status lock_values(txn::Transaction& transaction, const std::uint8_t* record);
  // Keeps others from inserting the unique value that is about to go, here or from this row to
  // another one, until we commit.
  Status lock_vacated(txn::Transaction& transaction, std::size_t index_number,
                      const std::uint8_t* record);

  Status check_parents(txn::Transaction& transaction, const std::uint8_t* old_record,
                       const std::uint8_t* record);
  // With the row's locks held, before it goes or changes.
  Status renew_references(txn::Transaction& transaction);
  // Has `write` change the row, and `follow` what references it: both, or neither.
  template <typename Write, typename Follow>
  Status write_and_follow(txn::Transaction& transaction, Write&& write, Follow&& follow);
  Status write_removal(txn::Transaction& transaction, const std::uint8_t* record);
  Status write_update(txn::Transaction& transaction, bool moves);
  // Gives the load the row and its entries.
  Status load_row(txn::Transaction& transaction, const std::uint8_t* record);
  // Has `change` write the row under `primary_key`, of which new_keys_ and new_values_ tell. The
  // table has `rows` more then, beside those that go because they are expired.
  template <typename Change>
  Status change_row(txn::Transaction& transaction, std::string_view primary_key, std::int64_t rows,
                    Change&& change);

  const Table& table_;
  lock::WaitPolicy policy_;
  bool is_private_ = false;
  ReferenceEnforcer* references_ = nullptr;
  BulkLoad* load_ = nullptr;
  std::uint64_t statement_time_ = 0;
  // Rows that are in the way and expired, and the keys of their entries.
  std::vector<std::string> expired_rows_;
  std::vector<std::pair<std::size_t, std::string>> expired_entries_;  // by index
  std::vector<std::uint8_t> expired_record_;
  std::vector<Entry> entries_;  // one per secondary index
  std::string old_key_;
  std::string new_key_;
  bool has_new_lock_ = false;  // on new_key_, by check_primary() for this row
  std::string row_;
  std::string old_row_;
  std::string unique_prefix_;
  std::string value_lock_key_;
  std::string journal_key_;
  std::string row_again_;
  std::vector<std::size_t> value_locked_indexes_;
  // Keys of the row being written that were not there, and those that get another value.
  std::vector<std::string_view> new_keys_;
  std::vector<std::string_view> new_values_;
  kv::PinnedValue found_;
  std::size_t duplicate_index_ = 0;
  std::string duplicate_primary_key_;
};

}  // namespace basalt::table
