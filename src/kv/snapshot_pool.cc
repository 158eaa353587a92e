#include "kv/snapshot_pool.h"

#include <rocksdb/db.h>
#include <rocksdb/snapshot.h>

#include "base/assert.h"

namespace basalt::kv {

// Snapshots are nothing but their sequence numbers.
bool SnapshotPool::is_newest(const rdb::Snapshot& snapshot) const {
  return snapshot.GetSequenceNumber() == db_.GetLatestSequenceNumber();
}

const rdb::Snapshot* SnapshotPool::take() {
  const rdb::Snapshot* const idle = idle_.take();
  if (idle == nullptr) return db_.GetSnapshot();
  if (is_newest(*idle)) return idle;
  db_.ReleaseSnapshot(idle);
  return db_.GetSnapshot();
}

void SnapshotPool::give_back(const rdb::Snapshot* snapshot) {
  BASALT_DEBUG_ASSERT(snapshot != nullptr);
  if (is_newest(*snapshot)) snapshot = idle_.put(snapshot);
  if (snapshot != nullptr) db_.ReleaseSnapshot(snapshot);
}

void SnapshotPool::release_idle() {
  idle_.take_all([this](const rdb::Snapshot* idle) { db_.ReleaseSnapshot(idle); });
}

}  // namespace basalt::kv
