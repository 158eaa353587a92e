#include "server/handler/row_expiry.h"

#include <strings.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "catalog/partition_names.h"
#include "server/convert/comment_options.h"
#include "server/convert/sql_text.h"
#include "server/convert/table_layout.h"
#include "server/handler/index_families.h"
#include "server/handler/partitioned_tables.h"
#include "server/plugin.h"

namespace basalt::server {
namespace {

using catalog::RowExpiry;

constexpr std::string_view kDuration = "ttl_duration";
constexpr std::string_view kColumn = "ttl_col";

std::string_view comment_of(const TABLE& table) {
  return {table.s->comment.str, table.s->comment.length};
}

int refuse(uint code, const std::string& text) {
  my_printf_error(code, "ROCKSDB: %s", MYF(0), text.c_str());
  return HA_WRONG_CREATE_OPTION;
}

bool says_how_rows_expire(const TABLE& table) {
  return !options_in(comment_of(table), kDuration).empty() ||
         !options_in(comment_of(table), kColumn).empty();
}

// An assignment as it stands in the comment.
std::string text_of(const CommentOption& option, std::string_view name) {
  const std::string partition = option.partition.empty() ? "" : option.partition + "_";
  return partition + std::string(name) + "=" + option.value;
}

// An assignment that is made twice to one part of the table, or to all of it.
std::optional<CommentOption> find_repeated(const std::vector<CommentOption>& options) {
  for (auto option = options.begin(); option != options.end(); ++option) {
    const auto is_same = [&](const CommentOption& other) {
      return equal_names(option->partition, other.partition);
    };
    if (std::any_of(options.begin(), option, is_same)) return *option;
  }
  return std::nullopt;
}

// What the comment assigns to the first of the partitions for which there is something; else to the
// whole table.
std::optional<CommentOption> find_option(const TABLE& table, std::string_view name,
                                         const std::vector<std::string>& partitions) {
  const std::vector<CommentOption> options = options_in(comment_of(table), name);
  const auto assigned_to = [&](const std::string& partition) -> std::optional<CommentOption> {
    for (const CommentOption& option : options) {
      if (equal_names(option.partition, partition)) return option;
    }
    return std::nullopt;
  };
  for (const std::string& partition : partitions) {
    if (std::optional<CommentOption> option = assigned_to(partition)) return option;
  }
  return assigned_to({});
}

std::optional<std::uint64_t> seconds_in(const std::string& text) {
  std::uint64_t seconds = 0;
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, seconds);
  if (error != std::errc() || last != end || seconds == 0) return std::nullopt;
  return seconds;
}

// The column that tells the time of rows; nothing if `name` is none that can.
std::optional<std::uint32_t> time_column(const TABLE& table, const std::string& name,
                                         const catalog::TableDefinition& definition) {
  const std::size_t column = catalog::find_column(definition, name);
  if (column == definition.columns.size()) return std::nullopt;
  const Field& field = *table.field[column];
  const bool is_number = field.type() == MYSQL_TYPE_LONGLONG && (field.flags & UNSIGNED_FLAG) != 0;
  if (!is_number || !catalog::can_tell_time(definition.columns[column])) return std::nullopt;
  return static_cast<std::uint32_t>(column);
}

// An index whose entries rows alone do not tell; null if there is none.
const catalog::IndexDefinition* find_computed(const catalog::TableDefinition& definition) {
  for (const catalog::IndexDefinition& index : definition.indexes) {
    for (const catalog::KeyPartDefinition& part : index.parts) {
      if (!definition.columns[part.column].stored) return &index;
    }
  }
  return nullptr;
}

// What a table must not have whose rows expire, as the assignment says.
int check_table(const TABLE& table, const catalog::TableDefinition& definition,
                const std::string& assignment) {
  const std::string of = assignment + " in the COMMENT of table `" +
                         std::string(table.s->table_name.str, table.s->table_name.length) + "`";
  if (definition.has_hidden_key()) {
    return refuse(ER_RDB_TTL_UNSUPPORTED,
                  of + " needs a PRIMARY KEY; give the table one, or leave the option out");
  }
  if (table.versioned()) {
    return refuse(ER_ILLEGAL_HA_CREATE_OPTION,
                  of +
                      " cannot be: rows that expire leave no history, and the table is WITH SYSTEM "
                      "VERSIONING; leave the option out, or DELETE HISTORY instead");
  }
  if (const catalog::IndexDefinition* index = find_computed(definition); index != nullptr) {
    return refuse(ER_ILLEGAL_HA_CREATE_OPTION,
                  of + " cannot be: index `" + index->name +
                      "` is made of a column that is not stored, or is UNIQUE over values too long "
                      "for keys; make its columns PERSISTENT, or leave the option out");
  }
  return 0;
}

// As read_expiry(), of a part of the table that has these names.
int read_expiry(const TABLE& table, const std::vector<std::string>& partitions,
                catalog::TableDefinition& definition) {
  definition.expiry.reset();
  for (const std::string_view name : {kDuration, kColumn}) {
    const std::optional<CommentOption> repeated =
        find_repeated(options_in(comment_of(table), name));
    if (!repeated.has_value()) continue;
    return refuse(ER_RDB_TTL_DURATION_FORMAT,
                  text_of(*repeated, name) + " in the COMMENT comes after another " +
                      std::string(name) + "= for the same rows; leave one of them");
  }
  const std::optional<CommentOption> duration = find_option(table, kDuration, partitions);
  const std::optional<CommentOption> column = find_option(table, kColumn, partitions);
  if (!duration.has_value()) {
    // One for all partitions may belong to the durations of some.
    const bool is_alone = column.has_value() && (!column->partition.empty() ||
                                                 options_in(comment_of(table), kDuration).empty());
    return is_alone ? refuse(ER_RDB_TTL_COL_FORMAT,
                             text_of(*column, kColumn) + " in the COMMENT needs a ttl_duration=")
                    : 0;
  }
  RowExpiry expiry;
  const std::optional<std::uint64_t> seconds = seconds_in(duration->value);
  if (!seconds.has_value()) {
    return refuse(ER_RDB_TTL_DURATION_FORMAT,
                  text_of(*duration, kDuration) +
                      " in the COMMENT is no number of seconds; give one above 0, of 64 bits");
  }
  expiry.lifetime.seconds = *seconds;
  if (column.has_value()) {
    const std::optional<std::uint32_t> number = time_column(table, column->value, definition);
    if (!number.has_value()) {
      return refuse(ER_RDB_TTL_COL_FORMAT,
                    text_of(*column, kColumn) +
                        " in the COMMENT names no column that tells seconds since 1970; it must be "
                        "BIGINT UNSIGNED NOT NULL, and not VIRTUAL");
    }
    expiry.column = *number;
  }
  definition.expiry = expiry;
  return check_table(table, definition, text_of(*duration, kDuration));
}

// The names of the partition that the statement puts a table in the place of: that of a
// subpartition and of its partition. None if it does not.
std::vector<std::string> replaced_partition(THD* thd, const TABLE& whole) {
  const LEX& lex = *thd->lex;
  if ((lex.alter_info.partition_flags & ALTER_PARTITION_CONVERT_IN) != 0) {
    partition_info* const added = lex.part_info;
    const partition_element* const part = added == nullptr ? nullptr : added->partitions.head();
    return part == nullptr ? std::vector<std::string>()
                           : std::vector{std::string(part->partition_name)};
  }
  if ((lex.alter_info.partition_flags & ALTER_PARTITION_EXCHANGE) == 0) return {};
  const char* const name = thd->lex->alter_info.partition_names.head();
  List_iterator<partition_element> parts(whole.part_info->partitions);
  while (partition_element* part = parts++) {
    if (equal_names(part->partition_name, name)) return {part->partition_name};
    List_iterator<partition_element> subparts(part->subpartitions);
    while (const partition_element* subpart = subparts++) {
      if (!equal_names(subpart->partition_name, name)) continue;
      return {subpart->partition_name, part->partition_name};
    }
  }
  return {};
}

// Whether the rows of `table` expire as those of `other`, which has the same columns.
bool expire_alike(const catalog::TableDefinition& table, const catalog::TableDefinition& other) {
  return !catalog::changes_lifetime(table, other) &&
         (!other.expiry.has_value() || other.expiry->column == table.expiry->column);
}

// A table, or all partitions of the one that has the partition `name`. None if no rows expire, nor
// will by the comment of `altered`: each partition asks for all of them.
std::vector<catalog::TablePointer> parts_of(std::string_view name, const TABLE* altered) {
  const bool is_to_expire = altered != nullptr && says_how_rows_expire(*altered);
  if (!is_to_expire && !the_engine().catalog().has_lifetimes()) return {};
  const std::string_view whole = catalog::table_of_partition(name);
  if (!whole.empty()) return partitions_of(whole);
  const catalog::TablePointer table = the_engine().catalog().find(name);
  return table == nullptr ? std::vector<catalog::TablePointer>() : std::vector{table};
}

// Calls `use` with each part of the table that is stored as `name`, and with what it is to become.
// Returns as read_expiry().
template <typename Use>
int for_each_part(const TABLE& altered, std::string_view name,
                  const catalog::TableDefinition& altered_definition, const Use& use) {
  const std::vector<catalog::TablePointer> parts = parts_of(name, &altered);
  if (parts.empty()) return 0;
  const PartitionNames names(altered);
  catalog::TableDefinition becomes = altered_definition;
  for (const catalog::TablePointer& part : parts) {
    becomes.name = part->name;
    if (const int error = read_expiry(altered, names.of(part->name), becomes); error != 0) {
      return error;
    }
    use(*part, becomes);
  }
  return 0;
}

}  // namespace

int read_expiry(const TABLE& table, catalog::TableDefinition& definition) {
  definition.expiry.reset();
  // Names of partitions cost something, and each of them asks.
  if (!says_how_rows_expire(table)) return 0;
  return read_expiry(table, PartitionNames(table).of(definition.name), definition);
}

bool says_rows_expire(const TABLE_SHARE* share) {
  if (share == nullptr || share->comment.length == 0) return false;
  return !options_in({share->comment.str, share->comment.length}, kDuration).empty();
}

int check_partition_expiry(THD* thd, const catalog::TableDefinition& table) {
  if (thd_sql_command(thd) != SQLCOM_ALTER_TABLE) return 0;
  const TABLE_LIST* const altered = thd->lex->first_select_lex()->table_list.first;
  if (altered == nullptr || altered->table == nullptr || altered->table->part_info == nullptr) {
    return 0;
  }
  const std::vector<std::string> partition = replaced_partition(thd, *altered->table);
  if (partition.empty()) return 0;
  catalog::TableDefinition expected = table;
  if (const int error = read_expiry(*altered->table, partition, expected); error != 0) return error;
  if (expire_alike(table, expected)) return 0;
  return refuse(ER_ILLEGAL_HA_CREATE_OPTION,
                "rows of partition `" + partition.front() +
                    "` and of the table do not expire alike; give both the same ttl_duration= and "
                    "ttl_col= in their COMMENTs");
}

int check_converted_expiry(THD* thd, const TABLE& table, const catalog::TableDefinition& part) {
  const Alter_info& change = thd->lex->alter_info;
  if (thd_sql_command(thd) != SQLCOM_ALTER_TABLE ||
      (change.partition_flags & ALTER_PARTITION_CONVERT_OUT) == 0) {
    return 0;
  }
  const std::vector<std::string> names = PartitionNames(table).of(part.name);
  const char* const converted = thd->lex->alter_info.partition_names.head();
  if (converted == nullptr || names.empty()) return 0;
  if (!equal_names(names.front().c_str(), converted)) return 0;
  catalog::TableDefinition becomes = part;
  if (const int error = read_expiry(table, {}, becomes); error != 0) return error;
  if (expire_alike(part, becomes)) return 0;
  return refuse(ER_ILLEGAL_HA_CREATE_OPTION,
                "rows of partition `" + names.front() +
                    "` expire by what the COMMENT says of it alone, which has no effect in that of "
                    "the new table; let the COMMENT say it of all partitions before, or of none");
}

std::vector<std::string> expiry_warnings(const TABLE& table) {
  std::vector<std::string> warnings;
  for (const std::string_view name : {kDuration, kColumn}) {
    for (const CommentOption& option : options_in(comment_of(table), name)) {
      if (option.partition.empty() || has_partition(table, option.partition)) continue;
      warnings.push_back(text_of(option, name) +
                         " in the COMMENT of the table has no effect: there is no such partition");
    }
  }
  return warnings;
}

int check_expiry_and_references(const catalog::TableDefinition& table, std::string_view name,
                                const std::vector<catalog::ForeignKeyDefinition>& foreign_keys) {
  const catalog::Catalog& catalog = the_engine().catalog();
  const auto refuse_key = [](const std::string& constraint) {
    return refuse(ER_ILLEGAL_HA_CREATE_OPTION,
                  "foreign key `" + constraint +
                      "` cannot be: rows of one of its tables expire, which no foreign key can "
                      "follow; leave it out, or ttl_duration= in the COMMENT (a table that had it "
                      "is free of it after ALTER TABLE ... FORCE)");
  };
  if (table.expiry.has_value()) {
    if (!foreign_keys.empty()) return refuse_key(foreign_keys.front().name);
    const auto references = catalog.references_to(name);
    if (!references.empty()) return refuse_key(references.front()->name);
    return 0;
  }
  for (const catalog::ForeignKeyDefinition& key : foreign_keys) {
    const catalog::TablePointer parent = catalog.find(key.parent);
    if (parent != nullptr && parent->expiry.has_value()) return refuse_key(key.name);
  }
  return 0;
}

int check_expiry_and_name(std::string_view name, std::string_view new_name) {
  const catalog::TablePointer table = the_engine().catalog().find(name);
  if (table == nullptr || !table->expiry.has_value()) return 0;
  return check_expiry_and_references(*table, new_name, {});
}

int check_times_are_kept(const TABLE& altered, std::string_view name,
                         const catalog::TableChange& change,
                         const catalog::TableDefinition& altered_definition, bool& are_kept) {
  are_kept = true;
  return for_each_part(
      altered, name, altered_definition,
      [&](const catalog::TableDefinition& part, const catalog::TableDefinition& becomes) {
        are_kept = are_kept && catalog::keeps_row_times(part, change, becomes);
      });
}

bool has_expiring_part(std::string_view name) {
  return std::ranges::any_of(parts_of(name, nullptr), [](const catalog::TablePointer& part) {
    return part->expiry.has_value();
  });
}

bool changes_lifetimes(const TABLE& altered, std::string_view name,
                       const catalog::TableDefinition& altered_definition) {
  bool changes = false;
  const int error = for_each_part(
      altered, name, altered_definition,
      [&](const catalog::TableDefinition& part, const catalog::TableDefinition& becomes) {
        changes = changes || catalog::changes_lifetime(part, becomes);
      });
  return error == 0 && changes;
}

}  // namespace basalt::server
