#pragma once
#include <cstdint>

namespace basalt::wal {

class WalFile;

// To exist while a call of RocksDB writes to its WAL: what the call has appended is taken back when
// it fails, so that no later start can find it. RocksDB lets one thread write for several that
// wait; all of them fail together. The file that fails knows the call by its thread.
// Database::write_wal() makes one.
class WalWrite {
 public:
  WalWrite();
  ~WalWrite();
  WalWrite(const WalWrite&) = delete;
  WalWrite& operator=(const WalWrite&) = delete;

  // This thread is about to append to `file`, which has `size` bytes.
  static void note_append(WalFile& file, std::uint64_t size);
  // A write has failed in this thread.
  static void undo_current();

 private:
  WalWrite* const outer_;
  WalFile* file_ = nullptr;
  std::uint64_t begin_ = 0;
};

}  // namespace basalt::wal
