// What tables are copies of: record type 0D, docs/formats/catalog.md.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "base/assert.h"
#include "base/bytes.h"
#include "catalog/catalog.h"
#include "catalog/partition_names.h"
#include "catalog/records.h"

namespace basalt::catalog {

// A table with partitions is known by the first of them.
void Catalog::note_copy(TableId copy, std::string_view copied, kv::WriteBatch& batch) const {
  BASALT_DEBUG_ASSERT(!copied.empty() && table_of_partition(copied).empty());
  TablePointer table;
  if (const auto whole = tables_.find(copied); whole != tables_.end()) {
    table = whole->second;
  } else if (const auto part = tables_.lower_bound(std::string(copied).append(kPartitionMark));
             part != tables_.end() && table_of_partition(part->first) == copied) {
    table = part->second;
  }
  std::string value;
  append_be32(value, table == nullptr ? 0 : table->id);
  value.append(copied);
  batch.put(kv::kSystemFamily, make_key(RecordType::kCopiedTable, copy), value);
}

Status Catalog::read_copies(std::map<TableId, Copied>& copies) const {
  return scan_records(
      database_, RecordType::kCopiedTable, [&](std::string_view id, std::string_view value) {
        if (id.size() != sizeof(TableId) || value.size() <= sizeof(TableId)) {
          return Status(ErrorCode::kCorruption, "dictionary: what a table is a copy of is damaged");
        }
        Copied& copied = copies[load_be32(id.data())];
        copied.id = load_be32(value.data());
        copied.name = value.substr(sizeof(TableId));
        BASALT_DEBUG_ASSERT(copied.id < load_be32(id.data()));  // it was there first
        return Status::ok();
      });
}

TablePointer Catalog::find_id(TableId id) const {
  const auto found =
      std::ranges::find_if(tables_, [id](const auto& table) { return table.second->id == id; });
  return found == tables_.end() ? nullptr : found->second;
}

// Of a copy that goes, and where its table goes and it has its final name.
Status Catalog::forget_copies(TableId table, kv::WriteBatch& batch) const {
  std::map<TableId, Copied> copies;
  BASALT_TRY(read_copies(copies));
  for (const auto& [copy, copied] : copies) {
    if (copy != table) {
      if (copied.id != table) continue;
      const TablePointer made = find_id(copy);
      if (made != nullptr && is_being_made(made->name)) continue;
    }
    batch.remove(kv::kSystemFamily, make_key(RecordType::kCopiedTable, copy));
  }
  return Status::ok();
}

// Its table is known to be gone, or not ours.
Status Catalog::forget_finished_copy(TableId copy, kv::WriteBatch& batch) const {
  std::map<TableId, Copied> copies;
  BASALT_TRY(read_copies(copies));
  const auto found = copies.find(copy);
  if (found == copies.end() || find_id(found->second.id) != nullptr) return Status::ok();
  batch.remove(kv::kSystemFamily, make_key(RecordType::kCopiedTable, copy));
  return Status::ok();
}

Result<std::string> Catalog::copied_table(std::string_view copy) const {
  const TablePointer table = find(copy);
  if (table == nullptr) return std::string();
  std::map<TableId, Copied> copies;
  BASALT_TRY(read_copies(copies));
  const auto found = copies.find(table->id);
  return found == copies.end() ? std::string() : found->second.name;
}

Result<std::vector<TablePointer>> Catalog::replaced_tables() const {
  const MutexLock guard(mutex_);
  std::map<TableId, Copied> copies;
  BASALT_TRY(read_copies(copies));
  std::vector<TablePointer> replaced;
  for (const auto& [copy, copied] : copies) {
    const TablePointer made = find_id(copy);
    if (made == nullptr || is_being_made(made->name)) continue;
    TablePointer old = find_id(copied.id);
    const bool is_listed = std::ranges::find(replaced, old) != replaced.end();
    if (old != nullptr && is_set_aside(old->name) && !is_listed) replaced.push_back(std::move(old));
  }
  return replaced;
}

}  // namespace basalt::catalog
