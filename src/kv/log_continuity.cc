#include "kv/log_continuity.h"

#include <rocksdb/write_batch.h>

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "kv/guarded_file_system.h"

namespace basalt::kv {
namespace {

// An ingestion takes at most one, and an empty record follows, perhaps in the next log.
constexpr std::uint64_t kNumbersWithoutRecord = 1;

// Counts the sequence numbers that a record takes.
class NumberCounter final : public rdb::WriteBatch::Handler {
 public:
  explicit NumberCounter(std::unordered_map<std::string, std::uint64_t>& prepared)
      : prepared_(prepared) {}

  std::uint64_t count() const { return count_; }
  // Whether it commits what no record before has prepared.
  bool has_unknown() const { return has_unknown_; }

  rdb::Status PutCF(std::uint32_t, const rdb::Slice&, const rdb::Slice&) override { return one(); }
  rdb::Status DeleteCF(std::uint32_t, const rdb::Slice&) override { return one(); }
  rdb::Status SingleDeleteCF(std::uint32_t, const rdb::Slice&) override { return one(); }
  rdb::Status DeleteRangeCF(std::uint32_t, const rdb::Slice&, const rdb::Slice&) override {
    return one();
  }
  rdb::Status MergeCF(std::uint32_t, const rdb::Slice&, const rdb::Slice&) override {
    return one();
  }
  rdb::Status MarkBeginPrepare(bool) override {
    before_prepare_ = std::exchange(count_, 0);
    return {};
  }
  rdb::Status MarkEndPrepare(const rdb::Slice& name) override {
    prepared_[name.ToString()] = std::exchange(count_, before_prepare_);
    return {};
  }
  rdb::Status MarkCommit(const rdb::Slice& name) override {
    const auto found = prepared_.extract(name.ToString());
    if (found.empty()) has_unknown_ = true;
    if (!found.empty()) count_ += found.mapped();
    return {};
  }
  rdb::Status MarkRollback(const rdb::Slice& name) override {
    prepared_.erase(name.ToString());
    return {};
  }
  rdb::Status MarkNoop(bool) override { return {}; }

 private:
  rdb::Status one() {
    ++count_;
    return {};
  }

  std::unordered_map<std::string, std::uint64_t>& prepared_;
  std::uint64_t count_ = 0;
  std::uint64_t before_prepare_ = 0;
  bool has_unknown_ = false;
};

}  // namespace

bool LogContinuity::is_behind_a_gap(std::uint64_t log, std::uint64_t first) const {
  return log != log_ && next_ && first > *next_ + kNumbersWithoutRecord;
}

void LogContinuity::ColumnFamilyLogNumberMap(
    const std::map<std::uint32_t, std::uint64_t>& first_logs,
    const std::map<std::string, std::uint32_t>&) {
  for (const auto& [family, log] : first_logs) {
    newest_first_log_ = std::max(newest_first_log_, log);
  }
}

rdb::WalFilter::WalProcessingOption LogContinuity::LogRecordFound(unsigned long long log,
                                                                  const std::string& path,
                                                                  const rdb::WriteBatch& batch,
                                                                  rdb::WriteBatch*, bool*) {
  // A record begins with its first number.
  const auto first = load_le<std::uint64_t>(batch.Data().data());
  if (is_behind_a_gap(log, first)) {
    if (!gap_) gap_ = {path, first, *next_, newest_first_log_ > log_};
    files_.refuse("the logs have a gap");
    return WalProcessingOption::kCorruptedRecord;
  }
  log_ = log;
  NumberCounter counter(prepared_);
  // What cannot be gone through RocksDB will not replay either.
  const bool is_known = batch.Iterate(&counter).ok() && !counter.has_unknown();
  next_ = is_known ? std::optional(first + counter.count()) : std::nullopt;
  return WalProcessingOption::kContinueProcessing;
}

}  // namespace basalt::kv
