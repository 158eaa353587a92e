#pragma once
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/row_time.h"
#include "base/status.h"
#include "catalog/catalog.h"
#include "codec/layout.h"
#include "codec/primary_codec.h"
#include "codec/secondary_codec.h"
#include "table/counter.h"
#include "table/journal.h"
#include "table/table_counts.h"
#include "txn/transaction.h"

namespace basalt::table {

// A bound of all primary keys that rows have had, where keys are integers: of a greater one it is
// known that no row has it, without looking. Rows are mostly inserted in the order of their keys.
//
// Right       as long as every key is passed to raise() before a row is put under it, by whoever
//             holds its exclusive lock: one of two who insert a key has the lock first, and the
//             other finds the bound raised.
// Threads     Safe from any thread.
class GreatestKey {
 public:
  // No row has a greater key than `key`, and nobody has raised the bound yet.
  void load(std::uint64_t key) { greatest_.store(key, std::memory_order_relaxed); }
  // As before load(). Nobody raises the bound meanwhile.
  void forget() { load(UINT64_MAX); }
  // Whether `key` was above the bound, which is `key` then. Never before load().
  bool raise(std::uint64_t key) {
    std::uint64_t greatest = greatest_.load(std::memory_order_relaxed);
    while (key > greatest) {
      if (greatest_.compare_exchange_weak(greatest, key, std::memory_order_relaxed)) return true;
    }
    return false;
  }

 private:
  std::atomic<std::uint64_t> greatest_{UINT64_MAX};
};

// What all sessions share of a table while the engine runs, however often it is opened.
struct TableState {
  TableState(catalog::Catalog& catalog, catalog::TableId table)
      : auto_increment(catalog, table, catalog::CounterKind::kAutoIncrement),
        hidden_row_id(catalog, table, catalog::CounterKind::kHiddenRowId) {}

  Counter auto_increment;
  Counter hidden_row_id;
  GreatestKey greatest_key;
  TableCounts counts;
  Journal journal;
  const std::shared_ptr<txn::TableChanges> changes = std::make_shared<txn::TableChanges>();
  // A snapshot older than this sequence number lacks rows that the table has had from its
  // beginning: those that were copied into it, under another name or before others could open it.
  std::atomic<std::uint64_t> exists_since = 0;
  // By the ids of indexes that were added to the table: an older snapshot than this lacks their
  // entries. Changed while nobody can open the table, read when it is opened.
  std::map<catalog::IndexId, std::uint64_t> indexes_exist_since;
};

// An open table: its definition, bound to the record layout of the server's table share.
//
// Ownership   Collations in `layout` outlive it.
// Threads     Immutable; shared by all handlers of a table share.
class Table {
 public:
  Table(catalog::TablePointer definition, codec::TableLayout layout,
        std::shared_ptr<TableState> state);
  Table(const Table&) = delete;
  Table& operator=(const Table&) = delete;

  const catalog::TableDefinition& definition() const { return *definition_; }
  const codec::TableLayout& layout() const { return layout_; }
  TableState& state() const { return *state_; }

  // Whether the primary key is one integer.
  bool has_integer_key() const { return has_integer_key_; }
  bool has_hidden_key() const { return primary_.has_hidden_key(); }
  std::size_t index_count() const { return definition_->indexes.size(); }
  const catalog::IndexDefinition& index(std::size_t number) const {
    return definition_->indexes[number];
  }
  kv::FamilyId family(std::size_t index_number) const { return index(index_number).family; }
  // A snapshot older than this sequence number must not read the index.
  std::uint64_t index_exists_since(std::size_t number) const {
    return added_indexes_.empty() ? 0 : added_indexes_[number];
  }
  // Whether there is an index that some snapshots must not read.
  bool has_added_indexes() const { return !added_indexes_.empty(); }
  const codec::PrimaryCodec& primary() const { return primary_; }
  // `index_number` counts as in the definition: the primary is 0.
  const codec::SecondaryCodec& secondary(std::size_t index_number) const {
    return secondaries_[index_number - 1];
  }
  // The lock key of the record's values in the index's value-locked parts; false if there is none:
  // a value is NULL.
  bool make_value_lock(std::size_t index_number, const std::uint8_t* record,
                       std::string& key) const;
  // The order of a primary key among all, in a table whose primary key is one integer.
  std::optional<std::uint64_t> ordinal(std::string_view primary_key) const;
  // Whether stored values begin with their row's time, by which rows may be expired.
  bool has_expiry() const { return has_expiry_; }
  // Rows of earlier times are expired for `transaction`; 0: none is.
  std::uint64_t expired_before(txn::Transaction& transaction) const {
    return has_expiry() ? definition_->expiry->lifetime.expired_before(transaction.expiry().time())
                        : 0;
  }
  // Whether a read of `transaction` passes over a stored row or entry, since it is expired.
  bool is_expired(txn::Transaction& transaction, std::string_view value) const {
    if (!has_expiry() || row_time(value) >= expired_before(transaction)) return false;
    transaction.expiry().note_hidden();
    return true;
  }
  // The time to store with a row: what the column that tells it has; `otherwise` if there is none.
  // A new row is not gone with those that were when rows got a longer life.
  std::uint64_t time_of(const std::uint8_t* record, std::uint64_t otherwise) const;
  // All keys of an index: [index id, index id + 1).
  const KeyRange& whole_range(std::size_t index_number) const {
    return whole_ranges_[index_number];
  }

 private:
  catalog::TablePointer definition_;
  codec::TableLayout layout_;
  std::shared_ptr<TableState> state_;
  codec::PrimaryCodec primary_;
  const bool has_integer_key_;
  const bool has_expiry_;
  std::vector<codec::SecondaryCodec> secondaries_;
  std::vector<KeyRange> whole_ranges_;
  std::vector<std::uint64_t> added_indexes_;  // empty, or of each index since when it exists
};

}  // namespace basalt::table
