#include "wal/wal_preallocator.h"

#include <limits>

namespace basalt::wal {
namespace {

constexpr std::uint64_t kPreallocatedBytes = 256 * 1024;
// Worth it if as many syncs came in the last such part of the WAL.
constexpr std::uint32_t kSyncsMin = 8;

}  // namespace

WalPreallocator::WalPreallocator(rdb::FileSystem& files, const std::string& path, Health& health,
                                 std::uint64_t size)
    : files_(files),
      path_(path),
      health_(health),
      preallocated_end_(size == 0 ? kPreallocatedBytes
                                  : std::numeric_limits<std::uint64_t>::max()) {}

void WalPreallocator::extend(std::uint64_t begin) {
  const std::uint32_t syncs = syncs_.load(std::memory_order_relaxed);
  const bool is_worth_it =
      syncs - syncs_before_ >= kSyncsMin && health_.access() == Access::kWritable;
  syncs_before_ = syncs;
  preallocated_end_ = begin + kPreallocatedBytes;
  if (!is_worth_it) return;
  rdb::IOStatus status;
  if (file_ == nullptr) {
    status = files_.NewRandomRWFile(path_, rdb::FileOptions(), &file_, nullptr);
  }
  const std::string zeros(kPreallocatedBytes, '\0');
  if (status.ok()) status = file_->Write(begin, zeros, rdb::IOOptions(), nullptr);
  // No error that matters stays unseen: records come next.
  status.PermitUncheckedError();
  health_.note_written(zeros.size());
}

bool WalPreallocator::finish() {
  const bool has_zeros = file_ != nullptr;
  file_.reset();
  preallocated_end_ = std::numeric_limits<std::uint64_t>::max();
  return has_zeros;
}

}  // namespace basalt::wal
