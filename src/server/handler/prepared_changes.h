#pragma once
#include "catalog/definitions.h"
#include "server/mariadb.h"

namespace basalt::server {

// Keeps a table from being dropped, emptied or rebuilt while an XA transaction without a session
// has changed it: its metadata locks have gone with the session. Returns 0 or
// HA_ERR_LOCK_WAIT_TIMEOUT, with a warning that says what to do. `thd` may be null.
int refuse_if_held_by_prepared(THD* thd, const catalog::TableDefinition& table);

}  // namespace basalt::server
