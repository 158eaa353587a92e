#include "server/introspect/sessions.h"

#include <algorithm>

#include "server/plugin.h"

namespace basalt::server {
namespace {

constexpr std::size_t kQueryBytesMax = 1024;

using Connections = std::map<const void*, ConnectionInfo>;

// While the list of threads is locked none of them goes. But nobody else may ask for a thread's
// variables that are a plugin's: where it has none yet they would be made, and its own thread,
// which makes them too or gives them back for its next user, knows of no lock.
my_bool note_connection(THD* thd, Connections* connections) {
  ConnectionInfo& info = (*connections)[thd];
  info.thread_id = thd->thread_id;
  char query[kQueryBytesMax];
  info.query.assign(query, thd_query_safe(thd, query, sizeof query));
  info.is_replication = thd->slave_thread;
  info.is_read_only = thd->tx_read_only;
  return 0;
}

}  // namespace

std::vector<OpenTransaction> open_transactions() {
  Connections connections;
  server_threads.iterate(note_connection, &connections);
  std::vector<OpenTransaction> open;
  for (txn::TransactionInfo& info : the_engine().transactions().undecided().open_transactions()) {
    const auto found = connections.find(info.user);
    open.push_back({std::move(info), {}});
    if (found != connections.end()) open.back().connection = found->second;
  }
  return open;
}

}  // namespace basalt::server
