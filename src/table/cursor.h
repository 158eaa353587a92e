#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "codec/layout.h"
#include "table/entry_condition.h"
#include "table/entry_filter.h"
#include "table/index_iterator.h"
#include "table/interruption.h"
#include "table/locking_reader.h"
#include "table/nonlocking_reader.h"
#include "table/read_settings.h"
#include "table/row_batch.h"
#include "table/row_fetcher.h"
#include "table/row_readahead.h"
#include "table/seek_mode.h"
#include "table/table.h"
#include "txn/transaction.h"

namespace basalt::table {

// Moves over one index of a table and unpacks rows. Its parts: IndexIterator moves over entries; a
// NonLockingReader or a LockingReader decides about each entry and comes from it to its row, by
// GapLocker and RowFetcher; RowReadahead holds rows that are read together.
//
// Reads ahead A consistent read that visits rows through a secondary index accepts several entries
//             at once, the more the further it goes, and reads their rows together. The filter is
//             then asked about entries before their turn.
// Life cycle  open() -> seek...() -> next()/previous()... -> close(). Moving needs a successful
//             seek before it. After "not found" the cursor is not on a row.
// Own writes  StatementBoundary, from the first seek to close() or park().
// Values      Blob pointers in the record stay valid until the cursor moves, seeks, is opened anew
//             or released.
// Errors      "Not found" and "end" are found == false with an ok status. An entry whose row is
//             missing is kCorruption if both were read at one snapshot, else kInconsistentRead.
// Threads     Belongs to one handler.
class Cursor final {
 public:
  explicit Cursor(const Table& table);
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;

  // Makes ready to read `index_number` in `transaction`. `wanted` are the columns to unpack. A
  // consistent read visits the row only if the entry does not give them all; with `may_skip_row`
  // it never does, and columns the entry does not give are left alone.
  void open(txn::Transaction& transaction, std::size_t index_number, const ReadSettings& settings,
            const codec::ColumnSet& wanted, bool may_skip_row);
  // Changes the columns to unpack from the next row on.
  void set_wanted(const codec::ColumnSet& wanted);
  // Lets go of the iterator but remembers where it was, for a scan that goes on in another
  // statement and perhaps after the end of the transaction whose changes it sees.
  void park();
  // Has a parked scan go on in another transaction.
  void go_on_in(txn::Transaction& transaction) { iterator_.go_on_in(transaction); }
  // Ends the scan. The last row's blobs stay valid until the next open() or release().
  void close();
  // Also lets go of all data the cursor keeps in memory.
  void release();
  bool is_open() const { return iterator_.is_open(); }
  std::size_t index_number() const { return iterator_.index_number(); }
  // What was read of the table since it was last asked.
  kv::ReadCounts take_read_counts() { return iterator_.take_read_counts(); }
  // Whether rows are not visited, so that the record has only what entries give.
  bool reads_entries_only() const { return is_open() && !fetcher_.visits_row(); }

  // Applies `filter` to entries of a secondary index; null: none. `columns` must be given by the
  // entry. Stays until close().
  void set_filter(EntryFilter* filter, const codec::ColumnSet& columns) {
    condition_.set(filter, index_number(), columns);
  }
  EntryFilter* filter() const { return condition_.filter(); }
  void set_interruption(const Interruption* interruption) { interruption_ = interruption; }

  // Confines all moves that follow to [lower, upper); empty: the end of the index.
  // `expected_bytes`: about how many stored bytes are in there, as in kv::ReadView; 0: unknown.
  void confine(std::string_view lower, std::string_view upper, std::uint64_t expected_bytes = 0) {
    iterator_.confine(lower, upper, expected_bytes);
  }
  void lift_confinement() { iterator_.confine({}, {}, 0); }

  Status seek(SeekMode mode, std::string_view prefix, std::uint8_t* record, bool& found);
  Status seek_first(std::uint8_t* record, bool& found);
  Status seek_last(std::uint8_t* record, bool& found);
  Status next(std::uint8_t* record, bool& found);
  Status previous(std::uint8_t* record, bool& found);
  // As next(), but ends where entries no longer begin with the prefix of the last seek.
  Status next_with_prefix(std::uint8_t* record, bool& found);

  // Whether rows that this read finds through a secondary index may be read later, in a batch.
  bool may_defer_rows() const { return may_defer_rows_; }
  // With `defers`, moves only find entries, and the record gets what the filter asks for. Off
  // after open().
  void set_deferral(bool defers) { defers_rows_ = defers; }
  // Puts the row that the cursor is on into `batch`.
  void add_to(RowBatch& batch, void* range);
  // The next row of a batch, for the view that the cursor reads. A missing row is passed over if
  // it was sought by its key and an error if an entry led to it.
  Status next_of(RowBatch& batch, std::uint8_t* record, bool& found);

  // The row with exactly this primary key (index id included), whatever index is open.
  Status find_row(std::string_view primary_key, std::uint8_t* record, bool& found);
  // The row whose unique value is `key`: all parts of the open primary or unique index, none NULL.
  Status find_unique(std::string_view key, std::uint8_t* record, bool& found);

  // With `on`, a scan that locks peeks at rows that are locked (OnLockedRow), if it does not skip
  // them. The caller looks whether it wants the row; the next move then reads the same row again
  // and waits for its lock, unless pass_over_row() was called. Stays until close().
  void set_semi_consistent(bool on);
  // Whether the row the cursor is on was read so.
  bool read_semi_consistently() const { return next_move_ == NextMove::kRepeatRow; }
  void pass_over_row() {
    if (next_move_ == NextMove::kRepeatRow) next_move_ = NextMove::kStep;
  }

  // The stored key of the row the cursor is on.
  const std::string& primary_key();
  // Gives back the lock of the row the cursor is on, if this read took it.
  void release_row_lock() { locking_.release_row_lock(); }

 private:
  // Where a move ends.
  enum class Beyond : std::uint8_t { kStay, kStayInPrefix, kWiden };
  // What a move in the direction of the scan begins with.
  enum class NextMove : std::uint8_t {
    kStep,          // the iterator moves on
    kQualifyEntry,  // reading ahead has come to an entry and not decided about it
    kRepeatRow,     // the row was peeked at; its lock is waited for
  };
  using Peeking = LockingReader::Peeking;

  void start(KeyRange range, Direction direction);
  bool widen(Direction direction);
  void go_on_beyond(std::string_view key, Direction direction);
  void go_on_beyond(std::string_view key, Direction direction, const KeyRange& limits);
  void go_on_from(std::string_view key, Direction direction, const KeyRange& limits);
  void go_on_between(std::string_view key, Direction direction);
  KeyRange limits_of(Beyond beyond) const;
  void resume(Direction direction, Beyond beyond);
  void step(Direction direction);
  Status move(Direction direction, Beyond beyond, std::uint8_t* record, bool& found);
  bool is_plain_scan() const;
  bool is_on_entry(Beyond beyond) const;
  Status qualify(Direction direction, Beyond beyond, Peeking peeking, std::uint8_t* record,
                 bool& found);
  Status qualify_entry(Peeking peeking, std::uint8_t* record, Qualified& qualified);
  bool reads_ahead() const { return may_defer_rows_ && readahead_.is_on(); }
  Status read_ahead(Direction direction, Beyond beyond, std::uint8_t* record, bool& found);
  Status read_row(std::uint8_t* record, bool& found);
  std::string_view point() const;
  void set_point(std::string_view entry_key);
  void forget_row();
  void forget_position();
  Status check_interruption();

  const Table& table_;
  IndexIterator iterator_;
  RowFetcher fetcher_;
  EntryCondition condition_;
  NonLockingReader nonlocking_;  // this one or the next is at work: IndexIterator::locks()
  LockingReader locking_;
  RowReadahead readahead_;
  bool may_skip_row_ = false;
  bool may_defer_rows_ = false;
  bool defers_rows_ = false;
  NextMove next_move_ = NextMove::kStep;
  std::string prefix_;  // of the last seek
  // Where the cursor is while there is no iterator.
  enum class Point : std::uint8_t {
    kNowhere,
    kAtRow,        // at the fetcher's primary key, which is an entry's
    kAtEntry,      // at the entry with the key `point_entry_`
    kBeforeEntry,  // before all entries from that key on, and behind all others: a scan's end
  };
  Point point_ = Point::kNowhere;
  std::string point_entry_;
  const Interruption* interruption_ = nullptr;
  std::uint32_t moves_ = 0;
};

}  // namespace basalt::table
