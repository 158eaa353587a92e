#include "kv/snapshot_pool.h"

#include <rocksdb/db.h>
#include <rocksdb/snapshot.h>

namespace basalt::kv {

SnapshotPool::Slot& SnapshotPool::slot_of_thread() {
  static std::atomic<std::size_t> threads{0};
  thread_local const std::size_t number = threads.fetch_add(1, std::memory_order_relaxed);
  return slots_[number % kSlots];
}

// Snapshots are nothing but their sequence numbers.
bool SnapshotPool::is_newest(const rdb::Snapshot& snapshot) const {
  return snapshot.GetSequenceNumber() == db_.GetLatestSequenceNumber();
}

const rdb::Snapshot* SnapshotPool::take() {
  const rdb::Snapshot* const idle =
      slot_of_thread().idle.exchange(nullptr, std::memory_order_acquire);
  if (idle == nullptr) return db_.GetSnapshot();
  if (is_newest(*idle)) return idle;
  db_.ReleaseSnapshot(idle);
  return db_.GetSnapshot();
}

void SnapshotPool::give_back(const rdb::Snapshot* snapshot) {
  if (is_newest(*snapshot)) {
    snapshot = slot_of_thread().idle.exchange(snapshot, std::memory_order_acq_rel);
  }
  if (snapshot != nullptr) db_.ReleaseSnapshot(snapshot);
}

void SnapshotPool::release_idle() {
  for (Slot& slot : slots_) {
    // A look first: most slots have never had one.
    if (slot.idle.load(std::memory_order_relaxed) == nullptr) continue;
    const rdb::Snapshot* const idle = slot.idle.exchange(nullptr, std::memory_order_acquire);
    if (idle != nullptr) db_.ReleaseSnapshot(idle);
  }
}

}  // namespace basalt::kv
