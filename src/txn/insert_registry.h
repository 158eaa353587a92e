#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "kv/database.h"
#include "txn/key_spans.h"
#include "txn/loaded_files.h"
#include "txn/own_runs.h"

namespace basalt_rocksdb {
class Transaction;
class WriteBatchWithIndex;
}  // namespace basalt_rocksdb

// Who is inserting what: for transactions that lock ranges of keys.
//
// Purpose     A scan that locks gaps must not pass over keys that others have inserted and not
//             committed, and must notice those committed since its iterator was made. Inserts pay
//             for that as little as possible: nothing is stored per key, the batches of open
//             transactions are looked into.
// Protocol    The one who inserts: note() its keys, then with the batch's mutex held ask the lock
//             manager whether a range blocks one, and if not put them. The one who locks a range:
//             lock it, then look into the batches, then ask has_commits_since(). Whichever comes
//             first, the other one sees it: both go through the same mutexes.
namespace basalt::txn {

// What one transaction is about to insert.
//
// Threads     note(), forget(), attach(), begin_batch(): the transaction's. The rest: any.
// Lock order  The batch's mutex, then latches of the lock manager. The one of the spans is a leaf.
class PendingInserts {
 public:
  // Held whenever the batch changes or is looked into by another thread.
  Mutex& batch_mutex() BASALT_RETURN_CAPABILITY(batch_mutex_) { return batch_mutex_; }

  // Whose changes to look into; null before it is destroyed.
  void attach(basalt_rocksdb::Transaction* writes) BASALT_REQUIRES(batch_mutex_) {
    writes_ = writes;
  }
  // What is no longer in its batch.
  void set_runs(OwnRuns runs) BASALT_REQUIRES(batch_mutex_) { runs_ = std::move(runs); }
  // Its batch is empty. Entries are found by their keys once somebody
  // asks, not before: most batches are written and never asked.
  void begin_batch() BASALT_REQUIRES(batch_mutex_);
  // Whether indexed_batch() has been called since.
  bool is_indexed() const { return is_indexed_.load(std::memory_order_acquire); }
  // The changes, to be found by their keys.
  basalt_rocksdb::WriteBatchWithIndex& indexed_batch() BASALT_REQUIRES(batch_mutex_);

  // Announces keys. Their entries in the batch may follow at any time until forget().
  void note(std::span<const std::string_view> keys);
  // Announces the entries that files have of an index. Their rows are locked.
  void note_loaded(const LoadedKeys& keys);
  // The transaction has ended.
  void forget();
  // Calls visit(index) for each index of keys announced. The transaction's thread.
  template <typename Visit>
  void for_each_index(Visit visit) const {
    for (const KeySpans::Span& span : spans_.all()) visit(span.index);
  }

  // Whether keys in [lower, upper), of one index, may have been announced.
  bool may_touch(std::string_view lower, std::string_view upper) const;
  // As InsertRegistry::limit_to_unannounced().
  void limit_to_unannounced(std::string_view lower, std::string& upper) const;
  // The first key put into [lower, upper); or the first one of files that may have keys there,
  // which may be before the range. Waits while the batch is being written to the WAL.
  // Where files cannot be read, some key that is changed, without its value.
  bool find(const kv::Database& database, kv::FamilyId family, std::string_view lower,
            std::string_view upper, std::string& key, std::string& value);

 private:
  bool find_span(std::string_view lower, std::string_view upper, std::string& key,
                 std::string& value) const BASALT_REQUIRES(batch_mutex_);
  bool find_loaded(std::string_view lower, std::string_view upper, std::string& key,
                   std::string& value) const;

  Mutex batch_mutex_{MutexRank::kBatch};
  basalt_rocksdb::Transaction* writes_ BASALT_GUARDED_BY(batch_mutex_) = nullptr;
  OwnRuns runs_ BASALT_GUARDED_BY(batch_mutex_);
  std::atomic<bool> is_indexed_ = false;
  mutable Mutex spans_mutex_{MutexRank::kInsertSpans};
  KeySpans spans_;  // changed by the transaction's thread, with the mutex
  std::vector<LoadedKeys> loaded_ BASALT_GUARDED_BY(spans_mutex_);
};

class InsertRegistry {
 public:
  // A transaction begins to insert, or has ended.
  void add(std::shared_ptr<PendingInserts> inserts);
  void remove(const PendingInserts* inserts);

  // What was announced is committed; `sequence` is the database's newest since. The transaction's
  // thread, while others cannot look into the batch, and before remove().
  void note_commit(const PendingInserts& inserts, std::uint64_t sequence);
  // Whether keys may have been inserted into the index by transactions that others could not find
  // in the batches any more, and that an iterator of that time does not show.
  bool has_commits_since(std::uint32_t index, std::uint64_t sequence) const;

  // Makes [lower, upper), of one index, a range in which no open transaction has announced keys,
  // which may be empty then.
  void limit_to_unannounced(std::string_view lower, std::string& upper) const;

  // The first key in [lower, upper) that a transaction other than `own` has inserted and not
  // committed: of any one of them. As PendingInserts::find().
  bool find(const PendingInserts* own, const kv::Database& database, kv::FamilyId family,
            std::string_view lower, std::string_view upper, std::string& key, std::string& value);

 private:
  static constexpr std::size_t kShards = 16;
  static constexpr std::size_t kBuckets = 4096;
  struct alignas(64) Shard {
    mutable Mutex mutex{MutexRank::kInsertShard};
    std::atomic<std::size_t> count = 0;
    std::vector<std::shared_ptr<PendingInserts>> open BASALT_GUARDED_BY(mutex);
  };
  Shard& shard_of(const PendingInserts* inserts);

  std::array<Shard, kShards> shards_;
  std::array<std::atomic<std::uint64_t>, kBuckets> committed_at_{};  // by index, modulo
};

}  // namespace basalt::txn
