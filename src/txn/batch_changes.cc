#include "txn/batch_changes.h"

#include <rocksdb/utilities/write_batch_with_index.h>

#include <algorithm>

#include "rdb/slice.h"
#include "rdb/status_conversion.h"

namespace basalt::txn {
namespace {

class BatchChanges final : public ChangeSource {
 public:
  explicit BatchChanges(std::unique_ptr<rdb::WBWIIterator> entries)
      : entries_(std::move(entries)) {}

  bool is_valid() const override { return entries_->Valid(); }
  std::string_view key() const override { return rdb::view_of(entries_->Entry().key); }
  std::string_view value() const override { return rdb::view_of(entries_->Entry().value); }
  ChangeKind kind() const override {
    const rdb::WriteType type = entries_->Entry().type;
    if (type == rdb::kPutRecord) return ChangeKind::kPut;
    if (type == rdb::kSingleDeleteRecord) return ChangeKind::kRemoveSingle;
    BASALT_DEBUG_ASSERT(type == rdb::kDeleteRecord);
    return ChangeKind::kRemove;
  }
  void seek(std::string_view key) override { entries_->Seek(rdb::slice_of(key)); }
  void seek_for_previous(std::string_view key) override {
    entries_->SeekForPrev(rdb::slice_of(key));
  }
  void seek_to_first() override { entries_->SeekToFirst(); }
  void seek_to_last() override { entries_->SeekToLast(); }
  void next() override { entries_->Next(); }
  void previous() override { entries_->Prev(); }
  Status status() const override { return rdb::from_rocksdb(entries_->status()); }

 private:
  const std::unique_ptr<rdb::WBWIIterator> entries_;
};

}  // namespace

std::unique_ptr<ChangeSource> changes_of_batch(rdb::WriteBatchWithIndex& batch,
                                               rdb::ColumnFamilyHandle* family) {
  return std::make_unique<BatchChanges>(
      std::unique_ptr<rdb::WBWIIterator>(batch.NewIterator(family)));
}

std::unique_ptr<CopiedChanges> CopiedChanges::of(ChangeSource& source, std::string_view lower,
                                                 std::string_view upper) {
  std::vector<Change> changes;
  for (source.seek(lower); source.is_valid(); source.next()) {
    if (!upper.empty() && source.key() >= upper) break;
    changes.push_back({std::string(source.key()),
                       source.is_put() ? std::string(source.value()) : std::string(),
                       source.kind()});
  }
  return std::make_unique<CopiedChanges>(std::move(changes));
}

void CopiedChanges::seek(std::string_view key) {
  const auto found = std::ranges::lower_bound(changes_, key, {}, &Change::key);
  position_ = static_cast<std::size_t>(found - changes_.begin());
}

void CopiedChanges::seek_for_previous(std::string_view key) {
  const auto behind = std::ranges::upper_bound(changes_, key, {}, &Change::key);
  position_ = static_cast<std::size_t>(behind - changes_.begin());
  previous();
}

}  // namespace basalt::txn
