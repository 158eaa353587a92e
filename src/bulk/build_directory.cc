#include "bulk/build_directory.h"

#include <rocksdb/file_system.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "base/log.h"
#include "bulk/durable_file.h"
#include "rdb/status_conversion.h"

namespace basalt::bulk {
namespace {

std::string parent_of(const BuildPlace& place) { return place.database + "/build"; }
std::string parent_of_loads(const BuildPlace& place) { return place.database + "/loads"; }
std::string load_path(const BuildPlace& place, std::uint32_t number) {
  return parent_of_loads(place) + "/" + std::to_string(number);
}

// Of a load's file in a copy: this, the load's number, a hyphen, its name.
constexpr std::string_view kCopyPrefix = "load-";
// The empty file in a directory that belongs to copies.
constexpr std::string_view kMark = "copied";

std::string mark_of(const std::string& directory) {
  return std::string(directory).append("/").append(kMark);
}

bool exists(rdb::FileSystem& files, const std::string& path) {
  return files.FileExists(path, rdb::IOOptions(), nullptr).ok();
}

Status failed(const std::string& path, std::string_view what, const rdb::IOStatus& status) {
  const Status cause = rdb::from_rocksdb(status);
  return Status(cause.code(),
                "'" + path + "' cannot be " + std::string(what) + ": " + cause.message());
}

Status make_directory(rdb::FileSystem& files, const std::string& path) {
  const rdb::IOStatus made = files.CreateDirIfMissing(path, rdb::IOOptions(), nullptr);
  return made.ok() ? Status::ok() : failed(path, "made", made);
}

// One that is not there has none.
Status list_names(rdb::FileSystem& files, const std::string& path,
                  std::vector<std::string>& names) {
  const rdb::IOStatus listed = files.GetChildren(path, rdb::IOOptions(), &names, nullptr);
  std::erase_if(names, [](const std::string& name) { return name == "." || name == ".."; });
  if (listed.ok() || listed.IsNotFound() || listed.IsPathNotFound()) return Status::ok();
  return failed(path, "read", listed);
}

// As far as they can be told.
std::vector<std::string> names_in(rdb::FileSystem& files, const std::string& path) {
  std::vector<std::string> names;
  list_names(files, path, names).ignore("what is left takes space, and nothing else");
  return names;
}

rdb::IOStatus remove_all_of(rdb::FileSystem& files, const std::string& path) {
  const rdb::IOOptions options;
  bool is_directory = false;
  rdb::IOStatus status = files.IsDirectory(path, options, &is_directory, nullptr);
  if (!status.ok()) return status;
  if (!is_directory) return files.DeleteFile(path, options, nullptr);
  for (const std::string& name : names_in(files, path)) {
    status = remove_all_of(files, path + "/" + name);
    if (!status.ok()) return status;
  }
  return files.DeleteDir(path, options, nullptr);
}

// What cannot be removed takes space, and nothing else.
void remove_tree(rdb::FileSystem& files, const std::string& path) {
  const rdb::IOStatus status = remove_all_of(files, path);
  if (status.ok() || status.IsNotFound() || status.IsPathNotFound()) return;
  log_message(LogLevel::kWarning, failed(path, "removed", status).message() +
                                      "; remove it, it has nothing that is needed");
}

// Links a file, or copies it where that cannot be.
Status put_copy(rdb::FileSystem& files, const std::string& from, const std::string& to) {
  if (files.LinkFile(from, to, rdb::IOOptions(), nullptr).ok()) return Status::ok();
  std::error_code error;
  std::filesystem::copy_file(from, to, error);
  if (error == std::errc::no_such_file_or_directory) return Status::ok();  // it is rolled back
  if (error) {
    const bool is_full = error == std::errc::no_space_on_device;
    return Status(is_full ? ErrorCode::kNoSpace : ErrorCode::kIoError,
                  "'" + from + "' cannot be copied to '" + to + "': " + error.message());
  }
  const rdb::IOStatus synced =
      files.SyncFile(to, rdb::FileOptions(), rdb::IOOptions(), /*use_fsync=*/true, nullptr);
  return synced.ok() ? Status::ok() : failed(to, "synced", synced);
}

// The number and the name that the name of a file in a copy tells of.
struct CopiedName {
  std::uint32_t load = 0;
  std::string_view name;
};
std::optional<CopiedName> parse_copied(std::string_view copied) {
  if (!copied.starts_with(kCopyPrefix)) return std::nullopt;
  copied.remove_prefix(kCopyPrefix.size());
  CopiedName parsed;
  const auto [end, error] =
      std::from_chars(copied.data(), copied.data() + copied.size(), parsed.load);
  parsed.name = copied.substr(static_cast<std::size_t>(end - copied.data()));
  if (error != std::errc() || parsed.name.size() < 2 || parsed.name.front() != '-') {
    return std::nullopt;
  }
  parsed.name.remove_prefix(1);
  return parsed;
}

// The names of a directory two levels below the database's, and those in it.
Status sync_tree(const BuildPlace& place, const std::string& path) {
  BASALT_TRY(sync_directory(*place.files, path));
  BASALT_TRY(sync_directory(*place.files, path.substr(0, path.rfind('/'))));
  return sync_directory(*place.files, place.database);
}

}  // namespace

Result<std::unique_ptr<BuildDirectory>> BuildDirectory::make(const BuildPlace& place,
                                                             std::uint32_t number) {
  const std::string parent = parent_of(place);
  const std::string path = parent + "/" + std::to_string(number);
  BASALT_TRY(make_directory(*place.files, parent));
  BASALT_TRY(make_directory(*place.files, path));
  return std::unique_ptr<BuildDirectory>(new BuildDirectory(place, path, number));
}

Result<std::unique_ptr<BuildDirectory>> BuildDirectory::make_load(const BuildPlace& place) {
  BASALT_TRY(make_directory(*place.files, parent_of_loads(place)));
  // Whoever makes the directory has the number. None is used twice in a run: the entry of before,
  // which was removed, would be in a memtable, and in the way of the next ingestion.
  static std::atomic<std::uint32_t> next = 1;
  for (;;) {
    const std::uint32_t number = next++;
    const std::string path = load_path(place, number);
    if (exists(*place.files, path)) continue;
    const rdb::IOStatus made = place.files->CreateDir(path, rdb::IOOptions(), nullptr);
    if (made.ok()) return std::unique_ptr<BuildDirectory>(new BuildDirectory(place, path, number));
    if (!exists(*place.files, path)) return failed(path, "made", made);
  }
}

std::unique_ptr<BuildDirectory> BuildDirectory::find_load(const BuildPlace& place,
                                                          std::uint32_t number) {
  return std::unique_ptr<BuildDirectory>(
      new BuildDirectory(place, load_path(place, number), number));
}

void BuildDirectory::remove_loads(const BuildPlace& place, const std::set<std::uint32_t>& kept) {
  std::set<std::string> left;
  for (const std::uint32_t number : kept) left.insert(std::to_string(number));
  const std::string parent = parent_of_loads(place);
  for (const std::string& name : names_in(*place.files, parent)) {
    if (!left.contains(name)) remove_tree(*place.files, parent + "/" + name);
  }
}

Status BuildDirectory::copy_loads(const BuildPlace& place, const std::string& directory) {
  rdb::FileSystem& files = *place.files;
  const std::string parent = parent_of_loads(place);
  std::vector<std::string> numbers;
  BASALT_TRY(list_names(files, parent, numbers));
  for (const std::string& number : numbers) {
    const std::string load = parent + "/" + number;
    std::vector<std::string> names;
    BASALT_TRY(list_names(files, load, names));
    if (std::ranges::find(names, kMark) == names.end()) continue;
    const std::string prefix = std::string(directory).append("/").append(kCopyPrefix);
    for (const std::string& name : names) {
      BASALT_TRY(put_copy(files, load + "/" + name, prefix + number + "-" + name));
    }
  }
  return sync_directory(files, directory);
}

Status BuildDirectory::take_copied_loads(const BuildPlace& place) {
  rdb::FileSystem& files = *place.files;
  std::vector<std::string> names;
  BASALT_TRY(list_names(files, place.database, names));
  for (const std::string& copied : names) {
    const std::optional<CopiedName> parsed = parse_copied(copied);
    if (!parsed) continue;
    const std::string load = load_path(place, parsed->load);
    const std::string to = std::string(load).append("/").append(parsed->name);
    if (exists(files, to)) {
      // An older engine has gone on with the copy, which knows nothing of the file.
      log_message(LogLevel::kWarning, "'" + copied + "' stays where it is, as there is '" + to +
                                          "'; remove it, it has nothing that is needed");
      continue;
    }
    BASALT_TRY(make_directory(files, parent_of_loads(place)));
    BASALT_TRY(make_directory(files, load));
    const std::string path = place.database + "/" + copied;
    const rdb::IOStatus moved = files.RenameFile(path, to, rdb::IOOptions(), nullptr);
    if (!moved.ok()) return failed(path, "moved to '" + load + "'", moved);
    BASALT_TRY(sync_tree(place, load));
  }
  return Status::ok();
}

void BuildDirectory::remove_all(const BuildPlace& place) {
  remove_tree(*place.files, parent_of(place));
}

void BuildDirectory::make_again() const {
  Status status = make_directory(*place_.files, parent_of_loads(place_));
  if (status.is_ok()) status = make_directory(*place_.files, path_);
  if (!status.is_ok()) log_message(LogLevel::kWarning, status.message());
}

void BuildDirectory::remove_files(std::string_view prefix) const {
  for (const std::string& name : names_in(*place_.files, path_)) {
    if (name.starts_with(prefix)) remove_tree(*place_.files, path_ + "/" + name);
  }
}

Status BuildDirectory::belong_to_copies() const {
  const std::string mark = mark_of(path_);
  std::unique_ptr<rdb::FSWritableFile> file;
  rdb::IOStatus made = place_.files->NewWritableFile(mark, rdb::FileOptions(), &file, nullptr);
  if (made.ok()) made = file->Close(rdb::IOOptions(), nullptr);
  return made.ok() ? Status::ok() : failed(mark, "made", made);
}

Status BuildDirectory::sync() const { return sync_tree(place_, path_); }

BuildDirectory::~BuildDirectory() {
  if (!is_left_) remove_tree(*place_.files, path_);
}

}  // namespace basalt::bulk
