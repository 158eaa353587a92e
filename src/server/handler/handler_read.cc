#include <algorithm>
#include <cstring>

#include "codec/search_bounds.h"
#include "server/convert/error_mapping.h"
#include "server/handler/exported_tables.h"
#include "server/handler/ha_rocksdb.h"
#include "server/plugin.h"
#include "server/sysvars.h"
#include "server/mariadb.h"

namespace basalt::server {
namespace {

table::SeekMode seek_mode(ha_rkey_function mode) {
  switch (static_cast<int>(mode)) {  // int: spatial modes never come here
    case HA_READ_KEY_OR_NEXT: return table::SeekMode::kFirstAtOrAfter;
    case HA_READ_KEY_OR_PREV:
    case HA_READ_PREFIX_LAST_OR_PREV: return table::SeekMode::kLastAtOrBefore;
    case HA_READ_AFTER_KEY: return table::SeekMode::kFirstAfter;
    case HA_READ_BEFORE_KEY: return table::SeekMode::kLastBefore;
    case HA_READ_PREFIX_LAST: return table::SeekMode::kLastWithPrefix;
    default: return table::SeekMode::kFirstWithPrefix;
  }
}

bool has_null_part(const KEY& key, std::size_t part_count, const uchar* tuple) {
  for (std::size_t i = 0; i < part_count; ++i) {
    if (key.key_part[i].null_bit != 0 && *tuple != 0) return true;
    tuple += key.key_part[i].store_length;
  }
  return false;
}

bool has_virtual_part(const KEY& key) {
  for (uint i = 0; i < key.user_defined_key_parts; ++i) {
    if (!key.key_part[i].field->stored_in_db()) return true;
  }
  return false;
}

// Whether an entry leaves a column of its index unset in the record: the server cannot compare such
// records with the end of a range.
bool lacks_values(const KEY& key) {
  for (uint i = 0; i < key.user_defined_key_parts; ++i) {
    if ((key.key_part[i].key_part_flag & HA_PART_KEY_SEG) != 0) return true;
  }
  return has_virtual_part(key);
}

// Statements whose own reads never use the handler that they write through.
bool is_insert(THD* thd) {
  switch (thd_sql_command(thd)) {
    case SQLCOM_UPDATE:
    case SQLCOM_UPDATE_MULTI:
    case SQLCOM_DELETE:
    case SQLCOM_DELETE_MULTI:
    case SQLCOM_SELECT: return false;
    default: return true;
  }
}

// The entries of the old row can be found only by the values of its virtual columns: have the
// server compute them whenever it has read a row.
void mark_indexed_virtual_columns(TABLE& table) {
  if (table.vfield == nullptr) return;
  for (Field** field = table.vfield; *field != nullptr; ++field) {
    if ((*field)->stored_in_db() || ((*field)->flags & PART_KEY_FLAG) == 0) continue;
    table.mark_virtual_column_with_deps(*field);
  }
}

// Puts default values under the NULLs of a row that may be updated: the server looks for changes
// there too.
void reset_nulls(const TABLE& table, const codec::TableLayout& layout, uchar* record) {
  for (const codec::ColumnLayout& column : layout.columns) {
    if (!column.nullable || (record[column.null_offset] & column.null_mask) == 0) continue;
    std::memcpy(record + column.record_offset, table.s->default_values + column.record_offset,
                column.record_length);
  }
}

}  // namespace

// How many parts a search key has. A whole key is the user's parts, without the primary key's. The
// server extends only keys that are not unique by parts of the primary key.
std::size_t count_parts(const KEY& key, key_part_map parts) {
  BASALT_DEBUG_ASSERT(!is_unique(key) || key.ext_key_parts == key.user_defined_key_parts);
  if (parts == HA_WHOLE_KEY) return key.user_defined_key_parts;
  return std::min<std::size_t>(my_count_bits(parts), key.ext_key_parts);
}

table::EntryFilter::Verdict PushedFilter::check() {
  const auto verdict = [](check_result_t result) {
    switch (result) {
      case CHECK_POS: return Verdict::kAccept;
      case CHECK_NEG: return Verdict::kReject;
      case CHECK_OUT_OF_RANGE: return Verdict::kEndOfRange;
      case CHECK_ABORTED_BY_USER: return Verdict::kInterrupted;
      case CHECK_ERROR: break;
    }
    return Verdict::kFailed;
  };
  key_range* const end_of_range = owner_.end_range;
  if (!checks_end_of_range_) owner_.end_range = nullptr;
  Verdict result = Verdict::kAccept;
  if (owner_.pushed_idx_cond != nullptr && owner_.pushed_idx_cond_keyno == owner_.active_index) {
    result = verdict(handler_index_cond_check(&owner_));
  }
  if (result == Verdict::kAccept && handler_rowid_filter_is_active(&owner_) != 0) {
    owner_.checks_filter_ = true;
    result = verdict(handler_rowid_filter_check(&owner_));
    owner_.checks_filter_ = false;
  }
  if (result == Verdict::kAccept && owner_.multi_range_.checks_tuples &&
      owner_.mrr_funcs.skip_index_tuple(owner_.mrr_iter, owner_.mrr_cur_range.ptr)) {
    result = Verdict::kReject;
  }
  owner_.end_range = end_of_range;
  return result;
}

// ---- opening

const codec::ColumnSet& ha_rocksdb::wanted_columns() {
  if (wanted_.size() != table->s->fields) wanted_ = codec::ColumnSet(table->s->fields);
  if (reads_whole_rows_) {
    wanted_.set_all();
    return wanted_;
  }
  wanted_.clear();
  for (uint i = bitmap_get_first_set(table->read_set); i != MY_BIT_NONE;
       i = bitmap_get_next_set(table->read_set, i)) {
    wanted_.set(i);
  }
  return wanted_;
}

table::ReadSettings ha_rocksdb::read_settings() const {
  if (is_sequence()) return table::NewestRead{};
  if (!row_lock_) return table::ConsistentRead{.needs_snapshot = !reads_once_};
  table::LockingRead locking;
  locking.mode = *row_lock_;
  locking.wait = wait_policy();
  if (skip_locked_) locking.on_locked = table::OnLockedRow::kSkip;
  locking.locks_gaps = locks_gaps();
  locking.rejects_newer = locking.locks_gaps && snapshot_isolation(ha_thd());
  return locking;
}

// Whether the server looks at a column that the index or the primary key has only a prefix of. It
// does so even when it reads the index alone, to merge partitions, and to leave out of a union what
// the primary key's range will give.
bool ha_rocksdb::reads_prefixed_part(uint index) const {
  const auto reads = [this](const KEY& key) {
    for (uint i = 0; i < key.user_defined_key_parts; ++i) {
      const KEY_PART_INFO& part = key.key_part[i];
      if ((part.key_part_flag & HA_PART_KEY_SEG) == 0) continue;
      if (bitmap_is_set(table->read_set, part.fieldnr - 1)) return true;
    }
    return false;
  };
  const uint primary = table->s->primary_key;
  return reads(table->key_info[index]) || (primary != MAX_KEY && reads(table->key_info[primary]));
}

void ha_rocksdb::open_cursor(std::size_t index_number, const table::ReadSettings& settings,
                             bool may_skip_row) {
  if (writes_rows_) mark_indexed_virtual_columns(*table);
  cursor_->open(transaction(), index_number, settings, wanted_columns(), may_skip_row);
  cursor_->set_interruption(session_);
  cursor_->set_semi_consistent(reads_semi_consistently());
  is_point_range_ = false;
}

// The server may want more columns when the scan is open already: DELETE does.
void ha_rocksdb::column_bitmaps_signal() noexcept {
  handler::column_bitmaps_signal();
  if (writes_rows_) mark_indexed_virtual_columns(*table);
  if (cursor_ && cursor_->is_open()) cursor_->set_wanted(wanted_columns());
}

// What the server pushed down is about reads into its first record buffer only.
bool ha_rocksdb::is_filtered(const uchar* record) const {
  if (cursor_->index_number() == 0 || record != table->record[0]) return false;
  return (pushed_idx_cond != nullptr && pushed_idx_cond_keyno == active_index) ||
         rowid_filter_is_active || multi_range_.checks_tuples;
}

void ha_rocksdb::prepare_seek(const uchar* record) {
  cursor_->lift_confinement();
  table::EntryFilter* const filter = is_filtered(record) ? &filter_ : nullptr;
  // Without the values the server checks whole rows.
  if (filter != nullptr) filter_.check_end_of_range(!lacks_values(table->key_info[active_index]));
  if (cursor_->filter() == filter) return;
  cursor_->set_filter(filter, codec::ColumnSet(table->s->fields, true));
}

int ha_rocksdb::finish_read(Status status, bool found, uchar* record, int not_found) {
  if (!status.is_ok()) return report(std::move(status));
  counts_.rows_read += found ? 1 : 0;
  if (found && reads_whole_rows_) reset_nulls(*table, opened().layout(), record);
  return found ? 0 : not_found;
}

Item* ha_rocksdb::idx_cond_push(uint index, Item* condition) noexcept {
  if (our_index(index) == 0 || has_virtual_part(table->key_info[index])) return condition;
  pushed_idx_cond = condition;
  pushed_idx_cond_keyno = index;
  in_range_check_pushed_down = !lacks_values(table->key_info[index]);
  return nullptr;
}

bool ha_rocksdb::rowid_filter_push(Rowid_filter* filter) noexcept {
  pushed_rowid_filter = filter;
  return false;
}

// ---- table scans and positions

int ha_rocksdb::rnd_init(bool) noexcept {
  if (const int error = refuse_if_discarded(ha_thd(), *table, opened().definition()); error != 0) {
    return error;
  }
  open_cursor(0, read_settings(), false);
  scan_started_ = false;
  return 0;
}

int ha_rocksdb::rnd_end() noexcept {
  cursor_->close();
  return 0;
}

int ha_rocksdb::rnd_next(uchar* record) noexcept {
  bool found = false;
  Status status;
  if (scan_started_) {
    status = cursor_->next(record, found);
  } else {
    scan_started_ = true;
    status = cursor_->seek_first(record, found);
  }
  return finish_read(std::move(status), found, record, HA_ERR_END_OF_FILE);
}

int ha_rocksdb::rnd_pos(uchar* record, uchar* position) noexcept {
  bool found = false;
  const std::string_view key = read_position(position, position_key_);
  Status status = cursor_->find_row(key, record, found);
  return finish_read(std::move(status), found, record, HA_ERR_KEY_NOT_FOUND);
}

// Whether the columns of the primary key are among those that rows are unpacked with. The server
// asks for them where it is going to ask for positions, but not before it opens the scans that it
// merges (index_merge).
bool ha_rocksdb::reads_primary_key() const {
  const KEY& key = table->key_info[table->s->primary_key];
  for (uint i = 0; i < key.user_defined_key_parts; ++i) {
    if (!wanted_.test(key.key_part[i].fieldnr - 1)) return false;
  }
  return true;
}

void ha_rocksdb::position(const uchar* record) noexcept {
  // An entry has the key's bytes, but not always the columns that they were made of; nor has a
  // record whose key nobody wanted.
  if (opened().has_hidden_key() || checks_filter_ || cursor_->reads_entries_only() ||
      (cursor_->is_open() && !reads_primary_key())) {
    write_position(cursor_->primary_key(), ref);
    return;
  }
  opened().primary().make_key(record, 0, position_key_);
  write_position(position_key_, ref);
}

// ---- index reads

int ha_rocksdb::index_init(uint index, bool) noexcept {
  multi_range_ = MultiRange();
  if (const int error = refuse_if_discarded(ha_thd(), *table, opened().definition()); error != 0) {
    return error;
  }
  if (is_newer_than_snapshot(index)) return HA_ERR_TABLE_DEF_CHANGED;
  const table::ReadSettings settings =
      checks_uniqueness(index) ? table::NewestRead{} : read_settings();
  const bool may_skip_row = keyread_enabled() && !reads_prefixed_part(index);
  open_cursor(our_index(index), settings, may_skip_row);
  return 0;
}

// Whether the index was added after the snapshot was opened that the statement reads: without locks
// it must not be used.
bool ha_rocksdb::is_newer_than_snapshot(uint index) const {
  return opened().has_added_indexes() && !row_lock_ && !is_sequence() &&
         transaction().is_snapshot_older_than(opened().index_exists_since(our_index(index)));
}

bool ha_rocksdb::is_left_out(uint index) const {
  // SHOW and the information schema tell of tables without reading them, and without a lock.
  return table_ != nullptr && get_lock_type() != F_UNLCK && !table->force_index &&
         is_newer_than_snapshot(index);
}

// The optimizer asks for the number of rows before it looks at the indexes, except for MIN() and
// MAX(): see index_flags().
void ha_rocksdb::leave_out_newer_indexes() {
  if (!opened().has_added_indexes()) return;
  for (uint i = 0; i < table->s->keys; ++i) {
    if (!is_left_out(i)) continue;
    for (key_map* const keys : {&table->keys_in_use_for_query, &table->keys_in_use_for_group_by,
                                &table->keys_in_use_for_order_by, &table->covering_keys}) {
      keys->clear_bit(i);
    }
  }
}

// Whether the server reads the index to check a uniqueness of its own (lookup_handler) for a row
// that it is about to write. Nothing but such checks reads the index of a long UNIQUE.
bool ha_rocksdb::checks_uniqueness(uint index) const {
  const KEY& key = table->key_info[index];
  if (key.algorithm == HA_KEY_ALG_LONG_HASH) return true;
  if (!key.without_overlaps || !writes_rows_) return false;
  return table->file->lookup_handler == this && (table->file != this || is_insert(ha_thd()));
}

// Only who holds the lock of the values may write rows that have them: no other row appears or
// goes until our transaction ends.
int ha_rocksdb::lock_guard(uint index, const uchar* key) {
  const std::size_t number = our_index(index);
  const std::size_t parts = opened().index(number).value_lock_parts;
  if (number == 0) {
    opened().primary().make_search_prefix(key, parts, prefix_);
  } else {
    opened().secondary(number).make_search_prefix(key, parts, prefix_);
  }
  return report(transaction().lock_value(opened().family(number), prefix_, wait_policy()));
}

int ha_rocksdb::index_end() noexcept {
  cursor_->close();
  return 0;
}

std::size_t ha_rocksdb::make_prefix(uint index, const uchar* key, key_part_map parts,
                                    std::string& prefix) {
  const KEY& info = table->key_info[index];
  const std::size_t part_count = count_parts(info, parts);
  const std::size_t number = our_index(index);
  if (number == 0) {
    opened().primary().make_search_prefix(key, part_count, prefix);
    return part_count;
  }
  const codec::SecondaryCodec& codec = opened().secondary(number);
  codec.make_search_prefix(key, std::min(part_count, codec.extended_part_count()), prefix);
  return part_count;
}

bool ha_rocksdb::is_point_read(uint index, std::size_t part_count, const uchar* key) const {
  const KEY& info = table->key_info[index];
  return is_unique(info) && part_count == info.user_defined_key_parts &&
         !has_null_part(info, part_count, key);
}

int ha_rocksdb::index_read_map(uchar* record, const uchar* key, key_part_map parts,
                               ha_rkey_function mode) noexcept {
  if (checks_uniqueness(active_index)) {
    const int error = lock_guard(active_index, key);
    if (error != 0) return error;
  }
  prepare_seek(record);
  const std::size_t part_count = make_prefix(active_index, key, parts, prefix_);
  bool found = false;
  Status status;
  const bool is_point = mode == HA_READ_KEY_EXACT && is_point_read(active_index, part_count, key);
  note_query(is_point);
  if (is_point) {
    status = cursor_->find_unique(prefix_, record, found);
  } else {
    status = cursor_->seek(seek_mode(mode), prefix_, record, found);
  }
  return finish_read(std::move(status), found, record, HA_ERR_KEY_NOT_FOUND);
}

// Const tables: the only read of a statement needs no snapshot to be consistent.
int ha_rocksdb::index_read_idx_map(uchar* record, uint index, const uchar* key, key_part_map parts,
                                   ha_rkey_function mode) noexcept {
  reads_once_ = is_one_read(index) && is_only_read();
  const int result = handler::index_read_idx_map(record, index, key, parts, mode);
  reads_once_ = false;
  return result;
}

// Whether a point read of the index is a single read of the engine. An entry and the row that it
// leads to are two, between which others may commit.
bool ha_rocksdb::is_one_read(uint index) {
  return index == table->s->primary_key || (keyread_enabled() && !reads_prefixed_part(index));
}

// In a transaction, too, a statement at READ COMMITTED has a snapshot of its own. At REPEATABLE
// READ later statements must see the same.
bool ha_rocksdb::is_only_read() const {
  THD* thd = ha_thd();
  const LEX* lex = thd->lex;
  return !row_lock_ && lex->sql_command == SQLCOM_SELECT && lex->query_tables != nullptr &&
         lex->query_tables->next_global == nullptr && lex->sroutines.records == 0 &&
         lex->all_selects_list != nullptr &&
         lex->all_selects_list->next_select_in_list() == nullptr && !thd->in_sub_stmt &&
         (thd_tx_isolation(thd) <= ISO_READ_COMMITTED ||
          !thd_test_options(thd, OPTION_NOT_AUTOCOMMIT | OPTION_BEGIN));
}

int ha_rocksdb::index_next(uchar* record) noexcept {
  bool found = false;
  Status status = cursor_->next(record, found);
  return finish_read(std::move(status), found, record, HA_ERR_END_OF_FILE);
}

int ha_rocksdb::index_prev(uchar* record) noexcept {
  bool found = false;
  Status status = cursor_->previous(record, found);
  return finish_read(std::move(status), found, record, HA_ERR_END_OF_FILE);
}

int ha_rocksdb::index_first(uchar* record) noexcept {
  prepare_seek(record);
  note_query(false);
  bool found = false;
  Status status = cursor_->seek_first(record, found);
  return finish_read(std::move(status), found, record, HA_ERR_END_OF_FILE);
}

int ha_rocksdb::index_last(uchar* record) noexcept {
  prepare_seek(record);
  note_query(false);
  bool found = false;
  Status status = cursor_->seek_last(record, found);
  return finish_read(std::move(status), found, record, HA_ERR_END_OF_FILE);
}

int ha_rocksdb::index_next_same(uchar* record, const uchar*, uint) noexcept {
  bool found = false;
  Status status = cursor_->next_with_prefix(record, found);
  return finish_read(std::move(status), found, record, HA_ERR_END_OF_FILE);
}

// ---- ranges

void ha_rocksdb::make_bounds(uint index, const key_range* start, const key_range* end,
                             std::string& lower, std::string& upper) {
  lower.clear();
  upper.clear();
  if (start != nullptr) {
    make_prefix(index, start->key, start->keypart_map, lower);
    if (start->flag == HA_READ_AFTER_KEY) codec::make_successor(lower);
  }
  if (end != nullptr) {
    make_prefix(index, end->key, end->keypart_map, upper);
    if (end->flag != HA_READ_BEFORE_KEY) codec::make_successor(upper);
  }
}

int ha_rocksdb::read_range_first(const key_range* start, const key_range* end, bool is_equality,
                                 bool /*is_sorted*/) noexcept {
  bool found = false;
  Status status = seek_range(start, end, is_equality, found);
  return finish_range_read(std::move(status), found);
}

// About how many stored bytes a range of the open index takes, as the optimizer estimated its rows;
// 0: it did not.
std::uint64_t ha_rocksdb::expected_bytes() const {
  if (!table->opt_range_keys.is_set(active_index)) return 0;
  const TABLE::OPT_RANGE& estimate = table->opt_range[active_index];
  constexpr ha_rows kRowsMax = 1 << 20;  // enough to be too many
  const double rows =
      static_cast<double>(std::min(estimate.rows, kRowsMax)) / std::max(estimate.ranges, 1u);
  return static_cast<std::uint64_t>(
      rows * share_->statistics->stored_entry_bytes(our_index(active_index)));
}

// The first row of a range.
Status ha_rocksdb::seek_range(const key_range* start, const key_range* end, bool is_equality,
                              bool& found) {
  increment_statistics(start != nullptr ? &SSV::ha_read_key_count : &SSV::ha_read_first_count);
  eq_range = is_equality;
  range_key_part = table->key_info[active_index].key_part;
  set_end_range(end);
  uchar* record = table->record[0];
  prepare_seek(record);
  // The cursor does not leave the range.
  filter_.check_end_of_range(false);
  const KEY& info = table->key_info[active_index];
  is_point_range_ = is_equality && start != nullptr &&
                    is_point_read(active_index, count_parts(info, start->keypart_map), start->key);
  note_query(is_point_range_);
  if (is_point_range_) {
    make_prefix(active_index, start->key, start->keypart_map, prefix_);
    return cursor_->find_unique(prefix_, record, found);
  }
  make_bounds(active_index, start, end, lower_, upper_);
  cursor_->confine(lower_, upper_, expected_bytes());
  return cursor_->seek_first(record, found);
}

// The server's wrappers do this after single reads, and leave ranges to who reads them.
int ha_rocksdb::finish_range_read(Status status, bool found) {
  const int result = finish_read(std::move(status), found, table->record[0], HA_ERR_END_OF_FILE);
  if (result == 0 && table->vfield != nullptr) {
    table->update_virtual_fields(this, VCOL_UPDATE_FOR_READ);
  }
  table->status = result == 0 ? 0 : STATUS_NOT_FOUND;
  return result;
}

int ha_rocksdb::read_range_next() noexcept {
  if (is_point_range_) return HA_ERR_END_OF_FILE;
  increment_statistics(&SSV::ha_read_next_count);
  bool found = false;
  Status status = cursor_->next(table->record[0], found);
  return finish_range_read(std::move(status), found);
}

}  // namespace basalt::server
