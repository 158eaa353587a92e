#include "base/log.h"
#include "server/convert/error_mapping.h"
#include "server/handler/exported_tables.h"
#include "server/handler/ha_rocksdb.h"
#include "server/plugin.h"
#include "server/virtual_columns.h"
#include "table/checker.h"
#include "server/mariadb.h"

namespace basalt::server {
namespace {

int admin_result(const Status& status, THD* thd, const char* action) {
  if (status.is_ok()) return HA_ADMIN_OK;
  push_warning_printf(thd, Sql_condition::WARN_LEVEL_WARN, ER_UNKNOWN_ERROR, "RocksDB: %s: %s",
                      action, status.message().c_str());
  return HA_ADMIN_FAILED;
}

}  // namespace

int ha_rocksdb::analyze(THD* thd, HA_CHECK_OPT*) noexcept {
  const Session& session = Session::of(thd);
  for (std::size_t i = 0; i < opened().index_count(); ++i) {
    const bool is_primary = i == 0;
    const auto common_parts = [&](std::string_view left, std::string_view right) {
      return is_primary ? opened().primary().common_parts(left, right)
                        : opened().secondary(i).common_parts(left, right);
    };
    const std::size_t parts =
        is_primary ? opened().primary().part_count() : opened().secondary(i).extended_part_count();
    Result<std::uint64_t> entries = share_->statistics->analyze(
        i, parts, common_parts, [&session] { return session.is_raised(); });
    if (!entries.is_ok()) return admin_result(entries.status(), thd, "ANALYZE");
  }
  return HA_ADMIN_OK;
}

int ha_rocksdb::check(THD* thd, HA_CHECK_OPT*) noexcept {
  if (refuse_if_discarded(thd, *table, opened().definition()) != 0) return HA_ADMIN_CORRUPT;
  table::Checker checker(the_engine().database(), opened(), Session::of(thd));
  VirtualColumns indexed(*table);
  for (Field* const* field = table->vfield; field != nullptr && *field != nullptr; ++field) {
    if (((*field)->flags & PART_KEY_FLAG) != 0) indexed.add(**field);
  }
  const auto complete = [&indexed](std::uint8_t*) {
    indexed.compute(VirtualColumns::Conditions::kNone);
    return Status::ok();
  };
  const auto report_problem = [thd](const std::string& problem) {
    push_warning_printf(thd, Sql_condition::WARN_LEVEL_WARN, ER_NOT_KEYFILE, "RocksDB: %s",
                        problem.c_str());
    log_message(LogLevel::kError, "CHECK TABLE: " + problem);
  };
  Result<bool> sound = checker.run(table->record[0], complete, report_problem);
  if (!sound.is_ok()) return admin_result(sound.status(), thd, "CHECK");
  return sound.value() ? HA_ADMIN_OK : HA_ADMIN_CORRUPT;
}

int ha_rocksdb::optimize(THD* thd, HA_CHECK_OPT* options) noexcept {
  const Session& session = Session::of(thd);
  for (std::size_t i = 0; i < opened().index_count(); ++i) {
    const Status status = the_engine().database().compact(
        opened().family(i), opened().whole_range(i), [&session] { return session.is_raised(); });
    if (!status.is_ok()) return admin_result(status, thd, "OPTIMIZE");
  }
  return analyze(thd, options);
}

}  // namespace basalt::server
