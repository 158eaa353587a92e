#include "bulk/build_directory.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/log.h"

namespace basalt::bulk {
namespace {

namespace fs = std::filesystem;

fs::path parent_of(const std::string& database) { return fs::path(database) / "build"; }
fs::path parent_of_loads(const std::string& database) { return fs::path(database) / "loads"; }

Status cannot_make(const fs::path& path, const std::error_code& error) {
  const bool is_full = error == std::errc::no_space_on_device;
  return Status(is_full ? ErrorCode::kNoSpace : ErrorCode::kIoError,
                "'" + path.string() + "' cannot be made: " + error.message());
}

// What cannot be removed takes space, and nothing else.
void remove_tree(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (!error) return;
  log_message(LogLevel::kWarning, "'" + path.string() + "' cannot be removed: " + error.message() +
                                      "; remove it, it has nothing that is needed");
}

Status sync_directory(const fs::path& path) {
  const int file = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool is_synced = file >= 0 && fsync(file) == 0;
  const int error = errno;
  if (file >= 0) close(file);
  if (is_synced) return Status::ok();
  return Status(ErrorCode::kIoError, "'" + path.string() + "' cannot be synced: " +
                                         std::generic_category().message(error));
}

}  // namespace

Result<std::unique_ptr<BuildDirectory>> BuildDirectory::make(const std::string& database,
                                                             std::uint32_t number) {
  const fs::path path = parent_of(database) / std::to_string(number);
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return cannot_make(path, error);
  return std::unique_ptr<BuildDirectory>(new BuildDirectory(path, number));
}

Result<std::unique_ptr<BuildDirectory>> BuildDirectory::make_load(const std::string& database) {
  const fs::path parent = parent_of_loads(database);
  std::error_code error;
  fs::create_directories(parent, error);
  if (error) return cannot_make(parent, error);
  // Whoever makes the directory has the number.
  for (std::uint32_t number = 1;; ++number) {
    const fs::path path = parent / std::to_string(number);
    const bool is_new = fs::create_directory(path, error);
    if (error) return cannot_make(path, error);
    if (is_new) return std::unique_ptr<BuildDirectory>(new BuildDirectory(path, number));
  }
}

std::unique_ptr<BuildDirectory> BuildDirectory::find_load(const std::string& database,
                                                          std::uint32_t number) {
  const fs::path path = parent_of_loads(database) / std::to_string(number);
  return std::unique_ptr<BuildDirectory>(new BuildDirectory(path, number));
}

void BuildDirectory::remove_loads(const std::string& database,
                                  const std::set<std::uint32_t>& kept) {
  std::set<std::string> names;
  for (const std::uint32_t number : kept) names.insert(std::to_string(number));
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(parent_of_loads(database), error)) {
    if (!names.contains(entry.path().filename())) remove_tree(entry.path());
  }
}

void BuildDirectory::remove_all(const std::string& database) {
  const fs::path path = parent_of(database);
  std::error_code error;
  if (fs::exists(path, error)) remove_tree(path);
}

void BuildDirectory::make_again() const {
  std::error_code error;
  fs::create_directories(path_, error);
  if (!error) return;
  log_message(LogLevel::kWarning, "'" + path_ + "' cannot be made: " + error.message());
}

void BuildDirectory::remove_files(std::string_view prefix) const {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(path_, error)) {
    if (entry.path().filename().string().starts_with(prefix)) remove_tree(entry.path());
  }
}

Status BuildDirectory::sync() const {
  const fs::path path = path_;
  BASALT_TRY(sync_directory(path));
  BASALT_TRY(sync_directory(path.parent_path()));
  return sync_directory(path.parent_path().parent_path());
}

BuildDirectory::~BuildDirectory() {
  if (!is_left_) remove_tree(path_);
}

}  // namespace basalt::bulk
