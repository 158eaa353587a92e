#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace basalt::wal {

// A WAL, which RocksDB names by its number and `.log`.
struct WalPath {
  std::uint64_t number = 0;
  std::string path;
};

// What `path` is named as: RocksDB names WALs and its data files by their numbers.
bool is_wal(const std::string& path);
bool is_data_file(const std::string& path);
bool is_manifest(const std::string& path);

// The number in the name of a WAL; none if `path` is not named as one.
std::optional<std::uint64_t> wal_number(const std::string& path);

// The directory of the file `path`, which has one.
std::string directory_of(const std::string& path);

// The WALs of a database's directory, oldest first; none if the directory is missing.
Result<std::vector<WalPath>> find_wals(const std::string& directory);

}  // namespace basalt::wal
