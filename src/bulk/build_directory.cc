#include "bulk/build_directory.h"

#include <rocksdb/file_system.h>

#include <atomic>
#include <vector>

#include "base/log.h"
#include "rdb/status_conversion.h"

namespace basalt::bulk {
namespace {

std::string parent_of(const BuildPlace& place) { return place.database + "/build"; }
std::string parent_of_loads(const BuildPlace& place) { return place.database + "/loads"; }
std::string load_path(const BuildPlace& place, std::uint32_t number) {
  return parent_of_loads(place) + "/" + std::to_string(number);
}

bool exists(rdb::FileSystem& files, const std::string& path) {
  return files.FileExists(path, rdb::IOOptions(), nullptr).ok();
}

Status failed(const std::string& path, const char* what, const rdb::IOStatus& status) {
  const Status cause = rdb::from_rocksdb(status);
  return Status(cause.code(), "'" + path + "' cannot be " + what + ": " + cause.message());
}

Status make_directory(rdb::FileSystem& files, const std::string& path) {
  const rdb::IOStatus made = files.CreateDirIfMissing(path, rdb::IOOptions(), nullptr);
  return made.ok() ? Status::ok() : failed(path, "made", made);
}

std::vector<std::string> names_in(rdb::FileSystem& files, const std::string& path) {
  std::vector<std::string> names;
  // One that is not there has none.
  files.GetChildren(path, rdb::IOOptions(), &names, nullptr).PermitUncheckedError();
  std::erase_if(names, [](const std::string& name) { return name == "." || name == ".."; });
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

Status sync_directory(rdb::FileSystem& files, const std::string& path) {
  std::unique_ptr<rdb::FSDirectory> directory;
  rdb::IOStatus status = files.NewDirectory(path, rdb::IOOptions(), &directory, nullptr);
  if (status.ok()) status = directory->Fsync(rdb::IOOptions(), nullptr);
  return status.ok() ? Status::ok() : failed(path, "synced", status);
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

Status BuildDirectory::sync() const {
  BASALT_TRY(sync_directory(*place_.files, path_));
  BASALT_TRY(sync_directory(*place_.files, path_.substr(0, path_.rfind('/'))));
  return sync_directory(*place_.files, place_.database);
}

BuildDirectory::~BuildDirectory() {
  if (!is_left_) remove_tree(*place_.files, path_);
}

}  // namespace basalt::bulk
