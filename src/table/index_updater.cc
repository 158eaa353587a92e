#include "table/index_updater.h"

#include <algorithm>

#include "base/assert.h"

namespace basalt::table {
namespace {

constexpr std::size_t kSortBytesMin = std::size_t{1} << 20;
// Rows that are read together.
constexpr std::size_t kRowsOfBatch = 64;
constexpr std::size_t kWriteBytes = std::size_t{256} << 10;
// With what a change begins that is sorted.
constexpr char kRemoved = 0;
constexpr char kPut = 1;

}  // namespace

IndexUpdater::IndexUpdater(kv::Database& database, const BuildTables& tables,
                           std::span<const std::size_t> indexes, const Snapshots& snapshots,
                           const std::string& directory, std::size_t memory_bytes)
    : database_(database),
      tables_(tables),
      snapshots_(snapshots),
      sort_bytes_(std::max(memory_bytes / (indexes.size() + 1), kSortBytesMin)),
      row_keys_(database.new_external_sort(directory + "/rows", sort_bytes_)),
      maker_(tables, indexes) {
  for (const std::size_t number : indexes) {
    indexes_.push_back(
        {number,
         database.new_external_sort(directory + "/entries" + std::to_string(number), sort_bytes_),
         {},
         {}});
  }
}

// Rows that expire go without a word to a journal, and their entries have a time: writers wait
// while indexes of such tables are tables.
Status IndexUpdater::add(std::string_view primary_key) {
  BASALT_ASSERT(!tables_.table.has_expiry());
  return row_keys_->add(primary_key, {});
}

Status IndexUpdater::run(const Interruption& interruption) {
  BASALT_TRY(row_keys_->finish());
  BASALT_TRY(compare_rows(interruption));
  for (Index& index : indexes_) {
    BASALT_TRY(index.changes->finish());
    BASALT_TRY(write(index, interruption));
  }
  return Status::ok();
}

// Each row once.
Status IndexUpdater::compare_rows(const Interruption& interruption) {
  std::string last;
  const auto visit = [&](std::string_view key, std::string_view) -> Status {
    if (key == last) return Status::ok();
    last = key;
    keys_.emplace_back(key);
    if (keys_.size() < kRowsOfBatch) return Status::ok();
    if (interruption.is_raised()) return Status::of(ErrorCode::kInterrupted);
    return compare_batch();
  };
  BASALT_TRY(
      bulk::visit_sorted({&row_keys_, 1}, tables_.rows().whole_range(0), sort_bytes_, visit));
  return compare_batch();
}

Status IndexUpdater::compare_batch() {
  if (keys_.empty()) return Status::ok();
  BASALT_TRY(read_rows(snapshots_.before, before_));
  BASALT_TRY(read_rows(snapshots_.after, after_));
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    bool was_there = false;
    bool is_there = false;
    BASALT_TRY(make_entries(snapshots_.before, before_, i, &Index::before, was_there));
    BASALT_TRY(make_entries(snapshots_.after, after_, i, &Index::after, is_there));
    more_rows_ += static_cast<int>(is_there) - static_cast<int>(was_there);
    for (Index& index : indexes_) BASALT_TRY(add_changes(index));
  }
  rows_ += keys_.size();
  keys_.clear();
  return Status::ok();
}

Status IndexUpdater::read_rows(const kv::Snapshot& snapshot, kv::PinnedValues& rows) {
  return database_.get_many(tables_.rows().family(0), keys_, {&snapshot, false}, rows);
}

Status IndexUpdater::make_entries(const kv::Snapshot& snapshot, const kv::PinnedValues& rows,
                                  std::size_t number, Entry Index::*entry, bool& exists) {
  const std::string& key = keys_[number];
  std::string_view row;
  using State = kv::PinnedValues::State;
  const State state = rows.state(number);
  exists = state == State::kFound;
  if (state == State::kUnread) {
    BASALT_TRY(database_.get(tables_.rows().family(0), key, {&snapshot, false}, large_, exists));
    row = large_.view();
  } else if (exists) {
    row = rows.view(number);
  }
  for (Index& index : indexes_) (index.*entry).key.clear();
  if (!exists) return Status::ok();
  BASALT_TRY(maker_.read(key, row));
  for (Index& index : indexes_) {
    Entry& made = index.*entry;
    maker_.make(index.number, made.key, made.value);
  }
  return Status::ok();
}

Status IndexUpdater::add_changes(Index& index) {
  const Entry& before = index.before;
  const Entry& after = index.after;
  if (before.key == after.key && (before.key.empty() || before.value == after.value)) {
    return Status::ok();
  }
  // Also when only the value differs: a single removal must meet exactly one put.
  if (!before.key.empty()) BASALT_TRY(index.changes->add(before.key, {&kRemoved, 1}));
  if (after.key.empty()) return Status::ok();
  return index.changes->add(after.key, std::string(1, kPut) + after.value);
}

Status IndexUpdater::write(Index& index, const Interruption& interruption) {
  kv::WriteBatch batch;
  std::size_t bytes = 0;
  Change change;
  const auto visit = [&](std::string_view key, std::string_view value) -> Status {
    if (key != change.key) {
      BASALT_TRY(put_change(index, change, batch));
      change = Change();
      change.key = key;
      if (bytes > kWriteBytes) {
        if (interruption.is_raised()) return Status::of(ErrorCode::kInterrupted);
        BASALT_TRY(database_.write(batch, kv::Durability::kBuffered));
        batch = kv::WriteBatch();
        bytes = 0;
      }
    }
    bytes += key.size() + value.size();
    bytes_ += key.size() + value.size();
    if (value.front() == kRemoved) {
      BASALT_DEBUG_ASSERT(!change.is_removed);
      change.is_removed = true;
      return Status::ok();
    }
    if (change.is_put) return refuse(index, key, value.substr(1));
    change.is_put = true;
    change.value = value.substr(1);
    return Status::ok();
  };
  BASALT_TRY(bulk::visit_sorted({&index.changes, 1}, tables_.table.whole_range(index.number),
                                sort_bytes_, visit));
  BASALT_TRY(put_change(index, change, batch));
  return batch.is_empty() ? Status::ok() : database_.write(batch, kv::Durability::kBuffered);
}

// A key that nobody has given up may be that of a row that has not changed.
Status IndexUpdater::put_change(const Index& index, const Change& change, kv::WriteBatch& batch) {
  const kv::FamilyId family = tables_.table.family(index.number);
  // Later changes of a row put another one over it; entries are removed before.
  const bool is_row = index.number == 0;
  if (change.is_removed && !is_row) batch.remove_single(family, change.key);
  if (change.is_removed && is_row && !change.is_put) batch.remove(family, change.key);
  if (!change.is_put) return Status::ok();
  if (!change.is_removed && tables_.table.index(index.number).unique) {
    kv::PinnedValue found;
    bool exists = false;
    BASALT_TRY(database_.get(family, change.key, {}, found, exists));
    if (exists) return refuse(index, change.key, change.value);
  }
  batch.put(family, change.key, change.value);
  return Status::ok();
}

Status IndexUpdater::refuse(const Index& index, std::string_view key, std::string_view value) {
  BASALT_TRY(
      maker_.find_duplicate(database_, snapshots_.after, index.number, key, value, duplicate_));
  return Status::of(ErrorCode::kDuplicateKey);
}

}  // namespace basalt::table
