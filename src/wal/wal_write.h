#pragma once
#include <cstdint>

namespace basalt::wal {

class GuardedFile;

// To exist while a call of RocksDB writes to its WAL: what the call has appended is taken back when
// it fails, so that no later start can find it. RocksDB lets one thread write for several that
// wait; all of them fail together. One thread at a time.
class WalWrite {
 public:
  WalWrite();
  ~WalWrite();
  WalWrite(const WalWrite&) = delete;
  WalWrite& operator=(const WalWrite&) = delete;

  // For the WAL's file: it is about to be appended to; its size before.
  void note_append(GuardedFile& file, std::uint64_t size);
  // A write has failed in this thread.
  static void undo_current();

 private:
  WalWrite* const outer_;
  GuardedFile* file_ = nullptr;
  std::uint64_t begin_ = 0;
};

}  // namespace basalt::wal
