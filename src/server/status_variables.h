#pragma once
#include "server/mariadb.h"

namespace basalt::server {

// The Rocksdb_* status variables: docs/user-guide.md.
extern st_mysql_show_var g_status_variables[];

}  // namespace basalt::server
