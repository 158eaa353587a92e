#include "table/row_writer.h"

#include <algorithm>

#include "base/row_time.h"
#include "table/bulk_load.h"
#include "table/reference_enforcer.h"
#include "txn/row_change.h"

namespace basalt::table {

RowWriter::RowWriter(const Table& table) : table_(table), entries_(table.index_count() - 1) {
  for (std::size_t i = 0; i < table.index_count(); ++i) {
    if (table.index(i).value_lock_parts != 0) value_locked_indexes_.push_back(i);
  }
}

void RowWriter::make_entry(std::size_t index_number, const std::uint8_t* record,
                           std::string_view primary_key, std::uint64_t time, std::string& key,
                           std::string& value) const {
  table_.secondary(index_number).make_entry(record, primary_key, key, value);
  if (table_.has_expiry()) prepend_row_time(time, value);
}

Status RowWriter::remove_entry(txn::RowChange& change, std::size_t index_number,
                               std::string_view key) const {
  const kv::FamilyId family = table_.family(index_number);
  return table_.has_expiry() ? change.remove(family, key) : change.remove_single(family, key);
}

Status RowWriter::stored_time(txn::Transaction& transaction, const std::uint8_t* record,
                              std::uint64_t& time) {
  time = 0;
  if (!table_.has_expiry()) return Status::ok();
  time = table_.time_of(record, statement_time_);
  if (table_.definition().expiry->column != catalog::RowExpiry::kNoColumn) return Status::ok();
  bool exists = false;
  BASALT_TRY(transaction.get(table_.family(0), old_key_, {}, found_, exists));
  if (exists) time = row_time(found_.view());
  return Status::ok();
}

bool RowWriter::is_expired(txn::Transaction& transaction, std::string_view value) const {
  return table_.has_expiry() &&
         row_time(value) < table_.definition().expiry->lifetime.expired_before(
                               transaction.expiry().time_of_writes());
}

Status RowWriter::add_expired(txn::Transaction& transaction, const std::string& primary_key) {
  // A row that is updated stays, also where a replica's clock takes it for expired.
  const bool stays = primary_key == old_key_;
  if (stays || std::ranges::find(expired_rows_, primary_key) != expired_rows_.end()) {
    return Status::ok();
  }
  kv::PinnedValue row;
  bool exists = false;
  BASALT_TRY(transaction.get(table_.family(0), primary_key, {}, row, exists));
  if (!exists || !is_expired(transaction, row.view())) return Status::ok();
  const codec::TableLayout& layout = table_.layout();
  expired_record_.assign(layout.record_length, 0);
  std::uint8_t* const record = expired_record_.data();
  const codec::ReadPlan plan = table_.primary().plan(codec::ColumnSet(layout.columns.size(), true));
  BASALT_TRY(table_.primary().read(primary_key, row.view(), plan, record));
  BASALT_TRY(lock_values(transaction, record));
  for (std::size_t i = 1; i < table_.index_count(); ++i) {
    BASALT_TRY(lock_vacated(transaction, i, record));
    std::string key;
    table_.secondary(i).make_key(record, primary_key, key);
    bool is_its_own = true;
    if (table_.secondary(i).is_unique_entry(record)) {
      BASALT_TRY(is_entry_of(transaction, i, key, primary_key, is_its_own));
    }
    if (is_its_own) expired_entries_.emplace_back(i, std::move(key));
  }
  expired_rows_.push_back(primary_key);
  return Status::ok();
}

// A compaction may have taken the entry of a unique value and left its row, and the value has gone
// to another row since.
Status RowWriter::is_entry_of(txn::Transaction& transaction, std::size_t index_number,
                              std::string_view key, std::string_view primary_key, bool& is_so) {
  is_so = false;
  kv::PinnedValue entry;
  bool exists = false;
  BASALT_TRY(transaction.get(table_.family(index_number), key, {}, entry, exists));
  if (!exists) return Status::ok();
  std::string owner;
  BASALT_TRY(table_.secondary(index_number).primary_key_of(key, entry.view(), owner));
  is_so = owner == primary_key;
  return Status::ok();
}

Status RowWriter::remove_expired(txn::RowChange& change) const {
  for (const std::string& row : expired_rows_) {
    change.note_row(row);
    BASALT_TRY(change.remove(table_.family(0), row));
  }
  for (const auto& [index, key] : expired_entries_) {
    BASALT_TRY(change.remove(table_.family(index), key));
  }
  return Status::ok();
}

Status RowWriter::lock_exclusive(txn::Transaction& transaction, std::string_view key,
                                 bool* is_new) {
  if (is_private_) return Status::ok();
  return transaction.lock(key, lock::LockMode::kExclusive, policy_, is_new);
}

void RowWriter::forget_new_locks() {
  has_new_lock_ = false;
  for (Entry& entry : entries_) entry.has_new_lock = false;
}

void RowWriter::give_back_new_locks(txn::Transaction& transaction) {
  if (has_new_lock_) transaction.unlock(new_key_);
  for (const Entry& entry : entries_) {
    if (entry.has_new_lock) transaction.unlock(entry.key);
  }
}

// The gap is waited for without the key's lock: who holds it may want to look the key up.
Status RowWriter::check_primary(txn::Transaction& transaction) {
  if (!is_private_) BASALT_TRY(transaction.await_insert(new_key_, policy_));
  BASALT_TRY(lock_exclusive(transaction, new_key_, &has_new_lock_));
  if (table_.has_hidden_key()) return Status::ok();
  const std::optional<std::uint64_t> ordinal = table_.ordinal(new_key_);
  if (ordinal && table_.state().greatest_key.raise(*ordinal)) return Status::ok();
  bool exists = false;
  BASALT_TRY(transaction.get(table_.family(0), new_key_, {}, found_, exists));
  if (!exists) return Status::ok();
  if (is_expired(transaction, found_.view())) return add_expired(transaction, new_key_);
  has_new_lock_ = false;
  duplicate_index_ = 0;
  duplicate_primary_key_ = new_key_;
  return Status::of(ErrorCode::kDuplicateKey);
}

Status RowWriter::check_unique(txn::Transaction& transaction, std::size_t index_number,
                               const std::uint8_t* record, Entry& entry) {
  const codec::SecondaryCodec& codec = table_.secondary(index_number);
  if (!codec.is_unique_entry(record)) return Status::ok();
  // The key of an entry of unique form is the unique value itself.
  BASALT_TRY(lock_exclusive(transaction, entry.key, &entry.has_new_lock));
  bool exists = false;
  BASALT_TRY(transaction.get(table_.family(index_number), entry.key, {}, found_, exists));
  if (!exists) return Status::ok();
  const bool is_in_the_way = !is_expired(transaction, found_.view());
  BASALT_TRY(codec.primary_key_of(entry.key, found_.view(), duplicate_primary_key_));
  BASALT_TRY(lock_exclusive(transaction, duplicate_primary_key_));
  if (!is_in_the_way) return add_expired(transaction, duplicate_primary_key_);
  entry.has_new_lock = false;
  duplicate_index_ = index_number;
  return Status::of(ErrorCode::kDuplicateKey);
}

Status RowWriter::lock_values(txn::Transaction& transaction, const std::uint8_t* record) {
  for (const std::size_t i : value_locked_indexes_) {
    if (table_.make_value_lock(i, record, value_lock_key_)) {
      BASALT_TRY(transaction.lock_value(table_.family(i), value_lock_key_, policy_));
    }
  }
  return Status::ok();
}

Status RowWriter::lock_vacated(txn::Transaction& transaction, std::size_t index_number,
                               const std::uint8_t* record) {
  const codec::SecondaryCodec& codec = table_.secondary(index_number);
  if (!codec.is_unique_entry(record)) return Status::ok();
  codec.make_unique_prefix(record, unique_prefix_);
  return lock_exclusive(transaction, unique_prefix_);
}

template <typename Change>
Status RowWriter::change_row(txn::Transaction& transaction, std::string_view primary_key,
                             std::int64_t rows, Change&& change) {
  const txn::RowChangePlan plan{
      .new_keys = new_keys_,
      .new_values = new_values_,
      .policy = policy_,
      .locks = is_private_ ? txn::RowLocks::kNotNeeded : txn::RowLocks::kHeld};
  return txn::change_row(transaction, plan, [&](txn::RowChange& row) -> Status {
    BASALT_TRY(table_.state().journal.note(row, primary_key, journal_key_));
    if (!expired_rows_.empty()) BASALT_TRY(remove_expired(row));
    BASALT_TRY(change(row));
    const auto expired = static_cast<std::int64_t>(expired_rows_.size());
    row.note_table(table_.state().changes, rows - expired);
    return Status::ok();
  });
}

bool RowWriter::has_references() const {
  return references_ != nullptr && !references_->references().is_empty();
}

Status RowWriter::renew_references(txn::Transaction& transaction) {
  return references_ == nullptr ? Status::ok() : references_->renew(transaction, policy_);
}

Status RowWriter::check_parents(txn::Transaction& transaction, const std::uint8_t* old_record,
                                const std::uint8_t* record) {
  if (references_ == nullptr) return Status::ok();
  return references_->check_parents(transaction, old_record, record, policy_);
}

template <typename Write, typename Follow>
Status RowWriter::write_and_follow(txn::Transaction& transaction, Write&& write, Follow&& follow) {
  const std::size_t savepoint = transaction.set_savepoint();
  Status status = write();
  if (status.is_ok()) status = follow();
  if (!status.is_ok()) BASALT_TRY(transaction.rollback_to_savepoint(savepoint));
  BASALT_TRY(transaction.release_savepoint(savepoint));
  return status;
}

Status RowWriter::insert(txn::Transaction& transaction, const std::uint8_t* record) {
  std::uint64_t row_id = 0;
  if (table_.has_hidden_key()) {
    BASALT_TRY(table_.state().hidden_row_id.take(Series(), 1, row_id));
  }
  table_.primary().make_key(record, row_id, new_key_);
  const std::uint64_t time = table_.has_expiry() ? table_.time_of(record, statement_time_) : 0;
  old_key_.clear();
  forget_expired();
  forget_new_locks();
  if (Status status = check_insert(transaction, record, time); !status.is_ok()) {
    give_back_new_locks(transaction);
    return status;
  }
  // What references the row would not find it in a file.
  BASALT_DEBUG_ASSERT(load_ == nullptr || !has_references());
  BASALT_DEBUG_ASSERT(load_ == nullptr || !table_.state().journal.is_open());
  // And what is expired, and in its way, could not go.
  BASALT_DEBUG_ASSERT(load_ == nullptr || !table_.has_expiry());
  if (load_ != nullptr) return load_row(transaction, record);

  new_keys_.clear();
  new_values_.clear();
  if (!is_private_) {
    new_keys_.push_back(new_key_);
    for (const Entry& entry : entries_) new_keys_.push_back(entry.key);
  }
  make_row(record, time);
  return change_row(transaction, new_key_, 1, [this](txn::RowChange& change) -> Status {
    change.note_row(new_key_);
    BASALT_TRY(change.put(table_.family(0), new_key_, row_));
    for (std::size_t i = 1; i < table_.index_count(); ++i) {
      const Entry& entry = entries_[i - 1];
      BASALT_TRY(change.put(table_.family(i), entry.key, entry.value));
    }
    return Status::ok();
  });
}

Status RowWriter::check_insert(txn::Transaction& transaction, const std::uint8_t* record,
                               std::uint64_t time) {
  BASALT_TRY(lock_values(transaction, record));
  BASALT_TRY(check_primary(transaction));
  for (std::size_t i = 1; i < table_.index_count(); ++i) {
    Entry& entry = entries_[i - 1];
    make_entry(i, record, new_key_, time, entry.key, entry.value);
    BASALT_TRY(check_unique(transaction, i, record, entry));
  }
  return check_parents(transaction, nullptr, record);
}

void RowWriter::take_old_key(const std::uint8_t* record, std::string_view primary_key) {
  if (table_.has_hidden_key()) {
    old_key_ = primary_key;
  } else {
    table_.primary().make_key(record, 0, old_key_);
  }
}

// Makes the row that is to be stored.
void RowWriter::make_row(const std::uint8_t* record, std::uint64_t time) {
  table_.primary().make_row(record, table_.definition().schema_version, row_);
  if (table_.has_expiry()) prepend_row_time(time, row_);
}

Status RowWriter::load_row(txn::Transaction& transaction, const std::uint8_t* record) {
  BASALT_TRY(transaction.check_size());
  table_.primary().make_row(record, table_.definition().schema_version, row_);
  BASALT_TRY(load_->add(0, new_key_, row_));
  for (std::size_t i = 1; i < table_.index_count(); ++i) {
    const Entry& entry = entries_[i - 1];
    BASALT_TRY(load_->add(i, entry.key, entry.value));
  }
  transaction.note_loaded_row(table_.state().changes);
  return Status::ok();
}

Status RowWriter::update(txn::Transaction& transaction, const std::uint8_t* old_record,
                         const std::uint8_t* new_record, std::string_view old_primary_key) {
  take_old_key(old_record, old_primary_key);
  if (table_.has_hidden_key()) {
    new_key_ = old_primary_key;
  } else {
    table_.primary().make_key(new_record, 0, new_key_);
  }
  forget_expired();
  forget_new_locks();
  BASALT_TRY(lock_exclusive(transaction, old_key_));
  std::uint64_t old_time = 0;
  BASALT_TRY(stored_time(transaction, old_record, old_time));
  const std::uint64_t time = table_.has_expiry() ? table_.time_of(new_record, old_time) : 0;
  Status status = check_update(transaction, old_record, new_record, old_time, time);
  if (!status.is_ok()) {
    give_back_new_locks(transaction);
    return status;
  }
  make_row(new_record, time);
  const auto write = [&] { return write_update(transaction, old_key_ != new_key_); };
  if (references_ == nullptr || !references_->is_followed(old_record, new_record)) return write();
  return write_and_follow(transaction, write, [&] {
    return references_->follow_update(transaction, old_record, new_record, policy_);
  });
}

Status RowWriter::check_update(txn::Transaction& transaction, const std::uint8_t* old_record,
                               const std::uint8_t* new_record, std::uint64_t old_time,
                               std::uint64_t time) {
  BASALT_TRY(lock_values(transaction, old_record));
  BASALT_TRY(lock_values(transaction, new_record));
  new_keys_.clear();
  new_values_.clear();
  const bool moves = old_key_ != new_key_;
  if (moves) {
    BASALT_TRY(check_primary(transaction));
    new_keys_.push_back(new_key_);
  }
  for (std::size_t i = 1; i < table_.index_count(); ++i) {
    Entry& entry = entries_[i - 1];
    make_entry(i, old_record, old_key_, old_time, entry.old_key, entry.old_value);
    make_entry(i, new_record, new_key_, time, entry.key, entry.value);
    if (entry.old_key == entry.key) {
      // Who looks the value up with its lock held must not be led to a row that is about to go, nor
      // take one for expired that is about to live longer.
      if (moves || old_time != time) BASALT_TRY(lock_vacated(transaction, i, old_record));
      // What only the entry's value tells, the row or the letters' case, is new to a read with
      // locks: it may have passed over the entry for the old value.
      if (entry.old_value != entry.value) new_values_.push_back(entry.key);
      continue;
    }
    new_keys_.push_back(entry.key);
    BASALT_TRY(lock_vacated(transaction, i, old_record));
    BASALT_TRY(check_unique(transaction, i, new_record, entry));
  }

  BASALT_TRY(renew_references(transaction));
  return check_parents(transaction, old_record, new_record);
}

Status RowWriter::write_update(txn::Transaction& transaction, bool moves) {
  // Entries that stay as they are must be in the transaction's batch all the same if its snapshot
  // may not have them: its own reads look there and in the snapshot only.
  const bool rewrites_all = transaction.may_be_newer_than_snapshot(old_key_);
  return change_row(transaction, old_key_, 0, [&](txn::RowChange& change) -> Status {
    change.note_row(old_key_);
    if (moves) {
      change.note_row(new_key_);
      BASALT_TRY(table_.state().journal.note(change, new_key_, journal_key_));
      BASALT_TRY(change.remove(table_.family(0), old_key_));
    }
    BASALT_TRY(change.put(table_.family(0), new_key_, row_));
    for (std::size_t i = 1; i < table_.index_count(); ++i) {
      const Entry& entry = entries_[i - 1];
      const bool stays = entry.old_key == entry.key && entry.old_value == entry.value;
      if (stays && !rewrites_all) continue;
      // Also when only the value differs: a single removal must meet exactly one put.
      BASALT_TRY(remove_entry(change, i, entry.old_key));
      BASALT_TRY(change.put(table_.family(i), entry.key, entry.value));
    }
    return Status::ok();
  });
}

Status RowWriter::remove(txn::Transaction& transaction, const std::uint8_t* record,
                         std::string_view primary_key) {
  take_old_key(record, primary_key);
  forget_expired();
  BASALT_TRY(lock_exclusive(transaction, old_key_));
  BASALT_TRY(lock_values(transaction, record));
  for (std::size_t i = 1; i < table_.index_count(); ++i) {
    BASALT_TRY(lock_vacated(transaction, i, record));
  }

  BASALT_TRY(renew_references(transaction));
  const auto write = [&] { return write_removal(transaction, record); };
  if (references_ == nullptr || !references_->has_children()) return write();
  return write_and_follow(transaction, write, [&] {
    return references_->follow_removal(transaction, record, policy_);
  });
}

Status RowWriter::write_removal(txn::Transaction& transaction, const std::uint8_t* record) {
  new_keys_.clear();
  new_values_.clear();
  return change_row(transaction, old_key_, -1, [&](txn::RowChange& change) -> Status {
    change.note_row(old_key_);
    BASALT_TRY(change.remove(table_.family(0), old_key_));
    for (std::size_t i = 1; i < table_.index_count(); ++i) {
      Entry& entry = entries_[i - 1];
      table_.secondary(i).make_key(record, old_key_, entry.old_key);
      BASALT_TRY(remove_entry(change, i, entry.old_key));
    }
    return Status::ok();
  });
}

Status RowWriter::read_again(txn::Transaction& transaction, const std::uint8_t* old_record,
                             std::string_view old_primary_key, std::uint8_t* record, bool& exists) {
  take_old_key(old_record, old_primary_key);
  BASALT_TRY(transaction.get(table_.family(0), old_key_, {}, found_, exists));
  if (!exists) return Status::ok();
  // An own row is in the transaction's batch, which the next write may move.
  row_again_ = found_.view();
  const codec::ColumnSet all(table_.layout().columns.size(), true);
  return table_.primary().read(old_key_, row_again_, table_.primary().plan(all), record);
}

bool RowWriter::is_same_row(const std::uint8_t* old_record, const std::uint8_t* new_record) {
  const std::uint32_t version = table_.definition().schema_version;
  table_.primary().make_row(old_record, version, old_row_);
  table_.primary().make_row(new_record, version, row_);
  if (old_row_ != row_) return false;
  if (table_.has_hidden_key()) return true;
  table_.primary().make_key(old_record, 0, old_key_);
  table_.primary().make_key(new_record, 0, new_key_);
  return old_key_ == new_key_;
}

}  // namespace basalt::table
