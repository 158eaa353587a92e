#include <algorithm>

#include "server/handler/exported_tables.h"
#include "server/handler/ha_rocksdb.h"
#include "server/plugin.h"
#include "server/mariadb.h"

// Many ranges read at once. Their order and cost, what the user's optimizer switches mean and what
// EXPLAIN says are the server's own (DsMrr_impl), as for InnoDB; reading the rows in batches is
// ours.
namespace basalt::server {
namespace {

// Points of a list whose rows are read together at first; twice as many each time that goes on.
constexpr std::size_t kFirstBatchOfPoints = 4;

// Whether ranges may come in any order, and index tuples must pass the caller's check.
bool is_unordered(uint mode) { return (mode & HA_MRR_USE_DEFAULT_IMPL) == 0; }

// A range without a bound has one of no parts.
const key_range* bound_or_null(const key_range& bound) {
  return bound.keypart_map != 0 ? &bound : nullptr;
}

}  // namespace

// Locking reads lock row by row, in the order of the ranges.
ha_rows ha_rocksdb::multi_range_read_info_const(uint index, RANGE_SEQ_IF* sequence, void* argument,
                                                uint range_count, uint* buffer_size, uint* mode,
                                                Cost_estimate* cost) noexcept {
  if (row_lock_) *mode |= HA_MRR_USE_DEFAULT_IMPL;
  multi_range_cost_.init(this, table);
  return multi_range_cost_.dsmrr_info_const(index, sequence, argument, range_count, buffer_size,
                                            mode, cost);
}

ha_rows ha_rocksdb::multi_range_read_info(uint index, uint range_count, uint keys, uint parts,
                                          uint* buffer_size, uint* mode,
                                          Cost_estimate* cost) noexcept {
  if (row_lock_) *mode |= HA_MRR_USE_DEFAULT_IMPL;
  multi_range_cost_.init(this, table);
  return multi_range_cost_.dsmrr_info(index, range_count, keys, parts, buffer_size, mode, cost);
}

int ha_rocksdb::multi_range_read_explain_info(uint mode, char* text, size_t size) noexcept {
  return multi_range_cost_.dsmrr_explain_info(mode, text, size);
}

int ha_rocksdb::multi_range_read_init(RANGE_SEQ_IF* sequence, void* argument, uint range_count,
                                      uint mode, HANDLER_BUFFER* buffer) noexcept {
  // A join in blocks does not ask whether index_init() has failed.
  if (inited != INDEX) {
    const int refused = refuse_if_discarded(ha_thd(), *table, opened().definition());
    return refused != 0 ? refused : HA_ERR_TABLE_DEF_CHANGED;
  }
  const int error = handler::multi_range_read_init(sequence, argument, range_count, mode, buffer);
  multi_range_ = MultiRange();
  batch_.clear();
  // A single range is read ahead by the cursor.
  multi_range_.in_batches = is_unordered(mode) || (!row_lock_ && range_count != 1);
  if (error != 0 || !multi_range_.in_batches) return error;
  multi_range_.sorts_rows = is_unordered(mode);
  multi_range_.checks_tuples = is_unordered(mode) && mrr_funcs.skip_index_tuple != nullptr;
  multi_range_.rows_together = active_index == table_share->primary_key ? kFirstBatchOfPoints : 1;
  if (is_unordered(mode)) {
    increment_statistics(&SSV::ha_mrr_init_count);
    multi_range_.key_bytes_most = static_cast<std::size_t>(buffer->buffer_end - buffer->buffer);
  }
  return 0;
}

int ha_rocksdb::multi_range_read_next(range_id_t* range) noexcept {
  if (!multi_range_.in_batches) return handler::multi_range_read_next(range);
  while (true) {
    if (batch_.has_next()) {
      bool found = false;
      Status status = cursor_->next_of(batch_, table->record[0], found);
      if (found) *range = static_cast<range_id_t>(batch_.range());
      if (found || !status.is_ok()) return finish_range_read(std::move(status), found);
    } else if (multi_range_.reads_directly) {
      const int result = read_range_directly();
      *range = mrr_cur_range.ptr;
      if (result != HA_ERR_END_OF_FILE) return result;
      multi_range_.reads_directly = false;
      multi_range_.range_is_open = false;
    } else if (multi_range_.at_end) {
      return HA_ERR_END_OF_FILE;
    } else {
      const int error = fill_batch();
      if (error != 0) return error;
    }
  }
}

// Reads the current range row by row.
int ha_rocksdb::read_range_directly() {
  if (multi_range_.range_is_open) return read_range_next();
  multi_range_.range_is_open = true;
  cursor_->set_deferral(false);
  return read_range_first(bound_or_null(mrr_cur_range.start_key),
                          bound_or_null(mrr_cur_range.end_key),
                          (mrr_cur_range.range_flag & EQ_RANGE) != 0, mrr_is_output_sorted);
}

bool ha_rocksdb::is_batch_full() const {
  if (!multi_range_.sorts_rows) return batch_.size() >= multi_range_.rows_together;
  // The more rows are sorted, the more of them are neighbours.
  return batch_.size() >= table::RowBatch::kRowsMax &&
         batch_.key_bytes() >= multi_range_.key_bytes_most;
}

// Collects the keys of rows, range by range, up to one that is to be read directly.
int ha_rocksdb::fill_batch() {
  batch_.clear();
  multi_range_.reads_directly = false;
  cursor_->set_deferral(our_index(active_index) != 0);
  Status status;
  while (status.is_ok() && !is_batch_full()) {
    bool found = false;
    if (multi_range_.range_is_open) {
      increment_statistics(&SSV::ha_read_next_count);
      status = cursor_->next(table->record[0], found);
    } else if (mrr_funcs.next(mrr_iter, &mrr_cur_range)) {
      multi_range_.at_end = true;
      break;
    } else if (const std::optional<std::string_view> key = point_in_primary()) {
      increment_statistics(&SSV::ha_read_key_count);
      note_query(true);
      batch_.add(*key, {}, mrr_cur_range.ptr);
      continue;
    } else if (!cursor_->may_defer_rows()) {
      multi_range_.reads_directly = true;
      break;
    } else {
      status =
          seek_range(bound_or_null(mrr_cur_range.start_key), bound_or_null(mrr_cur_range.end_key),
                     (mrr_cur_range.range_flag & EQ_RANGE) != 0, found);
    }
    multi_range_.range_is_open = found && !is_point_range_;
    if (found) cursor_->add_to(batch_, mrr_cur_range.ptr);
  }
  if (!status.is_ok()) {
    batch_.clear();
    return finish_range_read(std::move(status), false);
  }
  multi_range_.rows_together =
      std::clamp(2 * multi_range_.rows_together, kFirstBatchOfPoints, table::RowBatch::kRowsMax);
  if (multi_range_.sorts_rows) batch_.sort();
  return 0;
}

// The row's key, if the current range is one value of the primary key.
std::optional<std::string_view> ha_rocksdb::point_in_primary() {
  const KEY& info = table->key_info[active_index];
  const key_range& start = mrr_cur_range.start_key;
  if (our_index(active_index) != 0 || row_lock_ || (mrr_cur_range.range_flag & EQ_RANGE) == 0 ||
      count_parts(info, start.keypart_map) != info.user_defined_key_parts) {
    return std::nullopt;
  }
  make_prefix(active_index, start.key, start.keypart_map, prefix_);
  return prefix_;
}

}  // namespace basalt::server
