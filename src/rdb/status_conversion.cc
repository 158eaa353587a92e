#include "rdb/status_conversion.h"

#include <errno.h>

#include <rocksdb/status.h>

#include <string_view>
#include <system_error>

namespace basalt::rdb {

std::string text_of(const rdb::Status& status) { return status.ToString(); }

bool is_secondary_error(const rdb::Status& status) {
  const char* const text = status.getState();
  if (!status.IsIOError() || text == nullptr) return false;
  const std::string_view message(text);
  return message.starts_with("Writer has previous error") || message.starts_with("Seen error");
}

bool is_no_space(const rdb::Status& status) {
  if (status.IsNoSpace()) return true;
  if (!status.IsIOError()) return false;
  // GuardedFileSystem gives all errors of writes one kind, on which RocksDB lets itself be resumed:
  // the cause is in the text that the system has for it.
  const char* const text = status.getState();
  if (text == nullptr) return false;
  const std::string_view message(text);
  for (const int cause : {ENOSPC, EDQUOT}) {
    if (message.ends_with(std::generic_category().message(cause))) return true;
  }
  return false;
}

Status from_rocksdb(const rdb::Status& status) {
  if (status.ok()) [[likely]]
    return Status::ok();
  const std::string text = text_of(status);
  if (is_no_space(status)) {
    return Status(ErrorCode::kNoSpace, text + "; free space on the device, then try again");
  }
  if (status.IsNotFound()) return Status(ErrorCode::kNotFound, text);
  if (status.IsCorruption()) return Status(ErrorCode::kCorruption, text);
  if (status.IsInvalidArgument()) return Status(ErrorCode::kInvalidArgument, text);
  if (status.IsNotSupported()) return Status(ErrorCode::kUnsupported, text);
  if (status.IsMemoryLimit()) return Status(ErrorCode::kTooLarge, text);
  return Status(ErrorCode::kIoError, text);
}

}  // namespace basalt::rdb
