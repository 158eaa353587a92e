#include "table/nonlocking_reader.h"

namespace basalt::table {

bool NonLockingReader::may_defer_rows() const {
  return iterator_.reads_one_snapshot() && iterator_.index_number() != 0 && fetcher_.visits_row() &&
         !fetcher_.needs_entry();
}

Status NonLockingReader::qualify(bool defers_row, std::uint8_t* record, Qualified& qualified) {
  qualified = Qualified::kFound;
  if (iterator_.index_number() == 0) return fetcher_.read_here(iterator_, record);
  const std::string_view key = iterator_.key();
  const std::string_view value = iterator_.value();
  if (condition_.is_set()) {
    BASALT_TRY(condition_.check(key, value, record, qualified));
    if (qualified != Qualified::kFound) return Status::ok();
  }
  if (iterator_.reads_behind_own_changes()) {
    BASALT_TRY(fetcher_.set_primary_key_of(key, value));
    bool hidden = false;
    BASALT_TRY(is_entry_hidden(key, hidden));
    if (hidden) {
      qualified = Qualified::kPass;
      return Status::ok();
    }
  }
  if (!fetcher_.visits_row()) return fetcher_.read_entry(key, value, record);
  BASALT_TRY(fetcher_.set_primary_key_of(key, value));
  if (defers_row) return Status::ok();
  bool found = false;
  BASALT_TRY(read_row(record, found));
  if (found) return fetcher_.add_entry_columns(key, value, record);
  qualified = Qualified::kPass;
  if (!iterator_.reads_one_snapshot()) return Status::ok();
  return fetcher_.entry_without_row(iterator_.transaction(), key, iterator_.view());
}

Status NonLockingReader::find_unique(std::string_view key, bool defers_row, std::uint8_t* record,
                                     bool& found) {
  BASALT_TRY(fetcher_.get_entry(iterator_.transaction(), key, iterator_.view(), found));
  if (!found) return Status::ok();
  if (condition_.is_set()) {
    BASALT_TRY(condition_.accepts(key, fetcher_.entry_value(), record, found));
    if (!found) return Status::ok();
  }
  if (!fetcher_.visits_row()) return fetcher_.read_entry(key, fetcher_.entry_value(), record);
  BASALT_TRY(fetcher_.set_primary_key_of(key, fetcher_.entry_value()));
  if (defers_row) return Status::ok();
  BASALT_TRY(read_row(record, found));
  return found ? fetcher_.add_entry_columns(key, fetcher_.entry_value(), record) : Status::ok();
}

// Whether the entry belongs to a version of the fetcher's row that the transaction's own change has
// replaced. The change itself may have removed another entry: that of a version which was committed
// after our snapshot.
Status NonLockingReader::is_entry_hidden(std::string_view entry_key, bool& hidden) {
  hidden = false;
  txn::Transaction& transaction = iterator_.transaction();
  auto version = txn::OwnVersion::kNone;
  BASALT_TRY(transaction.own_version(table_.family(0), fetcher_.primary_key(), version, own_row_));
  switch (version) {
    case txn::OwnVersion::kNone: return Status::ok();
    case txn::OwnVersion::kRemoved: hidden = true; return Status::ok();
    case txn::OwnVersion::kPut: break;
  }
  // We have locked the row: what is committed of its entries and not removed by us is its own.
  std::string owner;
  BASALT_TRY(fetcher_.find_owner(transaction, entry_key, owner));
  hidden = owner != fetcher_.primary_key();
  return Status::ok();
}

}  // namespace basalt::table
