#include <algorithm>

#include "server/convert/table_layout.h"
#include "server/handler/definition_check.h"
#include "server/handler/foreign_key_definition.h"
#include "server/handler/ha_rocksdb.h"
#include "server/handler/index_families.h"
#include "server/handler/table_version.h"
#include "server/handler/undecided_changes.h"
#include "server/plugin.h"
#include "server/sysvars.h"
#include "server/mariadb.h"

namespace basalt::server {
namespace {

// What changes nothing that the engine keeps: the server writes its own definition.
constexpr alter_table_operations kServersOwn =
    ALTER_COLUMN_DEFAULT | ALTER_DROP_CHECK_CONSTRAINT | ALTER_OPTIONS | ALTER_RENAME |
    ALTER_INDEX_IGNORABILITY | ALTER_CHANGE_INDEX_COMMENT | ALTER_INDEX_ORDER | ALTER_PARTITIONED;
// What the dictionary alone has to know.
constexpr alter_table_operations kOfDictionary =
    ALTER_COLUMN_NAME | ALTER_RENAME_INDEX | ALTER_DROP_NON_UNIQUE_NON_PRIM_INDEX |
    ALTER_DROP_UNIQUE_INDEX | ALTER_DROP_FOREIGN_KEY | ALTER_ADD_FOREIGN_KEY;
// What reads the rows, and writes none.
constexpr alter_table_operations kBuilding =
    ALTER_ADD_NON_UNIQUE_NON_PRIM_INDEX | ALTER_ADD_UNIQUE_INDEX;

bool has(const Alter_inplace_info& info, alter_table_operations operations) {
  return (info.handler_flags & operations) != 0;
}

bool changes_dictionary(const Alter_inplace_info& info) {
  // An index that is ignored comes with this flag, too.
  const bool renames_indexes = info.rename_keys.size() != 0;
  const alter_table_operations others = kOfDictionary & ~ALTER_RENAME_INDEX;
  return renames_indexes || has(info, others | kBuilding);
}

catalog::RenamedIndexes renamed_indexes(const Alter_inplace_info& info) {
  catalog::RenamedIndexes renamed;
  for (const Alter_inplace_info::Rename_key_pair& pair : info.rename_keys) {
    renamed.push_back({{pair.old_key->name.str, pair.old_key->name.length},
                       {pair.new_key->name.str, pair.new_key->name.length}});
  }
  return renamed;
}

// An ALTER TABLE that changes the dictionary. The server ends it with the statement, whatever has
// happened: then what was not published is given up.
class Alteration final : public inplace_alter_handler_ctx {
 public:
  Alteration(catalog::TablePointer altered, catalog::ForeignKeyChanges foreign_keys)
      : altered_(std::move(altered)), foreign_keys_(std::move(foreign_keys)) {}
  ~Alteration() override { abandon(); }

  Status build(THD* thd, const codec::TableLayout& layout,
               const table::Interruption& interruption) {
    Result<std::uint64_t> rows = the_engine().build_indexes(altered_, layout, interruption, thd,
                                                            sort_bytes_max(thd), &duplicate_);
    if (!rows.is_ok()) return rows.take_status();
    rows_ = rows.value();
    return Status::ok();
  }
  const table::IndexBuilder::Duplicate& duplicate() const { return duplicate_; }
  Status publish(THD* thd) {
    BASALT_TRY(the_engine().publish_altered(altered_, rows_, foreign_keys_, thd));
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
  const catalog::ForeignKeyChanges foreign_keys_;
  std::optional<std::uint64_t> rows_;  // that were read for new indexes
  table::IndexBuilder::Duplicate duplicate_;
};

// Null where the dictionary stays as it is.
Alteration* alteration_of(const Alter_inplace_info& info) {
  return static_cast<Alteration*>(info.handler_ctx);
}

}  // namespace

// Types of columns are in the dictionary and in rows: what changes them, or the primary key, goes
// through a new table. So do indexes of tables for which the server checks a uniqueness by reading,
// and changes of partitions, which would change one after the other; and ALTER IGNORE, which leaves
// duplicates out. A foreign key for which rows must be looked at is checked while they are copied.
enum_alter_inplace_result ha_rocksdb::check_if_supported_inplace_alter(
    TABLE* altered, Alter_inplace_info* info) noexcept {
  const bool is_possible =
      !has(*info, ~(kServersOwn | kOfDictionary | kBuilding)) &&
      (info->create_info->used_fields & HA_CREATE_USED_AUTO) == 0 && !info->ignore &&
      !is_sequence() && table_share->tmp_table == NO_TMP_TABLE && !moves_indexes(*table, *altered);
  if (!is_possible) return HA_ALTER_INPLACE_NOT_SUPPORTED;
  if (has(*info, ALTER_ADD_FOREIGN_KEY) && !ignores_foreign_keys(ha_thd())) {
    info->unsupported_reason = my_get_err_msg(ER_ALTER_OPERATION_NOT_SUPPORTED_REASON_FK_CHECK);
    return HA_ALTER_INPLACE_NOT_SUPPORTED;
  }
  ServerTable translation =
      translate_table(*altered, opened().definition().name, g_plugin->collations);
  if (table->part_info != nullptr || altered->part_info != nullptr) {
    // A comment may move the index of one partition to another family.
    const bool stays_as_it_is =
        !changes_dictionary(*info) && !has(*info, ALTER_CHANGE_INDEX_COMMENT) &&
        catalog::find_difference(opened().definition(), translation.definition).empty();
    return stays_as_it_is ? HA_ALTER_INPLACE_INSTANT : HA_ALTER_INPLACE_NOT_SUPPORTED;
  }
  if (!catalog::alter_in_place(opened().definition(), renamed_indexes(*info),
                               translation.definition)) {
    return HA_ALTER_INPLACE_NOT_SUPPORTED;
  }
  if (!has(*info, kBuilding)) return HA_ALTER_INPLACE_INSTANT;
  if (table->s->long_unique_table || table->s->period.unique_keys != 0) {
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
  if (check_definition(ha_thd(), *altered, *info->create_info) != 0) return true;
  if (!changes_dictionary(*info)) return false;
  const std::string& name = opened().definition().name;
  ServerTable translation = translate_table(*altered, name, g_plugin->collations);
  catalog::ForeignKeyChanges foreign_keys;
  const int error = change_foreign_keys(ha_thd(), *info->create_info, opened().definition(),
                                        translation, foreign_keys);
  if (error != 0) return fail_statement(error);
  Result<catalog::TablePointer> reserved = the_engine().reserve_indexes(
      std::move(translation.definition), index_families(*altered, name), renamed_indexes(*info));
  if (!reserved.is_ok()) return fail_statement(reserved.take_status());
  info->handler_ctx =
      new (ha_thd()->mem_root) Alteration(reserved.value(), std::move(foreign_keys));
  if (info->handler_ctx != nullptr) return false;
  the_engine().abandon_indexes(reserved.value());  // no memory, as the server has told the client
  return true;
}

bool ha_rocksdb::inplace_alter_table(TABLE* altered, Alter_inplace_info* info) noexcept {
  if (!has(*info, kBuilding)) return false;
  Alteration& alteration = *alteration_of(*info);
  Status status = alteration.build(ha_thd(), opened().layout(), Session::of(ha_thd()));
  if (status.is(ErrorCode::kDuplicateKey)) {
    const table::IndexBuilder::Duplicate& row = alteration.duplicate();
    return fail_duplicate(*altered, row.index_number, row.primary_key);
  }
  warn_if_undecided(ha_thd(), status);
  return fail_statement(std::move(status));
}

// Tells the client of the values that the row has in an index of `altered`, which has the columns
// of our table. Always true.
bool ha_rocksdb::fail_duplicate(TABLE& altered, std::size_t index_number,
                                const std::string& primary_key) {
  const ServerTable translation =
      translate_table(altered, opened().definition().name, g_plugin->collations);
  const auto& numbers = translation.index_numbers;
  const auto number = std::ranges::find(numbers, index_number) - numbers.begin();
  MY_BITMAP* const read_set = tmp_use_all_columns(table, &table->read_set);
  write_position(primary_key, ref);
  int error = ha_rnd_init(false);
  if (error == 0) error = rnd_pos(altered.record[0], ref);
  ha_rnd_end();
  tmp_restore_column_map(&table->read_set, read_set);
  if (error != 0) return fail_statement(error);
  print_keydup_error(&altered, &altered.key_info[number], MYF(0));
  return true;
}

// Also asked to give up what has not begun, and what could not be published.
bool ha_rocksdb::commit_inplace_alter_table(TABLE*, Alter_inplace_info* info,
                                            bool commit) noexcept {
  Alteration* const alteration = alteration_of(*info);
  if (alteration == nullptr) return false;
  if (!commit) {
    alteration->abandon();
    return false;
  }
  Status status = alteration->publish(ha_thd());
  warn_if_undecided(ha_thd(), status);
  return fail_statement(std::move(status));
}

// Tells the client of an error: of changes in place the server does not. Whether there is one.
bool ha_rocksdb::fail_statement(Status status) { return fail_statement(report(std::move(status))); }

bool ha_rocksdb::fail_statement(int error) {
  if (error != 0 && !ha_thd()->is_error()) print_error(error, MYF(0));
  return error != 0;
}

ulonglong ha_rocksdb::table_version() const noexcept { return version_of(opened().definition()); }

}  // namespace basalt::server
