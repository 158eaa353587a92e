#pragma once

namespace basalt::server {

// Tables of information_schema, see tables.def: docs/user-guide.md has their columns. Empty while
// the engine does not run. `schema_table` is the server's, to be filled in.
#define BASALT_SCHEMA_TABLE(name, function, text) int init_##function(void* schema_table) noexcept;
#include "server/introspect/tables.def"
#undef BASALT_SCHEMA_TABLE

}  // namespace basalt::server
