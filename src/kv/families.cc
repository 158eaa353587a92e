#include "kv/families.h"

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/utilities/transaction_db.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/remedies.h"
#include "rdb/status_conversion.h"

namespace basalt::kv {
namespace {

constexpr std::size_t kNameBytesMax = 64;

bool is_name_character(char character) {
  const auto byte = static_cast<unsigned char>(character);
  const bool is_alphanumeric = (character >= 'a' && character <= 'z') ||
                               (character >= 'A' && character <= 'Z') ||
                               (character >= '0' && character <= '9');
  return is_alphanumeric || byte >= 0x80 ||
         std::string_view("_-.:#@+$").find(character) != std::string_view::npos;
}

}  // namespace

Status check_family_name(std::string_view name) {
  const auto refused = [name](const std::string& why) {
    return Status(ErrorCode::kInvalidArgument,
                  "'" + std::string(name) + "' cannot be the name of a column family: " + why);
  };
  if (name.empty()) return refused("it is empty");
  if (name.size() > kNameBytesMax) {
    return refused("it has more than " + std::to_string(kNameBytesMax) + " bytes");
  }
  const std::string_view base = name.starts_with("rev:") ? name.substr(4) : name;
  if (base == kSystemFamilyName) return refused("that one holds the engine's dictionary");
  if (base.empty()) return refused("a name must follow 'rev:'");
  if (std::ranges::all_of(name, is_name_character)) return Status::ok();
  return refused("it may have letters, digits, and the characters _ - . : # @ + $");
}

Status Families::open(rdb::TransactionDB& database,
                      const std::vector<rdb::ColumnFamilyHandle*>& handles) {
  database_ = &database;
  const MutexLock guard(mutex_);
  for (rdb::ColumnFamilyHandle* const handle : handles) {
    if (handle->GetID() >= kIdsMax) {
      return Status(ErrorCode::kUnsupported, "column family '" + handle->GetName() +
                                                 "' has a number above the greatest known one; "
                                                 "dump and load the tables");
    }
    add(handle);
  }
  BASALT_ASSERT(ids_.at(std::string(kDefaultFamilyName)) == kDefaultFamily);
  BASALT_ASSERT(ids_.at(std::string(kSystemFamilyName)) == kSystemFamily);
  return Status::ok();
}

void Families::close() {
  std::map<FamilyId, FamilyHold> families;
  {
    const MutexLock guard(mutex_);
    families.swap(families_);
    ids_.clear();
  }
  for (auto& [id, hold] : families) {
    BASALT_DEBUG_ASSERT(hold.use_count() == 1);
    hold.reset();
  }
}

void Families::add(rdb::ColumnFamilyHandle* handle) {
  const FamilyId id = handle->GetID();
  BASALT_ASSERT(id < kIdsMax && !families_.contains(id));
  std::atomic<Chunk*>& chunk = chunks_[id / kChunkIds];
  if (chunk.load(std::memory_order_relaxed) == nullptr) {
    owned_chunks_.push_back(std::make_unique<Chunk>());
    chunk.store(owned_chunks_.back().get(), std::memory_order_release);
  }
  std::atomic<rdb::ColumnFamilyHandle*>& slot = (*chunk.load())[id % kChunkIds];
  slot.store(handle, std::memory_order_release);
  families_.emplace(id, FamilyHold(handle, [&slot, database = database_](auto* unused) {
                      slot.store(nullptr, std::memory_order_release);
                      rdb::from_rocksdb(database->DestroyColumnFamilyHandle(unused))
                          .ignore("nobody uses it any more");
                    }));
  ids_.emplace(handle->GetName(), id);
}

FamilyHold Families::hold(FamilyId family) const {
  const MutexLock guard(mutex_);
  const auto found = families_.find(family);
  return found == families_.end() ? nullptr : found->second;
}

std::vector<FamilyHold> Families::hold_all() const {
  const MutexLock guard(mutex_);
  std::vector<FamilyHold> holds;
  for (const auto& [id, hold] : families_) holds.push_back(hold);
  return holds;
}

std::optional<FamilyId> Families::find(std::string_view name) const {
  const MutexLock guard(mutex_);
  const auto found = ids_.find(name);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<Family> Families::all() const {
  const MutexLock guard(mutex_);
  std::vector<Family> families;
  for (const auto& [id, hold] : families_) families.push_back({id, hold->GetName()});
  return families;
}

Result<FamilyId> Families::make(std::string_view name, const rdb::ColumnFamilyOptions& options) {
  BASALT_TRY(check_family_name(name));
  const MutexLock guard(mutex_);
  if (const auto known = ids_.find(name); known != ids_.end()) return FamilyId{known->second};
  // The dictionary's is none of those for tables.
  if (families_.size() > kFamiliesMax || families_.rbegin()->first + 1 == kIdsMax) {
    return Status(ErrorCode::kUnsupported,
                  "there is no room for column family '" + std::string(name) + "': there may be " +
                      std::to_string(kFamiliesMax) + "; use one that there is, or " +
                      std::string(remedies().remove_family));
  }
  rdb::ColumnFamilyHandle* handle = nullptr;
  BASALT_TRY(rdb::from_rocksdb(database_->CreateColumnFamily(options, std::string(name), &handle)));
  const FamilyId id = handle->GetID();
  add(handle);
  return id;
}

Status Families::remove(FamilyId family) {
  BASALT_ASSERT(family != kDefaultFamily && family != kSystemFamily);
  FamilyHold removed;
  const MutexLock guard(mutex_);
  const auto found = families_.find(family);
  if (found == families_.end()) return Status::of(ErrorCode::kNotFound);
  BASALT_TRY(rdb::from_rocksdb(database_->DropColumnFamily(found->second.get())));
  removed = std::move(found->second);
  ids_.erase(removed->GetName());
  families_.erase(found);
  return Status::ok();
}

}  // namespace basalt::kv
