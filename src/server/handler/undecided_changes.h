#pragma once
#include <string_view>

#include "base/status.h"
#include "catalog/definitions.h"
#include "engine/engine.h"
#include "server/mariadb.h"

namespace basalt::server {

// Keeps a table from being dropped, emptied or copied while a transaction has changed it that has
// not ended: one that XA PREPARE has left and whose session has gone or is going, with its metadata
// locks. To be asked with a metadata lock that keeps writers away. Returns 0 or
// HA_ERR_LOCK_WAIT_TIMEOUT, with a warning that says what to do. `thd` may be null.
int refuse_if_undecided(THD* thd, const catalog::TableDefinition& table);

// Drops a table by its name. kLockTimeout, with that warning, if it is to be kept for the same
// reason, which for a temporary table it never is, or because transactions have written to tables
// that reference it.
Status drop_by_name(THD* thd, std::string_view name);

// The connection as one that waits for transactions which have bound foreign keys to a table; null
// is nobody.
engine::Waiter waiter_of(THD* thd);

// The same warning for a `status` of the engine that says so; nothing for others.
void warn_if_undecided(THD* thd, const Status& status);

}  // namespace basalt::server
