#include "wal/kept_files.h"

#include <rocksdb/file_system.h>

namespace basalt::wal {

void KeptFiles::begin() {
  const MutexLock guard(mutex_);
  is_manifest_doubtful_ = true;
}

bool KeptFiles::is_needed() {
  const MutexLock guard(mutex_);
  return is_manifest_doubtful_;
}

bool KeptFiles::keep(const std::string& path) {
  const MutexLock guard(mutex_);
  if (!is_manifest_doubtful_) return false;
  paths_.push_back(path);
  return true;
}

void KeptFiles::end(rdb::FileSystem& files) {
  std::vector<std::string> paths;
  {
    const MutexLock guard(mutex_);
    is_manifest_doubtful_ = false;
    paths.swap(paths_);
  }
  for (const std::string& path : paths) {
    files.DeleteFile(path, rdb::IOOptions(), nullptr).PermitUncheckedError();
  }
}

}  // namespace basalt::wal
