#pragma once
#include "server/mariadb.h"

// What sysvars.cc shares with the functions that SET calls: values of global variables, g_<name>
// each, as the server has stored them.
namespace basalt::server {

#define BASALT_NumberType unsigned long long
#define BASALT_SignedType long long
#define BASALT_IntType int
#define BASALT_UnsignedType unsigned
#define BASALT_RealType double
#define BASALT_SwitchType my_bool
#define BASALT_ChoiceType unsigned long
#define BASALT_PathType char*
#define BASALT_TextType char*

#define BASALT_GlobalValueOf(kind, name) extern BASALT_##kind##Type g_##name;
#define BASALT_SessionValueOf(kind, name)
#define BASALT_SETTING(name, kind, scope, ...) BASALT_##scope##ValueOf(kind, name)
#include "server/settings.def"
#undef BASALT_GlobalValueOf
#undef BASALT_SessionValueOf

// An entry of settings.def that goes to RocksDB.
struct RocksdbSetting {
  const st_mysql_sys_var* variable;
  const char* name;    // with its prefix
  const char* option;  // of rdb::DBOptions
};
// Which of them SET changes. Null if `variable` is none.
const RocksdbSetting* find_rocksdb_setting(const st_mysql_sys_var* variable);

// ---- what entries name: the server's check functions, which read the value of a SET and may fail
// it, and update functions, which store it.
using CheckFunction = int(THD*, st_mysql_sys_var*, void* save, st_mysql_value* value);
using UpdateFunction = void(THD*, st_mysql_sys_var*, void* target, const void* value);

// sysvar_commands.cc
CheckFunction check_bulk_load_order, check_compact_family, check_create_checkpoint,
    check_delete_family, check_flush, check_flush_and_compact, check_reclaim_now,
    check_remove_checkpoint, check_resume;

// sysvar_updates.cc
CheckFunction check_family_options;
UpdateFunction apply_background_jobs, apply_block_cache, apply_deadlock_detect,
    apply_deadlocks_kept, apply_deletion_rate, apply_early_compaction, apply_expiry,
    apply_flush_log, apply_log_level, apply_pause, apply_rate_limit, apply_reserved_disk_space,
    apply_reset_stats, apply_rocksdb_int, apply_rocksdb_option;

// Tells the engine, which has just started, what no option of its start says.
void apply_settings_of_start();

}  // namespace basalt::server
