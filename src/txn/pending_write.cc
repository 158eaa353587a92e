#include "txn/pending_write.h"

#include <span>
#include <utility>

#include "base/failpoint.h"
#include "txn/run_writer.h"

namespace basalt::txn {
namespace {

Status write_run(kv::Database& database, std::span<const BatchEntry> entries,
                 const std::string& path, const std::function<bool()>& is_stopped,
                 SpilledRuns& runs) {
  if (entries.empty()) return Status::ok();
  BASALT_FAILPOINT("txn.spill.write");
  RunWriter writer(database, path);
  for (const BatchEntry& entry : entries) {
    if (is_stopped()) return Status::of(ErrorCode::kInterrupted);
    BASALT_TRY(writer.add(entry.family(), entry.kind(), entry.key(), entry.value()));
  }
  auto run = writer.finish();
  if (!run.is_ok()) return run.take_status();
  runs.push_back(std::move(run.value()));
  BASALT_HOLDPOINT("txn.spill.written");
  return Status::ok();
}

}  // namespace

Status write_pending_runs(kv::Database& database, const PendingRuns& pending,
                          const std::string& path, const std::function<bool()>& is_stopped,
                          WrittenRuns& written) {
  written = {};
  for (const auto& run : pending) {
    // Sorting is not stopped.
    if (is_stopped()) return Status::of(ErrorCode::kInterrupted);
    const std::string here = path + std::to_string(written.ends.size()) + "-";
    const PendingRun::Sorted& sorted = run->sorted();
    BASALT_TRY(write_run(database, sorted.removals, here + "removals-", is_stopped, written.runs));
    BASALT_TRY(write_run(database, sorted.newest, here, is_stopped, written.runs));
    written.ends.push_back(written.runs.size());
  }
  return Status::ok();
}

PendingWrite::PendingWrite(kv::Database& database, const bulk::BuildDirectory& directory,
                           const std::string& name, PendingRuns runs)
    : runs_(std::move(runs)),
      task_(database, directory, name, "rocksdb:spill",
            [this, &database, path = directory.path() + "/" + name](const std::stop_token& stop,
                                                                    SpilledRuns& made) {
              WrittenRuns written;
              const auto is_stopped = [&stop] { return stop.stop_requested(); };
              BASALT_TRY(write_pending_runs(database, runs_, path, is_stopped, written));
              made = std::move(written.runs);
              ends_ = std::move(written.ends);
              return Status::ok();
            }) {}

Status PendingWrite::wait(WrittenRuns& written) {
  BASALT_TRY(task_.wait(written.runs));
  written.ends = std::move(ends_);
  return Status::ok();
}

}  // namespace basalt::txn
