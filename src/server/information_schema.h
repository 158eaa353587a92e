#pragma once
#include "server/mariadb.h"

namespace basalt::server {

// Tables of information_schema: docs/user-guide.md. Empty while the engine does not run.
// `schema_table` is the server's, to be filled in.

// ROCKSDB_SETTINGS
int init_settings_table(void* schema_table) noexcept;
// ROCKSDB_INDEX_SPACE
int init_index_space_table(void* schema_table) noexcept;

}  // namespace basalt::server
