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
  kErrorInconsistentRead,
};

// The server's error number of a status. For errors that end more than the statement it also
// tells the server so: a deadlock victim's transaction is rolled back.
int to_handler_error(const Status& status, THD* thd) noexcept;

// Gives the client the text of an error, with file and cause, where the server would only tell the
// number that it gets from us. The first error of a statement is the one that the client sees.
void report_failure(const char* what, const Status& status) noexcept;

}  // namespace basalt::server
