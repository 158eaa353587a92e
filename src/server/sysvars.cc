#include "server/sysvars.h"

#include <strings.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>

#include "server/plugin.h"

namespace basalt::server {
namespace {

// Values the server keeps for the variables below.
char* g_datadir = nullptr;
unsigned long long g_block_cache_size = 0;
unsigned long g_direct_io = 0;
unsigned long long g_write_buffer_size = 0;
unsigned long long g_max_total_wal_size = 0;
int g_max_background_jobs = 0;
my_bool g_deadlock_detect = 1;
my_bool g_rollback_on_timeout = 0;
unsigned long g_flush_log_at_trx_commit = 1;
char* g_create_checkpoint = nullptr;
my_bool g_remove_mariabackup_checkpoint = 0;
my_bool g_resume = 0;
my_bool g_force_flush_memtable_now = 0;
my_bool g_accept_log_damage = 0;
unsigned long long g_reserved_disk_space = 0;

constexpr unsigned long kFlushAtCommit = 1;
// Below the engine's directory.
constexpr const char* kBackupCheckpoint = "mariabackup-checkpoint";

// The values of rocksdb_direct_io, and what they mean.
const char* g_direct_io_names[] = {"AUTO", "OFF", "ON", nullptr};
constexpr kv::DirectIo kDirectIo[] = {kv::DirectIo::kChosen, kv::DirectIo::kOff, kv::DirectIo::kOn};
TYPELIB g_direct_io_values = {3, "", g_direct_io_names, nullptr};

void update_flush_log(THD*, st_mysql_sys_var*, void* target, const void* value) {
  *static_cast<unsigned long*>(target) = *static_cast<const unsigned long*>(value);
  if (g_plugin != nullptr) the_engine().worker().set_sync_wal(!commits_are_synced());
}

void update_deadlock_detect(THD*, st_mysql_sys_var*, void* target, const void* value) {
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

void update_reserved_disk_space(THD*, st_mysql_sys_var*, void* target, const void* value) {
  *static_cast<unsigned long long*>(target) = *static_cast<const unsigned long long*>(value);
  if (g_plugin == nullptr) return;
  kv::Database& database = the_engine().database();
  database.health().set_reserved_bytes(
      g_reserved_disk_space != 0 ? g_reserved_disk_space : database.options().reserved_disk_bytes);
}

// The work is done by the check function; the variable keeps its value.
void keep_value(THD*, st_mysql_sys_var*, void*, const void*) {}

}  // namespace

MYSQL_SYSVAR_STR(datadir, g_datadir, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY,
                 "Directory of the engine's files, absolute or below the data directory", nullptr,
                 nullptr, "./#rocksdb");
MYSQL_SYSVAR_ULONGLONG(block_cache_size, g_block_cache_size,
                       PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY,
                       "Memory for cached blocks, compressed ones and others, in bytes. 0: most of "
                       "what the server and the memtables leave of a limited memory",
                       nullptr, nullptr, 0, 0, ULONGLONG_MAX, 1024);
MYSQL_SYSVAR_ENUM(direct_io, g_direct_io, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY,
                  "Whether files of tables are read and written past the page cache. AUTO: where "
                  "this process's memory is limited, if the file system can",
                  nullptr, nullptr, 0, &g_direct_io_values);
MYSQL_SYSVAR_ULONGLONG(write_buffer_size, g_write_buffer_size,
                       PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY,
                       "Size of one memtable, in bytes. 0: chosen by the machine's memory", nullptr,
                       nullptr, 0, 0, ULONGLONG_MAX, 1024);
MYSQL_SYSVAR_ULONGLONG(max_total_wal_size, g_max_total_wal_size,
                       PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY,
                       "Memtables are flushed so that the write-ahead log stays below this many "
                       "bytes. 0: four times the memory for memtables",
                       nullptr, nullptr, 0, 0, ULONGLONG_MAX, 1024);
MYSQL_SYSVAR_INT(max_background_jobs, g_max_background_jobs,
                 PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY,
                 "Threads for flushes and compactions. 0: chosen by the number of cores", nullptr,
                 nullptr, 0, 0, 64, 0);
MYSQL_SYSVAR_BOOL(deadlock_detect, g_deadlock_detect, PLUGIN_VAR_OPCMDARG,
                  "Find deadlocks when they form. Off: they end by rocksdb_lock_wait_timeout",
                  nullptr, update_deadlock_detect, 1);
MYSQL_SYSVAR_ULONG(flush_log_at_trx_commit, g_flush_log_at_trx_commit, PLUGIN_VAR_RQCMDARG,
                   "1: a commit is on disk when it returns. 0 and 2: the log is synced once a "
                   "second, a crash of the machine loses up to that",
                   nullptr, update_flush_log, kFlushAtCommit, 0, 2, 0);
MYSQL_THDVAR_ULONG(lock_wait_timeout, PLUGIN_VAR_RQCMDARG,
                   "Seconds that a statement waits for a row lock. 0: not at all", nullptr, nullptr,
                   50, 0, 1024UL * 1024 * 1024, 0);
MYSQL_SYSVAR_BOOL(rollback_on_timeout, g_rollback_on_timeout, PLUGIN_VAR_OPCMDARG,
                  "A lock that is not granted in time rolls back the transaction. Off: only the "
                  "statement",
                  nullptr, nullptr, 0);
MYSQL_THDVAR_BOOL(snapshot_isolation, PLUGIN_VAR_OPCMDARG,
                  "At REPEATABLE READ and SERIALIZABLE, a read that locks a row which others "
                  "changed after the transaction's snapshot fails with ER_CHECKREAD and rolls the "
                  "transaction back. Off: it gives the row as it is now",
                  nullptr, nullptr, 0);
MYSQL_THDVAR_ULONG(max_row_locks, PLUGIN_VAR_RQCMDARG,
                   "With more row locks than this a transaction locks ranges of rows instead, "
                   "where no other transaction holds one",
                   nullptr, nullptr, 1024 * 1024, 1, 1024UL * 1024 * 1024, 0);
MYSQL_THDVAR_ULONGLONG(write_batch_max_bytes, PLUGIN_VAR_RQCMDARG,
                       "A transaction that takes more bytes of memory than this, with its changes, "
                       "its locks and what its commit will need, may change no further rows. 0: "
                       "half of the memory of the machine or control group, 128 MiB to 8 GiB",
                       nullptr, nullptr, 0, 0, ULONGLONG_MAX, 1);
MYSQL_SYSVAR_STR(create_checkpoint, g_create_checkpoint, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_MEMALLOC,
                 "Setting this to a directory that does not exist makes a consistent copy of the "
                 "engine's files there, as hard links",
                 check_create_checkpoint, keep_value, "");
MYSQL_SYSVAR_BOOL(remove_mariabackup_checkpoint, g_remove_mariabackup_checkpoint,
                  PLUGIN_VAR_RQCMDARG,
                  "Setting this to ON removes the directory mariabackup-checkpoint",
                  check_remove_checkpoint, keep_value, 0);
MYSQL_SYSVAR_BOOL(resume, g_resume, PLUGIN_VAR_NOCMDOPT,
                  "Setting this to ON lets the engine write again after a failure, when its cause "
                  "is gone. Rocksdb_state and Rocksdb_state_cause tell what it was",
                  check_resume, keep_value, 0);
MYSQL_SYSVAR_BOOL(force_flush_memtable_now, g_force_flush_memtable_now, PLUGIN_VAR_RQCMDARG,
                  "Setting this to ON writes all memtables to files, and returns when that is done",
                  check_flush, keep_value, 0);
MYSQL_SYSVAR_BOOL(accept_log_damage, g_accept_log_damage, PLUGIN_VAR_OPCMDARG | PLUGIN_VAR_READONLY,
                  "Start although the write-ahead log is damaged before its end, without what was "
                  "committed from there on",
                  nullptr, nullptr, 0);
MYSQL_SYSVAR_ULONGLONG(reserved_disk_space, g_reserved_disk_space, PLUGIN_VAR_RQCMDARG,
                       "Rows are not changed while less than this many bytes are free on the "
                       "device, at most a tenth of it: what is in memory must still fit. 0: the "
                       "memory for memtables and a little more; set to 0 later: as at the start",
                       nullptr, update_reserved_disk_space, 0, 0, ULONGLONG_MAX, 1024);

st_mysql_sys_var* g_system_variables[] = {
    MYSQL_SYSVAR(accept_log_damage),
    MYSQL_SYSVAR(resume),
    MYSQL_SYSVAR(force_flush_memtable_now),
    MYSQL_SYSVAR(reserved_disk_space),
    MYSQL_SYSVAR(datadir),
    MYSQL_SYSVAR(block_cache_size),
    MYSQL_SYSVAR(direct_io),
    MYSQL_SYSVAR(write_buffer_size),
    MYSQL_SYSVAR(max_total_wal_size),
    MYSQL_SYSVAR(max_background_jobs),
    MYSQL_SYSVAR(deadlock_detect),
    MYSQL_SYSVAR(flush_log_at_trx_commit),
    MYSQL_SYSVAR(lock_wait_timeout),
    MYSQL_SYSVAR(rollback_on_timeout),
    MYSQL_SYSVAR(snapshot_isolation),
    MYSQL_SYSVAR(max_row_locks),
    MYSQL_SYSVAR(write_batch_max_bytes),
    MYSQL_SYSVAR(create_checkpoint),
    MYSQL_SYSVAR(remove_mariabackup_checkpoint),
    nullptr,
};

engine::EngineOptions options_from_variables() {
  engine::EngineOptions options;
  options.database.directory = g_datadir;
  options.database.block_cache_bytes = g_block_cache_size;
  options.database.direct_io = kDirectIo[g_direct_io];
  options.database.memtable_bytes = g_write_buffer_size;
  options.database.max_total_wal_bytes = g_max_total_wal_size;
  options.database.batch_bytes_max = THDVAR(nullptr, write_batch_max_bytes);
  options.database.background_jobs = g_max_background_jobs;
  options.database.reserved_disk_bytes = g_reserved_disk_space;
  options.database.accept_wal_damage = g_accept_log_damage;
  options.locks.deadlock_detect = g_deadlock_detect;
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

bool commits_are_synced() { return g_flush_log_at_trx_commit == kFlushAtCommit; }

kv::Durability commit_durability() {
  return commits_are_synced() ? kv::Durability::kSynced : kv::Durability::kBuffered;
}

}  // namespace basalt::server
