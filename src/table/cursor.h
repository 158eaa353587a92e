#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/status.h"
#include "codec/layout.h"
#include "codec/read_plan.h"
#include "kv/database.h"
#include "table/entry_filter.h"
#include "table/interruption.h"
#include "table/read_settings.h"
#include "table/row_batch.h"
#include "table/seek_mode.h"
#include "table/table.h"
#include "txn/transaction.h"

namespace basalt::table {

// Moves over one index of a table and unpacks rows.
//
// Reads ahead A consistent read that visits rows through a secondary index accepts several entries
//             at once, the more the further it goes, and reads their rows together. The filter is
//             then asked about entries before their turn.
// Life cycle  open() -> seek...() -> next()/previous()... -> close(). Moving needs a successful
//             seek before it. After "not found" the cursor is not on a row.
// Own writes  A scan, from its first seek to close() or park(), does not meet the keys that its own
//             transaction puts ahead of it meanwhile: a row that the statement moves is not met
//             again. Once it has come to its end that holds no more.
// Values      Blob pointers in the record stay valid until the cursor moves, seeks, is opened anew
//             or released.
// Errors      "Not found" and "end" are found == false with an ok status. An entry whose row is
//             missing is kCorruption if both were read at one snapshot, else kInconsistentRead.
// Threads     Belongs to one handler.
class Cursor final : private txn::OpenScan {
 public:
  explicit Cursor(const Table& table);
  ~Cursor() override;
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
  void go_on_in(txn::Transaction& transaction) { transaction_ = &transaction; }
  // Ends the scan. The last row's blobs stay valid until the next open() or release().
  void close();
  // Also lets go of all data the cursor keeps in memory.
  void release();
  bool is_open() const { return transaction_ != nullptr; }
  std::size_t index_number() const { return index_number_; }
  // Whether rows are not visited, so that the record has only what entries give.
  bool reads_entries_only() const { return is_open() && !visits_row_; }

  // Applies `filter` to entries of a secondary index; null: none. `columns` must be given by the
  // entry. Stays until close().
  void set_filter(EntryFilter* filter, const codec::ColumnSet& columns);
  EntryFilter* filter() const { return filter_; }
  void set_interruption(const Interruption* interruption) { interruption_ = interruption; }

  // Confines all moves that follow to [lower, upper); empty: the end of the index.
  // `expected_bytes`: about how many stored bytes are in there, as in kv::ReadView.
  void confine(std::string_view lower, std::string_view upper, std::uint64_t expected_bytes = 0);
  void lift_confinement() {
    hard_range_ = table_.whole_range(index_number_);
    expected_bytes_ = 0;
  }

  Status seek(SeekMode mode, std::string_view prefix, std::uint8_t* record, bool& found);
  Status seek_first(std::uint8_t* record, bool& found);
  Status seek_last(std::uint8_t* record, bool& found);
  Status next(std::uint8_t* record, bool& found);
  Status previous(std::uint8_t* record, bool& found);
  // As next(), but ends where entries no longer begin with the prefix of the last seek.
  Status next_with_prefix(std::uint8_t* record, bool& found);

  // Whether rows that this read finds through a secondary index may be read later, in a batch.
  bool may_defer_rows() const {
    return index_number_ != 0 && visits_row_ && entry_plan_.own.empty() &&
           settings_.is_consistent() && settings_.needs_snapshot;
  }
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

  // With `on`, a scan that locks gives a row that another transaction has locked as it was last
  // committed, without a lock: semi-consistent reads. The caller looks whether it wants the row;
  // the next move then reads the same row again and waits for its lock, unless pass_over_row() was
  // called. Stays until close().
  void set_semi_consistent(bool on) { is_semi_consistent_ = on; }
  // Whether the row the cursor is on was read so.
  bool read_semi_consistently() const { return repeats_row_; }
  void pass_over_row() { repeats_row_ = false; }

  // The stored key of the row the cursor is on.
  const std::string& primary_key();
  // Gives back the lock of the row the cursor is on, if this read took it.
  void release_row_lock();

 private:
  enum class Direction : std::uint8_t { kForward, kBackward };
  enum class Beyond : std::uint8_t { kStay, kStayInPrefix, kWiden };
  enum class Qualified : std::uint8_t { kFound, kPass, kEnd };
  enum class RowLock : std::uint8_t { kHeld, kSkipped, kPeeked };
  struct KeyHash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  void note_new_key(std::string_view key) override;
  void leave_own_changes() override;
  void end_scan();
  void start(KeyRange range, Direction direction);
  bool reads_unique_behind_own_changes() const;
  bool widen(Direction direction);
  void open_iterator();
  bool may_reuse_iterator(const kv::ReadView& seen) const;
  void lay_iterator_aside();
  void step(Direction direction);
  void go_on_beyond(std::string_view key, Direction direction);
  void go_on_from(std::string_view key, Direction direction);
  void resume(Direction direction);
  Status move(Direction direction, Beyond beyond, std::uint8_t* record, bool& found);
  bool goes_on_plainly() const;
  bool is_on_entry(Beyond beyond) const;
  Status qualify(Direction direction, Beyond beyond, std::uint8_t* record, bool& found);
  bool reads_rows_together() const;
  Status read_ahead(Direction direction, Beyond beyond, std::uint8_t* record, bool& found);
  Status next_ahead(std::uint8_t* record, bool& found);
  void stop_reading_ahead();
  Status entry_without_row(std::string_view entry_key);
  void forget_row();
  Status qualify_here(std::uint8_t* record, Qualified& qualified);
  Status read_here(std::uint8_t* record);
  Status qualify_primary(std::uint8_t* record, Qualified& qualified);
  Status qualify_secondary(std::uint8_t* record, Qualified& qualified);
  Status check_filter(std::string_view key, std::string_view value, std::uint8_t* record,
                      Qualified& qualified);
  Status check_filter_of_value(std::string_view key, std::uint8_t* record, bool& accepted);
  Status lock_row(RowLock& outcome);
  Status lock_row_of_entry(std::uint8_t* record, RowLock& outcome, std::string_view& entry_value,
                           Qualified& qualified);
  Status lock_missing_value(std::string_view key, bool& locked);
  Status check_not_newer();
  Status lock_gap(Direction direction);
  Status await_pending_inserts(std::string_view lower, std::string_view upper, std::size_t most,
                               bool& waited);
  void reopen_beyond_gap(Direction direction);
  bool keeps_lock_of_missing() const { return settings_.lock.has_value() && settings_.locks_gaps; }
  Status is_entry_hidden(std::string_view entry_key, bool& hidden);
  Status is_entry_current(std::string_view key, bool& current);
  Status find_owner(std::string_view key, std::string& owner);
  Status fetch_row(std::uint8_t* record, bool& found);
  Status read_row(std::uint8_t* record, bool& found);
  Status read_entry_columns(std::string_view key, std::string_view value, std::uint8_t* record);
  kv::ReadView view();
  Status check_interruption();

  const Table& table_;
  const bool has_blobs_;
  const codec::ColumnSet not_stored_;  // VIRTUAL columns: only index entries hold them
  txn::Transaction* transaction_ = nullptr;
  std::size_t index_number_ = 0;
  ReadSettings settings_;
  bool may_skip_row_ = false;
  bool defers_rows_ = false;
  // What the plans were made for; visits_row_ is one of them.
  struct Planned {
    std::size_t index_number = 0;
    bool locks = false;
    bool may_skip_row = false;
    codec::ColumnSet wanted{0};
  };
  Planned planned_;
  bool has_plans_ = false;
  bool visits_row_ = true;
  codec::ReadPlan row_plan_;
  // Of the columns to unpack from the entry: all, or if the row is visited those it does not hold.
  codec::ReadPlan entry_plan_;
  EntryFilter* filter_ = nullptr;
  codec::ReadPlan filter_plan_;
  const Interruption* interruption_ = nullptr;
  std::uint32_t moves_ = 0;

  KeyRange hard_range_;               // never left
  std::uint64_t expected_bytes_ = 0;  // in hard_range_; 0: not known
  KeyRange range_;                    // of the iterator
  std::optional<kv::Iterator> iterator_;
  Direction direction_ = Direction::kForward;
  std::uint64_t iterator_sequence_ = 0;  // the iterator includes all changes up to here
  // The snapshot that the iterator shows, if it shows nothing else, and of which family.
  std::optional<std::uint64_t> iterator_snapshot_;
  kv::FamilyId iterator_family_ = kv::kDefaultFamily;
  // Whether the iterator shows own changes, in their batch.
  bool iterator_is_in_batch_ = false;
  // Keys of the open index that the transaction has put since the scan began and that were not
  // there before.
  std::unordered_set<std::string, KeyHash, std::equal_to<>> new_keys_;
  // Where the iterator was that the scan had to give up.
  struct Resumption {
    std::string key;
    bool is_at_end = false;  // of its range, on no key
  };
  std::optional<Resumption> resumption_;
  // A read that locks has dealt with all keys between where it began and here: the lower bound of
  // what comes next, or going backward the upper one.
  std::string gap_edge_;
  // What lies between gap_edge_ and here was locked before the iterator was made; empty: nothing.
  std::string gap_end_;
  std::string gap_bound_;
  std::string pending_key_;
  std::string pending_value_;
  std::optional<kv::Iterator> spare_iterator_;  // of a closed scan or before a point read
  RowBatch ahead_;
  std::size_t rows_together_ = 1;   // how many rows to read together next
  bool is_in_batch_ = false;        // the current row is that of ahead_
  bool has_pending_entry_ = false;  // the iterator is on an entry that is not qualified
  std::string prefix_;
  std::string current_primary_key_;
  bool primary_key_known_ = false;
  bool took_lock_ = false;
  bool is_semi_consistent_ = false;
  bool repeats_row_ = false;  // the next move stays on this entry and waits for its lock
  bool must_wait_ = false;
  std::string own_row_;
  kv::PinnedValue row_;
  std::string row_copy_;
  kv::PinnedValue entry_value_;
};

}  // namespace basalt::table
