#include "wal/wal_paths.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <system_error>

namespace basalt::wal {
namespace {

std::optional<std::uint64_t> wal_number(const std::filesystem::path& path) {
  if (path.extension() != ".log") return std::nullopt;
  const std::string digits = path.stem();
  const char* const end = digits.data() + digits.size();
  std::uint64_t number = 0;
  const auto [stop, error] = std::from_chars(digits.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

}  // namespace

Result<std::vector<WalPath>> find_wals(const std::string& directory) {
  std::vector<WalPath> wals;
  std::error_code error;
  if (!std::filesystem::exists(directory, error)) return wals;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    if (const auto number = wal_number(entry.path())) wals.push_back({*number, entry.path()});
  }
  if (error) return Status(ErrorCode::kIoError, "'" + directory + "': " + error.message());
  std::ranges::sort(wals, {}, &WalPath::number);
  return wals;
}

}  // namespace basalt::wal
