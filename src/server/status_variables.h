#pragma once
#include <string_view>

#include "engine/engine.h"
#include "server/mariadb.h"

namespace basalt::server {

// What users call the states of the engine.
std::string_view name_of(wal::Access access);

// The Rocksdb_* status variables: docs/user-guide.md.
extern st_mysql_show_var g_status_variables[];

}  // namespace basalt::server
