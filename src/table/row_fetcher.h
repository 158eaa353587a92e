#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "codec/layout.h"
#include "codec/read_plan.h"
#include "kv/database.h"
#include "table/index_iterator.h"
#include "table/row_batch.h"
#include "table/table.h"

namespace basalt::table {

// Which rows of an open index are wanted beside its entries.
enum class RowAccess : std::uint8_t {
  kAlways,     // of every entry: they are to be locked
  kIfNeeded,   // where the entry does not give all columns that are wanted
  kEntryOnly,  // none: columns that the entry does not give are left alone
};

// Reads and unpacks the rows that a cursor comes to, and knows the key of the one it is on.
//
// Values      Blob pointers in the record stay valid until the next row is read or release().
// Threads     Belongs to one cursor.
class RowFetcher {
 public:
  explicit RowFetcher(const Table& table);

  // ---- what is unpacked

  void plan(std::size_t index_number, RowAccess access, const codec::ColumnSet& wanted);
  // Whether rows are read beside the entries, or are entries themselves.
  bool visits_row() const { return visits_row_; }
  // Whether an entry is unpacked beside its row, for VIRTUAL columns that the index is made of.
  bool needs_entry() const { return !entry_plan_.own.empty(); }

  // ---- the row that the cursor is on

  // The stored key, index id included. Meaningless while it is not known.
  const std::string& primary_key() const { return primary_key_; }
  bool knows_primary_key() const { return is_key_known_; }
  // The cursor has moved.
  void forget_primary_key() { is_key_known_ = false; }
  void set_primary_key(std::string_view key) {
    primary_key_ = key;
    is_key_known_ = true;
  }
  void take_primary_key(std::string&& key) {
    primary_key_ = std::move(key);
    is_key_known_ = true;
  }
  // Sets it to that of the row which an entry of the planned index leads to.
  Status set_primary_key_of(std::string_view entry_key, std::string_view entry_value);

  // ---- reading

  // The row that is the iterator's entry.
  Status read_here(const IndexIterator& iterator, std::uint8_t* record);
  // The row with primary_key(), as `view` has it.
  Status read(txn::Transaction& transaction, const kv::ReadView& view, std::uint8_t* record,
              bool& found);
  // All that is wanted, of an entry alone.
  Status read_entry(std::string_view key, std::string_view value, std::uint8_t* record) const {
    return table_.secondary(index_number_).read(key, value, entry_plan_, record);
  }
  // What the row that was read does not hold of what is wanted.
  Status add_entry_columns(std::string_view key, std::string_view value,
                           std::uint8_t* record) const {
    return needs_entry() ? read_entry(key, value, record) : Status::ok();
  }
  // The next row of a batch, for `view`. A missing row is passed over if it was sought by its key
  // or may be expired, and an error if an entry led to it.
  Status read_next_of(RowBatch& batch, txn::Transaction& transaction, const kv::ReadView& view,
                      std::uint8_t* record, bool& found);

  // What is stored under the key of an entry of the planned index, unless it is expired; `value()`
  // holds it until the next entry is got.
  Status get_entry(txn::Transaction& transaction, std::string_view key, const kv::ReadView& view,
                   bool& found) {
    BASALT_TRY(transaction.get(table_.family(index_number_), key, view, entry_value_, found));
    if (found && table_.is_expired(transaction, entry_value_.view())) found = false;
    return Status::ok();
  }
  std::string_view entry_value() const { return entry_value_.view(); }
  // The row to which an entry belongs now, got by get_entry(); empty: the entry is gone. Entries
  // of other than unique indexes have the key of their row, which is primary_key(), in their own.
  Status find_owner(txn::Transaction& transaction, std::string_view key, std::string& owner);

  // The error for an entry that has led to primary_key(), where `view` has no row. The iterator may
  // have shown another state of the index than the view does: both are read again, in one. None if
  // rows expire: the clock may have been set back since a compaction took the row.
  Status entry_without_row(txn::Transaction& transaction, std::string_view entry_key,
                           const kv::ReadView& view);

  // Lets go of the values that are kept in memory for the record.
  void release();

 private:
  // What the plans were made for: statement by statement a connection mostly reads the same.
  struct Planned {
    std::size_t index_number = SIZE_MAX;  // none yet
    RowAccess access = RowAccess::kIfNeeded;
    codec::ColumnSet wanted{0};
  };

  const Table& table_;
  const bool has_blobs_;
  const codec::ColumnSet not_stored_;  // VIRTUAL columns: only index entries hold them
  std::size_t index_number_ = 0;
  Planned planned_;
  bool visits_row_ = true;
  codec::ReadPlan row_plan_;
  // Unpacks columns from the entry: all, or if the row is visited those that the row does not hold.
  codec::ReadPlan entry_plan_;

  std::string primary_key_;
  bool is_key_known_ = false;
  kv::PinnedValue row_;
  std::string row_copy_;
  kv::PinnedValue entry_value_;
};

}  // namespace basalt::table
