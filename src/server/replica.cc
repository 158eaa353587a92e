#include "server/replica.h"

#include "server/mariadb_replication.h"

namespace basalt::server {

bool may_be_replica() {
  // A server that starts sets master_info_index before it makes what that holds, without the lock.
  if (!mysqld_server_started) return true;
  // STOP SLAVE holds it while it waits for threads, which may wait for a compaction.
  if (mysql_mutex_trylock(&LOCK_active_mi) != 0) return true;
  // Null before the server has read what it knows, and when it ends.
  bool may_be = master_info_index == nullptr;
  if (!may_be) {
    HASH& sources = master_info_index->master_info_hash;
    for (ulong i = 0; i < sources.records && !may_be; ++i) {
      const auto* source = reinterpret_cast<const Master_info*>(my_hash_element(&sources, i));
      may_be = source->host[0] != '\0';
    }
  }
  mysql_mutex_unlock(&LOCK_active_mi);
  return may_be;
}

}  // namespace basalt::server
