#include "txn/run_merge.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "txn/own_change.h"
#include "txn/run_writer.h"

namespace basalt::txn {
namespace {

// The changes of one family in several runs, key by key.
class FamilyMerge {
 public:
  // The oldest first.
  explicit FamilyMerge(std::vector<std::unique_ptr<ChangeSource>> sources)
      : sources_(std::move(sources)) {}

  Status seek_to_first() {
    for (std::size_t age = 0; age < sources_.size(); ++age) {
      sources_[age]->seek_to_first();
      BASALT_TRY(enter(age));
    }
    choose();
    return Status::ok();
  }
  bool is_valid() const { return !same_key_.empty(); }
  // Of the current key.
  const ChangeSource& oldest() const { return *sources_[same_key_.front()]; }
  const ChangeSource& newest() const { return *sources_[same_key_.back()]; }

  // The bytes of all sources that have the current key.
  std::uint64_t bytes() const {
    std::uint64_t bytes = 0;
    for (const std::size_t age : same_key_) {
      const ChangeSource& source = *sources_[age];
      bytes += source.key().size() + (source.is_put() ? source.value().size() : 0);
    }
    return bytes;
  }

  Status next() {
    for (const std::size_t age : std::exchange(same_key_, {})) {
      sources_[age]->next();
      BASALT_TRY(enter(age));
    }
    choose();
    return Status::ok();
  }

 private:
  // For a heap, whose first element is the one that is behind no other.
  bool is_behind(std::size_t a, std::size_t b) const {
    const int order = sources_[a]->key().compare(sources_[b]->key());
    return order != 0 ? order > 0 : a > b;
  }
  auto by_key() {
    return [this](std::size_t a, std::size_t b) { return is_behind(a, b); };
  }
  // The source has moved.
  Status enter(std::size_t age) {
    if (!sources_[age]->is_valid()) return sources_[age]->status();
    waiting_.push_back(age);
    std::ranges::push_heap(waiting_, by_key());
    return Status::ok();
  }
  void choose() {
    BASALT_DEBUG_ASSERT(same_key_.empty());
    while (!waiting_.empty() &&
           (same_key_.empty() || sources_[waiting_.front()]->key() == oldest().key())) {
      same_key_.push_back(waiting_.front());
      std::ranges::pop_heap(waiting_, by_key());
      waiting_.pop_back();
    }
  }

  const std::vector<std::unique_ptr<ChangeSource>> sources_;
  std::vector<std::size_t> waiting_;   // a heap of those that are on a later key
  std::vector<std::size_t> same_key_;  // those on the current key, the oldest first
};

std::set<kv::FamilyId> families_of(std::span<const std::shared_ptr<const SpilledRun>> runs) {
  std::set<kv::FamilyId> families;
  for (const auto& run : runs) {
    for (const SpilledRun::File& file : run->files()) families.insert(file.family);
  }
  return families;
}

}  // namespace

Status merge_runs(kv::Database& database, std::span<const std::shared_ptr<const SpilledRun>> runs,
                  const std::string& path, TransactionProgress& progress, SpilledRuns& merged,
                  const std::stop_token& stop) {
  BASALT_DEBUG_ASSERT(!runs.empty());
  RunWriter removals(database, path + "removals-", /*is_merged=*/true);
  RunWriter net(database, path, /*is_merged=*/true);
  for (const kv::FamilyId family : families_of(runs)) {
    std::vector<std::unique_ptr<ChangeSource>> sources;
    for (const auto& run : runs) {
      if (auto changes = run->changes(family)) sources.push_back(std::move(changes));
    }
    FamilyMerge merge(std::move(sources));
    BASALT_TRY(merge.seek_to_first());
    while (merge.is_valid()) {
      if (stop.stop_requested()) return Status::of(ErrorCode::kInterrupted);
      const ChangeSource& newest = merge.newest();
      const NetChange change = net_change(merge.oldest().kind(), newest.kind());
      if (change.has_removal_below) {
        BASALT_TRY(removals.add(family, ChangeKind::kRemoveSingle, newest.key(), {}));
      }
      if (change.has_newest) {
        const std::string_view value = newest.is_put() ? newest.value() : std::string_view();
        BASALT_TRY(net.add(family, newest.kind(), newest.key(), value));
      }
      progress.add_done(merge.bytes());
      BASALT_TRY(merge.next());
    }
  }
  auto lower = removals.finish();
  if (!lower.is_ok()) return lower.take_status();
  if (stop.stop_requested()) return Status::of(ErrorCode::kInterrupted);
  auto upper = net.finish();
  if (!upper.is_ok()) return upper.take_status();
  for (auto* const run : {&lower.value(), &upper.value()}) {
    if (*run != nullptr) merged.push_back(std::move(*run));
  }
  return Status::ok();
}

}  // namespace basalt::txn
