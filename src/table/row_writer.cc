#include "table/row_writer.h"

#include "table/bulk_load.h"
#include "table/reference_enforcer.h"
#include "txn/row_change.h"

namespace basalt::table {

RowWriter::RowWriter(const Table& table) : table_(table), entries_(table.index_count() - 1) {
  for (std::size_t i = 0; i < table.index_count(); ++i) {
    if (table.index(i).value_lock_parts != 0) value_locked_indexes_.push_back(i);
  }
}

Status RowWriter::lock_exclusive(txn::Transaction& transaction, std::string_view key) {
  if (is_private_) return Status::ok();
  return transaction.lock(key, lock::LockMode::kExclusive, policy_);
}

// The gap is waited for without the key's lock: who holds it may want to look the key up.
Status RowWriter::check_primary(txn::Transaction& transaction) {
  if (!is_private_) BASALT_TRY(transaction.await_insert(new_key_, policy_));
  BASALT_TRY(lock_exclusive(transaction, new_key_));
  if (table_.has_hidden_key()) return Status::ok();
  const std::optional<std::uint64_t> ordinal = table_.ordinal(new_key_);
  if (ordinal && table_.state().greatest_key.raise(*ordinal)) return Status::ok();
  bool exists = false;
  BASALT_TRY(transaction.get(table_.family(0), new_key_, {}, found_, exists));
  if (!exists) return Status::ok();
  duplicate_index_ = 0;
  duplicate_primary_key_ = new_key_;
  return Status::of(ErrorCode::kDuplicateKey);
}

Status RowWriter::check_unique(txn::Transaction& transaction, std::size_t index_number,
                               const std::uint8_t* record, const Entry& entry) {
  const codec::SecondaryCodec& codec = table_.secondary(index_number);
  if (!codec.is_unique_entry(record)) return Status::ok();
  // The key of an entry of unique form is the unique value itself.
  BASALT_TRY(lock_exclusive(transaction, entry.key));
  bool exists = false;
  BASALT_TRY(transaction.get(table_.family(index_number), entry.key, {}, found_, exists));
  if (!exists) return Status::ok();
  duplicate_index_ = index_number;
  BASALT_TRY(codec.primary_key_of(entry.key, found_.view(), duplicate_primary_key_));
  BASALT_TRY(lock_exclusive(transaction, duplicate_primary_key_));
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
                             Change&& change) {
  const txn::RowChangePlan plan{
      .new_keys = new_keys_,
      .new_values = new_values_,
      .policy = policy_,
      .locks = is_private_ ? txn::RowLocks::kNotNeeded : txn::RowLocks::kHeld};
  return txn::change_row(transaction, plan, [&](txn::RowChange& row) -> Status {
    row.note_table(table_.state().changed);
    BASALT_TRY(table_.state().journal.note(row, primary_key, journal_key_));
    return change(row);
  });
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
  BASALT_TRY(lock_values(transaction, record));
  BASALT_TRY(check_primary(transaction));
  for (std::size_t i = 1; i < table_.index_count(); ++i) {
    Entry& entry = entries_[i - 1];
    table_.secondary(i).make_entry(record, new_key_, entry.key, entry.value);
    BASALT_TRY(check_unique(transaction, i, record, entry));
  }
  BASALT_TRY(check_parents(transaction, nullptr, record));
  // What references the row would not find it in a file.
  BASALT_DEBUG_ASSERT(load_ == nullptr || references_ == nullptr);
  BASALT_DEBUG_ASSERT(load_ == nullptr || !table_.state().journal.is_open());
  if (load_ != nullptr) return load_row(transaction, record);

  new_keys_.clear();
  new_values_.clear();
  if (!is_private_) {
    new_keys_.push_back(new_key_);
    for (const Entry& entry : entries_) new_keys_.push_back(entry.key);
  }
  table_.primary().make_row(record, table_.definition().schema_version, row_);
  return change_row(transaction, new_key_, [this](txn::RowChange& change) -> Status {
    change.note_row(new_key_);
    BASALT_TRY(change.put(table_.family(0), new_key_, row_));
    for (std::size_t i = 1; i < table_.index_count(); ++i) {
      const Entry& entry = entries_[i - 1];
      BASALT_TRY(change.put(table_.family(i), entry.key, entry.value));
    }
    return Status::ok();
  });
}

Status RowWriter::load_row(txn::Transaction& transaction, const std::uint8_t* record) {
  BASALT_TRY(transaction.check_size());
  table_.primary().make_row(record, table_.definition().schema_version, row_);
  BASALT_TRY(load_->add(0, new_key_, row_));
  for (std::size_t i = 1; i < table_.index_count(); ++i) {
    const Entry& entry = entries_[i - 1];
    BASALT_TRY(load_->add(i, entry.key, entry.value));
  }
  return Status::ok();
}

Status RowWriter::update(txn::Transaction& transaction, const std::uint8_t* old_record,
                         const std::uint8_t* new_record, std::string_view old_primary_key) {
  if (table_.has_hidden_key()) {
    old_key_ = old_primary_key;
    new_key_ = old_primary_key;
  } else {
    table_.primary().make_key(old_record, 0, old_key_);
    table_.primary().make_key(new_record, 0, new_key_);
  }
  const bool moves = old_key_ != new_key_;
  BASALT_TRY(lock_exclusive(transaction, old_key_));
  BASALT_TRY(lock_values(transaction, old_record));
  BASALT_TRY(lock_values(transaction, new_record));
  new_keys_.clear();
  new_values_.clear();
  if (moves) {
    BASALT_TRY(check_primary(transaction));
    new_keys_.push_back(new_key_);
  }
  for (std::size_t i = 1; i < table_.index_count(); ++i) {
    const codec::SecondaryCodec& codec = table_.secondary(i);
    Entry& entry = entries_[i - 1];
    codec.make_entry(old_record, old_key_, entry.old_key, entry.old_value);
    codec.make_entry(new_record, new_key_, entry.key, entry.value);
    if (entry.old_key == entry.key) {
      // Who looks the value up with its lock held must not be led to a row that is about to go.
      if (moves) BASALT_TRY(lock_vacated(transaction, i, old_record));
      // What only the entry's value tells, the row or the letters' case, is new to a read with
      // locks: it may have passed over the entry for the old value.
      if (entry.old_value != entry.value) new_values_.push_back(entry.key);
      continue;
    }
    new_keys_.push_back(entry.key);
    BASALT_TRY(lock_vacated(transaction, i, old_record));
    BASALT_TRY(check_unique(transaction, i, new_record, entry));
  }

  BASALT_TRY(check_parents(transaction, old_record, new_record));

  table_.primary().make_row(new_record, table_.definition().schema_version, row_);
  const auto write = [&] { return write_update(transaction, moves); };
  if (references_ == nullptr || !references_->is_followed(old_record, new_record)) return write();
  return write_and_follow(transaction, write, [&] {
    return references_->follow_update(transaction, old_record, new_record, policy_);
  });
}

Status RowWriter::write_update(txn::Transaction& transaction, bool moves) {
  // Entries that stay as they are must be in the transaction's batch all the same if its snapshot
  // may not have them: its own reads look there and in the snapshot only.
  const bool rewrites_all = transaction.may_be_newer_than_snapshot(old_key_);
  return change_row(transaction, old_key_, [&](txn::RowChange& change) -> Status {
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
      BASALT_TRY(change.remove_single(table_.family(i), entry.old_key));
      BASALT_TRY(change.put(table_.family(i), entry.key, entry.value));
    }
    return Status::ok();
  });
}

Status RowWriter::remove(txn::Transaction& transaction, const std::uint8_t* record,
                         std::string_view primary_key) {
  if (table_.has_hidden_key()) {
    old_key_ = primary_key;
  } else {
    table_.primary().make_key(record, 0, old_key_);
  }
  BASALT_TRY(lock_exclusive(transaction, old_key_));
  BASALT_TRY(lock_values(transaction, record));
  for (std::size_t i = 1; i < table_.index_count(); ++i) {
    BASALT_TRY(lock_vacated(transaction, i, record));
  }

  const auto write = [&] { return write_removal(transaction, record); };
  if (references_ == nullptr || !references_->has_children()) return write();
  return write_and_follow(transaction, write, [&] {
    return references_->follow_removal(transaction, record, policy_);
  });
}

Status RowWriter::write_removal(txn::Transaction& transaction, const std::uint8_t* record) {
  new_keys_.clear();
  new_values_.clear();
  return change_row(transaction, old_key_, [&](txn::RowChange& change) -> Status {
    change.note_row(old_key_);
    BASALT_TRY(change.remove(table_.family(0), old_key_));
    for (std::size_t i = 1; i < table_.index_count(); ++i) {
      Entry& entry = entries_[i - 1];
      table_.secondary(i).make_key(record, old_key_, entry.old_key);
      BASALT_TRY(change.remove_single(table_.family(i), entry.old_key));
    }
    return Status::ok();
  });
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
