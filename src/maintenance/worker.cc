#include "maintenance/worker.h"

#include <chrono>
#include <string>

#include "base/bytes.h"
#include "base/failpoint.h"
#include "base/log.h"

namespace basalt::maintenance {
namespace {

constexpr std::chrono::seconds kRound{1};

}  // namespace

Worker::Worker(kv::Database& database, catalog::Catalog& catalog)
    : database_(database), catalog_(catalog), thread_([this] { run(); }) {}

Worker::~Worker() {
  {
    const std::lock_guard guard(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Worker::wake() {
  {
    const std::lock_guard guard(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

void Worker::start_reclaiming() {
  reclaiming_ = true;
  wake();
}

void Worker::run() {
  std::unique_lock guard(mutex_);
  while (!stopping_) {
    changed_.wait_for(guard, kRound, [this] { return stopping_ || woken_; });
    woken_ = false;
    if (stopping_) break;
    guard.unlock();
    sync_log();
    reclaim_dropped();
    guard.lock();
  }
}

void Worker::sync_log() {
  if (!sync_log_) return;
  const Status status = database_.sync_log();
  if (!status.is_ok()) log_message(LogLevel::kError, "log sync: " + status.message());
}

void Worker::reclaim_dropped() {
  if (!reclaiming_) return;
  for (const catalog::DroppedIndex& index : catalog_.dropped_indexes()) {
    kv::KeyRange range;
    append_be32(range.lower, index.id);
    append_be32(range.upper, index.id + 1);
    Status status = database_.reclaim(index.family, range);
    BASALT_FAILPOINT("maintenance.reclaim.before_forget");
    if (status.is_ok()) status = catalog_.forget_dropped(index.id);
    if (!status.is_ok()) {
      log_message(LogLevel::kError, "reclaiming dropped index " + std::to_string(index.id) +
                                        ": " + status.message() + "; will be tried again");
      return;
    }
  }
}

}  // namespace basalt::maintenance
