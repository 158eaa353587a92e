#include "base/bytes.h"
#include "base/log.h"
#include "server/convert/error_mapping.h"
#include "server/convert/foreign_key_text.h"
#include "server/handler/ha_rocksdb.h"
#include "server/plugin.h"
#include "server/sysvars.h"
#include "server/mariadb.h"

namespace basalt::server {
namespace {

constexpr std::size_t kPositionLengthBytes = 4;
constexpr ulong kBlockSize = 8192;

// Whether a foreign key forbids something.
bool is_refusal(const Status& status) {
  return status.is(ErrorCode::kNoReferencedRow) || status.is(ErrorCode::kRowIsReferenced) ||
         status.is(ErrorCode::kCascadeTooDeep);
}

// How many parts of a key the server and entries of the index count alike. Behind the index's own
// parts come those of the primary key that it lacks; to the server it lacks no column of which it
// has one, also where the primary key has a prefix alone, which entries have nevertheless.
uint common_parts(const KEY& key, const codec::SecondaryCodec& codec) {
  uint parts = key.user_defined_key_parts;
  while (parts < key.ext_key_parts && parts < codec.extended_part_count() &&
         codec.extended_column(parts) + 1 == key.key_part[parts].fieldnr) {
    ++parts;
  }
  return parts;
}

// Has the server search by no others: what it gives for them would be read as something else.
void leave_out_parts(KEY& key, uint parts) {
  key.ext_key_parts = parts;
  // They may not tell a row any more.
  key.ext_key_flags = key.flags;
  key_part_map kept = 0;
  key_part_map rest = key.ext_key_part_map;
  for (uint part = key.user_defined_key_parts; part < parts; ++part) {
    kept |= rest & (~rest + 1);
    rest &= rest - 1;
  }
  key.ext_key_part_map = kept;
}

}  // namespace

ha_rocksdb::ha_rocksdb(handlerton* engine, TABLE_SHARE* share) noexcept : handler(engine, share) {}

Status ha_rocksdb::make_share(const char* name, TableShare& share) {
  share.translation = translate_table(*table, table_name_of(name), g_plugin->collations);
  return open_shared_table(share);
}

Status ha_rocksdb::open_shared_table(TableShare& share) {
  const std::string& name = share.translation.definition.name;
  auto opened_table =
      the_engine().open_table(name, share.translation.definition, share.translation.layout,
                              share.translation.auto_increment);
  if (!opened_table.is_ok()) return opened_table.take_status();
  share.table = std::move(opened_table.value());
  share.statistics = the_engine().statistics(the_engine().catalog().find(name));
  return Status::ok();
}

void ha_rocksdb::bind() {
  if (table_ == share_->table) return;
  tell_counts();
  if (is_sequence()) own_transaction_ = the_engine().transactions().make_transaction(nullptr);
  cursor_.reset();
  writer_.reset();
  references_.reset();
  table_ = share_->table;
  cursor_ = std::make_unique<table::Cursor>(*table_);
  writer_ = std::make_unique<table::RowWriter>(*table_);
}

TableShare* ha_rocksdb::find_or_make_share(const char* name, Status& status) {
  lock_shared_ha_data();
  auto* share = static_cast<TableShare*>(get_ha_share_ptr());
  if (share == nullptr) {
    auto made = std::make_unique<TableShare>();
    status = make_share(name, *made);
    if (status.is_ok()) {
      share = made.release();
      set_ha_share_ptr(share);
    }
  }
  unlock_shared_ha_data();
  return share;
}

int ha_rocksdb::open(const char* name, int, uint) noexcept {
  Status status;
  share_ = find_or_make_share(name, status);
  if (share_ == nullptr) {
    log_message(LogLevel::kError, status.message());
    return report(std::move(status));
  }
  bind();
  row_as_stored_ = RowAsStored::make(*table);
  for (uint i = 0; i < table->s->keys; ++i) {
    const std::size_t number = our_index(i);
    if (number == 0) continue;
    KEY& key = table->key_info[i];
    const uint parts = common_parts(key, opened().secondary(number));
    if (parts != key.ext_key_parts) leave_out_parts(key, parts);
  }
  ref_length = static_cast<uint>(share_->translation.primary_key_bytes_max + kPositionLengthBytes);
  stats.block_size = kBlockSize;
  // A scan of the table is one of the primary key: an UPDATE that changes the key must not be done
  // while it scans.
  key_used_on_scan = table_share->primary_key;
  if (table->found_next_number_field != nullptr) {
    series_.greatest = table->found_next_number_field->get_max_int_value();
  }
  return info(HA_STATUS_VARIABLE | HA_STATUS_CONST | HA_STATUS_OPEN);
}

int ha_rocksdb::close() noexcept {
  abandon_copy();
  tell_counts();
  abandon_load();
  cursor_.reset();
  writer_.reset();
  references_.reset();
  own_transaction_.reset();
  table_.reset();
  share_ = nullptr;
  return 0;
}

handler* ha_rocksdb::clone(const char* name, MEM_ROOT* memory) noexcept {
  handler* copy = handler::clone(name, memory);
  if (copy == nullptr) return nullptr;
  // A clone gets no external_lock() of its own.
  auto* twin = static_cast<ha_rocksdb*>(copy);
  twin->session_ = session_;
  twin->row_lock_ = row_lock_;
  twin->skip_locked_ = skip_locked_;
  twin->writes_rows_ = writes_rows_;
  twin->reads_whole_rows_ = reads_whole_rows_;
  return copy;
}

int ha_rocksdb::reset() noexcept {
  abandon_copy();
  abandon_load();
  if (cursor_) cursor_->release();
  tell_counts();
  batch_.clear();
  multi_range_ = MultiRange();
  auto_increment_rows_ = 0;
  return 0;
}

int ha_rocksdb::extra(ha_extra_function operation) noexcept {
  if (operation == HA_EXTRA_BEGIN_COPY || operation == HA_EXTRA_BEGIN_ALTER_IGNORE_COPY) {
    begin_copy(operation == HA_EXTRA_BEGIN_ALTER_IGNORE_COPY);
  } else if (operation == HA_EXTRA_END_COPY) {
    return end_copy();
  } else if (operation == HA_EXTRA_ABORT_COPY) {
    abandon_copy();
  }
  return 0;
}

// The server's text for a damaged table says nothing of what is damaged.
void ha_rocksdb::report_corruption(const Status& status) {
  const std::string text = "table '" + share_->translation.definition.name +
                           "': " + status.message() +
                           "; CHECK TABLE says more, a backup or a replica has the rows";
  log_message(LogLevel::kError, text);
  push_warning_printf(ha_thd(), Sql_condition::WARN_LEVEL_WARN, ER_NOT_KEYFILE, "RocksDB: %s",
                      text.c_str());
}

int ha_rocksdb::report(Status status) {
  if (status.is_ok()) return 0;
  error_text_ = status.message();
  if (is_refusal(status) && references_ != nullptr && references_->refusal().key != nullptr) {
    error_text_ = constraint_with_table(ha_thd(), *references_->refusal().key);
  }
  error_status_ = status.code();
  if (status.is(ErrorCode::kDeadlock) || status.is(ErrorCode::kSnapshotConflict)) {
    Session* const session = Session::find(ha_thd());
    if (session != nullptr) session->set_rollback_cause(status.code());
    if (status.is(ErrorCode::kSnapshotConflict) && logs_snapshot_conflicts()) {
      log_message(LogLevel::kInfo, "a snapshot conflict ends the transaction of: " +
                                       std::string(ha_thd()->query(), ha_thd()->query_length()));
    }
  }
  if (status.is(ErrorCode::kSnapshotConflict)) g_plugin->rows.add(RowEvent::kSnapshotConflict, 1);
  if (status.is(ErrorCode::kCorruption) && share_ != nullptr) report_corruption(status);
  if (status.is(ErrorCode::kInconsistentRead)) {
    log_message(LogLevel::kError, "table '" + opened().definition().name + "': " + error_text_);
  }
  return to_handler_error(status, ha_thd());
}

int ha_rocksdb::report_change(Status status, const uchar* old_record, const uchar* new_record) {
  if (is_refusal(status) && references_ != nullptr) {
    note_refused_row(ha_thd(), *table, references_->refusal(), old_record, new_record);
  }
  return report(std::move(status));
}

// ---- positions: the stored primary key without index id, zeros, its length in the last 4 bytes;
// so memcmp of positions is the order of keys

void ha_rocksdb::write_position(std::string_view primary_key, uchar* position) const {
  primary_key.remove_prefix(sizeof(catalog::IndexId));
  const std::size_t room = ref_length - kPositionLengthBytes;
  BASALT_ASSERT(primary_key.size() <= room);
  std::memcpy(position, primary_key.data(), primary_key.size());
  std::memset(position + primary_key.size(), 0, room - primary_key.size());
  store_le(position + room, static_cast<std::uint32_t>(primary_key.size()));
}

std::string_view ha_rocksdb::read_position(const uchar* position, std::string& primary_key) const {
  const std::size_t room = ref_length - kPositionLengthBytes;
  const std::size_t size = std::min<std::size_t>(load_le<std::uint32_t>(position + room), room);
  primary_key.clear();
  append_be32(primary_key, opened().index(0).id);
  primary_key.append(reinterpret_cast<const char*>(position), size);
  return primary_key;
}

}  // namespace basalt::server
