#include "server/convert/table_layout.h"
#include "server/handler/definition_check.h"
#include "server/handler/ha_rocksdb.h"
#include "server/handler/index_families.h"
#include "server/handler/table_version.h"
#include "server/handler/undecided_changes.h"
#include "server/plugin.h"
#include "server/sysvars.h"
#include "server/mariadb.h"

namespace basalt::server {
namespace {

// What a statement may ask for to be done in place. The server adds the flag of the order where it
// sorts the indexes of the new definition in another way.
constexpr alter_table_operations kInPlace =
    ALTER_ADD_INDEX | ALTER_ADD_NON_UNIQUE_NON_PRIM_INDEX | ALTER_INDEX_ORDER;

// Indexes that an ALTER TABLE adds. The server ends it with the statement, whatever has happened:
// then what was not published is given up.
class IndexAddition final : public inplace_alter_handler_ctx {
 public:
  explicit IndexAddition(catalog::TablePointer altered) : altered_(std::move(altered)) {}
  ~IndexAddition() override { abandon(); }

  Status build(THD* thd, const codec::TableLayout& layout,
               const table::Interruption& interruption) {
    Result<std::uint64_t> rows =
        the_engine().build_indexes(altered_, layout, interruption, thd, sort_bytes_max(thd));
    if (!rows.is_ok()) return rows.take_status();
    rows_ = rows.value();
    return Status::ok();
  }
  Status publish() {
    BASALT_TRY(the_engine().publish_indexes(altered_, rows_));
    altered_.reset();
    return Status::ok();
  }
  void abandon() {
    if (altered_ == nullptr) return;
    the_engine().abandon_indexes(altered_);
    altered_.reset();
  }

 private:
  catalog::TablePointer altered_;  // null when it is published or abandoned
  std::uint64_t rows_ = 0;
};

IndexAddition* addition_of(const Alter_inplace_info& info) {
  return static_cast<IndexAddition*>(info.handler_ctx);
}

}  // namespace

// Names and types of columns are in the dictionary and in rows: what changes them, or makes values
// unique, goes through a new table. So do tables for which the server checks a uniqueness by
// reading, and partitioned ones, whose partitions would change one after the other.
enum_alter_inplace_result ha_rocksdb::check_if_supported_inplace_alter(
    TABLE* altered, Alter_inplace_info* info) noexcept {
  const bool adds_indexes = (info->handler_flags & ALTER_ADD_NON_UNIQUE_NON_PRIM_INDEX) != 0 &&
                            (info->handler_flags & ~kInPlace) == 0;
  if (!adds_indexes || table->part_info != nullptr || altered->part_info != nullptr ||
      is_sequence() || table_share->tmp_table != NO_TMP_TABLE || table->s->long_unique_table ||
      table->s->period.unique_keys != 0 || moves_indexes(*table, *altered)) {
    return HA_ALTER_INPLACE_NOT_SUPPORTED;
  }
  const ServerTable translation =
      translate_table(*altered, opened().definition().name, g_plugin->collations);
  if (!catalog::only_adds_indexes(opened().definition(), translation.definition)) {
    return HA_ALTER_INPLACE_NOT_SUPPORTED;
  }
  // This answer tells the server that the operation is not ALGORITHM=INSTANT.
  const bool wants_instant =
      info->alter_info->algorithm(ha_thd()) == Alter_info::ALTER_TABLE_ALGORITHM_INSTANT;
  return wants_instant ? HA_ALTER_INPLACE_NOCOPY_LOCK : HA_ALTER_INPLACE_SHARED_LOCK;
}

// Nobody writes to the table from here on, and those who have written have ended their
// transactions; except prepared ones, for which external_lock() has refused the statement, and the
// build would.
bool ha_rocksdb::prepare_inplace_alter_table(TABLE* altered, Alter_inplace_info* info) noexcept {
  if (check_index_families(*altered) != 0) return true;
  const std::string& name = opened().definition().name;
  ServerTable translation = translate_table(*altered, name, g_plugin->collations);
  Result<catalog::TablePointer> reserved = the_engine().reserve_indexes(
      std::move(translation.definition), index_families(*altered, name));
  if (!reserved.is_ok()) return fail_statement(reserved.take_status());
  info->handler_ctx = new (ha_thd()->mem_root) IndexAddition(reserved.value());
  if (info->handler_ctx != nullptr) {
    warn_of_new_clauses(ha_thd(), *altered, *table);
    return false;
  }
  the_engine().abandon_indexes(reserved.value());  // no memory, as the server has told the client
  return true;
}

bool ha_rocksdb::inplace_alter_table(TABLE*, Alter_inplace_info* info) noexcept {
  Status status = addition_of(*info)->build(ha_thd(), opened().layout(), Session::of(ha_thd()));
  warn_if_undecided(ha_thd(), status);
  return fail_statement(std::move(status));
}

// Also asked to give up what has not begun, and what could not be published.
bool ha_rocksdb::commit_inplace_alter_table(TABLE*, Alter_inplace_info* info,
                                            bool commit) noexcept {
  IndexAddition* const addition = addition_of(*info);
  if (commit) return fail_statement(addition->publish());
  if (addition != nullptr) addition->abandon();
  return false;
}

// Tells the client of an error: of changes in place the server does not. Whether there is one.
bool ha_rocksdb::fail_statement(Status status) {
  if (status.is_ok()) return false;
  print_error(report(std::move(status)), MYF(0));
  return true;
}

ulonglong ha_rocksdb::table_version() const noexcept { return version_of(opened().definition()); }

}  // namespace basalt::server
