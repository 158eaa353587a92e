#include "server/sysvars.h"

#include <strings.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "server/plugin.h"

namespace basalt::server {
namespace {

// How a setting may be changed, in the server's flags and functions.
struct Change {
  int flags = 0;
  mysql_var_check_func check = nullptr;
  mysql_var_update_func update = nullptr;
};

using CheckFunction = std::remove_pointer_t<mysql_var_check_func>;
using UpdateFunction = std::remove_pointer_t<mysql_var_update_func>;

// Of a command, for which its check function has done everything: the variable keeps its value.
void keep_value(THD*, st_mysql_sys_var*, void*, const void*) {}

constexpr Change kAtStart{PLUGIN_VAR_READONLY, nullptr, nullptr};
constexpr Change kDynamic{};
// `function` stores the value of a SET, and tells the engine if that runs.
constexpr Change applied_by(UpdateFunction* function) { return {0, nullptr, function}; }
// `function` does what a SET asks for, and fails the SET if it cannot.
constexpr Change command(CheckFunction* function) { return {0, function, keep_value}; }
// `function` may fail a SET; the server stores the value.
constexpr Change checked_by(CheckFunction* function) { return {0, function, nullptr}; }
constexpr Change sql_command(CheckFunction* function) {
  return {PLUGIN_VAR_NOCMDOPT, function, keep_value};
}

// What entries of settings.def name.
UpdateFunction apply_deadlock_detect, apply_flush_log, apply_reserved_disk_space;
CheckFunction check_bulk_load_order, check_create_checkpoint, check_flush, check_remove_checkpoint,
    check_resume;

// What a number may be.
struct Limits {
  unsigned long long least;
  unsigned long long most;
  unsigned long long of_what;  // if it is a multiple
};

constexpr unsigned long long kNoLimit = ULONGLONG_MAX;

constexpr Limits between(unsigned long long least, unsigned long long most,
                         unsigned long long of_what = 0) {
  return {least, most, of_what};
}

// What a Choice may be: the names of an enumeration's values in their order, and nullptr.
constexpr const char* kDirectIoNames[] = {"AUTO", "OFF", "ON", nullptr};
static_assert(static_cast<int>(kv::DirectIo::kChosen) == 0 &&
              static_cast<int>(kv::DirectIo::kOff) == 1 &&
              static_cast<int>(kv::DirectIo::kOn) == 2);

// Which of `names` is `name`. Does not compile if none is.
template <std::size_t count>
consteval unsigned long place_of(std::string_view name, const char* const (&names)[count]) {
  unsigned long place = 0;
  while (names[place] != name) ++place;
  return place;
}

// As an option of the server a switch alone means ON. A command is to be told so.
constexpr int switch_flags(Change change) {
  return change.flags | (change.update != keep_value ? PLUGIN_VAR_OPCMDARG : 0);
}

// A text that comes with SET is the server's, and is gone when that has ended.
constexpr int path_flags(Change change) {
  const bool is_kept = (change.flags & PLUGIN_VAR_READONLY) != 0;
  return change.flags | (is_kept ? 0 : PLUGIN_VAR_MEMALLOC);
}

// Each entry of settings.def becomes a system variable by that macro of these which its scope and
// kind name together. g_<name> is the value of a global one; THDVAR() reads those of sessions.
#define BASALT_GlobalNumber(name, change, default_value, limits, text)                    \
  unsigned long long g_##name = default_value;                                            \
  MYSQL_SYSVAR_ULONGLONG(name, g_##name, change.flags, text, change.check, change.update, \
                         default_value, limits.least, limits.most, limits.of_what);
#define BASALT_GlobalInt(name, change, default_value, limits, text)                                \
  int g_##name = default_value;                                                                    \
  MYSQL_SYSVAR_INT(name, g_##name, change.flags, text, change.check, change.update, default_value, \
                   limits.least, limits.most, limits.of_what);
#define BASALT_GlobalSwitch(name, change, default_value, none, text)                         \
  my_bool g_##name = default_value;                                                          \
  MYSQL_SYSVAR_BOOL(name, g_##name, switch_flags(change), text, change.check, change.update, \
                    default_value);
#define BASALT_GlobalChoice(name, change, default_value, names, text)                              \
  unsigned long g_##name = place_of(default_value, names);                                         \
  TYPELIB g_##name##_names = {std::size(names) - 1, "", const_cast<const char**>(names), nullptr}; \
  MYSQL_SYSVAR_ENUM(name, g_##name, change.flags, text, change.check, change.update,               \
                    place_of(default_value, names), &g_##name##_names);
#define BASALT_GlobalPath(name, change, default_value, none, text)                        \
  char* g_##name = nullptr;                                                               \
  MYSQL_SYSVAR_STR(name, g_##name, path_flags(change), text, change.check, change.update, \
                   default_value);
#define BASALT_SessionNumber(name, change, default_value, limits, text)                        \
  MYSQL_THDVAR_ULONGLONG(name, change.flags, text, change.check, change.update, default_value, \
                         limits.least, limits.most, limits.of_what);
#define BASALT_SessionSwitch(name, change, default_value, none, text) \
  MYSQL_THDVAR_BOOL(name, switch_flags(change), text, change.check, change.update, default_value);

#define BASALT_SETTING(name, kind, scope, change, default_value, limits, text) \
  BASALT_##scope##kind(name, (change), default_value, (limits), text)
#define BASALT_CHOSEN_SETTING(name, kind, scope, change, default_value, limits, text, field, rule) \
  BASALT_SETTING(name, kind, scope, change, default_value, limits, text)
#include "server/settings.def"
#undef BASALT_SETTING
#undef BASALT_CHOSEN_SETTING

constexpr unsigned long kFlushAtCommit = 1;
// Below the engine's directory.
constexpr const char* kBackupCheckpoint = "mariabackup-checkpoint";

void apply_flush_log(THD*, st_mysql_sys_var*, void* target, const void* value) {
  *static_cast<unsigned long long*>(target) = *static_cast<const unsigned long long*>(value);
  if (g_plugin != nullptr) the_engine().worker().set_sync_wal(!commits_are_synced());
}

void apply_deadlock_detect(THD*, st_mysql_sys_var*, void* target, const void* value) {
  *static_cast<my_bool*>(target) = *static_cast<const my_bool*>(value);
  if (g_plugin != nullptr) the_engine().locks().set_deadlock_detect(g_deadlock_detect);
}

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

// Setting the variable takes the checkpoint: a failure must fail the SET.
int check_create_checkpoint(THD* thd, st_mysql_sys_var*, void* save, st_mysql_value* value) {
  char buffer[FN_REFLEN];
  int length = sizeof buffer;
  const char* directory = value->val_str(value, buffer, &length);
  if (directory == nullptr || length == 0) return 1;
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
  const auto is_word = [word](std::string_view other) {
    return word.size() == other.size() && strncasecmp(word.data(), other.data(), other.size()) == 0;
  };
  is_wanted = is_word("ON") || is_word("1");
  return is_wanted || is_word("OFF") || is_word("0");
}

// What the command `variable` came to: a failure must fail the SET. Returns the check's result.
int end_command(const char* variable, const Status& status) {
  if (status.is_ok()) return 0;
  my_printf_error(ER_UNKNOWN_ERROR, "%s: %s", MYF(0), variable, status.message().c_str());
  return 1;
}

// mariadb-backup asks for this when it has copied the checkpoint it made.
int check_remove_checkpoint(THD*, st_mysql_sys_var*, void* save, st_mysql_value* value) {
  bool is_wanted = false;
  if (!read_command(value, save, is_wanted)) return 1;
  if (!is_wanted) return 0;
  const std::filesystem::path directory = std::filesystem::path(g_datadir) / kBackupCheckpoint;
  std::error_code error;
  std::filesystem::remove_all(directory, error);
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
  return is_wanted ? end_command("rocksdb_resume", the_engine().resume()) : 0;
}

int check_flush(THD*, st_mysql_sys_var*, void* save, st_mysql_value* value) {
  bool is_wanted = false;
  if (!read_command(value, save, is_wanted)) return 1;
  if (!is_wanted) return 0;
  return end_command("rocksdb_force_flush_memtable_now", the_engine().database().flush());
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

void apply_reserved_disk_space(THD*, st_mysql_sys_var*, void* target, const void* value) {
  *static_cast<unsigned long long*>(target) = *static_cast<const unsigned long long*>(value);
  if (g_plugin == nullptr) return;
  kv::Database& database = the_engine().database();
  database.health().set_reserved_bytes(
      g_reserved_disk_space != 0 ? g_reserved_disk_space : database.options().reserved_disk_bytes);
}

}  // namespace

st_mysql_sys_var* g_system_variables[] = {
#define BASALT_SETTING(name, ...) MYSQL_SYSVAR(name),
#define BASALT_CHOSEN_SETTING(name, ...) MYSQL_SYSVAR(name),
#include "server/settings.def"
#undef BASALT_SETTING
#undef BASALT_CHOSEN_SETTING
    nullptr,
};

engine::EngineOptions options_from_variables() {
  engine::EngineOptions options;
  options.database.directory = g_datadir;
  options.database.accept_wal_damage = g_accept_log_damage;
  options.locks.deadlock_detect = g_deadlock_detect;
#define BASALT_GlobalValue(name) g_##name
#define BASALT_SessionValue(name) THDVAR(nullptr, name)
#define BASALT_SETTING(...)
#define BASALT_CHOSEN_SETTING(name, kind, scope, change, default_value, limits, text, field, rule) \
  options.database.field =                                                                         \
      static_cast<decltype(options.database.field)>(BASALT_##scope##Value(name));
#include "server/settings.def"
#undef BASALT_SETTING
#undef BASALT_CHOSEN_SETTING
  return options;
}

std::int64_t lock_wait_timeout_ms(THD* thd) {
  return static_cast<std::int64_t>(THDVAR(thd, lock_wait_timeout)) * 1000;
}

bool rollback_on_timeout() { return g_rollback_on_timeout != 0; }

bool snapshot_isolation(THD* thd) { return THDVAR(thd, snapshot_isolation) != 0; }

std::size_t max_row_locks(THD* thd) { return THDVAR(thd, max_row_locks); }

std::uint64_t batch_bytes_max(THD* thd) {
  const std::uint64_t bytes = THDVAR(thd, write_batch_max_bytes);
  return bytes != 0 ? bytes : the_engine().database().options().batch_bytes_max;
}

bool bulk_load(THD* thd) { return THDVAR(thd, bulk_load) != 0; }

bool commits_in_the_middle(THD* thd) { return THDVAR(thd, commit_in_the_middle) != 0; }

std::uint64_t rows_of_commit(THD* thd) { return THDVAR(thd, bulk_load_size); }

bool commits_are_synced() { return g_flush_log_at_trx_commit == kFlushAtCommit; }

kv::Durability commit_durability() {
  return commits_are_synced() ? kv::Durability::kSynced : kv::Durability::kBuffered;
}

}  // namespace basalt::server
