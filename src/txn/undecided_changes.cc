#include "txn/undecided_changes.h"

#include <algorithm>

#include "base/assert.h"

namespace basalt::txn {

void ChangedIndexes::note(std::uint32_t index) {
  if (has(index)) return;
  const MutexLock guard(mutex_);
  indexes_.push_back(index);
}

// The number comes with the mutex, so that who reads `next` first, and asks then, knows of it.
std::uint64_t ChangedIndexes::join(std::uint32_t journal, std::atomic<std::uint64_t>& next) {
  if (number_ != 0 && has(journal)) [[likely]]
    return number_;
  const MutexLock guard(mutex_);
  if (!has(journal)) indexes_.push_back(journal);
  if (number_ == 0) number_ = next.fetch_add(1);
  BASALT_DEBUG_ASSERT(number_ != 0);
  return number_;
}

void ChangedIndexes::leave(std::uint32_t journal) {
  const MutexLock guard(mutex_);
  const std::size_t erased = std::erase(indexes_, journal);
  BASALT_DEBUG_ASSERT(erased == 1);
}

bool ChangedIndexes::has(std::uint32_t index) const {
  return std::ranges::find(indexes_, index) != indexes_.end();
}

void ChangedIndexes::end_number() {
  if (number_ == 0) return;
  const MutexLock guard(mutex_);
  number_ = 0;
}

void ChangedIndexes::set_name(const std::string& name) {
  const MutexLock guard(mutex_);
  name_ = name;
}

void ChangedIndexes::clear() {
  if (indexes_.empty() && name_.empty() && number_ == 0) return;
  const MutexLock guard(mutex_);
  indexes_.clear();
  number_ = 0;
  name_.clear();
}

bool ChangedIndexes::concern(std::span<const std::uint32_t> indexes, const void* user) const {
  if (user != nullptr && owner_.user() == user) return false;
  const MutexLock guard(mutex_);
  return std::ranges::any_of(indexes_, [&](std::uint32_t changed) {
    return std::ranges::find(indexes, changed) != indexes.end();
  });
}

std::uint64_t ChangedIndexes::number() const {
  const MutexLock guard(mutex_);
  return number_;
}

void ChangedIndexes::append_to(std::vector<std::uint32_t>& indexes) const {
  const MutexLock guard(mutex_);
  indexes.insert(indexes.end(), indexes_.begin(), indexes_.end());
}

TransactionInfo ChangedIndexes::info() const {
  TransactionInfo info;
  info.id = owner_.id();
  info.user = owner_.user();
  info.state = state_;
  info.changed_rows = owner_.changed_rows();
  info.locked_keys = owner_.held_count();
  info.lock_wait_timeout_ms = owner_.reported_timeout_ms();
  info.bytes_in_memory = progress_.bytes_in_memory;
  info.bytes_in_files = progress_.bytes_in_files;
  info.runs = progress_.runs;
  info.step = progress_.step;
  const std::uint64_t total = progress_.total;
  // They may be of two steps.
  const std::uint64_t done = std::min<std::uint64_t>(progress_.done, total);
  const bool is_known = info.step != TransactionStep::kNone && total != 0;
  if (is_known) info.step_percent = static_cast<std::uint32_t>(done * 100 / total);
  const MutexLock guard(mutex_);
  info.prepared_name = name_;
  return info;
}

void UndecidedChanges::enter(const ChangedIndexes& transaction) {
  const MutexLock guard(mutex_);
  const bool is_new = transactions_.insert(&transaction).second;
  BASALT_DEBUG_ASSERT(is_new);
}

void UndecidedChanges::leave(const ChangedIndexes& transaction) {
  const MutexLock guard(mutex_);
  const std::size_t erased = transactions_.erase(&transaction);
  BASALT_DEBUG_ASSERT(erased == 1);
}

bool UndecidedChanges::exist_in(std::span<const std::uint32_t> indexes, const void* user) const {
  const MutexLock guard(mutex_);
  return std::ranges::any_of(transactions_, [&](const ChangedIndexes* transaction) {
    return transaction->concern(indexes, user);
  });
}

std::uint64_t UndecidedChanges::first_open_number(const std::atomic<std::uint64_t>& next) const {
  std::uint64_t first = next.load();
  const MutexLock guard(mutex_);
  for (const ChangedIndexes* transaction : transactions_) {
    const std::uint64_t number = transaction->number();
    if (number != 0) first = std::min(first, number);
  }
  return first;
}

std::vector<std::uint32_t> UndecidedChanges::indexes() const {
  std::vector<std::uint32_t> indexes;
  {
    const MutexLock guard(mutex_);
    for (const ChangedIndexes* transaction : transactions_) transaction->append_to(indexes);
  }
  std::ranges::sort(indexes);
  indexes.erase(std::unique(indexes.begin(), indexes.end()), indexes.end());
  return indexes;
}

std::vector<TransactionInfo> UndecidedChanges::open_transactions() const {
  std::vector<TransactionInfo> open;
  {
    const MutexLock guard(mutex_);
    for (const ChangedIndexes* transaction : transactions_) open.push_back(transaction->info());
  }
  std::erase_if(open, [](const auto& info) { return info.state == TransactionState::kIdle; });
  std::ranges::sort(open, {}, &TransactionInfo::id);
  return open;
}

}  // namespace basalt::txn
