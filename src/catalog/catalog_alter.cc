#include <algorithm>

#include "base/assert.h"
#include "base/failpoint.h"
#include "catalog/catalog.h"
#include "catalog/records.h"

namespace basalt::catalog {
namespace {

// Without the indexes that `altered` has, too.
TableDefinition without_indexes_of(const TableDefinition& table, const TableDefinition& altered) {
  TableDefinition rest = table;
  std::erase_if(rest.indexes, [&](const IndexDefinition& index) {
    return std::ranges::find(altered.indexes, index.id, &IndexDefinition::id) !=
           altered.indexes.end();
  });
  return rest;
}

Status changed_otherwise(std::string_view name) {
  return Status(
      ErrorCode::kDefinitionMismatch,
      "table '" + std::string(name) + "' has changes for which its rows must be written anew");
}

}  // namespace

Result<TablePointer> Catalog::reserve_indexes(TableDefinition altered, const TableChange& change) {
  const MutexLock guard(mutex_);
  const auto found = tables_.find(altered.name);
  if (found == tables_.end()) return table_not_found(altered.name);
  if (!alter_in_place(*found->second, change, altered)) return changed_otherwise(altered.name);
  return reserve(std::move(altered));
}

Result<TablePointer> Catalog::reserve_import(std::string_view name, const TableDefinition& rows) {
  const MutexLock guard(mutex_);
  const auto found = tables_.find(name);
  if (found == tables_.end()) return table_not_found(name);
  TableDefinition table = *found->second;
  BASALT_ASSERT(table.is_discarded && find_difference(table, rows).empty());
  BASALT_ASSERT(table.schema_version != UINT32_MAX);
  // Not below that of any row, and as a change has it.
  table.schema_version = std::max(table.schema_version + 1, rows.schema_version);
  table.rows = rows.rows;
  table.expiry = rows.expiry;
  table.is_discarded = false;
  for (IndexDefinition& index : table.indexes) index.id = 0;
  return reserve(std::move(table));
}

Result<TablePointer> Catalog::reserve(TableDefinition altered) {
  std::uint32_t next = next_id_;
  std::vector<DroppedIndex> reserved;
  for (IndexDefinition& index : altered.indexes) {
    if (index.id != 0) continue;
    index.id = next++;
    reserved.push_back({index.id, index.family});
  }
  if (!reserved.empty()) reserved.push_back({next++, kv::kDefaultFamily});  // the journal
  kv::WriteBatch batch;
  for (const DroppedIndex& index : reserved) {
    batch.put(kv::kSystemFamily, make_key(RecordType::kDroppedIndex, index.id),
              make_number(index.family));
  }
  auto pointer = std::make_shared<const TableDefinition>(std::move(altered));
  if (reserved.empty()) return TablePointer(pointer);
  batch.put(kv::kSystemFamily, make_key(RecordType::kNextId), make_number(next));
  BASALT_FAILPOINT("catalog.reserve_indexes.before_write");
  BASALT_TRY(database_.write(batch, kv::Durability::kSynced));
  BASALT_FAILPOINT("catalog.reserve_indexes.after_write");
  next_id_ = next;
  for (const DroppedIndex& index : reserved) {
    const bool is_new = building_.emplace(index.id, BuiltIndex{index, pointer}).second;
    BASALT_DEBUG_ASSERT(is_new && !dropped_.contains(index.id));
    owners_.add_built(index.id, pointer);
  }
  return TablePointer(pointer);
}

std::optional<IndexId> Catalog::journal_of(const TablePointer& altered) const {
  const MutexLock guard(mutex_);
  for (const auto& [id, built] : building_) {
    const bool is_index =
        std::ranges::find(altered->indexes, id, &IndexDefinition::id) != altered->indexes.end();
    if (built.altered == altered && !is_index) return id;
  }
  return std::nullopt;
}

Status Catalog::publish_altered(AlteredTable table) {
  std::vector<AlteredTable> tables;
  tables.push_back(std::move(table));
  return publish_all_altered(std::move(tables), std::nullopt);
}

Status Catalog::publish_all_altered(std::vector<AlteredTable> tables,
                                    const std::optional<AlterationId>& alteration) {
  const MutexLock guard(mutex_);
  kv::WriteBatch batch;
  std::uint32_t next = next_id_;
  std::vector<Publication> publications;
  for (AlteredTable& table : tables) {
    Result<Publication> publication = prepare_publication(std::move(table), next, batch);
    if (!publication.is_ok()) return publication.take_status();
    publications.push_back(std::move(publication.value()));
  }
  if (alteration.has_value()) {
    batch.put(kv::kSystemFamily, make_key(RecordType::kAlteration) + alteration->table,
              alteration->id);
  }
  BASALT_FAILPOINT("catalog.publish_altered.before_write");
  BASALT_TRY(database_.write(batch, kv::Durability::kSynced));
  BASALT_FAILPOINT("catalog.publish_altered.after_write");
  next_id_ = next;
  for (Publication& publication : publications) publish(std::move(publication));
  return Status::ok();
}

Result<Catalog::Publication> Catalog::prepare_publication(AlteredTable table, std::uint32_t& next,
                                                          kv::WriteBatch& batch) {
  const TableDefinition& altered = *table.definition;
  const auto found = tables_.find(altered.name);
  if (found == tables_.end()) return table_not_found(altered.name);
  const TableDefinition& before = *found->second;
  if (before.id != altered.id || before.schema_version >= altered.schema_version) {
    return changed_otherwise(altered.name);
  }
  put_definition(altered, batch);
  for (const IndexDefinition& index : altered.indexes) {
    if (!building_.contains(index.id)) continue;
    batch.remove(kv::kSystemFamily, make_key(RecordType::kDroppedIndex, index.id));
  }
  Publication publication = {.table = std::move(table),
                             .dropped = without_indexes_of(before, altered),
                             .renamed_keys = {}};
  queue_indexes(publication.dropped, batch);
  const ForeignKeyChanges& foreign_keys = publication.table.foreign_keys;
  for (const ForeignKeyId id : foreign_keys.dropped) {
    batch.remove(kv::kSystemFamily, make_key(RecordType::kForeignKey, id));
  }
  publication.renamed_keys =
      with_renamed_columns(before, publication.table.change, altered, foreign_keys);
  for (const ForeignKeyDefinition& key : publication.renamed_keys) put_foreign_key(key, batch);
  next = put_foreign_keys(publication.table.foreign_keys.added, next, batch);
  return publication;
}

void Catalog::publish(Publication publication) {
  const TablePointer& altered = publication.table.definition;
  begin_generation(altered->name);
  const ForeignKeyChanges& changes = publication.table.foreign_keys;
  if (!changes.dropped.empty() || !changes.added.empty()) begin_reference_generation();
  for (const ForeignKeyId id : publication.table.foreign_keys.dropped) foreign_keys_.remove(id);
  replace_foreign_keys(std::move(publication.renamed_keys));
  for (ForeignKeyDefinition& key : publication.table.foreign_keys.added) {
    foreign_keys_.add(std::move(key));
  }
  for (const IndexDefinition& index : altered->indexes) building_.erase(index.id);
  end_building(altered);
  for (const IndexDefinition& index : publication.dropped.indexes) {
    dropped_.emplace(index.id, DroppedIndex{index.id, index.family});
  }
  const auto found = tables_.find(altered->name);
  BASALT_DEBUG_ASSERT(found != tables_.end());
  found->second = altered;
  owners_.remove(publication.dropped);
  owners_.add(altered);
}

Result<bool> Catalog::is_completed(const AlterationId& alteration) const {
  kv::PinnedValue id;
  bool found = false;
  BASALT_TRY(database_.get(kv::kSystemFamily, make_key(RecordType::kAlteration) + alteration.table,
                           {}, id, found));
  return found && id.view() == alteration.id;
}

Status Catalog::forget_alterations() {
  kv::WriteBatch batch;
  BASALT_TRY(scan_records(
      database_, RecordType::kAlteration, [&](std::string_view table, std::string_view) {
        batch.remove(kv::kSystemFamily, make_key(RecordType::kAlteration) + std::string(table));
        return Status::ok();
      }));
  return batch.is_empty() ? Status::ok() : database_.write(batch, kv::Durability::kBuffered);
}

void Catalog::end_building(const TablePointer& altered) {
  std::erase_if(building_, [&](const auto& built) {
    if (built.second.altered != altered) return false;
    mutex_.assert_held();
    dropped_.emplace(built.first, built.second.index);
    owners_.remove(built.first);
    return true;
  });
}

void Catalog::abandon_indexes(const TablePointer& altered) {
  const MutexLock guard(mutex_);
  end_building(altered);
}

}  // namespace basalt::catalog
