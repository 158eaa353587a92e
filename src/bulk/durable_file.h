#pragma once
#include <string>
#include <string_view>

#include "base/status.h"
#include "rdb/rocksdb_fwd.h"

// Small files that are written once and read as a whole, and names.
namespace basalt::bulk {

// Writes a file, and makes it and its name survive a crash of the machine. kIoError, kNoSpace.
Status write_durable_file(rdb::FileSystem& files, const std::string& path, std::string_view bytes);
// kNotFound if there is none; kIoError.
Result<std::string> read_file(rdb::FileSystem& files, const std::string& path);
// Gives a file or a directory another name, which survives a crash of the machine. kIoError.
Status rename_durably(rdb::FileSystem& files, const std::string& from, const std::string& to);
// Makes the names in a directory survive a crash of the machine. kIoError.
Status sync_directory(rdb::FileSystem& files, const std::string& path);
// Removes a file if it is there. kIoError.
Status remove_file(rdb::FileSystem& files, const std::string& path);

}  // namespace basalt::bulk
