#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "kv/database.h"
#include "rdb/rocksdb_fwd.h"
#include "txn/own_change.h"

namespace basalt::txn {

// An entry of a batch. It points into the batch.
struct BatchEntry {
  kv::FamilyId family;
  ChangeKind kind;
  std::string_view key;
  std::string_view value;
};

// The entries of a batch, taken apart at its savepoints. Valid as long as the batch has them.
class BatchSections {
 public:
  // `ends`: how many entries the batch had at each of its savepoints, in their order.
  static Result<BatchSections> of(const kv::Database& database, const rdb::WriteBatch& batch,
                                  std::span<const std::size_t> ends);

  // Brings the entries of each section into the order of their families and keys, those of one key
  // as they came. The last section is what came after all savepoints.
  std::vector<std::vector<BatchEntry>>& sort();
  // Of all entries, as the batch has them.
  std::uint64_t bytes() const { return bytes_; }

 private:
  BatchSections(std::vector<std::vector<BatchEntry>> sections, std::uint64_t bytes)
      : sections_(std::move(sections)), bytes_(bytes) {}

  std::vector<std::vector<BatchEntry>> sections_;
  std::uint64_t bytes_;
};

}  // namespace basalt::txn
