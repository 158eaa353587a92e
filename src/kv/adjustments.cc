#include "kv/adjustments.h"

#include <rocksdb/sst_file_manager.h>
#include <rocksdb/statistics.h>
#include <rocksdb/utilities/transaction_db.h>

#include <algorithm>
#include <limits>
#include <memory>

#include "base/assert.h"
#include "rdb/status_conversion.h"

namespace basalt::kv {

void set_deletion_rate(Database& database, std::uint64_t bytes) {
  // RocksDB makes one where none is given.
  const std::shared_ptr<rdb::SstFileManager> files =
      database.rocksdb().GetDBOptions().sst_file_manager;
  BASALT_ASSERT(files != nullptr);
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  files->SetDeleteRateBytesPerSecond(static_cast<std::int64_t>(std::min(bytes, kMost)));
}

void set_early_compaction(Database& database, const EarlyCompaction& limits) {
  for (const Family& family : database.families()) {
    const FamilyHold hold = family.id == kSystemFamily ? nullptr : database.hold_family(family.id);
    if (hold == nullptr) continue;
    const rdb::Options options = database.rocksdb().GetOptions(hold.get());
    set_early_compaction(limits, early_compaction_of(options));
  }
}

Status reset_statistics(Database& database) {
  BASALT_TRY(rdb::from_rocksdb(database.events().statistics()->Reset()));
  return rdb::from_rocksdb(database.rocksdb().ResetStats());
}

}  // namespace basalt::kv
