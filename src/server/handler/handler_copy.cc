#include "server/handler/ha_rocksdb.h"
#include "server/plugin.h"
#include "server/mariadb.h"

namespace basalt::server {

// The server announces copies where it fills a table of an ALTER TABLE, which it makes under a
// name of its own, a new table of CREATE TABLE ... SELECT, and new partitions. Of the latter it
// does not look at the outcome of the copy's end. A temporary table of CREATE is of the user's
// transaction: its rows go with a rollback, the table stays. What the server checks by reading the
// table (docs/internals/server.md, Uniqueness that the server checks) it reads elsewhere than here.
bool ha_rocksdb::is_private_copy() const {
  if (is_sequence() || table->s->long_unique_table || table->s->period.unique_keys != 0) {
    return false;
  }
  if (thd_sql_command(ha_thd()) == SQLCOM_CREATE_TABLE) {
    return table_share->tmp_table == NO_TMP_TABLE;
  }
  return is_servers_own_name(opened().definition().name);
}

// Where a duplicate is left out it is to be found at its row. Checks of foreign keys look into
// tables and batches. What is expired, and in the way of a row that is written, must go.
void ha_rocksdb::begin_copy(bool ignores_duplicates) {
  if (session_ == nullptr || !is_private_copy()) return;
  is_copying_ = true;
  writer_->set_private(true);
  const bool may_load = !ignores_duplicates && !writer_->has_references() && !has_expiry();
  load_after_bytes_ = may_load ? bytes_before_load() : kNoLoad;
}

int ha_rocksdb::end_copy() {
  if (!is_copying_) return 0;
  Status status = end_load();
  if (status.is_ok()) {
    status = session_->commit_copy();
  } else {
    session_->abandon_copy();
  }
  is_copying_ = false;
  writer_->set_private(false);
  // Snapshots that were taken meanwhile see some of the rows.
  opened().state().exists_since = the_engine().database().newest_sequence();
  return report(std::move(status));
}

void ha_rocksdb::abandon_copy() {
  if (!is_copying_) return;
  is_copying_ = false;
  writer_->set_private(false);
  abandon_load();
  session_->abandon_copy();
}

}  // namespace basalt::server
