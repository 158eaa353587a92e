#include "table/entry_maker.h"

#include "base/assert.h"
#include "base/row_time.h"

namespace basalt::table {
namespace {

void add_columns(const catalog::IndexDefinition& index, codec::ColumnSet& columns) {
  for (const catalog::KeyPartDefinition& part : index.parts) columns.set(part.column);
}

// What the entries are made of: their columns and those of the primary key, or all that a row has
// where it becomes another row, or others are computed of it.
codec::ReadPlan plan_of_entries(const BuildTables& tables, std::span<const std::size_t> indexes) {
  const Table& table = tables.table;
  codec::ColumnSet wanted(tables.rows().layout().columns.size());
  const bool needs_all = tables.replaces_primary() || tables.complete != nullptr;
  for (std::size_t i = 0; needs_all && i < table.layout().columns.size(); ++i) wanted.set(i);
  add_columns(table.index(0), wanted);
  for (const std::size_t index : indexes) add_columns(table.index(index), wanted);
  return tables.rows().primary().plan(wanted);
}

}  // namespace

EntryMaker::EntryMaker(const BuildTables& tables, std::span<const std::size_t> indexes)
    : tables_(tables),
      plan_(plan_of_entries(tables, indexes)),
      record_(tables.rows().layout().record_length) {
  BASALT_DEBUG_ASSERT(!tables.replaces_primary() || !tables.table.has_hidden_key());
  BASALT_DEBUG_ASSERT(!tables.replaces_primary() || !tables.table.has_expiry());
}

Status EntryMaker::read(std::string_view key, std::string_view row) {
  BASALT_TRY(tables_.rows().primary().read(key, row, plan_, record_.data()));
  if (tables_.complete != nullptr) BASALT_TRY((*tables_.complete)(record_.data()));
  row_ = row;
  primary_key_ = key;
  if (!tables_.replaces_primary()) return Status::ok();
  tables_.table.primary().make_key(record_.data(), 0, new_primary_key_);
  primary_key_ = new_primary_key_;
  return Status::ok();
}

void EntryMaker::make(std::size_t index_number, std::string& key, std::string& value) {
  const Table& table = tables_.table;
  if (index_number == 0) {
    key = primary_key_;
    table.primary().make_row(record_.data(), table.definition().schema_version, value);
    return;
  }
  table.secondary(index_number).make_entry(record_.data(), primary_key_, key, value);
  if (table.has_expiry()) prepend_row_time(row_time(row_), value);
}

Status EntryMaker::find_duplicate(kv::Database& database, const kv::Snapshot& snapshot,
                                  std::size_t index_number, std::string_view key,
                                  std::string_view value,
                                  std::optional<DuplicateRow>& duplicate) const {
  const Table& table = tables_.table;
  duplicate.emplace();
  duplicate->index_number = index_number;
  if (index_number == 0) {
    duplicate->primary_key = key;
    duplicate->row = value;
    return Status::ok();
  }
  BASALT_TRY(table.secondary(index_number).primary_key_of(key, value, duplicate->primary_key));
  kv::PinnedValue row;
  bool exists = false;
  const kv::Snapshot* const read_at = tables_.replaces_primary() ? nullptr : &snapshot;
  BASALT_TRY(database.get(table.family(0), duplicate->primary_key, {read_at, false}, row, exists));
  if (!exists) return Status(ErrorCode::kCorruption, "a row with a duplicate value is not there");
  duplicate->row = row.view();
  return Status::ok();
}

}  // namespace basalt::table
