#include "server/handlerton/hooks.h"

namespace basalt::server {

void install_hooks(handlerton* hton) {
  install_transaction_hooks(hton);
  install_xa_hooks(hton);
  install_savepoint_hooks(hton);
  install_table_hooks(hton);
  install_status_hooks(hton);
}

void remove_hooks() { remove_table_hooks(); }

}  // namespace basalt::server
