#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <string>

#include "server/convert/error_mapping.h"
#include "server/handler/exported_tables.h"
#include "server/handler/ha_rocksdb.h"
#include "server/handler/row_expiry.h"
#include "server/plugin.h"
#include "server/sysvars.h"
#include "server/mariadb.h"

namespace basalt::server {
namespace {

// The server's unit of cost is one random read: with us, to find one row by its key. A fifth of it
// is what the server takes for evaluating a row's condition.
constexpr double kSeekCost = 1;
// What the next entry of a sequential read costs, whatever its size, and each byte of it. Bytes as
// they are in memory: compression makes blocks cheaper to read and dearer to unpack.
constexpr double kNextCost = 0.02;
constexpr double kByteCost = 1.0 / 8192;
// So that a scan of a tiny table is not preferred to a point read.
constexpr double kScanStartCost = 2;

// Whether the index holds the rows: the primary key, or the first index if it is unique, without
// NULLs and without prefixes. Asked while the server still reads the definition and has not set
// TABLE_SHARE::primary_key, so that its rule is applied here.
bool is_clustered(const TABLE_SHARE& share, uint index) {
  if (index != 0) return false;
  const KEY& key = share.key_info[0];
  if ((key.flags & HA_NOSAME) == 0 || key.algorithm == HA_KEY_ALG_LONG_HASH) return false;
  for (uint i = 0; i < key.user_defined_key_parts; ++i) {
    if (share.field[key.key_part[i].fieldnr - 1]->real_maybe_null()) return false;
  }
  if (my_strcasecmp(system_charset_info, share.keynames.type_names[0], "PRIMARY") == 0) {
    return true;
  }
  for (uint i = 0; i < key.user_defined_key_parts; ++i) {
    const Field& field = *share.field[key.key_part[i].fieldnr - 1];
    if (field.key_length() != key.key_part[i].length) return false;
  }
  return true;
}

// Whether a statement with AUTO_INCREMENT values may be logged as it is. It may not if it takes
// them in several portions, between which others take theirs: a replica would number in one go.
bool takes_values_in_portions(THD* thd) {
  switch (thd_sql_command(thd)) {
    case SQLCOM_INSERT_SELECT:
    case SQLCOM_REPLACE_SELECT:
    case SQLCOM_CREATE_TABLE:
    case SQLCOM_LOAD: return true;
    default: return false;
  }
}

// Whether the binary log may have statements in place of rows: a replica runs them one after the
// other, so what they read must be locked until the commit.
// The share is null for a handler that only tells what the engine can.
bool may_log_statements(THD* thd, const TABLE_SHARE* share) {
  if (thd == nullptr || thd_tx_isolation(thd) <= ISO_READ_COMMITTED) return false;
  const bool has_auto_increment = share != nullptr && share->found_next_number_field != nullptr;
  return !has_auto_increment || !takes_values_in_portions(thd);
}

// When the server's file with the definition was written, which is not when it was made if others
// have copied or renamed it: as InnoDB has it. 0 for a temporary table, which has none.
ulong definition_time(const TABLE_SHARE& share) {
  const std::string path = std::string(share.normalized_path.str) + reg_ext;
  struct stat file {};
  return ::stat(path.c_str(), &file) == 0 ? static_cast<ulong>(file.st_ctim.tv_sec) : 0;
}

}  // namespace

// The same of all partitions of a table: the server refuses others.
ulonglong ha_rocksdb::table_flags() const noexcept {
  const bool may_log = may_log_statements(ha_thd(), table_share) && !says_rows_expire(table_share);
  const ulonglong statements =
      may_log || logs_unsafe_statements(ha_thd()) ? HA_BINLOG_STMT_CAPABLE : 0;
  return statements | HA_PARTIAL_COLUMN_READ | HA_TABLE_SCAN_ON_INDEX | HA_REC_NOT_IN_SEQ |
         HA_CAN_GEOMETRY | HA_NULL_IN_KEY | HA_CAN_INDEX_BLOBS | HA_DUPLICATE_POS |
         HA_PRIMARY_KEY_IN_READ_INDEX | HA_PRIMARY_KEY_REQUIRED_FOR_POSITION |
         HA_REQUIRES_KEY_COLUMNS_FOR_DELETE | HA_CAN_SQL_HANDLER | HA_BINLOG_ROW_CAPABLE |
         HA_CONCURRENT_OPTIMIZE | HA_CAN_ONLINE_BACKUPS | HA_CRASH_SAFE | HA_ONLINE_ANALYZE |
         HA_CAN_SKIP_LOCKED | HA_CAN_VIRTUAL_COLUMNS | HA_CAN_TABLES_WITHOUT_ROLLBACK |
         HA_CAN_EXPORT;
}

ulong ha_rocksdb::index_flags(uint index, uint, bool) const noexcept {
  ulong flags = HA_READ_NEXT | HA_READ_PREV | HA_READ_ORDER | HA_READ_RANGE;
  // MIN() and MAX() are looked up in an index before anybody has asked for the number of rows, and
  // so before leave_out_newer_indexes().
  if (table != nullptr && is_left_out(index)) flags &= ~ulong{HA_READ_ORDER};
  if (is_clustered(*table_share, index)) return flags | HA_CLUSTERED_INDEX | HA_KEYREAD_ONLY;
  return flags | HA_KEYREAD_ONLY | HA_DO_INDEX_COND_PUSHDOWN | HA_DO_RANGE_FILTER_PUSHDOWN;
}

// The figures belong to all who have the table open. Several may write them at once, and the
// optimizer reads them meanwhile without a lock, as it does with other engines.
void ha_rocksdb::show_rows_per_value() {
  share_->shown_generation = share_->statistics->generation();
  for (uint i = 0; i < table->s->keys; ++i) {
    KEY& key = table->key_info[i];
    for (uint part = 0; part < key.ext_key_parts; ++part) {
      const auto rows =
          static_cast<ulong>(share_->statistics->rows_per_value(our_index(i), part + 1));
      std::atomic_ref<ulong>(key.rec_per_key[part]).store(rows, std::memory_order_relaxed);
    }
  }
}

int ha_rocksdb::info(uint flags) noexcept {
  if ((flags & HA_STATUS_VARIABLE) != 0) {
    if ((flags & HA_STATUS_OPEN) == 0) leave_out_newer_indexes();
    const stats::TableSize size = share_->statistics->size();
    stats.records = counts_memtables() ? size.rows : share_->statistics->rows_in_files();
    // Zero means exactly none to the optimizer, which an estimate cannot promise.
    if (stats.records == 0 && (flags & (HA_STATUS_TIME | HA_STATUS_OPEN)) == 0) stats.records = 1;
    stats.deleted = 0;
    stats.data_file_length = size.row_bytes;
    stats.index_file_length = size.index_bytes;
    stats.mean_rec_length =
        static_cast<ulong>(size.row_bytes / std::max<std::uint64_t>(size.rows, 1));
  }
  if ((flags & HA_STATUS_TIME) != 0) {
    stats.update_time = static_cast<ulong>(opened().state().changes->time.load());
  }
  if ((flags & HA_STATUS_CONST) != 0) stats.create_time = definition_time(*table_share);
  // The definition is shared by all who have the table open, and asked for at open alone: so it
  // is kept up to date here. A partition's definition is that of the whole table.
  const bool is_whole = table->file == this;
  if ((flags & HA_STATUS_CONST) != 0 ||
      (is_whole && share_->shown_generation.load(std::memory_order_relaxed) !=
                       share_->statistics->generation())) {
    show_rows_per_value();
  }
  if ((flags & HA_STATUS_ERRKEY) != 0 && session_ != nullptr) errkey = session_->duplicate_key();
  if ((flags & HA_STATUS_AUTO) != 0) {
    stats.auto_increment_value =
        share_->translation.auto_increment.exists ? opened().state().auto_increment.next() : 0;
  }
  return 0;
}

ha_rows ha_rocksdb::records_in_range(uint index, const key_range* min, const key_range* max,
                                     page_range*) noexcept {
  const std::uint64_t told = told_rows_in_range(ha_thd(), table->force_index);
  if (told != 0) return told;
  std::string lower;
  std::string upper;
  make_bounds(index, min, max, lower, upper);
  const KeyRange& whole = opened().whole_range(our_index(index));
  if (lower.empty()) lower = whole.lower;
  if (upper.empty()) upper = whole.upper;
  const Result<std::uint64_t> count =
      share_->statistics->entries_in_range(our_index(index), {std::move(lower), std::move(upper)});
  // The server gives up estimates after a KILL and would answer that it has found no rows, unless
  // it finds an error.
  if (thd_kill_level(ha_thd()) != THD_IS_NOT_KILLED) ha_thd()->send_kill_message();
  if (!count.is_ok()) return HA_POS_ERROR;
  // Never zero: an older snapshot, or this transaction itself, may see rows that are not counted.
  return std::max<ha_rows>(count.value(), 1);
}

// Bytes of an entry of the index: from files, else as the server defines them.
double ha_rocksdb::entry_bytes(uint index) const {
  const bool is_primary = index == MAX_KEY || index == table_share->primary_key;
  const double known = share_->statistics->entry_bytes(is_primary ? 0 : our_index(index));
  if (known > 0) return known;
  if (!is_primary) return table->key_info[index].key_length + ref_length;
  return table_share->stored_rec_length;
}

double ha_rocksdb::sequential_cost(uint index, double entries) const {
  return entries * (kNextCost + kByteCost * entry_bytes(index));
}

double ha_rocksdb::scan_time() noexcept {
  return kScanStartCost + sequential_cost(MAX_KEY, static_cast<double>(stats.records));
}

// The primary index holds the rows: reading a part of it costs that part of a scan. A row that is
// found through another index costs a seek; what the entries cost is keyread_time().
double ha_rocksdb::read_time(uint index, uint ranges, ha_rows rows) noexcept {
  const double seeks = kSeekCost * ranges;
  if (index != table_share->primary_key) return seeks + kSeekCost * static_cast<double>(rows);
  return seeks + sequential_cost(index, static_cast<double>(rows));
}

double ha_rocksdb::keyread_time(uint index, uint ranges, ha_rows rows) noexcept {
  return kSeekCost * ranges + sequential_cost(index, static_cast<double>(rows));
}

// The server's texts for these do not say why.
void ha_rocksdb::print_error(int error, myf flags) noexcept {
  if (has_told(ha_thd(), error)) return;
  const bool is_full = error == HA_ERR_RECORD_FILE_FULL && error_status_ == ErrorCode::kNoSpace;
  const bool is_closed = error == HA_ERR_TABLE_READONLY && error_status_ == ErrorCode::kReadOnly;
  if (error == HA_ERR_LOCK_TABLE_FULL && error_status_ == ErrorCode::kTooLarge) {
    my_printf_error(ER_LOCK_TABLE_FULL, "RocksDB: %s", flags, error_text_.c_str());
    return;
  }
  const Session* const session = Session::find(ha_thd());
  if (error == HA_ERR_LOCK_DEADLOCK && session != nullptr &&
      session->rollback_cause() == ErrorCode::kSnapshotConflict) {
    my_error(ER_CHECKREAD, MYF(0), table_share->table_name.str);
    return;
  }
  if (!is_full && !is_closed) {
    handler::print_error(error, flags);
    return;
  }
  my_printf_error(is_full ? ER_RECORD_FILE_FULL : ER_OPEN_AS_READONLY,
                  is_full ? "The table '%s' is full: %s" : "Table '%s' is read only: %s", flags,
                  table_share == nullptr ? "" : table_share->table_name.str, error_text_.c_str());
}

bool ha_rocksdb::get_error_message(int error, String* text) noexcept {
  // The server has texts for its own errors, but does not know the constraint.
  const bool shows_constraint =
      (error == HA_ERR_NO_REFERENCED_ROW && error_status_ == ErrorCode::kNoReferencedRow) ||
      (error == HA_ERR_ROW_IS_REFERENCED && error_status_ == ErrorCode::kRowIsReferenced) ||
      (error == HA_ERR_FK_DEPTH_EXCEEDED && error_status_ == ErrorCode::kCascadeTooDeep);
  if (error <= HA_ERR_LAST && !shows_constraint) return false;
  text->append(error_text_.data(), error_text_.size());
  return false;
}

}  // namespace basalt::server
