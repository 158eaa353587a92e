#pragma once
#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "kv/options.h"

namespace basalt::kv {

// Whether a database may be opened in options.directory, or made if there is none. RocksDB would
// make a new one where it does not find the file CURRENT, and remove the files of the old one.
// kUnsupported for a database of MyRocks. Changes nothing.
Status check_directory(const DatabaseOptions& options);

// When the newest manifest in the directory was last written, in seconds since 1970, or a second
// later: what a compaction of before has done was done by then. Nothing if there is none.
std::optional<std::uint64_t> newest_manifest_time(const std::string& directory);

}  // namespace basalt::kv
