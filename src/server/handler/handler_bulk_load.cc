#include <algorithm>

#include "server/convert/error_mapping.h"
#include "server/handler/ha_rocksdb.h"
#include "server/plugin.h"
#include "server/sysvars.h"
#include "server/mariadb.h"

namespace basalt::server {
namespace {

// The first rows of a statement, so many bytes, go into the transaction's batch. Those of a smaller
// statement are not worth files, which nothing makes larger later.
constexpr std::uint64_t kBatchBytes = std::uint64_t{8} << 20;
// The same where nobody has asked for files: by then they are faster, and memory is short.
constexpr std::uint64_t kUnaskedBatchBytes = std::uint64_t{32} << 20;
constexpr std::uint64_t kUnaskedShareOfMax = 8;
// So many partitions of a table may get rows at the same time, with memory for each.
constexpr std::size_t kLoadsMax = 16;

bool is_multi_statement(THD* thd) {
  return thd_test_options(thd, OPTION_NOT_AUTOCOMMIT | OPTION_BEGIN);
}

// Whether a row that is there already fails the statement. LOCAL means IGNORE.
bool fails_at_duplicates(THD* thd) {
  const LEX& lex = *thd->lex;
  if (lex.ignore || lex.duplicates != DUP_ERROR) return false;
  switch (thd_sql_command(thd)) {
    case SQLCOM_INSERT:
    case SQLCOM_INSERT_SELECT: return true;
    case SQLCOM_LOAD: return !lex.local_file;
    default: return false;
  }
}

}  // namespace

std::uint64_t ha_rocksdb::bytes_before_load() const {
  if (is_copying_ || bulk_load(ha_thd())) return kBatchBytes;
  return std::clamp(batch_bytes_max(ha_thd()) / kUnaskedShareOfMax, kBatchBytes,
                    kUnaskedBatchBytes);
}

bool ha_rocksdb::may_load_rows() const {
  THD* const thd = ha_thd();
  if (session_ == nullptr || is_sequence()) return false;
  // Checks of foreign keys look into tables and batches; what is expired and in the way must go.
  if (writer_->has_references() || has_expiry()) return false;
  // The metadata lock keeps it as it is until the statement's end.
  if (opened().state().journal.is_open()) return false;
  if (table_share->tmp_table != NO_TMP_TABLE || table->triggers != nullptr ||
      table->s->long_unique_table || table->s->period.unique_keys != 0) {
    return false;
  }
  if (thd->in_sub_stmt != 0 || thd->locked_tables_mode > LTM_LOCK_TABLES ||
      thd->rgi_slave != nullptr || is_multi_statement(thd)) {
    return false;
  }
  return fails_at_duplicates(thd);
}

// Before a copy begins, or for a single partition after that.
void ha_rocksdb::start_bulk_insert(ha_rows, uint) noexcept {
  if (is_copying_) return;
  abandon_load();
  load_after_bytes_ = may_load_rows() ? bytes_before_load() : kNoLoad;
}

Status ha_rocksdb::begin_load_if_many() {
  const txn::Transaction& inserting = inserting_transaction();
  if (inserting.batch_bytes() + inserting.spilled_bytes() < load_after_bytes_) return Status::ok();
  const std::size_t parts =
      table->part_info == nullptr ? 1 : std::size_t{table->part_info->get_tot_partitions()};
  Result<std::unique_ptr<table::BulkLoad>> load = the_engine().begin_load(
      opened(), std::min(parts, kLoadsMax), sort_bytes_max(ha_thd()), *session_);
  if (!load.is_ok()) return load.take_status();
  load_ = std::move(load.value());
  loaded_rows_ = 0;
  writer_->set_load(load_.get());
  return Status::ok();
}

// Puts what is twice into the record, from which the server makes its message.
void ha_rocksdb::show_duplicate(const table::BulkLoad& load) {
  const std::size_t number = load.duplicate_index();
  const table::EntryFiles& entry = load.duplicate();
  codec::ColumnSet columns(opened().layout().columns.size());
  for (const catalog::KeyPartDefinition& part : opened().index(number).parts) {
    columns.set(part.column);
  }
  uchar* const record = table->record[0];
  const Status status =
      number == 0
          ? opened().primary().read(entry.first_key, entry.first_value,
                                    opened().primary().plan(columns), record)
          : opened().secondary(number).read(entry.first_key, entry.first_value,
                                            opened().secondary(number).plan(columns), record);
  status.ignore("the message has another value then");
  session_->set_duplicate_key(share_->translation.server_index(number));
}

Status ha_rocksdb::finish_load(table::BulkLoad& load) {
  if (loaded_rows_ == 0) return Status::ok();
  txn::LoadedFiles files;
  BASALT_TRY(load.finish(files));
  BASALT_TRY(inserting_transaction().add_loaded(std::move(files), wait_policy()));
  if (!is_copying_) the_engine().note_loaded_rows(loaded_rows_);
  return Status::ok();
}

// Gives the rows of a load, if there is one, to their transaction.
Status ha_rocksdb::end_load() {
  load_after_bytes_ = kNoLoad;
  if (load_ == nullptr) return Status::ok();
  writer_->set_load(nullptr);
  Status status = finish_load(*load_);
  // The record may point into the load until the next statement.
  if (status.is(ErrorCode::kDuplicateKey)) {
    show_duplicate(*load_);
  } else {
    abandon_load();
  }
  return status;
}

// The server calls it for a statement that has failed, too, and takes its error from my_errno. A
// copy ends later.
int ha_rocksdb::end_bulk_insert() noexcept {
  if (is_copying_) return 0;
  if (ha_thd()->is_error()) {
    abandon_load();
    return 0;
  }
  const int error = report(end_load());
  if (error != 0) my_errno = error;
  return error;
}

void ha_rocksdb::abandon_load() {
  load_after_bytes_ = kNoLoad;
  if (writer_) writer_->set_load(nullptr);
  load_.reset();
}

}  // namespace basalt::server
