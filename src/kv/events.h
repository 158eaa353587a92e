#pragma once
#include <cstdint>
#include <memory>
#include <string>

#include "base/thread_counters.h"
#include "rdb/rocksdb_fwd.h"

namespace basalt::kv {

// What is counted of a database, in the order of events.def.
enum class Event : std::uint8_t {
#define BASALT_EVENT(name) name,
#define BASALT_TICKER(name, ticker) name,
#include "kv/events.def"
#undef BASALT_EVENT
#undef BASALT_TICKER
};

// Counts events, ours and RocksDB's.
//
// Cost        An event of RocksDB's is a virtual call and an addition to the thread's own memory:
//             docs/decisions/0023. No histograms are made, and no clock is asked.
// Threads     Any.
class EventCounters {
 public:
  EventCounters();
  ~EventCounters();
  EventCounters(const EventCounters&) = delete;
  EventCounters& operator=(const EventCounters&) = delete;

  // `event` is one of ours.
  void add(Event event, std::uint64_t n = 1) { counters_->add(static_cast<std::size_t>(event), n); }
  std::uint64_t count(Event event) const;
  // All that RocksDB counts, under its own names: a line each.
  std::string describe() const;

  // Counts the entries of each file that is written with it.
  std::shared_ptr<rdb::TablePropertiesCollectorFactory> make_entry_counter() const;
  // What RocksDB is given to count by. It may outlive this object.
  const std::shared_ptr<rdb::Statistics>& statistics() const { return statistics_; }

 private:
  const std::shared_ptr<ThreadCounters> counters_;
  const std::shared_ptr<rdb::Statistics> statistics_;
};

}  // namespace basalt::kv
