#pragma once
#include <cstdint>

#include "base/status.h"

namespace basalt::kv {

class Database;

// How much WAL there may be before memtables are flushed for its sake, beside `data_bytes` in
// files: it takes space, and a start replays it, as much as the data it is beside. At most
// `max_bytes`.
std::uint64_t wal_limit(std::uint64_t data_bytes, std::uint64_t floor_bytes,
                        std::uint64_t max_bytes);

// Keeps the WAL of an open database small. A family that is written rarely, as the dictionary is,
// keeps all WALs since its oldest change that is in memory alone.
//
// Threads     Belongs to one thread.
class WalLimit {
 public:
  static constexpr std::uint64_t kFloorBytes = std::uint64_t{256} << 20;

  // `database` outlives it. Without data in files there may be `floor_bytes`.
  explicit WalLimit(Database& database, std::uint64_t floor_bytes = kFloorBytes)
      : database_(database), floor_bytes_(floor_bytes) {}

  // By what is in files now; nothing where an administrator has set
  // DatabaseOptions::max_total_wal_bytes. To be called about once a second.
  Status renew();
  // Has the WALs removed that the opening has replayed, by a flush: RocksDB keeps them until the
  // next one, and does not count them. Those stay that a prepared transaction needs.
  Status release_replayed();

 private:
  Database& database_;
  const std::uint64_t floor_bytes_;
  std::uint64_t limit_ = 0;  // that RocksDB has; 0: not known
};

}  // namespace basalt::kv
