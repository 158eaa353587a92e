#include "wal/wal_paths.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

namespace basalt::wal {

bool is_wal(const std::string& path) { return path.ends_with(".log"); }

bool is_data_file(const std::string& path) {
  const std::string name = std::filesystem::path(path).filename();
  return name.ends_with(".sst") && name.find_first_not_of("0123456789") == name.size() - 4;
}

bool is_manifest(const std::string& path) {
  return std::filesystem::path(path).filename().string().starts_with("MANIFEST-");
}

std::string directory_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

std::optional<std::uint64_t> wal_number(const std::string& path) {
  if (!is_wal(path)) return std::nullopt;
  const std::string digits = std::filesystem::path(path).stem();
  const char* const end = digits.data() + digits.size();
  std::uint64_t number = 0;
  const auto [stop, error] = std::from_chars(digits.data(), end, number);
  if (error != std::errc() || stop != end) return std::nullopt;
  return number;
}

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
