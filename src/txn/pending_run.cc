#include "txn/pending_run.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>

#include "base/assert.h"
#include "txn/run_writer.h"

namespace basalt::txn {
namespace {

std::span<const BatchEntry> entries_of(const PendingRun& run, kv::FamilyId family) {
  const std::vector<BatchEntry>& newest = run.sorted().newest;
  const auto begin = std::ranges::lower_bound(newest, family, {}, &BatchEntry::family);
  const auto end = std::ranges::upper_bound(begin, newest.end(), family, {}, &BatchEntry::family);
  return {begin, end};
}

// Does not ask for the entries, and so does not wait, where none are.
class PendingChanges final : public ChangeSource {
 public:
  PendingChanges(std::shared_ptr<const PendingRun> run, kv::FamilyId family, std::string_view lower,
                 std::string_view upper)
      : run_(std::move(run)), family_(family), lower_(lower), upper_(upper) {}

  bool is_valid() const override { return position_ < entries_.size(); }
  std::string_view key() const override { return entries_[position_].key(); }
  std::string_view value() const override { return entries_[position_].value(); }
  ChangeKind kind() const override { return entries_[position_].kind(); }

  void seek(std::string_view key) override {
    if (!run_->keys().may_touch(key, upper_)) {
      leave();
      return;
    }
    fetch();
    const auto found = std::ranges::lower_bound(entries_, key, {}, &BatchEntry::key);
    position_ = static_cast<std::size_t>(found - entries_.begin());
  }
  void seek_for_previous(std::string_view key) override {
    const auto may_have_one = [&](const KeySpans::Span& span) {
      return span.first <= key && span.last >= lower_;
    };
    if (std::ranges::none_of(run_->keys().all(), may_have_one)) {
      leave();
      return;
    }
    fetch();
    const auto behind = std::ranges::upper_bound(entries_, key, {}, &BatchEntry::key);
    position_ = static_cast<std::size_t>(behind - entries_.begin());
    previous_of_position();
  }
  void seek_to_first() override {
    fetch();
    position_ = 0;
  }
  void seek_to_last() override {
    fetch();
    position_ = entries_.size();
    previous_of_position();
  }
  void next() override {
    BASALT_DEBUG_ASSERT(is_valid());
    ++position_;
  }
  void previous() override {
    BASALT_DEBUG_ASSERT(is_valid());
    previous_of_position();
  }
  Status status() const override { return Status::ok(); }

 private:
  void fetch() { entries_ = entries_of(*run_, family_); }
  void leave() { position_ = entries_.size(); }
  // Before the first one is nowhere.
  void previous_of_position() { position_ = position_ == 0 ? entries_.size() : position_ - 1; }

  const std::shared_ptr<const PendingRun> run_;
  const kv::FamilyId family_;
  const std::string lower_;
  const std::string upper_;
  std::span<const BatchEntry> entries_;  // none before they are asked for
  std::size_t position_ = 0;
};

}  // namespace

PendingRun::PendingRun(std::shared_ptr<const void> batch, std::vector<BatchEntry> entries)
    : batch_(std::move(batch)), entry_count_(entries.size()), sorted_{{}, std::move(entries)} {
  BASALT_DEBUG_ASSERT(!sorted_.newest.empty());
  for (const BatchEntry& entry : sorted_.newest) keys_.add(entry.key());
}

const PendingRun::Sorted& PendingRun::sorted() const {
  std::call_once(is_sorted_, [this] {
    sort_entries(sorted_.newest);
    sorted_.removals = keep_newest(sorted_.newest);
  });
  return sorted_;
}

std::unique_ptr<ChangeSource> PendingRun::changes(kv::FamilyId family, std::string_view lower,
                                                  std::string_view upper) const {
  return std::make_unique<PendingChanges>(shared_from_this(), family, lower, upper);
}

void PendingRun::find(kv::FamilyId family, std::string_view key, OwnVersion& version,
                      std::string& value) const {
  version = OwnVersion::kNone;
  if (!keys().may_have(key)) return;
  const std::span<const BatchEntry> entries = entries_of(*this, family);
  const auto found = std::ranges::lower_bound(entries, key, {}, &BatchEntry::key);
  if (found == entries.end() || found->key() != key) return;
  version = found->kind() == ChangeKind::kPut ? OwnVersion::kPut : OwnVersion::kRemoved;
  if (version == OwnVersion::kPut) value = found->value();
}

}  // namespace basalt::txn
