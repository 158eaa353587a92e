#include "kv/wal_limit.h"

#include <rocksdb/utilities/transaction_db.h>

#include <algorithm>
#include <string>

#include "kv/database.h"
#include "rdb/status_conversion.h"

namespace basalt::kv {

// A quarter is left for what is written while memtables are flushed, and for zeros ahead of its
// end.
std::uint64_t wal_limit(std::uint64_t data_bytes, std::uint64_t floor_bytes,
                        std::uint64_t max_bytes) {
  const std::uint64_t wanted = std::max(floor_bytes, data_bytes / 4);
  return std::min(max_bytes, wanted - wanted / 4);
}

Status WalLimit::renew() {
  if (database_.given_options().max_total_wal_bytes != 0) return Status::ok();
  std::uint64_t data_bytes = 0;
  if (!database_.rocksdb().GetAggregatedIntProperty(rdb::DB::Properties::kLiveSstFilesSize,
                                                    &data_bytes)) {
    return Status::ok();  // it is being closed
  }
  const std::uint64_t wanted =
      wal_limit(data_bytes, floor_bytes_, database_.options().max_total_wal_bytes);
  // RocksDB writes a file for each change.
  const std::uint64_t difference = wanted > limit_ ? wanted - limit_ : limit_ - wanted;
  if (difference <= limit_ / 8) return Status::ok();
  BASALT_TRY(database_.set_option("max_total_wal_size", std::to_string(wanted)));
  limit_ = wanted;
  return Status::ok();
}

Status WalLimit::release_replayed() {
  rdb::VectorWalPtr wals;
  BASALT_TRY(rdb::from_rocksdb(database_.rocksdb().GetSortedWalFiles(wals)));
  if (wals.empty()) return Status::ok();
  // RocksDB asks which WALs are needed when it flushes something: no key is empty.
  WriteBatch change;
  change.remove(kSystemFamily, "");
  BASALT_TRY(database_.write(change, Durability::kBuffered));
  BASALT_TRY(database_.flush());
  // It removes WALs of its own by a list, in which those are not that it has replayed: it looks for
  // files that nobody needs when deletions go on.
  BASALT_TRY(rdb::from_rocksdb(database_.rocksdb().DisableFileDeletions()));
  return rdb::from_rocksdb(database_.rocksdb().EnableFileDeletions());
}

}  // namespace basalt::kv
