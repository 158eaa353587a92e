#include "wal/wal_continuity.h"

#include <rocksdb/write_batch.h>

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "rdb/slice.h"
#include "wal/guarded_file_system.h"

namespace basalt::wal {
namespace {

// Counts the sequence numbers that a record takes, and finds its mark.
class NumberCounter final : public rdb::WriteBatch::Handler {
 public:
  explicit NumberCounter(std::unordered_map<std::string, std::uint64_t>& prepared)
      : prepared_(prepared) {}

  std::uint64_t count() const { return count_; }
  // Whether it commits what no record before has prepared.
  bool has_unknown() const { return has_unknown_; }
  const WalMark& mark() const { return mark_; }

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
  void LogData(const rdb::Slice& blob) override { mark_ = parse_wal_mark(rdb::view_of(blob)); }

 private:
  rdb::Status one() {
    ++count_;
    return {};
  }

  std::unordered_map<std::string, std::uint64_t>& prepared_;
  std::uint64_t count_ = 0;
  std::uint64_t before_prepare_ = 0;
  bool has_unknown_ = false;
  WalMark mark_;
};

}  // namespace

bool WalContinuity::is_behind_a_gap(std::uint64_t wal, std::uint64_t first,
                                    const WalMark& mark) const {
  if (wal == wal_ || !next_) return false;
  // RocksDB goes on behind the newest number of files, too, of which the WALs may have lost what
  // was not synced. What it had replayed then must still be there.
  if (mark.kind == WalMark::Kind::kOpened) return mark.number > *next_;
  const auto found = taken_before_.find(wal);
  const std::uint64_t taken = found == taken_before_.end() ? 0 : found->second;
  return first > *next_ + std::max(without_record_, taken);
}

void WalContinuity::ColumnFamilyLogNumberMap(
    const std::map<std::uint32_t, std::uint64_t>& first_logs,
    const std::map<std::string, std::uint32_t>&) {
  for (const auto& [family, wal] : first_logs) {
    newest_first_wal_ = std::max(newest_first_wal_, wal);
  }
}

rdb::WalFilter::WalProcessingOption WalContinuity::LogRecordFound(unsigned long long wal,
                                                                  const std::string& path,
                                                                  const rdb::WriteBatch& batch,
                                                                  rdb::WriteBatch*, bool*) {
  // A record begins with its first number.
  const auto first = load_le<std::uint64_t>(batch.Data().data());
  NumberCounter counter(prepared_);
  // What cannot be gone through RocksDB will not replay either.
  const bool is_known = batch.Iterate(&counter).ok() && !counter.has_unknown();
  const WalMark& mark = counter.mark();
  if (is_behind_a_gap(wal, first, mark)) {
    if (!gap_) gap_ = {path, first, *next_, newest_first_wal_ > wal_, has_seen_mark_};
    files_.refuse("the WALs have a gap");
    return WalProcessingOption::kCorruptedRecord;
  }
  wal_ = wal;
  if (mark.kind != WalMark::Kind::kNone) {
    has_seen_mark_ = true;
    without_record_ = mark.kind == WalMark::Kind::kIngesting ? mark.number : 0;
  }
  next_ = is_known ? std::optional(first + counter.count()) : std::nullopt;
  return WalProcessingOption::kContinueProcessing;
}

}  // namespace basalt::wal
