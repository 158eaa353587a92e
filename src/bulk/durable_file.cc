#include "bulk/durable_file.h"

#include <rocksdb/file_system.h>

#include <memory>

#include "rdb/slice.h"
#include "rdb/status_conversion.h"

namespace basalt::bulk {
namespace {

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

}  // namespace

Status write_durable_file(rdb::FileSystem& files, const std::string& path, std::string_view bytes) {
  BASALT_TRY(rdb::from_rocksdb(
      rdb::WriteStringToFile(&files, rdb::slice_of(bytes), path, /*should_sync=*/true)));
  return sync_directory(files, directory_of(path));
}

Status rename_durably(rdb::FileSystem& files, const std::string& from, const std::string& to) {
  BASALT_TRY(rdb::from_rocksdb(files.RenameFile(from, to, rdb::IOOptions(), nullptr)));
  return sync_directory(files, directory_of(to));
}

Status sync_directory(rdb::FileSystem& files, const std::string& path) {
  std::unique_ptr<rdb::FSDirectory> directory;
  rdb::IOStatus status = files.NewDirectory(path, rdb::IOOptions(), &directory, nullptr);
  if (status.ok()) status = directory->Fsync(rdb::IOOptions(), nullptr);
  if (status.ok()) return Status::ok();
  const Status cause = rdb::from_rocksdb(status);
  return Status(cause.code(), "'" + path + "' cannot be synced: " + cause.message());
}

Result<std::string> read_file(rdb::FileSystem& files, const std::string& path) {
  const rdb::IOStatus found = files.FileExists(path, rdb::IOOptions(), nullptr);
  if (found.IsNotFound()) return Status(ErrorCode::kNotFound, "there is no file '" + path + "'");
  std::string bytes;
  BASALT_TRY(rdb::from_rocksdb(rdb::ReadFileToString(&files, path, &bytes)));
  return bytes;
}

Status remove_file(rdb::FileSystem& files, const std::string& path) {
  const rdb::IOStatus removed = files.DeleteFile(path, rdb::IOOptions(), nullptr);
  if (removed.IsNotFound() || removed.IsPathNotFound()) return Status::ok();
  return rdb::from_rocksdb(removed);
}

}  // namespace basalt::bulk
