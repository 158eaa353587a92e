#include <algorithm>

#include "catalog/partition_names.h"
#include "server/convert/table_layout.h"
#include "server/handler/altered_virtual_columns.h"
#include "server/handler/column_changes.h"
#include "server/handler/definition_check.h"
#include "server/handler/exported_tables.h"
#include "server/handler/foreign_key_columns.h"
#include "server/handler/foreign_key_definition.h"
#include "server/handler/ha_rocksdb.h"
#include "server/handler/index_families.h"
#include "server/handler/row_expiry.h"
#include "server/handler/table_version.h"
#include "server/handler/undecided_changes.h"
#include "server/plugin.h"
#include "server/sysvars.h"
#include "table/table_opening.h"
#include "server/mariadb.h"

namespace basalt::server {
namespace {

// What changes nothing that the engine keeps: the server writes its own definition.
constexpr alter_table_operations kServersOwn =
    ALTER_COLUMN_DEFAULT | ALTER_DROP_CHECK_CONSTRAINT | ALTER_OPTIONS | ALTER_RENAME |
    ALTER_INDEX_IGNORABILITY | ALTER_CHANGE_INDEX_COMMENT | ALTER_INDEX_ORDER | ALTER_PARTITIONED |
    ALTER_COLUMN_INDEX_LENGTH | ALTER_VIRTUAL_GCOL_EXPR;
// What the history of the rows has to know.
constexpr alter_table_operations kOfColumns =
    ALTER_ADD_STORED_BASE_COLUMN | ALTER_ADD_VIRTUAL_COLUMN | ALTER_DROP_STORED_COLUMN |
    ALTER_DROP_VIRTUAL_COLUMN | ALTER_STORED_COLUMN_ORDER | ALTER_VIRTUAL_COLUMN_ORDER |
    ALTER_COLUMN_NULLABLE | ALTER_COLUMN_NOT_NULLABLE | ALTER_COLUMN_TYPE_CHANGE_BY_ENGINE;
// What the dictionary alone has to know.
constexpr alter_table_operations kOfDictionary = ALTER_COLUMN_NAME | ALTER_RENAME_INDEX |
                                                 ALTER_DROP_NON_UNIQUE_NON_PRIM_INDEX |
                                                 ALTER_DROP_UNIQUE_INDEX | ALTER_DROP_FOREIGN_KEY |
                                                 ALTER_ADD_FOREIGN_KEY | ALTER_COLUMN_UNVERSIONED;
constexpr alter_table_operations kOfPrimaryKey = ALTER_ADD_PK_INDEX | ALTER_DROP_PK_INDEX;
// What reads the rows.
constexpr alter_table_operations kBuilding = ALTER_ADD_NON_UNIQUE_NON_PRIM_INDEX |
                                             ALTER_ADD_UNIQUE_INDEX | ALTER_RECREATE_TABLE |
                                             kOfPrimaryKey;

// Without it more NULLs may come.
constexpr const char* kWhyWritersWait = "rows are looked at for NULL";
// What has changed meanwhile would be found by comparing snapshots, in which rows do not expire.
constexpr const char* kWhyWritersWaitForTimes = "the table's rows expire";

bool has(const Alter_inplace_info& info, alter_table_operations operations) {
  return (info.handler_flags & operations) != 0;
}

// Whether a VIRTUAL column may have another expression while all that is kept stays: nothing of it
// was made of a generated column, nor checked, by whatever way that led to the expression.
bool may_change_expressions(const TABLE& table) {
  return table.part_info == nullptr && table.s->table_check_constraints == 0 &&
         table.s->field_check_constraints == 0 && !keeps_generated_values(table);
}

// Of those that a new column's definition says the server tells by no flag.
bool adds_foreign_keys(const Alter_inplace_info& info) {
  for (const Key& key : info.alter_info->key_list) {
    if (key.type == Key::FOREIGN_KEY && !key.old) return true;
  }
  return has(info, ALTER_ADD_FOREIGN_KEY);
}

// The binary log would tell the replica of a change of lifetimes before the time at which it is
// made is known: it waits for those who use the table. Tells the client if that is refused.
bool refuse_two_phases(THD* thd, const catalog::TableDefinition& table,
                       const catalog::TableDefinition& altered) {
  if (!thd->variables.binlog_alter_two_phase || thd->rgi_slave != nullptr) return false;
  const bool is_logged = opt_bin_log && thd_test_options(thd, OPTION_BIN_LOG);
  if (!is_logged || !catalog::changes_lifetime(table, altered)) return false;
  my_error(ER_ALTER_OPERATION_NOT_SUPPORTED_REASON, MYF(0), "binlog_alter_two_phase=ON",
           "the time from which rows have another ttl_duration is known after START ALTER",
           "SET binlog_alter_two_phase=OFF");
  return true;
}

// Whatever the server calls the change: what differs from the dictionary has to be in it, or nobody
// could open the table. An index that goes and comes again may just have another place.
bool changes_dictionary(const Alter_inplace_info& info, const catalog::TableDefinition& table,
                        const catalog::TableDefinition& altered) {
  if (!catalog::find_difference(table, altered).empty()) return true;
  // An index that is ignored comes with this flag, too.
  const bool renames_indexes = info.rename_keys.size() != 0;
  const alter_table_operations others = kOfDictionary & ~ALTER_RENAME_INDEX;
  return renames_indexes || has(info, others | kOfColumns | kBuilding);
}

catalog::RenamedIndexes renamed_indexes(const Alter_inplace_info& info) {
  catalog::RenamedIndexes renamed;
  for (const Alter_inplace_info::Rename_key_pair& pair : info.rename_keys) {
    renamed.push_back({{pair.old_key->name.str, pair.old_key->name.length},
                       {pair.new_key->name.str, pair.new_key->name.length}});
  }
  return renamed;
}

// Nothing if the engine cannot tell what becomes of the rows.
std::optional<catalog::TableChange> change_of(const TABLE& table, const TABLE& altered,
                                              const Alter_inplace_info& info,
                                              const ServerTable& translation) {
  std::optional<catalog::TableChange> change = catalog::TableChange();
  if (has(info, kOfColumns)) {
    const bool replaces_null = !table.in_use->is_strict_mode();
    change = find_changes(table, altered, info, translation, replaces_null);
  }
  if (!change.has_value()) return change;
  change->indexes = renamed_indexes(info);
  change->remakes_indexes = has(info, ALTER_RECREATE_TABLE);
  // Where none is declared, the first unique index without NULLs is meant, here and to the server.
  change->replaces_primary = has(info, kOfPrimaryKey);
  return change;
}

}  // namespace

// An ALTER TABLE that changes the dictionary. The server ends it with the statement, whatever has
// happened: then what was not published is given up.
class Alteration final : public inplace_alter_handler_ctx {
 public:
  Alteration(const catalog::TableDefinition& table, catalog::TablePointer altered,
             catalog::TableChange change, catalog::ForeignKeyChanges foreign_keys,
             std::unique_ptr<kv::ExpiryReading> reading)
      : altered_(std::move(altered)),
        new_indexes_(catalog::new_indexes(table, *altered_)),
        change_(std::move(change)),
        foreign_keys_(std::move(foreign_keys)),
        reading_(std::move(reading)),
        generation_(the_engine().catalog().generation()) {}
  ~Alteration() override { abandon(); }

  // Whether there are new indexes to be built.
  bool builds() const { return !new_indexes_.empty(); }
  const catalog::TableChange& change() const { return change_; }
  // Whether the dictionary has changed since it was made.
  bool is_outdated() const { return generation_ != the_engine().catalog().generation(); }
  // Until it is published or abandoned.
  const catalog::TableDefinition& definition() const { return *altered_; }

  // `server_table` is the altered one, with the record layout `layout`. It outlives the build.
  Status build(THD* thd, TABLE& server_table, const codec::TableLayout& layout, table::Pace pace) {
    virtual_columns_.emplace(server_table, *altered_, new_indexes_);
    Result<std::unique_ptr<table::IndexBuild>> begun = the_engine().begin_build(
        altered_, change_, layout, sort_bytes_max(thd), virtual_columns_->completion());
    if (!begun.is_ok()) return begun.take_status();
    build_ = std::move(begun.value());
    Status status = build_->build(Session::of(thd), pace);
    virtual_columns_->stop_warnings();
    return status;
  }
  // While nobody writes.
  Status complete(THD* thd) {
    if (build_ == nullptr) return Status::ok();
    return the_engine().complete_build(*build_, Session::of(thd), thd);
  }
  // Null before build() has begun.
  table::IndexBuild* index_build() const { return build_.get(); }
  engine::Engine::BuiltTable result() const {
    std::optional<std::uint64_t> rows;
    if (build_ != nullptr) rows = build_->rows();
    return {catalog::AlteredTable(altered_, change_, foreign_keys_), rows};
  }
  void note_published() {
    build_.reset();
    altered_.reset();
  }
  void abandon() {
    build_.reset();
    if (altered_ == nullptr) return;
    the_engine().abandon_indexes(altered_);
    altered_.reset();
  }

 private:
  catalog::TablePointer altered_;               // null when it is published or abandoned
  const std::vector<std::size_t> new_indexes_;  // their numbers
  const catalog::TableChange change_;
  const catalog::ForeignKeyChanges foreign_keys_;
  std::optional<AlteredVirtualColumns> virtual_columns_;  // of the new indexes
  std::unique_ptr<table::IndexBuild> build_;
  // Until the dictionary says how long rows live now, compactions take no more than what is said to
  // be gone. Null if they live as long as before.
  const std::unique_ptr<kv::ExpiryReading> reading_;
  const std::uint64_t generation_;
};

namespace {

// Whether the statement asks for what does not copy.
bool wants_no_copy(THD* thd, const Alter_inplace_info& info) {
  return info.alter_info->algorithm(thd) >= Alter_info::ALTER_TABLE_ALGORITHM_INPLACE;
}

// Null where the dictionary stays as it is.
Alteration* alteration_of(const Alter_inplace_info& info) {
  return static_cast<Alteration*>(info.handler_ctx);
}

// Those of all partitions, where the server has the first one commit them together. None where the
// dictionary stays as it is.
std::vector<Alteration*> all_alterations(const Alter_inplace_info& info) {
  std::vector<Alteration*> all;
  if (info.group_commit_ctx == nullptr) {
    if (info.handler_ctx != nullptr) all.push_back(alteration_of(info));
    return all;
  }
  for (inplace_alter_handler_ctx** next = info.group_commit_ctx; *next != nullptr; ++next) {
    all.push_back(static_cast<Alteration*>(*next));
  }
  return all;
}

// When all indexes of all partitions are built: what was changed meanwhile in any of them.
Status catch_up(THD* thd, const std::vector<Alteration*>& alterations) {
  std::vector<table::IndexBuild*> builds;
  for (const Alteration* const alteration : alterations) {
    if (alteration->index_build() == nullptr) return Status::ok();
    builds.push_back(alteration->index_build());
  }
  return table::catch_up_with_writers(builds, Session::of(thd));
}

// While indexes are built other tables may get foreign keys that lead to this one as it was, and
// names that constraints are to have here. Nobody adds one any more.
int check_references_again(THD* thd, const TABLE& altered, const Alter_inplace_info& info,
                           const catalog::TableDefinition& before, const Alteration& alteration) {
  if (!alteration.is_outdated()) return 0;
  ServerTable translation = translate_table(altered, before.name, g_plugin->collations);
  translation.definition.expiry = alteration.definition().expiry;
  catalog::ForeignKeyChanges again;
  return change_foreign_keys(thd, *info.create_info, before, alteration.change(), translation,
                             again);
}

// Who waits for the statement is not helped by one that gives way.
table::Pace pace_of(const TABLE& table) {
  const bool writers_wait =
      table.mdl_ticket == nullptr || table.mdl_ticket->get_type() >= MDL_SHARED_NO_WRITE;
  return writers_wait ? table::Pace() : table::Pace(the_engine().database());
}

// Leaves out versions and removals of rows that nobody reads. Indexes are made anew.
Status compact_rows(const table::Table& table, const Session& session) {
  return the_engine().database().compact(table.family(0), table.whole_range(0),
                                         [&session] { return session.is_raised(); });
}

// Whether AUTO_INCREMENT=n is all right for a change in place: it is of one counter, which stays.
bool may_set_counter(const TABLE& table, const TABLE& altered, const Alter_inplace_info& info) {
  if ((info.create_info->used_fields & HA_CREATE_USED_AUTO) == 0) return true;
  return table.part_info == nullptr && table.found_next_number_field != nullptr &&
         altered.found_next_number_field != nullptr;
}

// By which check_version() is asked for a table with partitions; nothing for one without.
std::optional<catalog::AlterationId> alteration_id(const TABLE& altered,
                                                   const std::string& table_name) {
  const std::string_view whole = catalog::table_of_partition(table_name);
  if (whole.empty()) return std::nullopt;
  const LEX_CUSTRING& id = altered.s->tabledef_version;
  return catalog::AlterationId{std::string(whole),
                               {reinterpret_cast<const char*>(id.str), id.length}};
}

}  // namespace

// What needs rows with other values goes through a new table. So do indexes of tables
// for which the server checks a uniqueness by reading, and ALTER IGNORE, which leaves duplicates
// out. A foreign key for which rows must be looked at is checked while they are copied.
enum_alter_inplace_result ha_rocksdb::check_if_supported_inplace_alter(
    TABLE* altered, Alter_inplace_info* info) noexcept {
  // No statement has begun that would have done so.
  bind();
  if (refuse_if_discarded(ha_thd(), *table, opened().definition()) != 0) return HA_ALTER_ERROR;
  if (adds_foreign_keys(*info) && !ignores_foreign_keys(ha_thd())) {
    info->unsupported_reason = my_get_err_msg(ER_ALTER_OPERATION_NOT_SUPPORTED_REASON_FK_CHECK);
    return HA_ALTER_INPLACE_NOT_SUPPORTED;
  }
  if (wants_no_copy(ha_thd(), *info) && refuse_changed_types(opened().definition().name, *info)) {
    return HA_ALTER_ERROR;
  }
  const bool is_possible =
      !has(*info, ~(kServersOwn | kOfDictionary | kOfColumns | kBuilding)) &&
      (!has(*info, ALTER_VIRTUAL_GCOL_EXPR) || may_change_expressions(*table)) &&
      !changes_kept_values(*table, *altered, *info->alter_info) &&
      may_set_counter(*table, *altered, *info) && !info->ignore && !is_sequence() &&
      table_share->tmp_table == NO_TMP_TABLE && info->alter_info->partition_flags == 0 &&
      (table->part_info == nullptr) == (altered->part_info == nullptr) &&
      !moves_indexes(*table, *altered);
  if (!is_possible) return HA_ALTER_INPLACE_NOT_SUPPORTED;
  ServerTable translation =
      translate_table(*altered, opened().definition().name, g_plugin->collations);
  if (read_expiry(*altered, translation.definition) != 0) return HA_ALTER_ERROR;
  const auto change = change_of(*table, *altered, *info, translation);
  if (change.has_value()) {
    bool are_kept = true;
    const int error = check_times_are_kept(*altered, opened().definition().name, *change,
                                           translation.definition, are_kept);
    if (error != 0) return HA_ALTER_ERROR;
    if (!are_kept) {
      info->unsupported_reason =
          "rows that are there do not tell the time by which they are to expire";
      return HA_ALTER_INPLACE_NOT_SUPPORTED;
    }
  }
  if (!change.has_value() || moves_rows(*table, *altered, *change) ||
      changes_foreign_keys(opened().definition(), *change, translation.definition,
                           *info->alter_info) ||
      !catalog::alter_in_place(opened().definition(), *change, translation.definition)) {
    return HA_ALTER_INPLACE_NOT_SUPPORTED;
  }
  if (refuse_two_phases(ha_thd(), opened().definition(), translation.definition)) {
    return HA_ALTER_ERROR;
  }
  const bool looks_for_nulls = has(*info, ALTER_COLUMN_NOT_NULLABLE);
  const bool builds = !catalog::new_indexes(opened().definition(), translation.definition).empty();
  // A new primary index has no versions to leave out.
  const bool compacts = change->remakes_indexes && !change->replaces_primary;
  if (!looks_for_nulls && !builds && !compacts) return HA_ALTER_INPLACE_INSTANT;
  if (compacts && !the_engine().database().check_not_paused().is_ok()) {
    info->unsupported_reason = "flushes and compactions are paused";
    return HA_ALTER_INPLACE_NOT_SUPPORTED;
  }
  if (table->s->long_unique_table || table->s->period.unique_keys != 0) {
    return HA_ALTER_INPLACE_NOT_SUPPORTED;
  }
  const bool copies = change->replaces_primary;
  if (!looks_for_nulls && (!builds || !has_expiring_part(opened().definition().name))) {
    return copies ? HA_ALTER_INPLACE_COPY_NO_LOCK : HA_ALTER_INPLACE_NOCOPY_NO_LOCK;
  }
  // These answers tell the server that the operation is not the algorithm's.
  const auto algorithm = info->alter_info->algorithm(ha_thd());
  if (copies && algorithm >= Alter_info::ALTER_TABLE_ALGORITHM_NOCOPY) {
    return HA_ALTER_INPLACE_COPY_LOCK;
  }
  if (algorithm == Alter_info::ALTER_TABLE_ALGORITHM_INSTANT) return HA_ALTER_INPLACE_NOCOPY_LOCK;
  info->unsupported_reason = looks_for_nulls ? kWhyWritersWait : kWhyWritersWaitForTimes;
  return HA_ALTER_INPLACE_SHARED_LOCK;
}

// Nobody writes to the table in this moment, and those who have written have ended their
// transactions; except prepared ones, for which external_lock() has refused the statement, and the
// engine would. Writers may go on afterwards: what they change is noted.
bool ha_rocksdb::prepare_inplace_alter_table(TABLE* altered, Alter_inplace_info* info) noexcept {
  if (check_definition(ha_thd(), *altered, *info->create_info) != 0) return true;
  const std::string& name = opened().definition().name;
  ServerTable translation = translate_table(*altered, name, g_plugin->collations);
  if (read_expiry(*altered, translation.definition) != 0) return true;
  if (!changes_dictionary(*info, opened().definition(), translation.definition) &&
      !changes_lifetimes(*altered, name, translation.definition)) {
    return false;
  }
  std::optional<catalog::TableChange> change = change_of(*table, *altered, *info, translation);
  BASALT_ASSERT(change.has_value());  // as when the server has asked whether it is possible
  std::unique_ptr<kv::ExpiryReading> reading;
  if (catalog::changes_lifetime(opened().definition(), translation.definition)) {
    const std::uint64_t time = Session::of(ha_thd()).lifetime_change_time();
    reading = std::make_unique<kv::ExpiryReading>(the_engine().database().expiry_clock(), time);
    change->time = std::max(time, reading->time());
  }
  catalog::ForeignKeyChanges foreign_keys;
  const int error = change_foreign_keys(ha_thd(), *info->create_info, opened().definition(),
                                        *change, translation, foreign_keys);
  if (error != 0) return fail_statement(error);
  Result<catalog::TablePointer> reserved = the_engine().reserve_indexes(
      std::move(translation.definition), index_families(*altered, name), *change, ha_thd());
  if (!reserved.is_ok()) warn_if_undecided(ha_thd(), reserved.status());
  if (!reserved.is_ok()) return fail_statement(reserved.take_status());
  info->handler_ctx = new (ha_thd()->mem_root)
      Alteration(opened().definition(), reserved.value(), std::move(*change),
                 std::move(foreign_keys), std::move(reading));
  if (info->handler_ctx != nullptr) return false;
  the_engine().abandon_indexes(reserved.value());  // no memory, as the server has told the client
  return true;
}

bool ha_rocksdb::inplace_alter_table(TABLE* altered, Alter_inplace_info* info) noexcept {
  Alteration* const alteration = alteration_of(*info);
  if (alteration == nullptr) return false;
  if (const int error =
          check_nulls(*altered, alteration->definition(), alteration->change(), *info->alter_info);
      error != 0) {
    return fail_statement(error);
  }
  if (alteration->change().remakes_indexes && !alteration->change().replaces_primary) {
    Status status = compact_rows(opened(), Session::of(ha_thd()));
    if (!status.is_ok()) return fail_statement(std::move(status));
  }
  if (!alteration->builds()) return false;
  const ServerTable translation =
      translate_table(*altered, opened().definition().name, g_plugin->collations);
  Status status = alteration->build(ha_thd(), *altered, translation.layout, pace_of(*table));
  const std::vector<Alteration*> alterations = all_alterations(*info);
  if (status.is_ok()) status = catch_up(ha_thd(), alterations);
  return fail_build(*altered, alterations, std::move(status));
}

// Whether columns that are made NOT NULL are so in all rows. In strict mode, and of columns of
// foreign keys, for which nothing stands that has not been looked for in the parent, NULL is an
// error; else the client is warned, as where the server copies.
int ha_rocksdb::check_nulls(const TABLE& altered, const catalog::TableDefinition& definition,
                            const catalog::TableChange& change, const Alter_info& info) {
  const std::vector<std::size_t> columns =
      catalog::made_not_null(opened().definition(), change, definition);
  if (columns.empty()) return 0;
  MY_BITMAP* const read_set = table->read_set;
  bitmap_clear_all(&table->tmp_set);
  for (const std::size_t column : columns) {
    bitmap_set_bit(&table->tmp_set, change.column_before(column));
  }
  table->column_bitmaps_set_no_signal(&table->tmp_set, table->write_set);
  int error = ha_rnd_init(true);
  for (ulong row = 1; error == 0; ++row) {
    error = ha_rnd_next(table->record[0]);
    for (const std::size_t column : columns) {
      const Field& before = *table->field[change.column_before(column)];
      if (error != 0 || !before.is_null()) continue;
      error = refuse_null(before, *altered.field[column], info, row);
    }
  }
  ha_rnd_end();
  table->column_bitmaps_set_no_signal(read_set, table->write_set);
  return error == HA_ERR_END_OF_FILE ? 0 : error;
}

int ha_rocksdb::refuse_null(const Field& before, const Field& after, const Alter_info& info,
                            ulong row) {
  THD* const thd = ha_thd();
  const char* const name = after.field_name.str;
  const bool needs_parent =
      !ignores_foreign_keys(thd) && is_of_foreign_key(opened().definition().name, before, info);
  if (thd->is_strict_mode() || needs_parent) {
    my_error(WARN_DATA_TRUNCATED, MYF(0), name, row);
    return HA_ERR_GENERIC;
  }
  push_warning_printf(thd, Sql_condition::WARN_LEVEL_WARN, WARN_DATA_TRUNCATED,
                      ER_THD(thd, WARN_DATA_TRUNCATED), name, row);
  return 0;
}

// Tells the client of an error, and of the values that rows have in common in a unique index.
// Whether there is one.
bool ha_rocksdb::fail_build(TABLE& altered, const std::vector<Alteration*>& alterations,
                            Status status) {
  if (status.is(ErrorCode::kDuplicateKey)) {
    for (const Alteration* const alteration : alterations) {
      const table::IndexBuild* const build = alteration->index_build();
      if (build == nullptr || !build->duplicate().has_value()) continue;
      return fail_duplicate(altered, *build);
    }
  }
  warn_if_undecided(ha_thd(), status);
  return fail_statement(std::move(status));
}

// Puts the values into the record, from which the server makes its message. `build` may be of
// another partition than this. Always true.
bool ha_rocksdb::fail_duplicate(TABLE& altered, const table::IndexBuild& build) {
  Status status = build.read_duplicate(altered.record[0]);
  if (!status.is_ok()) return fail_statement(std::move(status));
  const ServerTable translation =
      translate_table(altered, opened().definition().name, g_plugin->collations);
  const unsigned index = translation.server_index(build.duplicate()->index_number);
  print_keydup_error(&altered, &altered.key_info[index], MYF(0));
  return true;
}

// Also asked to give up what has not begun, and what could not be published.
bool ha_rocksdb::commit_inplace_alter_table(TABLE* altered, Alter_inplace_info* info,
                                            bool commit) noexcept {
  if (!commit) {
    Alteration* const alteration = alteration_of(*info);
    if (alteration != nullptr) alteration->abandon();
    return false;
  }
  const std::vector<Alteration*> alterations = all_alterations(*info);
  info->group_commit_ctx = nullptr;  // so that the server asks no other partition
  if (alterations.empty()) return fail_statement(set_counter(*info));
  std::vector<engine::Engine::BuiltTable> tables;
  for (Alteration* const alteration : alterations) {
    if (const int error =
            check_references_again(ha_thd(), *altered, *info, opened().definition(), *alteration);
        error != 0) {
      return fail_statement(error);
    }
    Status status = alteration->complete(ha_thd());
    if (!status.is_ok()) return fail_build(*altered, alterations, std::move(status));
    tables.push_back(alteration->result());
  }
  // Before indexes go of which the counter's value is read. Should the rest fail, it is right for
  // the rows that there are.
  if (Status status = set_counter(*info); !status.is_ok()) return fail_statement(std::move(status));
  Status status = the_engine().publish_all_altered(
      std::move(tables), waiter_of(ha_thd()), alteration_id(*altered, opened().definition().name));
  warn_if_undecided(ha_thd(), status);
  if (!status.is_ok()) return fail_statement(std::move(status));
  for (Alteration* const alteration : alterations) alteration->note_published();
  return false;
}

// Nobody takes values now. None is given out that a row has.
Status ha_rocksdb::set_counter(const Alter_inplace_info& info) {
  if ((info.create_info->used_fields & HA_CREATE_USED_AUTO) == 0) return Status::ok();
  const Result<std::uint64_t> next = table::next_auto_increment(the_engine().database(), opened(),
                                                                share_->translation.auto_increment);
  if (!next.is_ok()) return next.status().clone();
  const std::uint64_t wanted = info.create_info->auto_increment_value;
  return opened().state().auto_increment.restart(std::max(next.value(), wanted));
}

// Tells the client of an error: of changes in place the server does not. Whether there is one.
bool ha_rocksdb::fail_statement(Status status) { return fail_statement(report(std::move(status))); }

bool ha_rocksdb::fail_statement(int error) {
  if (error != 0 && !ha_thd()->is_error()) print_error(error, MYF(0));
  return error != 0;
}

bool ha_rocksdb::can_convert_nocopy(const Field& field,
                                    const Column_definition& to) const noexcept {
  return can_convert_column(field, to);
}

Compare_keys ha_rocksdb::compare_key_parts(const Field& field, const Column_definition& to,
                                           const KEY_PART_INFO& part,
                                           const KEY_PART_INFO& new_part) const noexcept {
  return compare_key_part(field, to, part, new_part);
}

ulonglong ha_rocksdb::table_version() const noexcept { return version_of(opened().definition()); }

}  // namespace basalt::server
