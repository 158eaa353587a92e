#include "table/exported_files.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <vector>

#include "base/log.h"
#include "bulk/build_directory.h"
#include "bulk/durable_file.h"
#include "table/exported_table.h"

namespace basalt::table {
namespace {

constexpr std::string_view kDefinition = ".cfg";
constexpr std::string_view kEntries = ".sst";

bool is_number(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Also a definition, unless it is another engine's: InnoDB's has the same name.
Status remove_of_ours(rdb::FileSystem& files, const std::string& path) {
  if (path.ends_with(kDefinition)) {
    Result<std::string> bytes = bulk::read_file(files, path);
    if (bytes.status().is(ErrorCode::kNotFound)) return Status::ok();
    if (!bytes.is_ok()) return bytes.take_status();
    if (!is_exported(bytes.value())) return Status::ok();
  }
  return bulk::remove_file(files, path);
}

}  // namespace

std::string_view exported_table_of(std::string_view file) {
  if (file.ends_with(kDefinition)) return file.substr(0, file.size() - kDefinition.size());
  if (!file.ends_with(kEntries)) return {};
  file.remove_suffix(kEntries.size());
  const std::size_t dot = file.rfind('.');
  if (dot == std::string_view::npos) return {};
  const std::string_view numbers = file.substr(dot + 1);
  const std::size_t dash = numbers.find('-');
  if (dash == std::string_view::npos || !is_number(numbers.substr(0, dash)) ||
      !is_number(numbers.substr(dash + 1))) {
    return {};
  }
  return file.substr(0, dot);
}

Status remove_left_exports(kv::Database& database, const std::string& directory,
                           const std::function<bool(std::string_view table)>& is_left) {
  rdb::FileSystem& files = *database.build_place().files;
  std::vector<std::string> paths;
  std::error_code error;
  // Collected first: what a directory lists while it changes is not defined.
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end;
       at.increment(error)) {
    const std::string name = at->path().filename().string();
    const std::string_view table = exported_table_of(name);
    if (!table.empty() && is_left(table)) paths.push_back(directory + "/" + name);
  }
  Status first;
  const auto note = [&first](ErrorCode code, const std::string& what) {
    log_message(LogLevel::kWarning, what);
    if (first.is_ok()) first = Status(code, what);
  };
  if (error && error != std::errc::no_such_file_or_directory) {
    note(ErrorCode::kIoError, "'" + directory + "' cannot be read: " + error.message());
  }
  for (const std::string& path : paths) {
    const Status removed = remove_of_ours(files, path);
    if (removed.is_ok()) continue;
    note(removed.code(),
         "the file '" + path + "' of an exported table cannot be removed: " + removed.message());
  }
  return first;
}

Status remove_exported(kv::Database& database, const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string_view name = std::string_view(path).substr(slash + 1);
  return remove_left_exports(database, path.substr(0, slash),
                             [name](std::string_view table) { return table == name; });
}

}  // namespace basalt::table
