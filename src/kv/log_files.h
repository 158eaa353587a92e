#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace basalt::kv {

// A write-ahead log, which RocksDB names by its number and `.log`.
struct LogFile {
  std::uint64_t number = 0;
  std::string path;
};

// The logs of a database's directory, oldest first; none if the directory is missing.
Result<std::vector<LogFile>> find_logs(const std::string& directory);

}  // namespace basalt::kv
