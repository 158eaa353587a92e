#include <algorithm>
#include <optional>

#include "server/convert/error_mapping.h"
#include "server/handler/exported_tables.h"
#include "server/handler/ha_rocksdb.h"
#include "server/plugin.h"
#include "server/sysvars.h"
#include "table/table_opening.h"
#include "server/mariadb.h"

namespace basalt::server {
namespace {

// Whether a row that is refused for a duplicate moves the counter above its value. InnoDB does so
// where the row may replace others, or come from a query.
bool counts_refused_rows(THD* thd) {
  const int command = thd_sql_command(thd);
  return command == SQLCOM_REPLACE || command == SQLCOM_REPLACE_SELECT ||
         command == SQLCOM_INSERT_SELECT;
}

}  // namespace

// Keeps the counter above a value that a row was given: it goes on in the series that this handler
// has last taken values of, as InnoDB does. A negative value counts as 0; one above those that the
// server counts in the column moves nothing.
int ha_rocksdb::note_auto_increment(const uchar* record) {
  const table::AutoIncrementSource& source = share_->translation.auto_increment;
  if (!source.exists) return 0;
  const std::uint64_t value =
      table::counter_value(opened().layout().columns[source.column], record);
  if (value > series_.greatest) return 0;
  return report(opened().state().auto_increment.advance(series_.after(value, 1)));
}

void ha_rocksdb::fill_duplicate_position() {
  if (session_ != nullptr) {
    session_->set_duplicate_key(share_->translation.server_index(writer_->duplicate_index()));
  }
  write_position(writer_->duplicate_primary_key(), dup_ref);
}

int ha_rocksdb::refuse_if_read_only(THD* thd, int lock_type) {
  if (lock_type != F_WRLCK || thd_sql_command(thd) == SQLCOM_SELECT) return 0;
  Status status = the_engine().database().health().check_not_read_only();
  if (status.is_ok()) return 0;
  const int error = report(std::move(status));
  // The server tells only a number where a lock fails; of two errors the client gets the first.
  print_error(error, MYF(0));
  return error;
}

int ha_rocksdb::write_row(const uchar* record) noexcept {
  if (const int error = refuse_if_discarded(ha_thd(), *table, opened().definition()); error != 0) {
    return error;
  }
  if (table->next_number_field != nullptr && record == table->record[0]) {
    const int error = update_auto_increment();
    if (error == HA_ERR_AUTOINC_READ_FAILED) {
      // Not for want of values, if the counter's mark could not be stored.
      Status status = the_engine().database().health().check_not_read_only();
      if (!status.is_ok()) return report(std::move(status));
    }
    if (error != 0) return error;
    if (auto_increment_rows_ > 0) --auto_increment_rows_;
  }
  if (session_ != nullptr && session_->has_client_gone()) {
    return end_own_transaction(report(Status::of(ErrorCode::kInterrupted)));
  }
  if (load_after_bytes_ != kNoLoad && load_ == nullptr) {
    if (Status status = begin_load_if_many(); !status.is_ok()) return report(std::move(status));
  }
  if (has_expiry()) writer_->set_statement_time(statement_time(ha_thd()));
  Status status = writer_->insert(inserting_transaction(), record);
  if (status.is(ErrorCode::kDuplicateKey)) {
    fill_duplicate_position();
    if (counts_refused_rows(ha_thd())) {
      if (const int error = note_auto_increment(record); error != 0) return error;
    }
    return HA_ERR_FOUND_DUPP_KEY;
  }
  if (!status.is_ok()) {
    return end_own_transaction(report_change(std::move(status), nullptr, record));
  }
  ++counts_.rows_inserted;
  const int error = note_auto_increment(record);
  if (load_ != nullptr) {
    ++loaded_rows_;
    return error;
  }
  if (is_copying_ && error == 0) return report(session_->commit_full_portion());
  return end_row(error);
}

int ha_rocksdb::end_row(int error) {
  if (own_transaction_ || error != 0) return end_own_transaction(error);
  return report(session_->end_row());
}

int ha_rocksdb::end_own_transaction(int error) {
  if (!own_transaction_) return error;
  if (error == 0) return report(own_transaction_->commit(commit_durability(ha_thd())));
  own_transaction_->rollback().ignore("the write has failed already; its error is reported");
  return error;
}

std::string_view ha_rocksdb::hidden_key() const {
  return opened().has_hidden_key() ? std::string_view(cursor_->primary_key()) : std::string_view();
}

Status ha_rocksdb::find_stored_record(const uchar*& record) {
  if (row_as_stored_ == nullptr) return Status::ok();
  // These pass on the row as they have read it.
  const int command = thd_sql_command(ha_thd());
  if (command == SQLCOM_UPDATE || command == SQLCOM_UPDATE_MULTI ||
      command == SQLCOM_DELETE_MULTI) {
    return Status::ok();
  }
  return row_as_stored_->read(*table, opened(), *writer_, transaction(), hidden_key(), record);
}

std::optional<CascadedRow> ha_rocksdb::cascaded_row() {
  // A sequence's row belongs to no session.
  if (session_ == nullptr || !session_->cascade_context().have_changed(opened().definition().id)) {
    return std::nullopt;
  }
  return CascadedRow({.server_table = *table,
                      .table = opened(),
                      .writer = *writer_,
                      .transaction = transaction(),
                      .hidden_key = hidden_key(),
                      .references = references_.get()});
}

int ha_rocksdb::update_row(const uchar* old_record, const uchar* new_record) noexcept {
  if (std::optional<CascadedRow> row = cascaded_row()) {
    CascadedRow::Outcome outcome{};
    if (Status status = row->refresh_update(old_record, new_record, outcome); !status.is_ok()) {
      return report(std::move(status));
    }
    if (outcome == CascadedRow::Outcome::kRemoved) return 0;
    if (outcome == CascadedRow::Outcome::kGone) return HA_ERR_RECORD_IS_THE_SAME;
  }
  const uchar* stored_record = old_record;
  Status status = find_stored_record(stored_record);
  // The server does not compare where it has not asked for all columns that it writes.
  if (status.is_ok() && writer_->is_same_row(stored_record, new_record)) {
    return HA_ERR_RECORD_IS_THE_SAME;
  }
  if (has_expiry()) writer_->set_statement_time(statement_time(ha_thd()));
  if (status.is_ok()) {
    status = writer_->update(transaction(), stored_record, new_record, hidden_key());
  }
  if (status.is(ErrorCode::kDuplicateKey)) {
    fill_duplicate_position();
    return HA_ERR_FOUND_DUPP_KEY;
  }
  if (!status.is_ok()) {
    return end_own_transaction(report_change(std::move(status), old_record, new_record));
  }
  ++counts_.rows_updated;
  return end_row(note_auto_increment(new_record));
}

int ha_rocksdb::delete_row(const uchar* record) noexcept {
  if (std::optional<CascadedRow> row = cascaded_row()) {
    CascadedRow::Outcome outcome{};
    if (Status status = row->refresh_removal(record, outcome); !status.is_ok()) {
      return report(std::move(status));
    }
    // As InnoDB has it: what the statement wanted has been done.
    if (outcome == CascadedRow::Outcome::kRemoved) return 0;
  }
  const uchar* stored_record = record;
  Status status = find_stored_record(stored_record);
  if (status.is_ok()) status = writer_->remove(transaction(), stored_record, hidden_key());
  if (!status.is_ok()) {
    return end_own_transaction(report_change(std::move(status), record, nullptr));
  }
  ++counts_.rows_deleted;
  return end_row(0);
}

// The server guesses better and better how many values a statement wants, but only its first guess
// knows of rows that bring their values along: so that many are taken, less those that came.
void ha_rocksdb::get_auto_increment(ulonglong offset, ulonglong increment, ulonglong desired,
                                    ulonglong* first, ulonglong* reserved) noexcept {
  series_.offset = offset;
  series_.increment = increment;
  if (auto_increment_rows_ == 0) auto_increment_rows_ = std::max<ulonglong>(desired, 1);
  // The server goes on behind values that rows brought along, also if these were refused.
  std::uint64_t value = *first;
  const Status status = opened().state().auto_increment.take(series_, auto_increment_rows_, value);
  *first = status.is_ok() ? value : ULONGLONG_MAX;
  *reserved = value > series_.greatest ? 0 : auto_increment_rows_;
}

int ha_rocksdb::reset_auto_increment(ulonglong value) noexcept {
  return report(opened().state().auto_increment.restart(value));
}

}  // namespace basalt::server
