#include "maintenance/worker.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/failpoint.h"
#include "base/log.h"

namespace basalt::maintenance {
namespace {

constexpr std::chrono::seconds kRound{1};

}  // namespace

Worker::Worker(kv::Database& database, catalog::Catalog& catalog, IndexesInUse in_use)
    : database_(database),
      catalog_(catalog),
      wal_limit_(database),
      in_use_(std::move(in_use)),
      thread_([this] { run(); }) {}

Worker::~Worker() {
  {
    const MutexLock guard(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
  run_tasks();
}

void Worker::wake() {
  {
    const MutexLock guard(mutex_);
    woken_ = true;
  }
  changed_.notify_all();
}

void Worker::run_soon(std::string name, Task task) {
  {
    const MutexLock guard(mutex_);
    new_tasks_.push_back({std::move(name), std::move(task)});
    woken_ = true;
  }
  changed_.notify_all();
}

void Worker::start_reclaiming() {
  reclaiming_ = true;
  wake();
}

void Worker::run() {
  UniqueLock guard(mutex_);
  while (!stopping_) {
    changed_.wait_for(mutex_, kRound,
                      [this]() BASALT_REQUIRES(mutex_) { return stopping_ || woken_; });
    woken_ = false;
    if (stopping_) break;
    guard.unlock();
    // Before what may have to wait.
    database_.release_idle();
    run_tasks();
    // Space may come back while nobody writes, and others use the device, too.
    database_.health().measure_space();
    sync_wal();
    limit_wal();
    renew_expiry_limit();
    reclaim_dropped();
    guard.lock();
  }
}

void Worker::run_tasks() {
  {
    const MutexLock guard(mutex_);
    for (NamedTask& task : new_tasks_) tasks_.push_back(std::move(task));
    new_tasks_.clear();
  }
  auto task = tasks_.begin();
  for (; task != tasks_.end(); ++task) {
    const Status status = task->task();
    if (status.is_ok()) continue;
    log_failure(*task, status);
    break;
  }
  tasks_.erase(tasks_.begin(), task);
}

void Worker::log_failure(NamedTask& task, const Status& status) {
  const bool is_waiting = status.is(ErrorCode::kLockTimeout);
  if (is_waiting && ++task.rounds_waited < kPatientRounds) return;
  if (!task.has_failed) {
    log_message(is_waiting ? LogLevel::kWarning : LogLevel::kError,
                task.name + ": " + status.message() + "; will be tried again");
  }
  task.has_failed = true;
}

void Worker::sync_wal() {
  if (!sync_wal_) return;
  const Status status = database_.sync_wal();
  // That the engine is read-only has been logged.
  if (status.is_ok() || status.is(ErrorCode::kReadOnly)) return;
  log_message(LogLevel::kError, "log sync: " + status.message());
}

// Failures of the disk make the engine read-only, which is logged.
void Worker::limit_wal() {
  if (!database_.health().check_not_read_only().is_ok()) return;
  if (reclaiming_ && has_replayed_wals_) {
    has_replayed_wals_ = !wal_limit_.release_replayed().is_ok();
  }
  wal_limit_.renew().ignore("it is tried again in the next round");
}

void Worker::renew_expiry_limit() {
  if (!database_.health().check_not_read_only().is_ok()) return;
  database_.renew_expiry_limit().ignore("it is tried again in the next round");
}

void Worker::reclaim_dropped() {
  if (!reclaiming_ || !database_.health().check_not_read_only().is_ok()) return;
  const std::vector<catalog::DroppedIndex> dropped = catalog_.dropped_indexes();
  if (dropped.empty()) return;
  // Asked after they were dropped. What is committed after the reclaiming would be known to nobody.
  std::vector<catalog::IndexId> in_use;
  if (in_use_) in_use = in_use_();
  for (const catalog::DroppedIndex& index : dropped) {
    if (std::ranges::binary_search(in_use, index.id)) continue;
    const KeyRange range = index_key_range(index.id);
    Status status = database_.reclaim(index.family, range);
    BASALT_FAILPOINT("maintenance.reclaim.before_forget");
    if (status.is_ok()) status = catalog_.forget_dropped(index.id);
    if (!status.is_ok()) {
      log_message(LogLevel::kError, "reclaiming dropped index " + std::to_string(index.id) + ": " +
                                        status.message() + "; will be tried again");
      return;
    }
  }
}

}  // namespace basalt::maintenance
