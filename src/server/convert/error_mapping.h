#pragma once
#include <string_view>

#include "base/status.h"
#include "server/mariadb.h"

namespace basalt::server {

// Errors the server has no number for; their text comes from Handler::get_error_message().
enum EngineError : int {
  kErrorIo = HA_ERR_LAST + 1,
  kErrorInvalidArgument,
  kErrorUnsupported,
};

// The server's error number of a status. For errors that end more than the statement it also
// tells the server so: a deadlock victim's transaction is rolled back.
int to_handler_error(const Status& status, THD* thd) noexcept;

}  // namespace basalt::server
