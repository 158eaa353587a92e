#include "kv/log_files.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <system_error>

namespace basalt::kv {
namespace {

std::optional<std::uint64_t> log_number(const std::filesystem::path& path) {
  if (path.extension() != ".log") return std::nullopt;
  const std::string digits = path.stem();
  const char* const end = digits.data() + digits.size();
  std::uint64_t number = 0;
  const auto [stop, error] = std::from_chars(digits.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

}  // namespace

Result<std::vector<LogFile>> find_logs(const std::string& directory) {
  std::vector<LogFile> logs;
  std::error_code error;
  if (!std::filesystem::exists(directory, error)) return logs;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (const auto number = log_number(entry.path())) logs.push_back({*number, entry.path()});
  }
  if (error) return Status(ErrorCode::kIoError, "'" + directory + "': " + error.message());
  std::ranges::sort(logs, {}, &LogFile::number);
  return logs;
}

}  // namespace basalt::kv
