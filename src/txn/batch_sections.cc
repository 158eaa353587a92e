#include "txn/batch_sections.h"

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <functional>

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
    sections_[section_].emplace_back(ours, kind, rdb::view_of(key), rdb::view_of(value));
    return rdb::Status::OK();
  }

  const std::uint32_t system_family_;
  const std::span<const std::size_t> ends_;
  std::vector<std::vector<BatchEntry>> sections_;
  std::size_t section_ = 0;
  std::size_t count_ = 0;
};

// Sorts the entries by what `projection` tells of them, and calls `visit` with those of each value.
template <typename Projection, typename Visit>
void for_each_group(std::span<BatchEntry> entries, Projection projection, const Visit& visit) {
  // Those of one index often are in order, and those of one family always. Equal ones stay as they
  // came, so that they are still in order where the next part is looked at.
  if (!std::ranges::is_sorted(entries, {}, projection)) {
    std::ranges::sort(entries, [&](const BatchEntry& a, const BatchEntry& b) {
      const auto of_a = std::invoke(projection, a);
      const auto of_b = std::invoke(projection, b);
      return of_a != of_b ? of_a < of_b : a.is_older_than(b);
    });
  }
  for (auto begin = entries.begin(); begin != entries.end();) {
    const auto end = std::find_if(begin, entries.end(), [&](const BatchEntry& entry) {
      return std::invoke(projection, entry) != std::invoke(projection, *begin);
    });
    BASALT_DEBUG_ASSERT(begin != end);
    visit(std::span(begin, end));
    begin = end;
  }
}

bool comes_before(const BatchEntry& a, const BatchEntry& b) {
  const int order = a.key().compare(b.key());
  return order != 0 ? order < 0 : a.is_older_than(b);
}

// Of entries whose keys agree in the first `begin` bytes, and are as long at least. Keys lie all
// over the batch and have much in common: part by part each is fetched twice or three times, where
// a comparison of whole keys would fetch two.
void sort_keys(std::span<BatchEntry> entries, std::size_t begin) {
  constexpr std::size_t kFew = 16;
  const std::size_t end = begin + BatchEntry::kPartBytes;
  BASALT_DEBUG_ASSERT(std::ranges::all_of(
      entries, [&](const BatchEntry& entry) { return entry.key().size() >= begin; }));
  const auto is_short = [&](const BatchEntry& entry) { return entry.key().size() < end; };
  if (entries.size() <= kFew) {
    std::ranges::sort(entries, comes_before);
    return;
  }
  for (BatchEntry& entry : entries) entry.take_part(begin);
  for_each_group(entries, &BatchEntry::part, [&](std::span<BatchEntry> group) {
    if (group.size() == 1) return;
    // Where keys end, zeros behind them are of no key.
    if (std::ranges::any_of(group, is_short)) {
      std::ranges::sort(group, comes_before);
    } else {
      sort_keys(group, end);
    }
  });
}

}  // namespace

Result<BatchSections> BatchSections::of(const kv::Database& database, const rdb::WriteBatch& batch,
                                        std::span<const std::size_t> ends) {
  BASALT_DEBUG_ASSERT(std::ranges::is_sorted(ends));
  Sorter sorter(database.family_handle(kv::kSystemFamily)->GetID(), ends, batch.Count());
  BASALT_TRY(rdb::from_rocksdb(batch.Iterate(&sorter)));
  return BatchSections(sorter.take(), batch.GetDataSize());
}

void sort_entries(std::vector<BatchEntry>& entries) {
  for_each_group(entries, &BatchEntry::family,
                 [](std::span<BatchEntry> of_family) { sort_keys(of_family, 0); });
}

}  // namespace basalt::txn
