#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/assert.h"
#include "base/key_range.h"
#include "base/status.h"
#include "kv/database.h"
#include "table/read_settings.h"
#include "table/statement_boundary.h"
#include "table/table.h"
#include "txn/transaction.h"

namespace basalt::table {

enum class Direction : std::uint8_t { kForward, kBackward };

// Moves over the entries of one index, committed ones and own changes, as a read's view has them.
//
// Life cycle  open() -> start() -> step()... -> close(). lay_aside() leaves it without an iterator
//             between; has_iterator() tells.
// Own changes What is put ahead of the scan meanwhile: StatementBoundary. When own changes are
//             rolled back an iterator over them must go: must_resume() is true then, and
//             entry_key() still gives what it was on. A value of theirs is lost before that: with
//             the next write.
// Reuse       An iterator that shows a snapshot and nothing else serves the next scan of the same
//             snapshot and column family: a new one costs as much as the search for a row.
// Threads     Belongs to one cursor.
class IndexIterator final : private txn::OpenScan {
 public:
  explicit IndexIterator(const Table& table) : table_(table) {}
  ~IndexIterator() override { end_scan(); }
  IndexIterator(const IndexIterator&) = delete;
  IndexIterator& operator=(const IndexIterator&) = delete;

  // ---- life cycle

  // Makes ready to scan `index_number` as `settings` say.
  void open(txn::Transaction& transaction, std::size_t index_number, const ReadSettings& settings);
  // Has the scan go on in another transaction.
  void go_on_in(txn::Transaction& transaction);
  // From here on the transaction's writes do not matter to the scan, and it may go before it.
  void end_scan();
  // Ends the scan; the iterator stays, for the next one.
  void close();
  // Leaves the scan without an iterator but keeps it for a later one.
  void lay_aside();
  // Lets go of all iterators, and so of their snapshots.
  void drop();
  bool is_open() const { return transaction_ != nullptr; }

  txn::Transaction& transaction() const { return *transaction_; }
  std::size_t index_number() const { return index_number_; }
  kv::FamilyId family() const { return table_.family(index_number_); }
  bool locks() const { return locks_; }
  // Whether all that is read, one read after the other, is as in one snapshot.
  bool reads_one_snapshot() const { return needs_snapshot_; }
  // What the read sees. Opens its snapshot.
  kv::ReadView view() const;
  // What was read by such views since it was last asked; of a run of moves only what is over.
  kv::ReadCounts take_read_counts() { return std::exchange(read_counts_, {}); }

  // Confines all moves that follow to [lower, upper); empty: the end of the index.
  // `expected_bytes`: about how many stored bytes are in there, as in kv::ReadView; 0: unknown.
  void confine(std::string_view lower, std::string_view upper, std::uint64_t expected_bytes);
  // What moves are confined to.
  const KeyRange& confines() const {
    return is_confined_ ? confines_ : table_.whole_range(index_number_);
  }

  // ---- moves

  // Goes to the near end of `range`, which is of the index, cut to the confines.
  void start(KeyRange range, Direction direction);
  // Makes the iterator anew, which then includes all that is committed by now, and goes on with
  // what lies beyond `edge` in the range and direction that there are.
  void reopen_beyond(std::string_view edge);
  // Whether the iterator can turn into `direction`, or go on in it. One over own changes cannot
  // turn: RocksDB's loses its place if the transaction wrote ahead of it. Nor can one that locks:
  // what it has dealt with lies behind it.
  bool can_step(Direction direction) const {
    return direction == direction_ || !(locks_ || transaction_->has_writes());
  }
  // From an entry to the next one in `direction`.
  void step(Direction direction) {
    BASALT_DEBUG_ASSERT(is_valid() && can_step(direction));
    direction_ = direction;
    if (direction == Direction::kForward) {
      iterator_->next();
    } else {
      iterator_->previous();
    }
  }
  void step_forward() { iterator_->next(); }
  // As step() in direction(), to what is there by now: reopen_beyond() the entry.
  void step_anew();
  // The range is at its end, and the caller does not go on beyond it.
  void note_end() { boundary_.set_at_end(true); }

  // ---- where it is

  bool has_iterator() const { return iterator_.has_value(); }
  bool is_valid() const { return iterator_ && iterator_->is_valid(); }
  std::string_view key() const { return iterator_->key(); }
  // Only until the transaction's next write, if it is one of own_values_move().
  std::string_view value() const { return iterator_->value(); }
  // Whether entries may be in the transaction's batch, which moves when it grows.
  bool own_values_move() const { return shows_own_changes_; }
  Status status() const { return iterator_->status(); }
  // Whether the scan passes over the entry that the iterator is on.
  bool is_hidden() const {
    if (!boundary_.hides_nothing() && boundary_.hides(iterator_->key())) return true;
    return expired_before_ != 0 && is_expired();
  }
  // Whether it passes over none.
  bool hides_nothing() const { return boundary_.hides_nothing() && expired_before_ == 0; }
  bool must_resume() const { return resumption_.has_value(); }
  // The key that the scan was on when it had to give up its iterator; empty: it was at the end of
  // its range.
  const std::string& resumption() const { return *resumption_; }
  // The key that the scan is on, or was then.
  std::optional<std::string_view> entry_key() const;

  const KeyRange& range() const { return range_; }
  Direction direction() const { return direction_; }
  // The end of the range at which the scan began.
  const std::string& near_end() const {
    return direction_ == Direction::kForward ? range_.lower : range_.upper;
  }
  const std::string& far_end() const {
    return direction_ == Direction::kForward ? range_.upper : range_.lower;
  }
  // The iterator includes all changes up to here.
  std::uint64_t sequence() const { return sequence_; }

  // Whether a value of the open unique index may belong to one row in our snapshot and to another
  // among our own changes.
  bool reads_unique_behind_own_changes() const;
  // Whether entries may be those of row versions that the transaction has replaced.
  bool reads_behind_own_changes() const {
    return is_consistent_ && transaction_->may_read_behind_own_changes();
  }

 private:
  // The snapshot that an iterator shows, if it shows nothing else.
  struct Shown {
    std::uint64_t snapshot;
    kv::FamilyId family;
  };

  void note_new_key(std::string_view key) override;
  void leave_own_changes() override;
  void make_iterator(const KeyRange& range);
  bool is_expired() const;
  bool may_reuse(const kv::ReadView& seen, const KeyRange& range) const;
  void go_to_near_end(const KeyRange& range);
  void go_to_first_entry(const KeyRange& range);

  const Table& table_;
  txn::Transaction* transaction_ = nullptr;
  std::size_t index_number_ = 0;
  bool is_consistent_ = true;
  bool locks_ = false;
  bool needs_snapshot_ = true;  // only a consistent read does
  NewOwnKeys new_own_keys_ = NewOwnKeys::kPassed;
  // Entries of earlier times are passed over; 0: none is, as by reads that lock: they ask when they
  // have the lock.
  std::uint64_t expired_before_ = 0;

  bool is_confined_ = false;  // or else confines_ is of an earlier read
  KeyRange confines_;
  std::uint64_t expected_bytes_ = 0;  // in confines()
  KeyRange range_;
  Direction direction_ = Direction::kForward;
  mutable kv::ReadCounts read_counts_;  // iterators end before it
  std::optional<kv::Iterator> iterator_;
  std::optional<kv::Iterator> spare_;
  std::optional<Shown> shown_;      // by iterator_, or if there is none by spare_
  bool shows_own_changes_ = false;  // in the transaction's batch
  std::uint64_t sequence_ = 0;
  std::string empty_until_;
  std::optional<std::string> resumption_;
  StatementBoundary boundary_;
};

}  // namespace basalt::table
