#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "kv/database.h"

namespace basalt::txn {

// A place in the server's binary log: the end of a transaction.
struct BinlogPosition {
  std::string file;  // without directory; empty: none
  std::uint64_t offset = 0;

  bool operator==(const BinlogPosition&) const = default;
};

// The binary log's position of the newest committed transaction, stored with each commit.
//
// Purpose     A copy of the engine's files tells up to where of the binary log it goes, without
//             the binary log.
// How         Commits run in parallel and reach the store in another order than the binary log's,
//             so each writes, with its commit ticket, to a slot that no other
//             commit in flight uses. The record with the greatest number counts. A transaction
//             that is overtaken before it begins to commit writes nothing. docs/formats/catalog.md
// Threads     Safe from any thread.
class BinlogPositions {
 public:
  // The record that a commit is to put into the system family.
  struct Record {
    std::uint32_t slot = 0;
    std::string key;
    std::string value;
  };

  // Reads what is stored. To be called once, first.
  Status load(kv::Database& database);
  // The transaction of `ticket` is about to commit. No value: no need to store
  // anything. A record must be given back to end_commit().
  std::optional<Record> begin_commit(std::uint64_t ticket, const BinlogPosition& position);
  // Whether the record was written. After a failure that is not known, and the slot stays unused.
  void end_commit(const Record& record, std::uint64_t ticket, const BinlogPosition& position,
                  bool is_written);
  std::optional<BinlogPosition> newest() const;

 private:
  mutable Mutex mutex_{MutexRank::kBinlogPositions};
  std::uint64_t base_ BASALT_GUARDED_BY(mutex_) = 0;  // numbers go on above those of earlier runs
  std::uint64_t newest_number_ BASALT_GUARDED_BY(mutex_) = 0;
  BinlogPosition newest_ BASALT_GUARDED_BY(mutex_);
  std::uint32_t slot_count_ BASALT_GUARDED_BY(mutex_) = 0;
  std::vector<std::uint32_t> free_slots_ BASALT_GUARDED_BY(mutex_);
};

// The stored form.
std::string binlog_position_key(std::uint32_t slot);
std::string pack_binlog_position(std::uint64_t number, const BinlogPosition& position);
// False if `bytes` is no such value.
bool parse_binlog_position(std::string_view bytes, std::uint64_t& number, BinlogPosition& position);

}  // namespace basalt::txn
