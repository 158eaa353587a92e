#include "server/handler/definition_check.h"

#include <strings.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "server/convert/comment_options.h"
#include "server/convert/sql_text.h"
#include "server/handler/index_families.h"
#include "server/handler/row_expiry.h"
#include "server/plugin.h"
#include "server/mariadb.h"

namespace basalt::server {
namespace {

using Texts = std::vector<std::string>;

bool contains(const Texts& texts, const std::string& text) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

std::string quoted(const std::string& name) { return "`" + name + "`"; }

bool is_ours(const TABLE& table) { return table.file->partition_ht() == g_plugin->hton; }

// ---- telling the client

// A statement that makes partitions comes here for each of them.
bool is_told(THD* thd, const std::string& text) {
  Diagnostics_area::Sql_condition_iterator told = thd->get_stmt_da()->sql_conditions();
  while (const Sql_condition* condition = told++) {
    if (text == condition->get_message_text()) return true;
  }
  return false;
}

void warn(THD* thd, uint code, const std::string& text) {
  // The thread of a replica has no client.
  if (thd->slave_thread) log_message(LogLevel::kWarning, text);
  if (is_told(thd, text)) return;
  push_warning_printf(thd, Sql_condition::WARN_LEVEL_WARN, code, "%s", text.c_str());
}

void warn_of_no_effect(THD* thd, const std::string& clause) {
  warn(thd, ER_ILLEGAL_HA_CREATE_OPTION, "ROCKSDB: " + clause);
}

int refuse(uint code, const std::string& text) {
  my_printf_error(code, "%s", MYF(0), text.c_str());
  return HA_WRONG_CREATE_OPTION;
}

bool is_text(const Field& field) {
  return field.has_charset() || field.type() == MYSQL_TYPE_ENUM || field.type() == MYSQL_TYPE_SET;
}

int refuse_directory(const char* clause) {
  return refuse(ER_ILLEGAL_HA_CREATE_OPTION,
                std::string("ROCKSDB has no ") + clause +
                    ": all tables are in rocksdb_datadir; leave the clause out");
}

// ---- options that the server knows nothing of

bool asks_for_encryption(const engine_option_value& option) {
  if (strcasecmp(option.name.str, "ENCRYPTED") != 0 || option.value.str == nullptr) return false;
  const std::string value = text_of(option.value);
  return strcasecmp(value.c_str(), "YES") == 0 || strcasecmp(value.c_str(), "ON") == 0 ||
         value == "1";
}

std::string unknown_option(const engine_option_value& option) {
  return "Unknown option '" + text_of(option.name) + "'";
}

// With this sql_mode the server warns of unknown options, which strict mode makes an error.
bool warns_of_unknown_options(THD* thd) {
  return (thd->variables.sql_mode & MODE_IGNORE_BAD_TABLE_OPTIONS) != 0 && !thd->is_strict_mode();
}

int refuse_encryption(const std::string& of) {
  return refuse(ER_ILLEGAL_HA_CREATE_OPTION,
                "ROCKSDB does not encrypt, and " + of +
                    " is to be ENCRYPTED=YES; make it ENCRYPTED=NO first, or leave it in InnoDB");
}

Texts options_of(const partition_element& part) {
  Texts options;
  for (const auto* option = part.option_list; option != nullptr; option = option->next) {
    options.push_back(text_of(option->name) + "=" + text_of(option->value));
  }
  return options;
}

// As the server does for options of tables: a replica's threads take what they do not know.
// Encryption nobody is to believe in, though.
int check_options(THD* thd, const partition_element& part, const Texts& known) {
  const Texts options = options_of(part);
  std::size_t number = 0;
  for (const auto* option = part.option_list; option != nullptr; option = option->next) {
    if (contains(known, options[number++])) continue;
    const bool is_refused = !warns_of_unknown_options(thd);
    if (is_refused && !thd->slave_thread) return refuse(ER_UNKNOWN_OPTION, unknown_option(*option));
    if (is_refused && asks_for_encryption(*option)) {
      return refuse_encryption("partition " + quoted(part.partition_name));
    }
    warn(thd, ER_UNKNOWN_OPTION, unknown_option(*option));
  }
  return 0;
}

// ---- options of MyRocks, which it reads from comments

// `of` says whose comment it is.
void add_comment_options(std::string_view comment, std::string_view name, const std::string& of,
                         const std::string& instead, Texts& clauses) {
  for (const CommentOption& option : options_in(comment, name)) {
    const std::string partition = option.partition.empty() ? "" : option.partition + "_";
    clauses.push_back(partition + std::string(name) + "=" + option.value + " in the COMMENT of " +
                      of + " has no effect: " + instead);
  }
}

// When rows expire the COMMENT of the table says.
void add_expiry_options(std::string_view comment, const std::string& of,
                        const std::string& partition, Texts& clauses) {
  const std::string prefix = "the COMMENT of the table may say " + partition;
  add_comment_options(comment, "ttl_duration", of, prefix + "ttl_duration=", clauses);
  add_comment_options(comment, "ttl_col", of, prefix + "ttl_col=", clauses);
}

// Column families are chosen by the comments of indexes.
void add_family_options(std::string_view comment, const std::string& of,
                        const std::string& in_index, Texts& clauses) {
  const std::string instead = "the COMMENT of an index may say " + in_index;
  add_comment_options(comment, "cfname", of, instead, clauses);
  if (!comment.starts_with("rev:")) return;
  clauses.push_back(std::string(comment) + " in the COMMENT of " + of +
                    " has no effect: " + instead);
}

void add_comment_options(const partition_element& part, Texts& clauses) {
  if (part.part_comment == nullptr) return;
  const std::string of = "partition " + quoted(part.partition_name);
  add_family_options(part.part_comment, of, std::string(part.partition_name) + "_cfname=", clauses);
  add_expiry_options(part.part_comment, of, std::string(part.partition_name) + "_", clauses);
}

// ---- clauses without effect: those for which InnoDB or MyRocks would do something

const char* name_of(enum row_type format) {
  switch (format) {
    case ROW_TYPE_FIXED: return "FIXED";
    case ROW_TYPE_COMPRESSED: return "COMPRESSED";
    case ROW_TYPE_REDUNDANT: return "REDUNDANT";
    case ROW_TYPE_COMPACT: return "COMPACT";
    case ROW_TYPE_PAGE: return "PAGE";
    case ROW_TYPE_NOT_USED:
    case ROW_TYPE_DEFAULT:
    case ROW_TYPE_DYNAMIC: break;
  }
  return "";
}

void add_statistics_options(const TABLE_SHARE& share, Texts& clauses) {
  const uint options = share.db_create_options;
  if ((options & HA_OPTION_STATS_PERSISTENT) != 0) {
    clauses.emplace_back("STATS_PERSISTENT=1 has no effect");
  }
  if ((options & HA_OPTION_NO_STATS_PERSISTENT) != 0) {
    clauses.emplace_back("STATS_PERSISTENT=0 has no effect");
  }
  if (share.stats_auto_recalc != HA_STATS_AUTO_RECALC_DEFAULT) {
    const bool is_on = share.stats_auto_recalc == HA_STATS_AUTO_RECALC_ON;
    clauses.emplace_back(is_on ? "STATS_AUTO_RECALC=1 has no effect"
                               : "STATS_AUTO_RECALC=0 has no effect");
  }
  if (share.stats_sample_pages != 0) {
    clauses.push_back("STATS_SAMPLE_PAGES=" + std::to_string(share.stats_sample_pages) +
                      " has no effect");
  }
}

void add_index_options(const TABLE& table, Texts& clauses) {
  for (uint i = 0; i < table.s->keys; ++i) {
    const KEY& key = table.key_info[i];
    const std::string of = "index " + quoted(text_of(key.name));
    if ((key.flags & HA_USES_COMMENT) != 0) {
      add_expiry_options({key.comment.str, key.comment.length}, of, "", clauses);
    }
    // An index has the table's, where it has none of its own.
    const bool has_size = (key.flags & HA_USES_BLOCK_SIZE) != 0;
    if (has_size && key.block_size != table.s->key_block_size) {
      clauses.push_back("KEY_BLOCK_SIZE=" + std::to_string(key.block_size) + " of " + of +
                        " has no effect");
    }
  }
}

// Without those of partitions.
Texts clauses_without_effect(const TABLE& table) {
  const TABLE_SHARE& share = *table.s;
  Texts clauses;
  const std::string format = name_of(share.row_type);
  if (!format.empty()) clauses.push_back("ROW_FORMAT=" + format + " has no effect");
  if (share.key_block_size != 0) {
    clauses.push_back("KEY_BLOCK_SIZE=" + std::to_string(share.key_block_size) + " has no effect");
  }
  add_statistics_options(share, clauses);
  const std::string_view comment(share.comment.str, share.comment.length);
  add_family_options(comment, "the table", "cfname=", clauses);
  for (std::string& clause : expiry_warnings(table)) clauses.push_back(std::move(clause));
  add_index_options(table, clauses);
  for (std::string& clause : family_warnings(table)) clauses.push_back(std::move(clause));
  return clauses;
}

std::vector<const partition_element*> partitions_of(partition_info* info) {
  std::vector<const partition_element*> result;
  if (info == nullptr) return result;
  List_iterator<partition_element> parts(info->partitions);
  while (partition_element* part = parts++) {
    result.push_back(part);
    List_iterator<partition_element> subparts(part->subpartitions);
    while (const partition_element* subpart = subparts++) result.push_back(subpart);
  }
  return result;
}

int check_directories_of(const partition_element& part) {
  if (part.data_file_name != nullptr) return refuse_directory("DATA DIRECTORY");
  return part.index_file_name != nullptr ? refuse_directory("INDEX DIRECTORY") : 0;
}

int check_partition(THD* thd, const partition_element& part, const Texts& known) {
  int error = check_options(thd, part, known);
  if (error == 0) error = check_directories_of(part);
  if (error != 0) return error;
  Texts clauses;
  add_comment_options(part, clauses);
  for (const std::string& clause : clauses) {
    if (!contains(known, clause)) warn_of_no_effect(thd, clause);
  }
  return 0;
}

// One definition and the statement that it is for.
class Definition {
 public:
  Definition(THD* thd, const TABLE& table, const HA_CREATE_INFO& info)
      : thd_(thd),
        table_(table),
        info_(info),
        altered_(info.alter_info == nullptr ? nullptr : info.alter_info->original_table),
        parts_(partitions_of(table.part_info)),
        changes_parts_(std::any_of(parts_.begin(), parts_.end(), [](const auto* part) {
          return part->part_state != PART_NORMAL;
        })) {}

  int check() const {
    int error = check_index_families(table_);
    if (error == 0) error = check_table_options();
    if (error == 0) error = check_directories();
    if (error == 0) error = check_row_format();
    if (error == 0) error = check_character_sets();
    if (error == 0) error = check_partitions();
    if (error == 0) warn_of_clauses();
    return error;
  }

 private:
  // Whether it is a table of this engine that is altered, and has been judged before.
  bool is_known() const { return altered_ != nullptr && is_ours(*altered_); }
  bool is_converted() const { return altered_ != nullptr && !is_ours(*altered_); }

  // An ALTER makes the table under another name first.
  std::string name() const {
    const TABLE_SHARE& share = altered_ != nullptr ? *altered_->s : *table_.s;
    return "table " + quoted(text_of(share.db)) + "." + quoted(text_of(share.table_name));
  }

  // What the statement itself names the server refuses, but not what comes with a table of another
  // engine, and nothing where a replica applies.
  int check_table_options() const {
    if (is_known() || changes_parts_) return 0;
    for (const auto* option = info_.option_list; option != nullptr; option = option->next) {
      if (asks_for_encryption(*option) && !warns_of_unknown_options(thd_)) {
        return refuse_encryption(name());
      }
      if (is_converted() || thd_->slave_thread) {
        warn(thd_, ER_UNKNOWN_OPTION, unknown_option(*option));
      }
    }
    return 0;
  }

  // In an ALTER TABLE the server has already warned that it ignores directories, but a table that
  // comes from another engine may have one.
  int check_directories() const {
    if (is_converted() && table_.part_info == nullptr) {
      if (info_.data_file_name != nullptr) warn_of_left_directory("DATA DIRECTORY");
      if (info_.index_file_name != nullptr) warn_of_left_directory("INDEX DIRECTORY");
    }
    const bool is_ignored = (thd_->variables.sql_mode & MODE_NO_DIR_IN_CREATE) != 0;
    const bool is_alter = thd_sql_command(thd_) == SQLCOM_ALTER_TABLE;
    if (is_alter || changes_parts_ || is_ignored) return 0;
    const ulong given = info_.used_fields;
    if ((given & HA_CREATE_USED_DATADIR) != 0) return refuse_directory("DATA DIRECTORY");
    if ((given & HA_CREATE_USED_INDEXDIR) != 0) return refuse_directory("INDEX DIRECTORY");
    return 0;
  }

  void warn_of_left_directory(const char* clause) const {
    warn(thd_, WARN_OPTION_IGNORED, std::string("<") + clause + "> option ignored");
  }

  // Those that InnoDB has not either.
  int check_row_format() const {
    const enum row_type format = table_.s->row_type;
    if (changes_parts_ || (format != ROW_TYPE_FIXED && format != ROW_TYPE_PAGE)) return 0;
    if (is_known() && altered_->s->row_type == format) return 0;
    return refuse(ER_ILLEGAL_HA_CREATE_OPTION, std::string("ROCKSDB has no ROW_FORMAT=") +
                                                   name_of(format) + "; use ROW_FORMAT=DEFAULT");
  }

  // Its space has five bytes, and nobody stores text in it: the server encodes names of files so.
  int check_character_sets() const {
    for (Field** field = table_.field; *field != nullptr; ++field) {
      if ((*field)->charset() != &my_charset_filename || !is_text(**field)) continue;
      return refuse(ER_ILLEGAL_HA_CREATE_OPTION,
                    "ROCKSDB has no columns in CHARACTER SET filename: column " +
                        quoted(text_of((*field)->field_name)) + " of " + name() +
                        "; choose another one, such as utf8mb4");
    }
    return 0;
  }

  int check_partitions() const {
    Texts known;
    partition_info* altered_parts = is_known() ? altered_->part_info : nullptr;
    for (const partition_element* part : partitions_of(altered_parts)) {
      for (std::string& option : options_of(*part)) known.push_back(std::move(option));
      add_comment_options(*part, known);
    }
    for (const partition_element* part : parts_) {
      if (changes_parts_ && part->part_state != PART_TO_BE_ADDED) continue;
      const int error = check_partition(thd_, *part, known);
      if (error != 0) return error;
    }
    return check_reorganized();
  }

  // New partitions in the place of others are not among those of the open table.
  int check_reorganized() const {
    if (thd_sql_command(thd_) != SQLCOM_ALTER_TABLE) return 0;
    const ulong flags = thd_->lex->alter_info.partition_flags;
    if ((flags & ALTER_PARTITION_REORGANIZE) == 0) return 0;
    for (const partition_element* part : partitions_of(thd_->lex->part_info)) {
      const int error = check_directories_of(*part);
      if (error != 0) return error;
    }
    return 0;
  }

  void warn_of_clauses() const {
    if (changes_parts_) return;
    const Texts known = is_known() ? clauses_without_effect(*altered_) : Texts();
    for (const std::string& clause : clauses_without_effect(table_)) {
      if (!contains(known, clause)) warn_of_no_effect(thd_, clause);
    }
  }

  THD* const thd_;
  const TABLE& table_;
  const HA_CREATE_INFO& info_;
  const TABLE* const altered_;
  const std::vector<const partition_element*> parts_;
  const bool changes_parts_;  // of a table that stays
};

}  // namespace

int check_definition(THD* thd, const TABLE& table, const HA_CREATE_INFO& info) {
  return Definition(thd, table, info).check();
}

int check_new_partition(THD* thd) {
  const LEX* lex = thd->lex;
  if ((lex->alter_info.partition_flags & ALTER_PARTITION_CONVERT_IN) == 0) return 0;
  for (const partition_element* part : partitions_of(lex->part_info)) {
    const int error = check_partition(thd, *part, {});
    if (error != 0) return error;
  }
  return 0;
}

void warn_of_new_clauses(THD* thd, const TABLE& altered, const TABLE& table) {
  const Texts known = clauses_without_effect(table);
  for (const std::string& clause : clauses_without_effect(altered)) {
    if (!contains(known, clause)) warn_of_no_effect(thd, clause);
  }
}

}  // namespace basalt::server
