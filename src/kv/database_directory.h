#pragma once
#include <string>

#include "base/status.h"
#include "kv/options.h"

namespace basalt::kv {

// Whether a database may be opened in options.directory, or made if there is none. RocksDB would
// make a new one where it does not find the file CURRENT, and remove the files of the old one.
// kUnsupported for a database of MyRocks. Changes nothing.
Status check_directory(const DatabaseOptions& options);

}  // namespace basalt::kv
