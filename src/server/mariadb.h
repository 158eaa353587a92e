#pragma once

// The only door to MariaDB's headers. To be included last: they define macros with common names.
// They do not compile in every order, which is why this one is kept.
// clang-format off
#define MYSQL_SERVER 1
#include <my_global.h>
#include <my_config.h>
#include <mysql_version.h>

#include <mysql/plugin.h>
#include <mysql/service_thd_alloc.h>
#include <mysql/service_thd_wait.h>
// Before the headers that use it inline; the reason is below.
#undef thd_calloc
extern "C" void* thd_calloc(MYSQL_THD thd, size_t size);
#include <sql_class.h>
#include <create_options.h>
#include <handler.h>
#include <key.h>
#include <log.h>
#include <mysqld.h>
#include <set_var.h>
#include <unistd.h>
#include <sql_base.h>
#include <sql_i_s.h>
#include <sql_parse.h>
#include <sql_partition.h>
#include <sql_plugin.h>
#include <sql_show.h>
#include <sql_table.h>
#include <table.h>
// clang-format on

// The service headers turn these into calls through pointers that the plugin would have to
// export for the server to fill in. The server exports the functions themselves: call them, and
// the plugin's declarations stay all that it exports.
#undef thd_kill_level
#undef thd_wait_begin
#undef thd_wait_end
#undef my_error
#undef my_printf_error
#undef thd_strmake
extern "C" enum thd_kill_levels thd_kill_level(const MYSQL_THD thd);
extern "C" void thd_wait_begin(MYSQL_THD thd, int wait_type);
extern "C" void thd_wait_end(MYSQL_THD thd);
extern "C" void my_error(unsigned int code, unsigned long flags, ...);
extern "C" char* thd_strmake(const MYSQL_THD thd, const char* text, size_t length);
extern "C" void my_printf_error(unsigned int code, const char* format, unsigned long flags, ...);

// Functions that the server exports without a declaration in its headers.
extern "C" int thd_rpl_deadlock_check(MYSQL_THD waiter, MYSQL_THD holder);
extern "C" int thd_deadlock_victim_preference(const MYSQL_THD first, const MYSQL_THD second);
sys_var* intern_find_sys_var(const char* name, size_t length);
TABLE* find_fk_open_table(THD* thd, const char* database, size_t database_length, const char* table,
                          size_t table_length);
void ignore_db_dirs_append(const char* name);
void mysql_bin_log_commit_pos(THD* thd, unsigned long long* offset, const char** file);

static_assert(MYSQL_VERSION_ID / 100 == 1011,
              "the handler interface is that of MariaDB 10.11; other series differ");
