#include "wal/wal_write.h"

#include <utility>

#include "wal/wal_file.h"

namespace basalt::wal {
namespace {

// The write that this thread is in.
thread_local WalWrite* current_write = nullptr;

}  // namespace

WalWrite::WalWrite() : outer_(current_write) { current_write = this; }
WalWrite::~WalWrite() { current_write = outer_; }

void WalWrite::note_append(WalFile& file, std::uint64_t size) {
  if (current_write == nullptr || current_write->file_ == &file) return;
  current_write->file_ = &file;
  current_write->begin_ = size;
}

void WalWrite::undo_current() {
  if (current_write == nullptr || current_write->file_ == nullptr) return;
  WalFile* const file = std::exchange(current_write->file_, nullptr);
  file->undo_since(current_write->begin_);
}

}  // namespace basalt::wal
