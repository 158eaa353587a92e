#pragma once
#include "kv/per_thread_cache.h"
#include "rdb/rocksdb_fwd.h"

namespace basalt::kv {

// RocksDB's snapshots that nobody uses at the moment and that are still the newest.
//
// Purpose     RocksDB registers and releases a snapshot under the mutex of the whole database. As
//             each statement needs one, threads that only read meet there, and once one of them
//             loses its processor while it has the mutex they queue for it from then on.
// How         A thread takes the one it gave back last, if nothing was committed meanwhile.
// Lifetime    An idle snapshot keeps what it sees from being compacted away, so release_idle() is
//             to be called about once a second. The pool ends before its database does.
// Threads     Safe from any thread.
class SnapshotPool {
 public:
  explicit SnapshotPool(rdb::DB& db) : db_(db) {}
  ~SnapshotPool() { release_idle(); }
  SnapshotPool(const SnapshotPool&) = delete;
  SnapshotPool& operator=(const SnapshotPool&) = delete;

  // A snapshot of what is committed now, until it is given back.
  const rdb::Snapshot* take();
  void give_back(const rdb::Snapshot* snapshot);
  // Releases those that are in no use.
  void release_idle();

 private:
  bool is_newest(const rdb::Snapshot& snapshot) const;

  rdb::DB& db_;
  PerThreadCache<const rdb::Snapshot> idle_;
};

}  // namespace basalt::kv
