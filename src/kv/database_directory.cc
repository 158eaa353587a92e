#include "kv/database_directory.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include "base/assert.h"
#include "base/remedies.h"

namespace basalt::kv {
namespace {

namespace fs = std::filesystem;

// The name of a file that only a database with data has; empty if there is none.
std::string file_with_data(const std::string& directory) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename();
    const bool has_data = name.ends_with(".sst") || name.ends_with(".log");
    if (has_data && entry.file_size(error) > 0 && !error) return name;
  }
  return {};
}

// In the manifest each column family has the name of its order of keys. MyRocks has its own, and
// ours are RocksDB's.
constexpr std::string_view kMyRocksKeyOrder = "RocksDB_SE_v";
// Far more than what precedes the first family in a manifest: the list of WALs.
constexpr std::size_t kManifestBeginning = 64 * 1024;

std::string read_beginning(const std::string& path, std::size_t bytes_max) {
  std::string bytes(bytes_max, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes_max));
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  BASALT_ASSERT(bytes.size() <= bytes_max);
  return bytes;
}

// Whether the database in `directory` is one of MyRocks; false if its manifest cannot be read.
bool is_of_myrocks(const std::string& directory) {
  std::string manifest = read_beginning(directory + "/CURRENT", 256);
  while (!manifest.empty() && manifest.back() == '\n') manifest.pop_back();
  if (!manifest.starts_with("MANIFEST-")) return false;
  const std::string beginning = read_beginning(directory + "/" + manifest, kManifestBeginning);
  return beginning.find(kMyRocksKeyOrder) != std::string::npos;
}

}  // namespace

Status check_directory(const DatabaseOptions& options) {
  const std::string& directory = options.directory;
  struct stat found {};
  if (stat(directory.c_str(), &found) != 0) {
    if (errno == ENOENT) return Status::ok();
    return Status(ErrorCode::kIoError, "'" + directory +
                                           "': " + std::generic_category().message(errno) +
                                           "; check the directories above it");
  }
  if (!S_ISDIR(found.st_mode)) {
    return Status(ErrorCode::kIoError, "'" + directory + "' is not a directory; move it away, or " +
                                           std::string(remedies().choose_directory));
  }
  struct statvfs device {};
  if (statvfs(directory.c_str(), &device) == 0 && (device.f_flag & ST_RDONLY) != 0) {
    return Status(ErrorCode::kIoError, "'" + directory +
                                           "' is on a file system that is mounted "
                                           "read-only; check the device, then mount it writable");
  }
  if (access(directory.c_str(), R_OK | W_OK | X_OK) != 0) {
    return Status(ErrorCode::kIoError,
                  "'" + directory + "': " + std::generic_category().message(errno) +
                      "; let the user that runs the server own it, and read and write it");
  }
  if (access((directory + "/CURRENT").c_str(), F_OK) == 0) {
    if (!is_of_myrocks(directory)) return Status::ok();
    return Status(ErrorCode::kUnsupported,
                  "'" + directory +
                      "' holds tables of MyRocks, whose files this engine cannot read; nothing in "
                      "it was changed; " +
                      std::string(remedies().migrate_myrocks));
  }
  if (errno != ENOENT) return Status::ok();
  const std::string file = file_with_data(directory);
  if (file.empty()) return Status::ok();
  return Status(ErrorCode::kCorruption,
                "'" + directory + "' has data, such as '" + file +
                    "', but no file CURRENT; restore that file, which holds the name of the "
                    "newest MANIFEST and an end of line, or a backup, or move the directory away "
                    "to begin with an empty one");
}

std::optional<std::uint64_t> newest_manifest_time(const std::string& directory) {
  std::optional<std::uint64_t> newest;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    struct stat file;
    const bool is_manifest = entry.path().filename().string().starts_with("MANIFEST-");
    if (!is_manifest || ::stat(entry.path().c_str(), &file) != 0 || file.st_mtime < 0) continue;
    newest = std::max(newest.value_or(0), static_cast<std::uint64_t>(file.st_mtime) + 1);
  }
  return newest;
}

}  // namespace basalt::kv
