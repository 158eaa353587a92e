#include "server/handler/cascaded_row.h"

#include <algorithm>
#include <cstring>

#include "table/record_values.h"

namespace basalt::server {
namespace {

using codec::ColumnLayout;

// Blobs by their addresses.
void copy_column_bytes(const ColumnLayout& column, const uchar* from, uchar* to) {
  if (column.nullable) {
    const uchar bit = from[column.null_offset] & column.null_mask;
    to[column.null_offset] = static_cast<uchar>((to[column.null_offset] & ~column.null_mask) | bit);
  }
  std::memcpy(to + column.record_offset, from + column.record_offset, column.record_length);
}

constexpr const char* kRefusal =
    "a trigger or function has moved, removed or changed, through a foreign key, the row that the "
    "statement is changing; have it change other rows";

}  // namespace

Status CascadedRow::read(const uchar* record, bool& exists) {
  row_.assign(record, record + access_.server_table.s->reclength);
  BASALT_TRY(access_.writer.read_again(access_.transaction, record, access_.hidden_key, row_.data(),
                                       exists));
  // Without a visible primary key a row keeps its own when it becomes history.
  if (exists && versions_.is_history(row_.data()) && !versions_.is_history(record)) exists = false;
  return Status::ok();
}

// Whether the columns that the statement has read are as they were.
bool CascadedRow::is_as_read(const uchar* record) const {
  const std::vector<ColumnLayout>& columns = access_.table.layout().columns;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].stored && bitmap_is_set(access_.server_table.read_set, static_cast<uint>(i)) &&
        table::values_differ(columns[i], record, row_.data())) {
      return false;
    }
  }
  return true;
}

// Whether cascades may give a row another primary key, so that it seems to have gone, and another
// one is found in its place.
bool CascadedRow::may_have_moved() const {
  if (access_.references == nullptr || access_.table.has_hidden_key()) return false;
  const std::vector<catalog::KeyPartDefinition>& parts = access_.table.index(0).parts;
  const auto is_moved_by = [&](const table::ParentReference& parent) {
    return parent.key->on_update == catalog::ReferentialAction::kCascade &&
           std::ranges::any_of(parts, [&](const catalog::KeyPartDefinition& part) {
             return std::ranges::find(parent.columns, part.column) != parent.columns.end();
           });
  };
  return std::ranges::any_of(access_.references->references().parents, is_moved_by);
}

// The server computes virtual columns of what it reads in its first record, and keeps long values
// apart from what it computes there of a row that is written.
Status CascadedRow::take_unchanged() {
  TABLE& server_table = access_.server_table;
  uchar* const old_record = server_table.record[1];
  uchar* const new_record = server_table.record[0];
  std::vector<const ColumnLayout*> unchanged;
  for (const ColumnLayout& column : access_.table.layout().columns) {
    if (column.stored && !table::values_differ(column, old_record, new_record)) {
      unchanged.push_back(&column);
    }
  }
  const bool has_virtual = server_table.vfield != nullptr;
  const std::vector<uchar> changed(new_record, new_record + row_.size());
  std::memcpy(new_record, row_.data(), row_.size());
  if (has_virtual) server_table.update_virtual_fields(server_table.file, VCOL_UPDATE_FOR_READ);
  std::memcpy(old_record, new_record, row_.size());
  std::memcpy(new_record, changed.data(), row_.size());
  for (const ColumnLayout* column : unchanged) {
    copy_column_bytes(*column, row_.data(), new_record);
  }
  if (has_virtual) server_table.update_virtual_fields(server_table.file, VCOL_UPDATE_FOR_WRITE);
  if (!server_table.in_use->is_error()) return Status::ok();
  return Status(ErrorCode::kInterrupted, "a virtual column cannot be computed");
}

Status CascadedRow::refresh_update(const uchar* old_record, const uchar* new_record,
                                   Outcome& outcome) {
  TABLE& server_table = access_.server_table;
  bool exists = false;
  BASALT_TRY(read(old_record, exists));
  outcome = Outcome::kIsThere;
  if (!exists && !may_have_moved()) {
    outcome = versions_.is_history(new_record) ? Outcome::kRemoved : Outcome::kGone;
    if (outcome == Outcome::kRemoved) return Status::ok();
    // A removal changes a row that keeps a part of its period. And the server makes history also of
    // a row that is passed over.
    const int command = thd_sql_command(server_table.in_use);
    const bool is_removal = command == SQLCOM_DELETE || command == SQLCOM_DELETE_MULTI;
    if (!is_removal && !versions_.exist()) return Status::ok();
    return Status(ErrorCode::kUnsupported, kRefusal);
  }
  if (exists && access_.writer.is_same_row(row_.data(), old_record)) return Status::ok();
  // The server has looked for rows with such values already.
  const bool is_checked = server_table.s->long_unique_table || server_table.s->period.unique_keys;
  const bool are_servers =
      old_record == server_table.record[1] && new_record == server_table.record[0];
  if (!exists || may_have_moved() || is_checked || !are_servers) {
    return Status(ErrorCode::kUnsupported, kRefusal);
  }
  return take_unchanged();
}

Status CascadedRow::refresh_removal(const uchar* record, Outcome& outcome) {
  TABLE& server_table = access_.server_table;
  bool exists = false;
  BASALT_TRY(read(record, exists));
  outcome = exists ? Outcome::kIsThere : Outcome::kRemoved;
  if (may_have_moved() && (!exists || !is_as_read(record))) {
    return Status(ErrorCode::kUnsupported, kRefusal);
  }
  if (!exists) return Status::ok();
  const bool is_first = record == server_table.record[0];
  uchar* const servers = is_first ? server_table.record[0] : server_table.record[1];
  if (record != servers) {
    return Status(ErrorCode::kUnsupported, "a row is removed that the server holds elsewhere");
  }
  std::memcpy(servers, row_.data(), row_.size());
  if (server_table.vfield == nullptr) return Status::ok();
  if (is_first) {
    server_table.update_virtual_fields(server_table.file, VCOL_UPDATE_FOR_READ);
    return Status::ok();
  }
  // The first record is a row that takes the place of this one, and its long values stay.
  server_table.move_fields(server_table.field, servers, server_table.record[0]);
  server_table.update_virtual_fields(server_table.file, VCOL_UPDATE_FOR_REPLACE);
  server_table.move_fields(server_table.field, server_table.record[0], servers);
  return Status::ok();
}

}  // namespace basalt::server
