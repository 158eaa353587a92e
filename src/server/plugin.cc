#include "server/plugin.h"

#include <string>

#include "base/heap.h"
#include "base/log.h"
#include "base/remedies.h"
#include "server/convert/table_layout.h"
#include "server/coordinator.h"
#include "server/handler/partitioned_tables.h"
#include "server/handlerton/hooks.h"
#include "server/introspect/tables.h"
#include "server/release_check.h"
#include "server/status_variables.h"
#include "server/sysvar_values.h"
#include "server/sysvars.h"
#include "server/mariadb.h"

namespace basalt::server {

Plugin* g_plugin = nullptr;

namespace {

// The release that the headers are of, with what the distribution adds to its name.
constexpr std::string_view kBuiltFor = MYSQL_SERVER_VERSION MYSQL_SERVER_SUFFIX_DEF;

// What the server is compiled as, whatever its option `version` makes it say.
std::string running_release() {
  char text[SERVER_VERSION_LENGTH];
  set_server_version(text, sizeof text);
  return text;
}

}  // namespace

bool is_built_for_this_server() {
  return find_release_mismatch(kBuiltFor, running_release()).empty();
}

namespace {

// The engine's advice, in the names of the system variables.
constexpr Remedies kRemedies{
    .accept_wal_damage = "start once with rocksdb_accept_log_damage=ON",
    .resume = "SET GLOBAL rocksdb_resume=ON",
    .allow_page_cache = "let rocksdb_direct_io be AUTO or OFF",
    .choose_directory = "choose another rocksdb_datadir",
    .migrate_myrocks =
        "take the tables over with basalt-migrate (in a checkout: ./basalt migrate), or go on with "
        "mariadb-plugin-rocksdb, or choose another rocksdb_datadir",
    .lower_reserve = "lower rocksdb_reserved_disk_space",
    .raise_transaction_memory =
        "set rocksdb_write_batch_max_bytes higher if the server has the memory",
    .remove_family = "set rocksdb_delete_cf to one without tables",
};

void write_to_error_log(LogLevel level, std::string_view message) {
  const auto length = static_cast<int>(message.size());
  switch (level) {
    case LogLevel::kInfo: sql_print_information("RocksDB: %.*s", length, message.data()); return;
    case LogLevel::kWarning: sql_print_warning("RocksDB: %.*s", length, message.data()); return;
    case LogLevel::kError: sql_print_error("RocksDB: %.*s", length, message.data()); return;
  }
}

// The engine's directory is below the data directory but is no database.
void hide_directory(const std::string& directory) {
  const auto slash = directory.rfind('/');
  const std::string name = slash == std::string::npos ? directory : directory.substr(slash + 1);
  ignore_db_dirs_append(name.c_str());
}

// Crash recovery by the binary log comes later: this is what the files say, those of a backup for
// example.
void log_binlog_position() {
  const auto position = the_engine().transactions().binlog_positions().newest();
  if (!position) return;
  log_message(LogLevel::kInfo, "the newest committed transaction ends in the binary log at " +
                                   position->file + ", " + std::to_string(position->offset));
}

// Only a starting server asks for prepared transactions, to decide them.
void warn_of_undecided() {
  const std::size_t count = the_engine().transactions().prepared_names().size();
  if (!mysqld_server_started || count == 0) return;
  log_message(LogLevel::kWarning, std::to_string(count) +
                                      " prepared transactions hold their locks "
                                      "until the server is restarted with this plugin");
}

// Temporary tables are gone after a restart, and so is what was prepared in them alone: there is
// nothing to decide, and XA RECOVER does not list it.
Status forget_temporary_transactions() {
  const catalog::Catalog& catalog = the_engine().catalog();
  return the_engine().transactions().rollback_prepared_in([&catalog](catalog::IndexId index) {
    const catalog::TablePointer table = catalog.find_by_index(index);
    return table == nullptr || is_temporary_name(table->name);
  });
}

int init(void* argument) noexcept {
  const std::string problem = find_release_mismatch(kBuiltFor, running_release());
  if (!problem.empty()) {
    sql_print_error("RocksDB: %s", problem.c_str());
    if (mysqld_server_started) {
      my_printf_error(ER_UNKNOWN_ERROR, "RocksDB: %s", ME_WARNING, problem.c_str());
    }
    return 1;
  }
  give_freed_memory_back_early();
  set_log_sink(write_to_error_log);
  set_remedies(kRemedies);
  auto plugin = std::make_unique<Plugin>();
  plugin->hton = static_cast<handlerton*>(argument);
  show_rocksdb();
  tell_unused_settings();
  const engine::EngineOptions options = options_from_variables();
  const std::string& directory = options.database.directory;
  hide_directory(directory);
  Result<std::unique_ptr<engine::Engine>> engine =
      engine::Engine::start(options, &plugin->wait_reporter, &plugin->collations);
  if (!engine.is_ok()) {
    sql_print_error("RocksDB: cannot open '%s': %s", directory.c_str(),
                    engine.status().message().c_str());
    return 1;
  }
  plugin->engine = std::move(engine.value());
  g_plugin = plugin.release();
  if (const Status status = forget_temporary_transactions(); !status.is_ok()) {
    log_message(LogLevel::kError, "prepared transactions: " + status.message());
  }
  g_plugin->recovers_ddl = !mysqld_server_started;
  bring_back_renamed_partitions();
  apply_settings_of_start();
  log_binlog_position();
  handlerton* hton = g_plugin->hton;
  hton->flags = HTON_SUPPORTS_EXTENDED_KEYS | HTON_SUPPORTS_FOREIGN_KEYS |
                HTON_TRUNCATE_REQUIRES_EXCLUSIVE_USE | HTON_REQUIRES_CLOSE_AFTER_TRUNCATE;
  install_hooks(hton);
  ensure_transaction_coordinator();
  warn_of_undecided();
  return 0;
}

int deinit(void*) noexcept {
  // First, so that who is in there is out again when the engine has stopped.
  remove_hooks();
  delete g_plugin;
  g_plugin = nullptr;
  set_log_sink(nullptr);
  return 0;
}

// A server loads no plugin that tells another release than its own here, and speaks of an "API
// version" then. Of the series whose interface this is, each is told its own: then init() is
// called, compares, and names both releases and the remedy.
int interface_version() {
  static_assert(MYSQL_HANDLERTON_INTERFACE_VERSION == MYSQL_VERSION_ID << 8);
  static_assert(MYSQL_INFORMATION_SCHEMA_INTERFACE_VERSION == MYSQL_VERSION_ID << 8);
  const int running = release_number(running_release());
  return (running / 100 == MYSQL_VERSION_ID / 100 ? running : MYSQL_VERSION_ID) << 8;
}

// Set when the library is loaded.
st_mysql_storage_engine storage_engine = {interface_version()};
st_mysql_information_schema schema_table = {interface_version()};

}  // namespace
}  // namespace basalt::server

using basalt::server::deinit;
using basalt::server::g_status_variables;
using basalt::server::g_system_variables;
using basalt::server::init;
using basalt::server::schema_table;
using basalt::server::storage_engine;

// The declaration macros set no visibility.
#pragma GCC visibility push(default)
maria_declare_plugin(rocksdb){
    MYSQL_STORAGE_ENGINE_PLUGIN,
    &storage_engine,
    "ROCKSDB",
    "The Basalt developers",
    "Basalt: an LSM storage engine on RocksDB",
    PLUGIN_LICENSE_GPL,
    init,
    deinit,
    0x0001,
    g_status_variables,
    g_system_variables,
    "0.1",
    MariaDB_PLUGIN_MATURITY_GAMMA,
}
#define BASALT_SCHEMA_TABLE(name, function, text)                                               \
  , {                                                                                           \
    MYSQL_INFORMATION_SCHEMA_PLUGIN, &schema_table, name, "The Basalt developers", text,        \
        PLUGIN_LICENSE_GPL, basalt::server::init_##function, nullptr, 0x0001, nullptr, nullptr, \
        "0.1", MariaDB_PLUGIN_MATURITY_GAMMA,                                                   \
  }
#include "server/introspect/tables.def"
#undef BASALT_SCHEMA_TABLE
maria_declare_plugin_end;
#pragma GCC visibility pop
