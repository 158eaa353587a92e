#pragma once
#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "rdb/rocksdb_fwd.h"
#include "txn/own_change.h"

namespace basalt::txn {

// The changes in a transaction's batch. They move when it grows: a key or a value is valid until
// the next write.
std::unique_ptr<ChangeSource> changes_of_batch(rdb::WriteBatchWithIndex& batch,
                                               rdb::ColumnFamilyHandle* family);

// Changes that were copied.
class CopiedChanges final : public ChangeSource {
 public:
  struct Change {
    std::string key;
    std::string value;
    ChangeKind kind = ChangeKind::kPut;
  };

  // Sorted by their keys, which differ.
  explicit CopiedChanges(std::vector<Change> changes)
      : changes_(std::move(changes)), position_(changes_.size()) {
    BASALT_DEBUG_ASSERT(std::ranges::is_sorted(changes_, {}, &Change::key));
  }
  // Those of `source` in [lower, upper). An empty bound is none.
  static std::unique_ptr<CopiedChanges> of(ChangeSource& source, std::string_view lower,
                                           std::string_view upper);

  bool is_valid() const override { return position_ < changes_.size(); }
  std::string_view key() const override { return changes_[position_].key; }
  std::string_view value() const override { return changes_[position_].value; }
  ChangeKind kind() const override { return changes_[position_].kind; }
  void seek(std::string_view key) override;
  void seek_for_previous(std::string_view key) override;
  void seek_to_first() override { position_ = 0; }
  void seek_to_last() override {
    position_ = changes_.size();
    previous();
  }
  void next() override {
    BASALT_DEBUG_ASSERT(is_valid());
    ++position_;
  }
  // Before the first one is nowhere.
  void previous() override { position_ = position_ == 0 ? changes_.size() : position_ - 1; }
  Status status() const override { return Status::ok(); }

 private:
  const std::vector<Change> changes_;
  std::size_t position_;
};

}  // namespace basalt::txn
