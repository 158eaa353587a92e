#pragma once
#include <cstdint>
#include <memory>
#include <optional>

#include "base/mutex.h"
#include "base/row_time.h"
#include "rdb/rocksdb_fwd.h"

// What compactions take of expired rows and their entries.
namespace basalt::kv {

class EventCounters;
class ExpiryClock;

// Knows which indexes have entries that begin with their row's time. Asked by background threads.
class LifetimeSource {
 public:
  virtual ~LifetimeSource() = default;

  // Whether there may be such indexes in the column family. Like the next one it must not wait for
  // a write to the database: that may wait for the compaction that asks.
  virtual bool has_lifetimes(std::uint32_t family) = 0;
  // How long the rows of the index live; nothing: its entries have no time.
  virtual std::optional<RowLifetime> lifetime_of(std::uint32_t index_id) = 0;
};

// Where compactions find it: set when someone knows it, which is after the database was opened, and
// unset before that one goes.
class LifetimeSlot {
 public:
  // Waits until no thread asks the previous source any more.
  void set(LifetimeSource* source);
  bool has_lifetimes(std::uint32_t family);
  std::optional<RowLifetime> lifetime_of(std::uint32_t index_id);

 private:
  Mutex mutex_{MutexRank::kLifetimes};
  LifetimeSource* source_ BASALT_GUARDED_BY(mutex_) = nullptr;
};

// Makes no filter for a family without such indexes: its compactions ask nothing. `clock` and
// `events` outlive the database.
std::shared_ptr<rdb::CompactionFilterFactory> make_expiry_filter_factory(
    std::shared_ptr<LifetimeSlot> lifetimes, ExpiryClock& clock, EventCounters& events);

}  // namespace basalt::kv
