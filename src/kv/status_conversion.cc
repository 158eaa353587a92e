#include "kv/status_conversion.h"

#include <rocksdb/status.h>

namespace basalt::kv {

Status from_rocksdb(const rdb::Status& status) {
  if (status.ok()) [[likely]] return Status::ok();
  const std::string text = status.ToString();
  if (status.IsNoSpace()) {
    return Status(ErrorCode::kNoSpace, text + "; free space on the device, then try again");
  }
  if (status.IsNotFound()) return Status(ErrorCode::kNotFound, text);
  if (status.IsCorruption()) return Status(ErrorCode::kCorruption, text);
  if (status.IsInvalidArgument()) return Status(ErrorCode::kInvalidArgument, text);
  if (status.IsNotSupported()) return Status(ErrorCode::kUnsupported, text);
  if (status.IsMemoryLimit()) return Status(ErrorCode::kTooLarge, text);
  return Status(ErrorCode::kIoError, text);
}

}  // namespace basalt::kv
