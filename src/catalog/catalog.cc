#include "catalog/catalog.h"

#include <algorithm>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/failpoint.h"
#include "catalog/partition_names.h"
#include "catalog/records.h"

namespace basalt::catalog {
namespace {

// The version that a new dictionary has. It becomes the greater one with the first foreign key: an
// engine that knows nothing of them would let go what they hold together.
constexpr std::uint32_t kFormatVersion = 1;
constexpr std::uint32_t kFormatWithForeignKeys = 2;
// Ids below are reserved for the engine itself.
constexpr std::uint32_t kFirstId = 256;

RecordType record_type(CounterKind kind) {
  return kind == CounterKind::kAutoIncrement ? RecordType::kAutoIncrement
                                             : RecordType::kHiddenRowId;
}

Status corrupt(std::string_view what) {
  return Status(ErrorCode::kCorruption, "dictionary: " + std::string(what) + " does not decode");
}

Result<std::uint64_t> get_number(kv::Database& database, const std::string& key,
                                 std::uint64_t otherwise) {
  kv::PinnedValue value;
  bool found = false;
  BASALT_TRY(database.get(kv::kSystemFamily, key, {}, value, found));
  if (!found) return otherwise;
  std::string_view bytes = value.view();
  std::uint64_t number = 0;
  if (!consume_varint(bytes, number) || !bytes.empty()) return corrupt("a counter");
  return number;
}

Status exists_already(std::string_view name) {
  return Status(ErrorCode::kTableExists, "table '" + std::string(name) + "' already exists");
}

// Whether the renamed table is a partition that follows its table.
bool changes_table(std::string_view from, std::string_view to) {
  const std::string_view table = table_of_partition(from);
  const std::string_view other = table_of_partition(to);
  return !table.empty() && !other.empty() && table != other;
}

// Notes what the partition was called before it gets its new name, or forgets it where it gets that
// one back.
Status note_former_name(kv::Database& database, const TableDefinition& renamed,
                        std::string_view former, kv::WriteBatch& batch) {
  const std::string key = make_key(RecordType::kRenamedPartition, renamed.id);
  kv::PinnedValue before;
  bool found = false;
  BASALT_TRY(database.get(kv::kSystemFamily, key, {}, before, found));
  if (found && before.view() == renamed.name) {
    batch.remove(kv::kSystemFamily, key);
  } else {
    batch.put(kv::kSystemFamily, key, former);
  }
  return Status::ok();
}

bool may_hold_tables(const kv::Database& database, std::uint64_t family) {
  if (family > UINT32_MAX || family == kv::kSystemFamily) return false;
  return database.hold_family(static_cast<kv::FamilyId>(family)) != nullptr;
}

}  // namespace

Status table_not_found(std::string_view name) {
  return Status(ErrorCode::kTableNotFound,
                "table '" + std::string(name) + "' does not exist in the engine");
}

Status Catalog::load() {
  const MutexLock guard(mutex_);
  BASALT_TRY(load_counters());
  BASALT_TRY(load_tables());
  BASALT_TRY(load_dropped());
  return load_foreign_keys();
}

Status Catalog::load_counters() {
  const std::string format_key = make_key(RecordType::kFormat);
  Result<std::uint64_t> format = get_number(database_, format_key, 0);
  if (!format.is_ok()) return format.take_status();
  if (format.value() > kFormatWithForeignKeys) {
    return Status(ErrorCode::kUnsupported,
                  "the data directory has dictionary format " + std::to_string(format.value()) +
                      ", this version of the engine knows only up to " +
                      std::to_string(kFormatWithForeignKeys) + "; use the newer engine");
  }
  if (format.value() == 0) {
    kv::WriteBatch batch;
    batch.put(kv::kSystemFamily, format_key, make_number(kFormatVersion));
    BASALT_TRY(database_.write(batch, kv::Durability::kSynced));
  }
  Result<std::uint64_t> next = get_number(database_, make_key(RecordType::kNextId), kFirstId);
  if (!next.is_ok()) return next.take_status();
  if (next.value() > UINT32_MAX) return corrupt("the next id");
  next_id_ = static_cast<std::uint32_t>(next.value());
  return Status::ok();
}

Status Catalog::load_tables() {
  return scan_records(
      database_, RecordType::kTable, [&](std::string_view name, std::string_view value) {
        Result<TableDefinition> table = parse_definition(value);
        if (!table.is_ok()) {
          return Status(ErrorCode::kCorruption, "dictionary, table '" + std::string(name) +
                                                    "': " + table.status().message());
        }
        if (table.value().name != name) return corrupt("a table name");
        for (const IndexDefinition& index : table.value().indexes) {
          if (!may_hold_tables(database_, index.family)) return corrupt("an index's column family");
        }
        auto pointer = std::make_shared<const TableDefinition>(std::move(table.value()));
        mutex_.assert_held();
        owners_.add(pointer);
        tables_.emplace(name, std::move(pointer));
        return Status::ok();
      });
}

Status Catalog::load_dropped() {
  return scan_records(
      database_, RecordType::kDroppedIndex, [this](std::string_view key, std::string_view value) {
        std::uint64_t family = 0;
        if (key.size() != 4 || !consume_varint(value, family) ||
            !may_hold_tables(database_, family)) {
          return corrupt("a dropped index");
        }
        const DroppedIndex index{load_be32(key.data()), static_cast<kv::FamilyId>(family)};
        mutex_.assert_held();
        dropped_.emplace(index.id, index);
        return Status::ok();
      });
}

Status Catalog::load_foreign_keys() {
  return scan_records(database_, RecordType::kForeignKey,
                      [this](std::string_view key, std::string_view value) {
                        if (key.size() != sizeof(ForeignKeyId))
                          return corrupt("a foreign key's id");
                        Result<ForeignKeyDefinition> foreign_key = parse_foreign_key(value);
                        if (!foreign_key.is_ok()) return corrupt("a foreign key");
                        foreign_key.value().id = load_be32(key.data());
                        mutex_.assert_held();
                        foreign_keys_.add(std::move(foreign_key.value()));
                        return Status::ok();
                      });
}

TablePointer Catalog::find(std::string_view name) const {
  const MutexLock guard(mutex_);
  const auto found = tables_.find(name);
  return found == tables_.end() ? nullptr : found->second;
}

std::vector<TablePointer> Catalog::all_tables(std::string_view prefix) const {
  const MutexLock guard(mutex_);
  std::vector<TablePointer> tables;
  if (prefix.empty()) tables.reserve(tables_.size());
  for (auto table = tables_.lower_bound(prefix); table != tables_.end(); ++table) {
    if (!table->first.starts_with(prefix)) break;
    tables.push_back(table->second);
  }
  return tables;
}

IndexState Catalog::state_of(IndexId index) const {
  const MutexLock guard(mutex_);
  if (building_.contains(index)) return IndexState::kBuilding;
  if (dropped_.contains(index)) return IndexState::kDropped;
  return find_by_index(index) == nullptr ? IndexState::kUnknown : IndexState::kInUse;
}

IndexId Catalog::newest_id() const {
  const MutexLock guard(mutex_);
  return next_id_ == kFirstId ? 0 : next_id_ - 1;
}

void Catalog::put_definition(const TableDefinition& table, kv::WriteBatch& batch) const {
  std::string value;
  append_definition(table, value);
  batch.put(kv::kSystemFamily, make_key(RecordType::kTable) + table.name, value);
}

IndexId Catalog::allocate_ids(TableDefinition& table, kv::WriteBatch& batch) {
  BASALT_DEBUG_ASSERT(next_id_ >= kFirstId && !table.indexes.empty());
  std::uint32_t next = next_id_;
  if (table.id == 0) table.id = next++;
  for (IndexDefinition& index : table.indexes) index.id = next++;
  batch.put(kv::kSystemFamily, make_key(RecordType::kNextId), make_number(next));
  return next;
}

void Catalog::queue_indexes(const TableDefinition& table, kv::WriteBatch& batch) {
  for (const IndexDefinition& index : table.indexes) {
    BASALT_DEBUG_ASSERT(index.id >= kFirstId);
    batch.put(kv::kSystemFamily, make_key(RecordType::kDroppedIndex, index.id),
              make_number(index.family));
    batch.remove(kv::kSystemFamily, make_key(RecordType::kStatistics, index.id));
  }
}

Result<TablePointer> Catalog::create(TableDefinition table, std::uint64_t auto_increment_start,
                                     std::vector<ForeignKeyDefinition> foreign_keys,
                                     std::string_view copied) {
  BASALT_DEBUG_ASSERT(!table.name.empty() && (copied.empty() || is_being_made(table.name)));
  const MutexLock guard(mutex_);
  if (tables_.contains(table.name)) return exists_already(table.name);
  table.id = 0;
  kv::WriteBatch batch;
  const std::uint32_t next = put_foreign_keys(foreign_keys, allocate_ids(table, batch), batch);
  put_definition(table, batch);
  if (auto_increment_start > 1) {
    batch.put(kv::kSystemFamily, make_key(RecordType::kAutoIncrement, table.id),
              make_number(auto_increment_start));
  }
  if (!copied.empty()) {
    note_copy(table.id, copied, batch);
  }
  BASALT_FAILPOINT("catalog.create.before_write");
  BASALT_TRY(database_.write(batch, kv::Durability::kSynced));
  BASALT_FAILPOINT("catalog.create.after_write");
  next_id_ = next;
  begin_generation(table.name);
  if (!foreign_keys.empty()) begin_reference_generation();
  for (ForeignKeyDefinition& key : foreign_keys) foreign_keys_.add(std::move(key));
  auto pointer = std::make_shared<const TableDefinition>(std::move(table));
  tables_[pointer->name] = pointer;
  owners_.add(pointer);
  return TablePointer(pointer);
}

Status Catalog::drop(std::string_view name) {
  const MutexLock guard(mutex_);
  const auto found = tables_.find(name);
  if (found == tables_.end()) return table_not_found(name);
  const TableDefinition& table = *found->second;
  BASALT_DEBUG_ASSERT(table.name == name && table.id >= kFirstId);
  kv::WriteBatch batch;
  batch.remove(kv::kSystemFamily, make_key(RecordType::kTable) + table.name);
  batch.remove(kv::kSystemFamily, make_key(RecordType::kAutoIncrement, table.id));
  batch.remove(kv::kSystemFamily, make_key(RecordType::kHiddenRowId, table.id));
  batch.remove(kv::kSystemFamily, make_key(RecordType::kRenamedPartition, table.id));
  BASALT_TRY(forget_copies(table.id, batch));
  queue_indexes(table, batch);
  const std::vector<ForeignKeyPointer> own_keys = foreign_keys_.of_child(name);
  for (const ForeignKeyPointer& key : own_keys) {
    batch.remove(kv::kSystemFamily, make_key(RecordType::kForeignKey, key->id));
  }
  BASALT_FAILPOINT("catalog.drop.before_write");
  BASALT_TRY(database_.write(batch, kv::Durability::kSynced));
  BASALT_FAILPOINT("catalog.drop.after_write");
  begin_generation(name);
  // Those that know it by the name that it had.
  if (foreign_keys_.concern(foreign_keys_.name_before(name))) begin_reference_generation();
  foreign_keys_.forget_set_aside(name);
  foreign_keys_.forget_former(name);
  for (const ForeignKeyPointer& key : own_keys) foreign_keys_.remove(key->id);
  for (const IndexDefinition& index : table.indexes) {
    dropped_.emplace(index.id, DroppedIndex{index.id, index.family});
  }
  owners_.remove(table);
  tables_.erase(found);
  return Status::ok();
}

Status Catalog::rename(std::string_view from, std::string_view to, References references,
                       std::string_view known_as) {
  const MutexLock guard(mutex_);
  const auto found = tables_.find(from);
  if (found == tables_.end()) return table_not_found(from);
  if (tables_.contains(to)) return exists_already(to);
  BASALT_DEBUG_ASSERT(found->second->name == from && !to.empty() && from != to);
  TableDefinition renamed = *found->second;
  renamed.name = to;
  kv::WriteBatch batch;
  batch.remove(kv::kSystemFamily, make_key(RecordType::kTable) + std::string(from));
  put_definition(renamed, batch);
  if (is_being_made(from)) BASALT_TRY(forget_finished_copy(renamed.id, batch));
  if (changes_table(from, to)) {
    BASALT_TRY(note_former_name(database_, renamed, from, batch));
  } else if (table_of_partition(from) != table_of_partition(to)) {
    batch.remove(kv::kSystemFamily, make_key(RecordType::kRenamedPartition, renamed.id));
  }
  std::vector<ForeignKeyDefinition> keys =
      renamed_foreign_keys(from, to, known_as.empty() ? from : known_as, references);
  for (const ForeignKeyDefinition& key : keys) put_foreign_key(key, batch);
  BASALT_FAILPOINT("catalog.rename.before_write");
  BASALT_TRY(database_.write(batch, kv::Durability::kSynced));
  BASALT_FAILPOINT("catalog.rename.after_write");
  begin_generation(from);
  begin_generation(to);
  if (!keys.empty()) begin_reference_generation();
  foreign_keys_.note_name(from, to);
  replace_foreign_keys(std::move(keys));
  tables_.erase(found);
  auto pointer = std::make_shared<const TableDefinition>(std::move(renamed));
  owners_.add(pointer);
  tables_[pointer->name] = pointer;
  return Status::ok();
}

Result<std::vector<RenamedPartition>> Catalog::renamed_partitions() const {
  std::map<TableId, std::string> formers;
  BASALT_TRY(scan_records(database_, RecordType::kRenamedPartition,
                          [&](std::string_view id, std::string_view former) {
                            if (id.size() != sizeof(TableId)) return corrupt("a partition's id");
                            formers.emplace(load_be32(id.data()), former);
                            return Status::ok();
                          }));
  std::vector<RenamedPartition> renamed;
  // Asked at each start and RENAME, when mostly there are none.
  if (formers.empty()) return renamed;
  for (TablePointer& table : all_tables()) {
    const auto former = formers.find(table->id);
    if (former != formers.end()) renamed.push_back({former->second, std::move(table)});
  }
  std::ranges::sort(renamed, {}, [](const RenamedPartition& found) { return found.partition->id; });
  return renamed;
}

Status Catalog::forget_renamed_partitions(std::string_view table) {
  Result<std::vector<RenamedPartition>> renamed = renamed_partitions();
  if (!renamed.is_ok()) return renamed.take_status();
  kv::WriteBatch batch;
  for (const RenamedPartition& found : renamed.value()) {
    if (table_of_partition(found.partition->name) != table) continue;
    batch.remove(kv::kSystemFamily, make_key(RecordType::kRenamedPartition, found.partition->id));
  }
  return batch.is_empty() ? Status::ok() : database_.write(batch, kv::Durability::kSynced);
}

Result<TablePointer> Catalog::truncate(std::string_view name, Emptied how) {
  const MutexLock guard(mutex_);
  const auto found = tables_.find(name);
  if (found == tables_.end()) return table_not_found(name);
  const TablePointer old = found->second;
  TableDefinition emptied = *old;
  emptied.rows = {};
  emptied.is_discarded = how == Emptied::kDiscarded;
  kv::WriteBatch batch;
  const std::uint32_t next = allocate_ids(emptied, batch);
  BASALT_DEBUG_ASSERT(emptied.id == old->id);
  put_definition(emptied, batch);
  batch.remove(kv::kSystemFamily, make_key(RecordType::kAutoIncrement, emptied.id));
  queue_indexes(*old, batch);
  BASALT_FAILPOINT("catalog.truncate.before_write");
  BASALT_TRY(database_.write(batch, kv::Durability::kSynced));
  BASALT_FAILPOINT("catalog.truncate.after_write");
  next_id_ = next;
  begin_generation(name);
  for (const IndexDefinition& index : old->indexes) {
    dropped_.emplace(index.id, DroppedIndex{index.id, index.family});
  }
  found->second = std::make_shared<const TableDefinition>(std::move(emptied));
  owners_.remove(*old);
  owners_.add(found->second);
  return TablePointer(found->second);
}

std::uint32_t Catalog::put_foreign_keys(std::vector<ForeignKeyDefinition>& keys, std::uint32_t next,
                                        kv::WriteBatch& batch) {
  if (keys.empty()) return next;
  batch.put(kv::kSystemFamily, make_key(RecordType::kFormat), make_number(kFormatWithForeignKeys));
  for (ForeignKeyDefinition& key : keys) {
    BASALT_DEBUG_ASSERT(!key.name.empty() && !key.parent.empty());
    key.id = next++;
    put_foreign_key(key, batch);
  }
  batch.put(kv::kSystemFamily, make_key(RecordType::kNextId), make_number(next));
  return next;
}

std::vector<ForeignKeyDefinition> Catalog::renamed_foreign_keys(std::string_view from,
                                                                std::string_view to,
                                                                std::string_view known_as,
                                                                References references) const {
  std::map<ForeignKeyId, ForeignKeyDefinition> changed;
  for (const ForeignKeyPointer& key : foreign_keys_.of_child(from)) {
    ForeignKeyDefinition renamed = *key;
    renamed.child = to;
    if (references == References::kFollow) {
      renamed.name = renamed_constraint(key->name, known_as, to);
    }
    changed.emplace(key->id, std::move(renamed));
  }
  if (references == References::kFollow) {
    for (const ForeignKeyPointer& key : foreign_keys_.of_parent(known_as)) {
      changed.emplace(key->id, *key).first->second.parent = to;
    }
  }
  std::vector<ForeignKeyDefinition> keys;
  for (auto& [id, key] : changed) keys.push_back(std::move(key));
  return keys;
}

std::vector<ForeignKeyDefinition> Catalog::with_renamed_columns(
    const TableDefinition& table, const TableChange& change, const TableDefinition& altered,
    const ForeignKeyChanges& changes) const {
  std::map<ForeignKeyId, ForeignKeyDefinition> renamed;
  const auto rename = [&](const ForeignKeyPointer& key, std::string ForeignKeyColumn::*side) {
    if (std::ranges::find(changes.dropped, key->id) != changes.dropped.end()) return;
    const auto known = renamed.find(key->id);
    ForeignKeyDefinition result = known == renamed.end() ? *key : known->second;
    for (ForeignKeyColumn& column : result.columns) {
      column.*side = renamed_column(table, change, altered, column.*side);
    }
    if (!(result == *key)) renamed.insert_or_assign(key->id, std::move(result));
  };
  for (const ForeignKeyPointer& key : foreign_keys_.of_child(table.name)) {
    rename(key, &ForeignKeyColumn::child);
  }
  for (const ForeignKeyPointer& key : foreign_keys_.of_parent(table.name)) {
    rename(key, &ForeignKeyColumn::parent);
  }
  std::vector<ForeignKeyDefinition> keys;
  for (auto& [id, key] : renamed) keys.push_back(std::move(key));
  return keys;
}

std::vector<DroppedIndex> Catalog::dropped_indexes() const {
  const MutexLock guard(mutex_);
  std::vector<DroppedIndex> indexes;
  for (const auto& [id, index] : dropped_) indexes.push_back(index);
  return indexes;
}

bool Catalog::is_family_in_use(kv::FamilyId family, std::string& user) const {
  const MutexLock guard(mutex_);
  for (const auto& [name, table] : tables_) {
    for (const IndexDefinition& index : table->indexes) {
      if (index.family != family) continue;
      user = "index '" + index.name + "' of table '" + name + "'";
      return true;
    }
  }
  for (const auto& [id, built] : building_) {
    if (built.index.family != family) continue;
    user = "index " + std::to_string(id) + ", which is being built,";
    return true;
  }
  return false;
}

Status Catalog::forget_dropped(IndexId id) {
  const MutexLock guard(mutex_);
  kv::WriteBatch batch;
  batch.remove(kv::kSystemFamily, make_key(RecordType::kDroppedIndex, id));
  // Lost in a crash, it only has an empty range reclaimed once more; DDL need not wait for a sync.
  BASALT_TRY(database_.write(batch, kv::Durability::kBuffered));
  BASALT_DEBUG_ASSERT(find_by_index(id) == nullptr);
  dropped_.erase(id);
  return Status::ok();
}

Result<std::uint64_t> Catalog::counter_mark(TableId table, CounterKind kind) const {
  return get_number(database_, make_key(record_type(kind), table), 0);
}

Status Catalog::store_counter_mark(TableId table, CounterKind kind, std::uint64_t mark,
                                   kv::Durability durability) {
  kv::WriteBatch batch;
  batch.put(kv::kSystemFamily, make_key(record_type(kind), table), make_number(mark));
  return database_.write(batch, durability);
}

std::optional<IndexStatistics> Catalog::statistics(IndexId index) const {
  kv::PinnedValue value;
  bool found = false;
  const Status status =
      database_.get(kv::kSystemFamily, make_key(RecordType::kStatistics, index), {}, value, found);
  if (!status.is_ok() || !found) return std::nullopt;
  std::string_view bytes = value.view();
  IndexStatistics result;
  std::uint64_t number = 0;
  if (!consume_varint(bytes, result.entries)) return std::nullopt;
  while (consume_varint(bytes, number)) result.distinct_prefixes.push_back(number);
  if (!bytes.empty()) return std::nullopt;
  return result;
}

Status Catalog::store_statistics(IndexId index, const IndexStatistics& statistics) {
  std::string value;
  append_varint(value, statistics.entries);
  for (const std::uint64_t distinct : statistics.distinct_prefixes) append_varint(value, distinct);
  kv::WriteBatch batch;
  batch.put(kv::kSystemFamily, make_key(RecordType::kStatistics, index), value);
  return database_.write(batch, kv::Durability::kBuffered);
}

}  // namespace basalt::catalog
