#include "txn/batch_sections.h"

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <tuple>

#include "base/assert.h"
#include "rdb/slice.h"
#include "rdb/status_conversion.h"

namespace basalt::txn {
namespace {

class Sorter : public rdb::WriteBatch::Handler {
 public:
  // `count`: the entries of the batch.
  Sorter(std::uint32_t system_family, std::span<const std::size_t> ends, std::size_t count)
      : system_family_(system_family), ends_(ends), sections_(ends.size() + 1) {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      const std::size_t end = i < ends.size() ? ends[i] : count;
      sections_[i].reserve(end - begin);
      begin = end;
    }
  }

  rdb::Status PutCF(std::uint32_t family, const rdb::Slice& key, const rdb::Slice& value) override {
    return add(family, ChangeKind::kPut, key, value);
  }
  rdb::Status DeleteCF(std::uint32_t family, const rdb::Slice& key) override {
    return add(family, ChangeKind::kRemove, key, {});
  }
  rdb::Status SingleDeleteCF(std::uint32_t family, const rdb::Slice& key) override {
    return add(family, ChangeKind::kRemoveSingle, key, {});
  }
  rdb::Status MarkNoop(bool) override { return rdb::Status::OK(); }

  std::vector<std::vector<BatchEntry>> take() { return std::move(sections_); }

 private:
  rdb::Status add(std::uint32_t family, ChangeKind kind, const rdb::Slice& key,
                  const rdb::Slice& value) {
    while (section_ < ends_.size() && count_ >= ends_[section_]) ++section_;
    ++count_;
    const kv::FamilyId ours = family == system_family_ ? kv::kSystemFamily : family;
    sections_[section_].push_back({ours, kind, rdb::view_of(key), rdb::view_of(value)});
    return rdb::Status::OK();
  }

  const std::uint32_t system_family_;
  const std::span<const std::size_t> ends_;
  std::vector<std::vector<BatchEntry>> sections_;
  std::size_t section_ = 0;
  std::size_t count_ = 0;
};

}  // namespace

Result<BatchSections> BatchSections::of(const kv::Database& database, const rdb::WriteBatch& batch,
                                        std::span<const std::size_t> ends) {
  BASALT_DEBUG_ASSERT(std::ranges::is_sorted(ends));
  Sorter sorter(database.family_handle(kv::kSystemFamily)->GetID(), ends, batch.Count());
  BASALT_TRY(rdb::from_rocksdb(batch.Iterate(&sorter)));
  return BatchSections(sorter.take(), batch.GetDataSize());
}

std::vector<std::vector<BatchEntry>>& BatchSections::sort() {
  for (std::vector<BatchEntry>& section : sections_) {
    // In place: as they came is as they lie in the batch.
    std::ranges::sort(section, {}, [](const BatchEntry& entry) {
      return std::tuple(entry.family, entry.key, entry.key.data());
    });
  }
  return sections_;
}

}  // namespace basalt::txn
