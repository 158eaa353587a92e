#include "kv/iterator_pool.h"

#include <rocksdb/iterator.h>
#include <rocksdb/listener.h>

#include <utility>

#include "base/assert.h"
#include "kv/batch_buffer.h"
#include "kv/rocksdb_reads.h"

namespace basalt::kv {
namespace {

class ReleaseListener : public rdb::EventListener {
 public:
  explicit ReleaseListener(std::shared_ptr<IteratorPool> pool) : pool_(std::move(pool)) {}
  void OnFlushCompleted(rdb::DB*, const rdb::FlushJobInfo&) override { pool_->release_idle(); }
  void OnCompactionCompleted(rdb::DB*, const rdb::CompactionJobInfo&) override {
    pool_->release_idle();
  }

 private:
  const std::shared_ptr<IteratorPool> pool_;
};

}  // namespace

IteratorParts::IteratorParts() = default;
// The iterator goes before its bounds.
IteratorParts::~IteratorParts() { iterator.reset(); }
IteratorParts::IteratorParts(IteratorParts&&) noexcept = default;
IteratorParts& IteratorParts::operator=(IteratorParts&&) noexcept = default;

std::unique_ptr<IteratorParts> IteratorPool::take(const IteratorKind& kind,
                                                  const rdb::Snapshot* snapshot,
                                                  const KeyRange& range) {
  std::unique_ptr<IteratorParts> parts(idle_of(kind).take());
  if (parts == nullptr || parts->kind != kind) return nullptr;
  parts->bounds->set(range);
  parts->round = round();
  if (!parts->iterator->Refresh(snapshot).ok()) return nullptr;
  return parts;
}

void IteratorPool::give_back(std::unique_ptr<IteratorParts> parts) {
  BASALT_DEBUG_ASSERT(parts->iterator != nullptr);
  const std::uint64_t round_of_parts = parts->round;
  // An error that it met beyond what it has shown is met again by the next iterator that goes
  // there.
  const bool is_sound = parts->iterator->status().ok();
  if (round_of_parts != round() || !is_sound) return;
  PerThreadCache<IteratorParts>& idle = idle_of(parts->kind);
  const std::unique_ptr<IteratorParts> other(idle.put(parts.release()));
  // A thread that has ended the round meanwhile has perhaps found the slot empty.
  if (round_of_parts != round()) delete idle.take();
}

void IteratorPool::release_idle() {
  round_.fetch_add(1);
  for (auto* const idle : {&idle_, &idle_that_give_up_}) {
    idle->take_all([](IteratorParts* parts) { delete parts; });
  }
}

std::shared_ptr<rdb::EventListener> make_release_listener(std::shared_ptr<IteratorPool> pool) {
  return std::make_shared<ReleaseListener>(std::move(pool));
}

}  // namespace basalt::kv
