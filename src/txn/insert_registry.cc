#include "txn/insert_registry.h"

#include <rocksdb/utilities/transaction.h>
#include <rocksdb/utilities/transaction_db.h>
#include <rocksdb/utilities/write_batch_with_index.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "kv/rocksdb_reads.h"
#include "txn/batch_changes.h"

namespace basalt::txn {

void PendingInserts::note(std::span<const std::string_view> keys) {
  const MutexLock guard(spans_mutex_);
  for (const std::string_view key : keys) spans_.add(key);
}

void PendingInserts::note_loaded(const LoadedKeys& keys) {
  BASALT_DEBUG_ASSERT(keys.first <= keys.last &&
                      KeySpans::index_of(keys.first) == KeySpans::index_of(keys.last));
  const MutexLock guard(spans_mutex_);
  spans_.add(keys.first);
  spans_.add(keys.last);
  loaded_.push_back(keys);
}

void PendingInserts::forget() {
  const MutexLock guard(spans_mutex_);
  spans_.clear();
  loaded_.clear();
}

bool PendingInserts::find_loaded(std::string_view lower, std::string_view upper, std::string& key,
                                 std::string& value) const {
  const MutexLock guard(spans_mutex_);
  for (const LoadedKeys& keys : loaded_) {
    if (keys.last < lower || keys.first >= upper) continue;
    if (keys.put && keys.put->first.empty()) continue;
    key = keys.put ? keys.put->first : keys.first;
    value = keys.put ? keys.put->second : keys.first_value;
    return true;
  }
  return false;
}

bool PendingInserts::may_touch(std::string_view lower, std::string_view upper) const {
  const MutexLock guard(spans_mutex_);
  return spans_.may_touch(lower, upper);
}

void PendingInserts::begin_batch() {
  BASALT_DEBUG_ASSERT(writes_ != nullptr);
  writes_->DisableIndexing();
  is_indexed_.store(false, std::memory_order_relaxed);
}

rdb::WriteBatchWithIndex& PendingInserts::indexed_batch() {
  rdb::WriteBatchWithIndex& batch = *writes_->GetWriteBatch();
  if (is_indexed()) return batch;
  // A batch that returns to a savepoint is indexed anew, as a whole.
  batch.SetSavePoint();
  const rdb::Status status = batch.RollbackToSavePoint();
  BASALT_ASSERT(status.ok());  // else the batch, which may yet be committed, is damaged
  writes_->EnableIndexing();
  is_indexed_.store(true, std::memory_order_release);
  return batch;
}

void PendingInserts::limit_to_unannounced(std::string_view lower, std::string& upper) const {
  const MutexLock guard(spans_mutex_);
  for (const KeySpans::Span& span : spans_.all()) {
    if (span.last < lower || span.first >= upper) continue;
    upper = std::max(std::string_view(span.first), lower);
  }
}

bool PendingInserts::find(const kv::Database& database, kv::FamilyId family, std::string_view lower,
                          std::string_view upper, std::string& key, std::string& value) {
  BASALT_DEBUG_ASSERT(lower < upper);
  if (find_loaded(lower, upper, key, value)) return true;
  const MutexLock guard(batch_mutex_);
  if (writes_ == nullptr) return false;
  const std::unique_ptr<ChangeSource> changes =
      changes_of_runs(runs_, family, lower, upper,
                      changes_of_batch(indexed_batch(), database.family_handle(family)));
  for (changes->seek(lower); changes->is_valid() && changes->key() < upper; changes->next()) {
    if (!changes->is_put()) continue;
    key = changes->key();
    value = changes->value();
    return true;
  }
  // Whoever asks may not pass over what cannot be read, and waits for a key of it.
  return !changes->status().is_ok() && find_span(lower, upper, key, value);
}

bool PendingInserts::find_span(std::string_view lower, std::string_view upper, std::string& key,
                               std::string& value) const {
  return runs_.any_of_keys([&](const KeySpans& keys) {
    for (const KeySpans::Span& span : keys.all()) {
      if (span.last < lower || span.first >= upper) continue;
      key = span.first;
      value.clear();
      return true;
    }
    return false;
  });
}

InsertRegistry::Shard& InsertRegistry::shard_of(const PendingInserts* inserts) {
  return shards_[std::hash<const void*>()(inserts) / sizeof(PendingInserts) % kShards];
}

void InsertRegistry::add(std::shared_ptr<PendingInserts> inserts) {
  BASALT_DEBUG_ASSERT(inserts != nullptr);
  Shard& shard = shard_of(inserts.get());
  const MutexLock guard(shard.mutex);
  shard.open.push_back(std::move(inserts));
  shard.count.store(shard.open.size(), std::memory_order_seq_cst);
}

void InsertRegistry::remove(const PendingInserts* inserts) {
  Shard& shard = shard_of(inserts);
  const MutexLock guard(shard.mutex);
  const auto found = std::find_if(shard.open.begin(), shard.open.end(),
                                  [&](const auto& open) { return open.get() == inserts; });
  BASALT_ASSERT(found != shard.open.end());
  std::swap(*found, shard.open.back());
  shard.open.pop_back();
  shard.count.store(shard.open.size(), std::memory_order_seq_cst);
}

void InsertRegistry::note_commit(const PendingInserts& inserts, std::uint64_t sequence) {
  inserts.for_each_index([&](std::uint32_t index) {
    std::atomic<std::uint64_t>& newest = committed_at_[index % kBuckets];
    std::uint64_t current = newest.load(std::memory_order_relaxed);
    while (current < sequence && !newest.compare_exchange_weak(current, sequence)) {
    }
  });
}

bool InsertRegistry::has_commits_since(std::uint32_t index, std::uint64_t sequence) const {
  return committed_at_[index % kBuckets].load() > sequence;
}

void InsertRegistry::limit_to_unannounced(std::string_view lower, std::string& upper) const {
  for (const Shard& shard : shards_) {
    if (shard.count.load(std::memory_order_seq_cst) == 0) continue;
    const MutexLock guard(shard.mutex);
    for (const auto& open : shard.open) open->limit_to_unannounced(lower, upper);
  }
}

bool InsertRegistry::find(const PendingInserts* own, const kv::Database& database,
                          kv::FamilyId family, std::string_view lower, std::string_view upper,
                          std::string& key, std::string& value) {
  std::vector<std::shared_ptr<PendingInserts>> candidates;
  for (Shard& shard : shards_) {
    if (shard.count.load(std::memory_order_seq_cst) == 0) continue;
    const MutexLock guard(shard.mutex);
    for (const auto& open : shard.open) {
      if (open.get() != own && open->may_touch(lower, upper)) candidates.push_back(open);
    }
  }
  // Not under a shard's mutex: a batch may be on its way to the disk.
  return std::any_of(candidates.begin(), candidates.end(), [&](const auto& open) {
    return open->find(database, family, lower, upper, key, value);
  });
}

}  // namespace basalt::txn
