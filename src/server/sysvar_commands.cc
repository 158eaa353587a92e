// What a SET of a variable does that is a command: it fails if that cannot be done.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "base/log.h"
#include "base/names.h"
#include "server/plugin.h"
#include "server/sysvar_values.h"
#include "server/sysvars.h"

namespace basalt::server {
namespace {

// Below the engine's directory.
constexpr const char* kBackupCheckpoint = "mariabackup-checkpoint";

// A copy in the data directory would be taken for a database, and one among the engine's files for
// a part of them. Links in the path are followed as far as it exists.
Status check_checkpoint_target(const std::string& target) {
  namespace fs = std::filesystem;
  const auto refused = [&target](const char* why) {
    return Status(ErrorCode::kInvalidArgument, "'" + target + "' " + why);
  };
  const auto resolved = [](const fs::path& path) {
    std::error_code error;
    fs::path result = fs::weakly_canonical(path, error);
    if (error) result = path.lexically_normal();
    return result.has_filename() ? result : result.parent_path();
  };
  const fs::path directory = resolved(fs::absolute(target));
  // Where mariadb-backup makes its copy, and removes it again: below rocksdb_datadir as that is
  // set, which may be relative.
  if (directory == resolved(fs::absolute(g_datadir) / kBackupCheckpoint)) return Status::ok();
  if (!fs::path(target).is_absolute()) {
    return refused(
        "is not an absolute path; give the copy a directory outside of the data "
        "directory");
  }
  for (const char* const occupied :
       {static_cast<const char*>(mysql_real_data_home), static_cast<const char*>(g_datadir)}) {
    const fs::path outer = resolved(fs::absolute(occupied));
    const auto [end, at] =
        std::mismatch(outer.begin(), outer.end(), directory.begin(), directory.end());
    if (end != outer.end()) continue;
    return refused(
        "is in the data directory, where it would be taken for a database; choose a "
        "directory elsewhere on the same device");
  }
  return Status::ok();
}

// Reads the value of a SET of a variable that is a command: ON does something, and the variable
// stays OFF. False for a value that is neither ON nor OFF.
bool read_command(st_mysql_value* value, void* save, bool& is_wanted) {
  *static_cast<my_bool*>(save) = 0;
  if (value->value_type(value) != MYSQL_VALUE_TYPE_STRING) {
    long long number = 0;
    if (value->val_int(value, &number) != 0) return false;
    is_wanted = number != 0;
    return true;
  }
  char buffer[8];
  int length = sizeof buffer;
  const char* text = value->val_str(value, buffer, &length);
  if (text == nullptr) return false;
  const std::string_view word(text, static_cast<std::size_t>(length));
  const auto is_word = [word](std::string_view other) { return is_same_name(word, other); };
  is_wanted = is_word("ON") || is_word("1");
  return is_wanted || is_word("OFF") || is_word("0");
}

// What the command `variable` came to: a failure must fail the SET. Returns the check's result.
int end_command(const char* variable, const Status& status) {
  if (status.is_ok()) return 0;
  my_printf_error(ER_UNKNOWN_ERROR, "%s: %s", MYF(0), variable, status.message().c_str());
  return 1;
}

// The text of a SET of a variable that is a command; empty for NULL.
std::string read_text(st_mysql_value* value, void* save) {
  *static_cast<const char**>(save) = nullptr;
  char buffer[NAME_LEN + 1];
  int length = sizeof buffer;
  const char* const text = value->val_str(value, buffer, &length);
  return text == nullptr ? std::string() : std::string(text, static_cast<std::size_t>(length));
}

// Something that is no error, but perhaps not what was meant.
void tell_of_family(THD* thd, const std::string& sentence) {
  log_message(LogLevel::kInfo, sentence);
  if (!thd->is_strict_mode()) return;
  push_warning(thd, Sql_condition::WARN_LEVEL_WARN, ER_UNKNOWN_ERROR, sentence.c_str());
}

}  // namespace

// Setting the variable takes the checkpoint: a failure must fail the SET.
int check_create_checkpoint(THD* thd, st_mysql_sys_var*, void* save, st_mysql_value* value) {
  char buffer[FN_REFLEN];
  int length = sizeof buffer;
  const char* directory = value->val_str(value, buffer, &length);
  // In the server's words for errors of engines, with RocksDB's number, as MyRocks has it.
  if (directory == nullptr || length == 0) {
    my_error(ER_GET_ERRMSG, MYF(0), 4, "Invalid argument: invalid checkpoint directory name",
             "ROCKSDB");
    return 1;
  }
  const std::string target(directory, static_cast<std::size_t>(length));
  Status status = check_checkpoint_target(target);
  // A backup has stopped commits and reads the binary log's position: the copy is to agree.
  if (status.is_ok()) {
    status = the_engine().transactions().wait_for_ordered(
        [thd] { return thd_kill_level(thd) == THD_IS_NOT_KILLED; });
  }
  if (status.is_ok()) status = the_engine().database().create_checkpoint(target);
  if (!status.is_ok()) {
    my_printf_error(ER_UNKNOWN_ERROR, "rocksdb_create_checkpoint: %s", MYF(0),
                    status.message().c_str());
    return 1;
  }
  *static_cast<const char**>(save) = nullptr;
  return 0;
}

// mariadb-backup asks for this when it has copied the checkpoint it made.
int check_remove_checkpoint(THD*, st_mysql_sys_var*, void* save, st_mysql_value* value) {
  bool is_wanted = false;
  if (!read_command(value, save, is_wanted)) return 1;
  if (!is_wanted) return 0;
  const std::filesystem::path directory = std::filesystem::path(g_datadir) / kBackupCheckpoint;
  std::error_code error;
  // What a crash has left of one that was being made, too.
  for (const char* const suffix : {".unfinished.tmp", ".unfinished", ""}) {
    if (!error) std::filesystem::remove_all(directory.string() + suffix, error);
  }
  if (error) {
    my_printf_error(ER_UNKNOWN_ERROR, "rocksdb_remove_mariabackup_checkpoint: %s: %s", MYF(0),
                    directory.c_str(), error.message().c_str());
    return 1;
  }
  return 0;
}

int check_resume(THD*, st_mysql_sys_var*, void* save, st_mysql_value* value) {
  bool is_wanted = false;
  if (!read_command(value, save, is_wanted)) return 1;
  if (!is_wanted) return 0;
  Status status = the_engine().resume();
  if (status.is_ok()) g_plugin->left_tables.drop();
  return end_command("rocksdb_resume", std::move(status));
}

int check_flush(THD*, st_mysql_sys_var*, void* save, st_mysql_value* value) {
  bool is_wanted = false;
  if (!read_command(value, save, is_wanted)) return 1;
  if (!is_wanted) return 0;
  return end_command("rocksdb_force_flush_memtable_now", the_engine().database().flush());
}

int check_flush_and_compact(THD*, st_mysql_sys_var*, void* save, st_mysql_value* value) {
  bool is_wanted = false;
  if (!read_command(value, save, is_wanted)) return 1;
  if (!is_wanted) return 0;
  return end_command("rocksdb_force_flush_memtable_and_lzero_now",
                     the_engine().database().flush_and_compact_level0());
}

int check_reclaim_now(THD*, st_mysql_sys_var*, void* save, st_mysql_value* value) {
  bool is_wanted = false;
  if (!read_command(value, save, is_wanted)) return 1;
  if (is_wanted) the_engine().worker().wake();
  return 0;
}

// As in MyRocks: a load in which this would change begins with rocksdb_bulk_load.
int check_bulk_load_order(THD* thd, st_mysql_sys_var*, void* save, st_mysql_value* value) {
  bool is_on = false;
  if (!read_command(value, save, is_on)) return 1;
  *static_cast<my_bool*>(save) = is_on;
  if (!bulk_load(thd)) return 0;
  my_error(ER_ERROR_WHEN_EXECUTING_COMMAND, MYF(0), "SET",
           "Cannot change this setting while bulk load is enabled");
  return 1;
}

// As in MyRocks, a family that is not there is no error: there is nothing to compact.
int check_compact_family(THD* thd, st_mysql_sys_var*, void* save, st_mysql_value* value) {
  const std::string name = read_text(value, save);
  if (name.empty()) return 0;
  const Status status =
      the_engine().compact_family(name, [thd] { return thd_kill_level(thd) != THD_IS_NOT_KILLED; });
  if (!status.is(ErrorCode::kNotFound)) return end_command("rocksdb_compact_cf", status);
  tell_of_family(thd, "rocksdb_compact_cf: " + status.message());
  return 0;
}

// The error is the server's for a value that cannot be; why it cannot is beside it.
int check_delete_family(THD* thd, st_mysql_sys_var*, void* save, st_mysql_value* value) {
  const std::string name = read_text(value, save);
  if (name.empty()) return 0;
  const Status status =
      the_engine().remove_family(name, [thd] { return thd_kill_level(thd) == THD_IS_NOT_KILLED; });
  if (!status.is(ErrorCode::kNotFound) && !status.is(ErrorCode::kInvalidArgument)) {
    return end_command("rocksdb_delete_cf", status);
  }
  push_warning_printf(thd, Sql_condition::WARN_LEVEL_WARN, ER_UNKNOWN_ERROR,
                      "rocksdb_delete_cf: %s", status.message().c_str());
  return 1;
}

}  // namespace basalt::server
