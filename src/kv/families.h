#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "base/mutex.h"
#include "base/status.h"
#include "rdb/rocksdb_fwd.h"

namespace basalt::kv {

// A column family, by the number that RocksDB has given it: stored in its MANIFEST, and never given
// to another one. kDefaultFamily holds tables, as all others do but kSystemFamily, the dictionary.
using FamilyId = std::uint32_t;
inline constexpr FamilyId kDefaultFamily = 0;
inline constexpr FamilyId kSystemFamily = 1;
inline constexpr std::string_view kDefaultFamilyName = "default";
inline constexpr std::string_view kSystemFamilyName = "__system__";

struct Family {
  FamilyId id = kDefaultFamily;
  std::string name;

  bool operator==(const Family&) const = default;
};

// Keeps a family's handle usable. Must not outlive the database.
using FamilyHold = std::shared_ptr<rdb::ColumnFamilyHandle>;

// kInvalidArgument, with the reason, for a name that no family for tables can have.
Status check_family_name(std::string_view name);

// The column families of an open database.
//
// Lifetime    A family that is removed stays for whoever holds it. Others who use its id must know
//             that something of theirs is in it, for then nobody removes it: the caller of remove()
//             sees to that.
// Threads     Safe from any thread; handle() takes no mutex.
class Families {
 public:
  // Each has a memtable, and each flush of all writes a file for each.
  static constexpr std::size_t kFamiliesMax = 64;

  Families() = default;
  ~Families() { close(); }
  Families(const Families&) = delete;
  Families& operator=(const Families&) = delete;

  // Takes over what RocksDB has opened. kUnsupported if there are ids beyond those that have room.
  Status open(rdb::TransactionDB& database, const std::vector<rdb::ColumnFamilyHandle*>& handles);
  // Before the database closes; nobody holds a family any more.
  void close();

  // The handle of a family that exists.
  rdb::ColumnFamilyHandle* handle(FamilyId family) const {
    BASALT_DEBUG_ASSERT(family < kIdsMax);
    const Chunk* const chunk = chunks_[family / kChunkIds].load(std::memory_order_acquire);
    BASALT_DEBUG_ASSERT(chunk != nullptr);
    rdb::ColumnFamilyHandle* const handle =
        (*chunk)[family % kChunkIds].load(std::memory_order_acquire);
    BASALT_DEBUG_ASSERT(handle != nullptr);
    return handle;
  }
  // Null if there is no such family.
  FamilyHold hold(FamilyId family) const;
  // All of them.
  std::vector<FamilyHold> hold_all() const;
  std::optional<FamilyId> find(std::string_view name) const;
  // In the order of their ids.
  std::vector<Family> all() const;

  // Makes a family of which there is none by that name, or returns the one that there is meanwhile.
  // When it returns the family survives a crash. Errors: as check_family_name(); kUnsupported if
  // there are too many; kIoError, kNoSpace.
  Result<FamilyId> make(std::string_view name, const rdb::ColumnFamilyOptions& options);
  // Removes a family with all that is in it, durably; its name is free then.
  Status remove(FamilyId family);

 private:
  static constexpr std::size_t kChunkIds = 256;
  static constexpr std::size_t kChunks = 4096;
  static constexpr std::size_t kIdsMax = kChunkIds * kChunks;
  using Chunk = std::array<std::atomic<rdb::ColumnFamilyHandle*>, kChunkIds>;

  void add(rdb::ColumnFamilyHandle* handle) BASALT_REQUIRES(mutex_);

  rdb::TransactionDB* database_ = nullptr;
  // By id; a slot is empty when nobody holds its family any more.
  std::array<std::atomic<Chunk*>, kChunks> chunks_{};
  mutable Mutex mutex_{MutexRank::kFamilies};
  std::vector<std::unique_ptr<Chunk>> owned_chunks_ BASALT_GUARDED_BY(mutex_);
  std::map<FamilyId, FamilyHold> families_ BASALT_GUARDED_BY(mutex_);
  std::map<std::string, FamilyId, std::less<>> ids_ BASALT_GUARDED_BY(mutex_);
};

}  // namespace basalt::kv
