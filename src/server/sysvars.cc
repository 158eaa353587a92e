#include "server/sysvars.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/log.h"
#include "kv/rocksdb_library.h"
#include "server/plugin.h"
#include "server/replica.h"
#include "server/sysvar_values.h"

namespace basalt::server {
namespace {

// How a setting may be changed, in the server's flags and functions.
struct Change {
  int flags = 0;
  mysql_var_check_func check = nullptr;
  mysql_var_update_func update = nullptr;
};

// For a command, whose check function has done everything: the variable keeps its value.
void keep_value(THD*, st_mysql_sys_var*, void*, const void*) {}

constexpr Change kAtStart{PLUGIN_VAR_READONLY, nullptr, nullptr};
constexpr Change kDynamic{};
// Not an option of the server's: the engine puts the value where the variable shows it.
constexpr Change kShown{PLUGIN_VAR_READONLY | PLUGIN_VAR_NOCMDOPT, nullptr, nullptr};
// `function` stores the value of a SET, and tells the engine if that runs.
constexpr Change applied_by(UpdateFunction* function) { return {0, nullptr, function}; }
// `function` may refuse the value of a SET, and tells the engine; the server stores it.
constexpr Change checked_by(CheckFunction* function) { return {0, function, nullptr}; }
// `function` does what a SET asks for, and fails the SET if it cannot.
constexpr Change command(CheckFunction* function) { return {0, function, keep_value}; }
constexpr Change sql_command(CheckFunction* function) {
  return {PLUGIN_VAR_NOCMDOPT, function, keep_value};
}

// What a number may be.
template <typename Number>
struct Limits {
  Number least;
  Number most;
  long of_what;  // if it is a multiple
};

constexpr unsigned long long kNoLimit = ULONGLONG_MAX;
constexpr long long kSignedMax = LONGLONG_MAX;
constexpr long long kIntMax = INT_MAX32;
constexpr long long kUnsignedMax = UINT_MAX32;

template <typename Least, typename Most>
constexpr auto between(Least least, Most most, long of_what = 0) {
  using Number = std::common_type_t<Least, Most>;
  return Limits<Number>{static_cast<Number>(least), static_cast<Number>(most), of_what};
}

// What a Choice may be: the names of an enumeration's values in their order, and nullptr.
constexpr const char* kDirectIoNames[] = {"AUTO", "OFF", "ON", nullptr};
static_assert(static_cast<int>(kv::DirectIo::kChosen) == 0 &&
              static_cast<int>(kv::DirectIo::kOff) == 1 &&
              static_cast<int>(kv::DirectIo::kOn) == 2);
constexpr const char* kLogLevels[] = {"debug_level", "info_level",  "warn_level",
                                      "error_level", "fatal_level", nullptr};
// MyRocks' words for settings without effect.
constexpr const char* kIndexTypes[] = {"kBinarySearch", "kHashSearch", nullptr};
constexpr const char* kWritePolicies[] = {"write_committed", "write_prepared", "write_unprepared",
                                          nullptr};
constexpr const char* kReadFreeModes[] = {"OFF", "PK_ONLY", "PK_SK", nullptr};
constexpr const char* kCorruptDataActions[] = {"ERROR", "ABORT_SERVER", "WARNING", nullptr};
constexpr const char* kIoErrorActions[] = {"ABORT_SERVER", "IGNORE_ERROR", nullptr};

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
constexpr int text_flags(Change change) {
  const bool is_kept = (change.flags & PLUGIN_VAR_READONLY) != 0;
  return change.flags | (is_kept ? 0 : PLUGIN_VAR_MEMALLOC);
}

// ---- settings without effect

// What is told of one: its name, and part of a sentence. And what it is by default.
struct Unused {
  const char* name;
  const char* reason;
  double number = 0;
  const char* text = nullptr;

  bool is_default(const char* value) const {
    return value == nullptr || std::string_view(value) == text;
  }
  template <typename Number>
  requires std::is_arithmetic_v<Number>
  bool is_default(Number value) const { return static_cast<double>(value) == number; }
};

template <typename Default>
consteval Unused unused_number(const char* name, const char* reason, Default number) {
  return {name, reason, static_cast<double>(number)};
}
consteval Unused unused_text(const char* name, const char* reason, const char* text) {
  return {name, reason, 0, text};
}

std::string sentence_of(const Unused& setting) {
  return std::string(setting.name) + " has no effect: " + setting.reason;
}

// Tells the client, in strict mode, which asks for sessions that are told; and the error log, once.
template <const Unused& setting>
void tell_unused(THD* thd) {
  const std::string sentence = sentence_of(setting);
  if (thd->is_strict_mode()) {
    push_warning(thd, Sql_condition::WARN_LEVEL_WARN, WARN_OPTION_IGNORED, sentence.c_str());
  }
  static std::atomic<bool> is_told = false;
  if (!is_told.exchange(true)) log_message(LogLevel::kInfo, sentence);
}

template <typename Value, const Unused& setting>
void store_unused(THD* thd, st_mysql_sys_var*, void* target, const void* value) {
  const Value given = *static_cast<const Value*>(value);
  *static_cast<Value*>(target) = given;
  if (!setting.is_default(given)) tell_unused<setting>(thd);
}

// As the server's own check of a text, which is stored by the server.
template <const Unused& setting>
int check_unused(THD* thd, st_mysql_sys_var*, void* save, st_mysql_value* value) {
  char buffer[FN_REFLEN];
  int length = sizeof buffer;
  const char* text = value->val_str(value, buffer, &length);
  if (text != nullptr) text = thd_strmake(thd, text, static_cast<std::size_t>(length));
  *static_cast<const char**>(save) = text;
  if (!setting.is_default(text)) tell_unused<setting>(thd);
  return 0;
}

template <typename Value, const Unused& setting>
constexpr Change told(Change change) {
  if ((change.flags & PLUGIN_VAR_READONLY) != 0) return change;
  if constexpr (std::is_pointer_v<Value>)
    return checked_by(check_unused<setting>);
  else
    return applied_by(store_unused<Value, setting>);
}

}  // namespace

// Each entry of settings.def becomes a system variable by that macro of these which its scope and
// kind name together. g_<name> is the value of a global one; THDVAR() reads those of sessions.
#define BASALT_GlobalNumeric(declare, name, change, default_value, limits, text)                 \
  static declare(name, g_##name, change.flags, text, change.check, change.update, default_value, \
                 limits.least, limits.most, limits.of_what);
#define BASALT_GlobalNumber(name, change, default_value, limits, text) \
  unsigned long long g_##name = default_value;                         \
  BASALT_GlobalNumeric(MYSQL_SYSVAR_ULONGLONG, name, change, default_value, limits, text)
#define BASALT_GlobalSigned(name, change, default_value, limits, text) \
  long long g_##name = default_value;                                  \
  BASALT_GlobalNumeric(MYSQL_SYSVAR_LONGLONG, name, change, default_value, limits, text)
#define BASALT_GlobalInt(name, change, default_value, limits, text) \
  int g_##name = default_value;                                     \
  BASALT_GlobalNumeric(MYSQL_SYSVAR_INT, name, change, default_value, limits, text)
#define BASALT_GlobalUnsigned(name, change, default_value, limits, text) \
  unsigned g_##name = default_value;                                     \
  BASALT_GlobalNumeric(MYSQL_SYSVAR_UINT, name, change, default_value, limits, text)
#define BASALT_GlobalReal(name, change, default_value, limits, text) \
  double g_##name = default_value;                                   \
  BASALT_GlobalNumeric(MYSQL_SYSVAR_DOUBLE, name, change, default_value, limits, text)
#define BASALT_GlobalSwitch(name, change, default_value, none, text)                 \
  my_bool g_##name = default_value;                                                  \
  static MYSQL_SYSVAR_BOOL(name, g_##name, switch_flags(change), text, change.check, \
                           change.update, default_value);
#define BASALT_GlobalChoice(name, change, default_value, names, text)                           \
  unsigned long g_##name = place_of(default_value, names);                                      \
  static TYPELIB g_##name##_names = {std::size(names) - 1, "", const_cast<const char**>(names), \
                                     nullptr};                                                  \
  static MYSQL_SYSVAR_ENUM(name, g_##name, change.flags, text, change.check, change.update,     \
                           place_of(default_value, names), &g_##name##_names);
#define BASALT_GlobalPath(name, change, default_value, none, text)                               \
  char* g_##name = nullptr;                                                                      \
  static MYSQL_SYSVAR_STR(name, g_##name, text_flags(change), text, change.check, change.update, \
                          default_value);
#define BASALT_GlobalText(name, change, default_value, none, text) \
  BASALT_GlobalPath(name, change, default_value, none, text)
#define BASALT_SessionNumeric(declare, name, change, default_value, limits, text)      \
  static declare(name, change.flags, text, change.check, change.update, default_value, \
                 limits.least, limits.most, limits.of_what);
#define BASALT_SessionNumber(name, change, default_value, limits, text) \
  BASALT_SessionNumeric(MYSQL_THDVAR_ULONGLONG, name, change, default_value, limits, text)
#define BASALT_SessionInt(name, change, default_value, limits, text) \
  BASALT_SessionNumeric(MYSQL_THDVAR_INT, name, change, default_value, limits, text)
#define BASALT_SessionUnsigned(name, change, default_value, limits, text) \
  BASALT_SessionNumeric(MYSQL_THDVAR_UINT, name, change, default_value, limits, text)
#define BASALT_SessionSwitch(name, change, default_value, none, text)                     \
  static MYSQL_THDVAR_BOOL(name, switch_flags(change), text, change.check, change.update, \
                           default_value);
#define BASALT_SessionText(name, change, default_value, none, text)                    \
  static MYSQL_THDVAR_STR(name, text_flags(change), text, change.check, change.update, \
                          default_value);

#define BASALT_UnusedNumber(name, default_value, limits, reason) \
  unused_number("rocksdb_" #name, reason, default_value)
#define BASALT_UnusedSigned BASALT_UnusedNumber
#define BASALT_UnusedInt BASALT_UnusedNumber
#define BASALT_UnusedUnsigned BASALT_UnusedNumber
#define BASALT_UnusedReal BASALT_UnusedNumber
#define BASALT_UnusedSwitch BASALT_UnusedNumber
#define BASALT_UnusedChoice(name, default_value, names, reason) \
  unused_number("rocksdb_" #name, reason, place_of(default_value, names))
#define BASALT_UnusedPath(name, default_value, none, reason) \
  unused_text("rocksdb_" #name, reason, default_value)
#define BASALT_UnusedText BASALT_UnusedPath

#define BASALT_SETTING(name, kind, scope, change, default_value, limits, text) \
  BASALT_##scope##kind(name, (change), default_value, (limits), text)
#define BASALT_UNUSED_SETTING(name, kind, scope, change, default_value, limits, reason)           \
  static constexpr Unused g_unused_##name =                                                       \
      BASALT_Unused##kind(name, default_value, (limits), reason);                                 \
  BASALT_##scope##kind(name, (told<BASALT_##kind##Type, g_unused_##name>(change)), default_value, \
                       (limits), "No effect: " reason)
#include "server/settings.def"

st_mysql_sys_var* g_system_variables[] = {
#define BASALT_SETTING(name, ...) MYSQL_SYSVAR(name),
#include "server/settings.def"
    nullptr,
};

namespace {

constexpr unsigned long kFlushAtCommit = 1;
// The value of rocksdb_max_open_files that stands for half of what the process may open.
constexpr int kHalfOfOpenFiles = -2;
// With a smaller open_files_limit RocksDB leaves half of it to others, also where nobody says so.
constexpr unsigned long kOpenFilesForAll = 16384;

// Whether the configuration or the command line has set the variable, to whatever value.
bool is_given(std::string_view name) {
  mysql_prlock_rdlock(&LOCK_system_variables_hash);
  const sys_var* const variable = intern_find_sys_var(name.data(), name.size());
  const bool is_given = variable != nullptr && (variable->value_origin == sys_var::CONFIG ||
                                                variable->value_origin == sys_var::COMMAND_LINE);
  mysql_prlock_unlock(&LOCK_system_variables_hash);
  return is_given;
}

std::string option_text(const char* value) { return value == nullptr ? "" : value; }
std::string option_text(my_bool value) { return value != 0 ? "true" : "false"; }
template <typename Number>
requires std::is_arithmetic_v<Number> std::string option_text(Number value) {
  return std::to_string(value);
}

#define BASALT_GlobalValue(name) g_##name
#define BASALT_SessionValue(name) THDVAR(nullptr, name)

// What RocksDB is told of what somebody has set, and it would not be told otherwise.
kv::GivenToRocksdb options_for_rocksdb() {
  kv::GivenToRocksdb given;
  [[maybe_unused]] auto& Database = given.database;
  [[maybe_unused]] auto& Blocks = given.blocks;
#define BASALT_SETTING(...)
#define BASALT_ROCKSDB_SETTING(name, kind, scope, change, default_value, limits, text, group, \
                               option)                                                        \
  if (is_given("rocksdb_" #name)) group[option] = option_text(BASALT_##scope##Value(name));
#include "server/settings.def"
  given.default_family = option_text(g_default_cf_options);
  given.families = option_text(g_override_cf_options);
  if (is_given("rocksdb_info_log_level")) {
    given.database["info_log_level"] = kv::log_level_name(g_info_log_level);
  }
  if (open_files_limit < kOpenFilesForAll) {
    given.database.try_emplace("max_open_files", std::to_string(open_files_limit / 2));
  }
  if (const auto found = given.database.find("max_open_files");
      found != given.database.end() && g_max_open_files == kHalfOfOpenFiles) {
    found->second = std::to_string(open_files_limit / 2);
  }
  return given;
}

// Percona's and MyRocks' switches for what rocksdb_direct_io says in one.
kv::DirectIo direct_io_of_switches() {
  if (g_use_direct_reads || g_use_direct_io_for_flush_and_compaction) return kv::DirectIo::kOn;
  return is_given("rocksdb_use_direct_reads") ? kv::DirectIo::kOff : kv::DirectIo::kChosen;
}

}  // namespace

engine::EngineOptions options_from_variables() {
  engine::EngineOptions options;
  kv::DatabaseOptions& database = options.database;
  database.directory = g_datadir;
  database.accept_wal_damage = g_accept_log_damage;
  database.rate_limit_bytes = g_rate_limiter_bytes_per_sec;
  database.rocksdb = options_for_rocksdb();
  options.locks.deadlock_detect = detects_deadlocks(nullptr);
  options.most_row_locks = max_row_locks(nullptr);
  options.takes_expired_rows = g_enable_ttl != 0;
  options.is_replica = may_be_replica;
#define BASALT_SETTING(...)
#define BASALT_ROCKSDB_SETTING(...)
#define BASALT_CHOSEN_SETTING(name, kind, scope, change, default_value, limits, text, field, rule) \
  database.field = static_cast<decltype(database.field)>(BASALT_##scope##Value(name));
#include "server/settings.def"
  if (database.direct_io == kv::DirectIo::kChosen) database.direct_io = direct_io_of_switches();
  // Connections have values of their own; the database's is what applies where these are 0.
  database.batch_bytes_max = 0;
  return options;
}

void show_rocksdb() {
  static std::string compressions = kv::supported_compressions();
  g_supported_compression_types = compressions.data();
  static std::string hash(kv::rocksdb_commit());
  g_git_hash = hash.data();
}

void tell_unused_settings() {
#define BASALT_SETTING(...)
#define BASALT_UNUSED_SETTING(name, kind, scope, ...)                                           \
  if (is_given("rocksdb_" #name) && !g_unused_##name.is_default(BASALT_##scope##Value(name))) { \
    log_message(LogLevel::kInfo, sentence_of(g_unused_##name));                                 \
  }
#include "server/settings.def"
}

const RocksdbSetting* find_rocksdb_setting(const st_mysql_sys_var* variable) {
  static const RocksdbSetting settings[] = {
#define BASALT_SETTING(...)
#define BASALT_ROCKSDB_SETTING(name, kind, scope, change, default_value, limits, text, group, \
                               option)                                                        \
  {MYSQL_SYSVAR(name), "rocksdb_" #name, option},
#include "server/settings.def"
  };
  const auto found = std::ranges::find(settings, variable, &RocksdbSetting::variable);
  return found == std::end(settings) ? nullptr : &*found;
}

std::int64_t lock_wait_timeout_ms(THD* thd) {
  return static_cast<std::int64_t>(THDVAR(thd, lock_wait_timeout)) * 1000;
}

bool detects_deadlocks(THD* thd) { return THDVAR(thd, deadlock_detect) != 0; }

kv::EarlyCompaction early_compaction() {
  const auto number = [](long long value) {
    return static_cast<std::uint64_t>(std::max(value, 0LL));
  };
  return {number(g_compaction_sequential_deletes), number(g_compaction_sequential_deletes_window),
          number(g_compaction_sequential_deletes_file_size)};
}

bool fills_cache(THD* thd) { return THDVAR(thd, skip_fill_cache) == 0; }

bool logs_snapshot_conflicts() { return g_print_snapshot_conflict_queries != 0; }

bool shows_expired_rows() { return g_enable_ttl_read_filtering == 0; }

bool counts_memtables() { return g_force_compute_memtable_stats != 0; }

std::uint64_t statement_time(THD* thd) {
  const std::int64_t time = std::int64_t{thd->query_start()} + g_debug_ttl_rec_ts;
  return time < 0 ? 0 : static_cast<std::uint64_t>(time);
}

std::uint64_t sort_bytes_max(THD* thd) { return THDVAR(thd, merge_buf_size); }

bool rollback_on_timeout() { return g_rollback_on_timeout != 0; }

bool snapshot_isolation(THD* thd) { return THDVAR(thd, snapshot_isolation) != 0; }

std::size_t max_row_locks(THD* thd) { return THDVAR(thd, max_row_locks); }

std::uint64_t given_batch_bytes_max() { return THDVAR(nullptr, write_batch_max_bytes); }

std::uint64_t batch_bytes_max(THD* thd) {
  const std::uint64_t bytes = THDVAR(thd, write_batch_max_bytes);
  return bytes != 0 ? bytes : the_engine().database().options().batch_bytes_max;
}

std::uint64_t batch_spill_bytes(THD* thd) {
  // Others wait about 3 ms for each MiB while a commit puts it into memtables.
  constexpr std::uint64_t kMost = std::uint64_t{256} << 20;
  const std::uint64_t given = THDVAR(thd, write_batch_spill_bytes);
  if (given != 0) return given;
  if (THDVAR(thd, write_batch_max_bytes) != 0) return 0;
  const std::uint64_t third = batch_bytes_max(thd) / 3;
  // What is in files is not committed by rows.
  return commits_in_the_middle(thd) ? third : std::min(third, kMost);
}

bool bulk_load(THD* thd) { return THDVAR(thd, bulk_load) != 0; }

bool commits_in_the_middle(THD* thd) { return THDVAR(thd, commit_in_the_middle) != 0; }

std::uint64_t rows_of_commit(THD* thd) { return THDVAR(thd, bulk_load_size); }

bool commits_are_synced() { return g_flush_log_at_trx_commit == kFlushAtCommit; }

kv::Durability commit_durability(THD* thd) {
  return commits_are_synced() && !THDVAR(thd, write_disable_wal) ? kv::Durability::kSynced
                                                                 : kv::Durability::kBuffered;
}

std::uint64_t told_rows_in_range(THD* thd, bool is_forced) {
  const std::uint64_t if_forced = is_forced ? THDVAR(thd, force_index_records_in_range) : 0;
  return if_forced != 0 ? if_forced : THDVAR(thd, records_in_range);
}

bool keeps_scanned_rows_locked(THD* thd) { return THDVAR(thd, lock_scanned_rows) != 0; }

bool logs_unsafe_statements(THD* thd) { return THDVAR(thd, unsafe_for_binlog) != 0; }

}  // namespace basalt::server
