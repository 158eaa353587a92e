#pragma once
#include "server/mariadb.h"

namespace basalt::server {

// Sets every hook of the handlerton that the engine implements.
void install_hooks(handlerton* hton);
// Takes back what was set elsewhere.
void remove_hooks();

class Session;
// Before the transaction of a connection is decided: if the user has prepared it, it is not the
// session's any more.
void take_back_prepared(THD* thd, Session& session);

// The parts, one file each.
void install_transaction_hooks(handlerton* hton);
void install_xa_hooks(handlerton* hton);
void install_savepoint_hooks(handlerton* hton);
void install_table_hooks(handlerton* hton);
void remove_table_hooks();
void install_status_hooks(handlerton* hton);

}  // namespace basalt::server
