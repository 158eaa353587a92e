#pragma once
#include <rocksdb/wal_filter.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "rdb/rocksdb_fwd.h"
#include "wal/wal_marks.h"

namespace basalt::wal {

class GuardedFileSystem;

// Where the history in the WALs has a hole: a WAL ends as if it were whole, and the next one goes
// on behind what should have followed.
struct WalGap {
  std::string path;           // of the WAL behind the hole
  std::uint64_t number = 0;   // its first sequence number
  std::uint64_t missing = 0;  // the one that should have come
  // Whether files of tables hold changes that were made behind the hole.
  bool is_in_files = false;
  bool is_behind_a_mark = false;  // that was replayed: any but kNone
};

// Finds holes between the WALs that RocksDB replays.
//
// Purpose     RocksDB takes the end of a WAL for whole if nothing torn is there, and goes on with
//             the next WAL, whatever its first sequence number is. A WAL that has lost its end,
//             cut between two records or replaced by zeros, would be followed by changes that
//             were made later.
// How         RocksDB shows each record before it replays it. The number that comes next is known
//             from those before: of a commit in two phases, which takes the numbers of what was
//             prepared, only if the prepared part was shown, too; where it was not, the next
//             record is believed. Ingested files may take numbers that no record has; records
//             around them say how many (WalMark), and so does the first one after each opening.
//             The record before them may be in a WAL that is not replayed any more: then the one
//             behind them says it, for which whoever opens the database looks at a hole.
// At a hole   The file system refuses all that follows, so that the opening fails and the database
//             is left as it is.
// Threads     Belongs to the thread that opens the database.
class WalContinuity final : public rdb::WalFilter {
 public:
  // How many numbers may have been taken before the first record of a WAL, by the WAL's number.
  using TakenBefore = std::map<std::uint64_t, std::uint64_t>;

  WalContinuity(GuardedFileSystem& files, TakenBefore taken_before)
      : files_(files), taken_before_(std::move(taken_before)) {}

  const std::optional<WalGap>& gap() const { return gap_; }
  // The number that follows what was replayed, if known.
  const std::optional<std::uint64_t>& next() const { return next_; }

  const char* Name() const override { return "BasaltLogContinuity"; }
  void ColumnFamilyLogNumberMap(const std::map<std::uint32_t, std::uint64_t>& first_logs,
                                const std::map<std::string, std::uint32_t>& ids) override;
  WalProcessingOption LogRecordFound(unsigned long long wal, const std::string& path,
                                     const rdb::WriteBatch& batch, rdb::WriteBatch* replaced,
                                     bool* is_replaced) override;

 private:
  bool is_behind_a_gap(std::uint64_t wal, std::uint64_t first, const WalMark& mark) const;

  GuardedFileSystem& files_;
  const TakenBefore taken_before_;
  std::optional<WalGap> gap_;
  // The greatest of the WALs with which a family begins whose files have all that came before.
  std::uint64_t newest_first_wal_ = 0;
  std::uint64_t wal_ = 0;              // of the last record
  std::optional<std::uint64_t> next_;  // the number of the record that comes next, if known
  std::uint64_t without_record_ = 0;   // so many numbers may have been taken by files since
  bool has_seen_mark_ = false;
  // How many numbers the commit of each prepared transaction takes, by name.
  std::unordered_map<std::string, std::uint64_t> prepared_;
};

}  // namespace basalt::wal
