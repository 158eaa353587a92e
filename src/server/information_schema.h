#pragma once
#include "server/mariadb.h"

namespace basalt::server {

// information_schema.ROCKSDB_SETTINGS: docs/user-guide.md. Empty while the engine does not run.
// `schema_table` is the server's, to be filled in.
int init_settings_table(void* schema_table) noexcept;

}  // namespace basalt::server
