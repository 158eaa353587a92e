#include "server/convert/error_mapping.h"
#include "server/handler/ha_rocksdb.h"
#include "server/plugin.h"
#include "table/state_loader.h"
#include "server/mariadb.h"

namespace basalt::server {

// Keeps the counter above a value that the statement gave itself.
int ha_rocksdb::note_auto_increment(const uchar* record) {
  const table::AutoIncrementSource& source = share_->translation.auto_increment;
  if (!source.exists) return 0;
  const std::uint64_t value =
      table::counter_value(opened().layout().columns[source.column], record);
  return report(opened().state().auto_increment.skip(value));
}

void ha_rocksdb::fill_duplicate_position() {
  const std::vector<std::size_t>& numbers = share_->translation.index_numbers;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (numbers[i] == writer_->duplicate_index()) duplicate_key_ = static_cast<uint>(i);
  }
  write_position(writer_->duplicate_primary_key(), dup_ref);
}

int ha_rocksdb::write_row(const uchar* record) noexcept {
  if (table->next_number_field != nullptr && record == table->record[0]) {
    const int error = update_auto_increment();
    if (error != 0) return error;
  }
  Status status = writer_->insert(session_->transaction(), record);
  if (status.is(ErrorCode::kDuplicateKey)) {
    fill_duplicate_position();
    return HA_ERR_FOUND_DUPP_KEY;
  }
  if (!status.is_ok()) return report(std::move(status));
  share_->statistics->note_rows(1);
  return note_auto_increment(record);
}

int ha_rocksdb::update_row(const uchar* old_record, const uchar* new_record) noexcept {
  Status status = writer_->update(session_->transaction(), old_record, new_record,
                                  opened().has_hidden_key() ? cursor_->primary_key() : "");
  if (status.is(ErrorCode::kDuplicateKey)) {
    fill_duplicate_position();
    return HA_ERR_FOUND_DUPP_KEY;
  }
  if (!status.is_ok()) return report(std::move(status));
  return note_auto_increment(new_record);
}

int ha_rocksdb::delete_row(const uchar* record) noexcept {
  Status status = writer_->remove(session_->transaction(), record,
                                  opened().has_hidden_key() ? cursor_->primary_key() : "");
  if (!status.is_ok()) return report(std::move(status));
  share_->statistics->note_rows(-1);
  return 0;
}

void ha_rocksdb::get_auto_increment(ulonglong offset, ulonglong increment, ulonglong desired,
                                    ulonglong* first, ulonglong* reserved) noexcept {
  std::uint64_t value = 0;
  const Status status = opened().state().auto_increment.take(offset, increment, desired, value);
  *first = status.is_ok() ? value : ULONGLONG_MAX;
  *reserved = desired;
}

int ha_rocksdb::reset_auto_increment(ulonglong value) noexcept {
  return report(opened().state().auto_increment.restart(value));
}

}  // namespace basalt::server
