#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "kv/database.h"
#include "rdb/rocksdb_fwd.h"
#include "txn/own_change.h"

namespace basalt::txn {

// An entry of a batch. It points into the batch. There are many: sizes have 32 bits, as RocksDB's.
class BatchEntry {
 public:
  BatchEntry(kv::FamilyId family, ChangeKind kind, std::string_view key, std::string_view value)
      : key_(key.data()),
        value_(value.data()),
        key_bytes_(static_cast<std::uint32_t>(key.size())),
        value_bytes_(static_cast<std::uint32_t>(value.size())),
        family_(family),
        kind_(kind) {}

  kv::FamilyId family() const { return family_; }
  ChangeKind kind() const { return kind_; }
  std::string_view key() const { return {key_, key_bytes_}; }
  std::string_view value() const { return {value_, value_bytes_}; }

  // Whether it came into the batch before.
  bool is_older_than(const BatchEntry& other) const { return key_ < other.key_; }

  static constexpr std::size_t kPartBytes = 8;
  // Makes part() a number of the key's bytes from `begin` on, with zeros behind its end.
  void take_part(std::size_t begin) { part_ = number_at(key(), begin, kPartBytes); }
  std::uint64_t part() const { return part_; }

 private:
  std::uint64_t part_ = 0;
  const char* key_;
  const char* value_;
  std::uint32_t key_bytes_;
  std::uint32_t value_bytes_;
  kv::FamilyId family_;
  ChangeKind kind_;
};

// Brings entries of a batch into the order of families and keys, those of one key as they came.
void sort_entries(std::vector<BatchEntry>& entries);

// The entries of a batch, taken apart at its savepoints. Valid as long as the batch has them.
class BatchSections {
 public:
  // `ends`: how many entries the batch had at each of its savepoints, in their order.
  static Result<BatchSections> of(const kv::Database& database, const rdb::WriteBatch& batch,
                                  std::span<const std::size_t> ends);

  // The last section is what came after all savepoints.
  std::vector<std::vector<BatchEntry>> take() { return std::move(sections_); }
  // Of all entries, as the batch has them.
  std::uint64_t bytes() const { return bytes_; }

 private:
  BatchSections(std::vector<std::vector<BatchEntry>> sections, std::uint64_t bytes)
      : sections_(std::move(sections)), bytes_(bytes) {}

  std::vector<std::vector<BatchEntry>> sections_;
  std::uint64_t bytes_;
};

}  // namespace basalt::txn
