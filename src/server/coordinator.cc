#include "server/coordinator.h"

#include <string>

#include "base/log.h"
#include "server/mariadb.h"

namespace basalt::server {
namespace {

// The path at which the server's coordinator keeps its log.
std::string coordinator_log_path() {
  char path[FN_REFLEN];
  fn_format(path, opt_tc_log_file, mysql_data_home, "", MY_UNPACK_FILENAME);
  return path;
}

void warn_of_no_coordinator(const std::string& reason) {
  log_message(LogLevel::kWarning, reason +
                                      ": transactions cannot be prepared before the server is "
                                      "restarted with this plugin");
}

}  // namespace

// Nobody can be using the coordinator that is replaced: that takes a transaction in two engines
// that can prepare, and there was one.
void ensure_transaction_coordinator() {
  if (tc_log != &tc_log_dummy || opt_bin_log || total_ha_2pc != 1) return;
  const std::string path = coordinator_log_path();
  if (access(path.c_str(), F_OK) == 0) {
    // Left by a crash. Opening it decides transactions, which only a starting server can do.
    warn_of_no_coordinator("'" + path + "' was left by a crash");
    return;
  }
  ++total_ha_2pc;  // the number that the log's header names
  const bool failed = tc_log_mmap.open(opt_tc_log_file) != 0;
  --total_ha_2pc;
  if (failed) {
    warn_of_no_coordinator("'" + path + "' cannot be made");
    return;
  }
  tc_log = &tc_log_mmap;
}

}  // namespace basalt::server
