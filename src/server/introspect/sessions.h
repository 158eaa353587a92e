#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "txn/undecided_changes.h"
#include "server/mariadb.h"

namespace basalt::server {

// A connection, as it was at one moment.
struct ConnectionInfo {
  std::uint64_t thread_id = 0;
  std::string query;  // empty between statements
  bool is_replication = false;
  bool is_read_only = false;
};

// An open transaction and the connection that has it; all zero without one.
struct OpenTransaction {
  txn::TransactionInfo info;
  ConnectionInfo connection;
};
// In the order of their ids.
std::vector<OpenTransaction> open_transactions();

}  // namespace basalt::server
