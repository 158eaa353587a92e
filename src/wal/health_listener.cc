#include "wal/health_listener.h"

#include <rocksdb/io_status.h>
#include <rocksdb/listener.h>

#include <string>
#include <utility>

#include "rdb/rocksdb_fwd.h"
#include "rdb/status_conversion.h"

namespace basalt::wal {
namespace {

std::string_view work_of(rdb::BackgroundErrorReason reason) {
  switch (reason) {
    case rdb::BackgroundErrorReason::kFlush:
    case rdb::BackgroundErrorReason::kFlushNoWAL: return "a flush failed: ";
    case rdb::BackgroundErrorReason::kCompaction: return "a compaction failed: ";
    case rdb::BackgroundErrorReason::kWriteCallback: return "a write to the WAL failed: ";
    case rdb::BackgroundErrorReason::kMemTable: return "a change in memory failed: ";
    case rdb::BackgroundErrorReason::kManifestWrite:
    case rdb::BackgroundErrorReason::kManifestWriteNoWAL: return "a write to the manifest failed: ";
    case rdb::BackgroundErrorReason::kAsyncFileOpen: return "a file cannot be opened: ";
  }
  return "";
}

class HealthListener : public rdb::EventListener {
 public:
  explicit HealthListener(std::shared_ptr<Health> health) : health_(std::move(health)) {}

  void OnBackgroundError(rdb::BackgroundErrorReason reason, rdb::Status* error) override {
    if (rdb::is_secondary_error(*error)) {
      *error = rdb::Status::OK();  // RocksDB forgets it; the first error has the cause
      return;
    }
    // A failed write of a compaction leaves everything as it was.
    if (reason == rdb::BackgroundErrorReason::kCompaction && error->IsIOError() &&
        error->severity() < rdb::Status::Severity::kHardError) {
      health_->note_compaction_failure(rdb::text_of(*error));
      return;
    }
    const bool is_final = error->severity() > rdb::Status::Severity::kHardError;
    health_->turn_read_only(std::string(work_of(reason)) + rdb::text_of(*error), is_final);
  }

  void OnErrorRecoveryBegin(rdb::BackgroundErrorReason, rdb::Status, bool* auto_recovery) override {
    *auto_recovery = false;
  }

  void OnCompactionCompleted(rdb::DB*, const rdb::CompactionJobInfo& job) override {
    if (job.status.ok()) health_->note_compaction_success();
  }

  void OnStallConditionsChanged(const rdb::WriteStallInfo& info) override {
    health_->note_backlog(info.condition.cur != rdb::WriteStallCondition::kNormal);
  }

 private:
  const std::shared_ptr<Health> health_;
};

}  // namespace

std::shared_ptr<rdb::EventListener> make_health_listener(std::shared_ptr<Health> health) {
  return std::make_shared<HealthListener>(std::move(health));
}

}  // namespace basalt::wal
