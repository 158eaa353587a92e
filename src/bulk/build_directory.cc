#include "bulk/build_directory.h"

#include <filesystem>
#include <string_view>
#include <system_error>

#include "base/log.h"

namespace basalt::bulk {
namespace {

namespace fs = std::filesystem;

fs::path parent_of(const std::string& database) { return fs::path(database) / "build"; }

// What cannot be removed takes space, and nothing else.
void remove_tree(const fs::path& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (!error) return;
  log_message(LogLevel::kWarning, "'" + path.string() + "' cannot be removed: " + error.message() +
                                      "; remove it, it has nothing that is needed");
}

}  // namespace

Result<std::unique_ptr<BuildDirectory>> BuildDirectory::make(const std::string& database,
                                                             std::uint32_t number) {
  const fs::path path = parent_of(database) / std::to_string(number);
  std::error_code error;
  fs::create_directories(path, error);
  if (!error) return std::unique_ptr<BuildDirectory>(new BuildDirectory(path));
  const bool is_full = error == std::errc::no_space_on_device;
  return Status(is_full ? ErrorCode::kNoSpace : ErrorCode::kIoError,
                "'" + path.string() + "' cannot be made: " + error.message());
}

void BuildDirectory::remove_all(const std::string& database) {
  const fs::path path = parent_of(database);
  std::error_code error;
  if (fs::exists(path, error)) remove_tree(path);
}

BuildDirectory::~BuildDirectory() { remove_tree(path_); }

}  // namespace basalt::bulk
