#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace basalt::wal {

// A WAL, which RocksDB names by its number and `.log`.
struct WalPath {
  std::uint64_t number = 0;
  std::string path;
};

// The WALs of a database's directory, oldest first; none if the directory is missing.
Result<std::vector<WalPath>> find_wals(const std::string& directory);

}  // namespace basalt::wal
