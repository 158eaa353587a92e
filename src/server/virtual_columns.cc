#include "server/virtual_columns.h"

#include <cstring>

#include "table/record_values.h"

namespace basalt::server {
namespace {

using codec::ColumnKind;
using codec::ColumnLayout;

// To the server's record. A blob's data stays where it is.
void copy_in(const ColumnLayout& column, const std::uint8_t* record, Field& field) {
  if (table::is_null_in(column, record)) {
    field.set_null();
    return;
  }
  field.set_notnull();
  std::memcpy(field.ptr, record + column.record_offset, column.record_length);
}

// From the server's record. The server has one place for a blob's data, so it is moved to `blob`.
void copy_out(const Field& field, const ColumnLayout& column, std::uint8_t* record,
              std::string& blob) {
  if (column.nullable) {
    std::uint8_t& bits = record[column.null_offset];
    const bool is_set = field.is_null();
    bits = static_cast<std::uint8_t>(is_set ? bits | column.null_mask : bits & ~column.null_mask);
    if (is_set) return;
  }
  std::uint8_t* const to = record + column.record_offset;
  std::memcpy(to, field.ptr, column.record_length);
  if (column.kind != ColumnKind::kBlob) return;
  const auto& blob_field = static_cast<const Field_blob&>(field);
  blob.assign(reinterpret_cast<const char*>(blob_field.get_ptr()), blob_field.get_length());
  const char* const data = blob.data();
  std::memcpy(to + column.length_bytes, &data, sizeof(data));
}

class Listener final : public Internal_error_handler {
 public:
  explicit Listener(VirtualColumns::Conditions told) : told_(told) {}

  // Whether nobody else is to hear of it.
  bool handle_condition(THD*, uint, const char*, Sql_condition::enum_warning_level* level,
                        const char*, Sql_condition**) override {
    using Conditions = VirtualColumns::Conditions;
    if (*level != Sql_condition::WARN_LEVEL_ERROR) return told_ != Conditions::kAll;
    if (told_ == Conditions::kNone) return true;
    has_heard_error_ = true;
    return false;
  }
  bool has_heard_error() const { return has_heard_error_; }

 private:
  const VirtualColumns::Conditions told_;
  bool has_heard_error_ = false;
};

// In the table's tmp_set, which may have others already.
void mark_with_bases(Field& column) {
  TABLE& table = *column.table;
  MY_BITMAP* const read_set = table.read_set;
  table.read_set = &table.tmp_set;
  table.mark_virtual_column_with_deps(&column);
  table.read_set = read_set;
}

}  // namespace

bool VirtualColumns::is_made_of_stored(Field& column) {
  TABLE& table = *column.table;
  bitmap_clear_all(&table.tmp_set);
  mark_with_bases(column);
  for (Field* const* generated = table.vfield; *generated != nullptr; ++generated) {
    const bool is_stored = (*generated)->stored_in_db();
    if (is_stored && bitmap_is_set(&table.tmp_set, (*generated)->field_index)) return true;
  }
  return false;
}

// No expression refers to a generated column that comes later in the table: the server refuses it.
void VirtualColumns::add(Field& column) {
  if (column.stored_in_db()) return;
  bitmap_clear_all(&table_.tmp_set);
  for (Field* const known : columns_) bitmap_set_bit(&table_.tmp_set, known->field_index);
  mark_with_bases(column);
  columns_.clear();
  for (Field* const* generated = table_.vfield; *generated != nullptr; ++generated) {
    if ((*generated)->stored_in_db()) continue;
    if (bitmap_is_set(&table_.tmp_set, (*generated)->field_index)) columns_.push_back(*generated);
  }
}

bool VirtualColumns::compute(Conditions told) {
  if (columns_.empty()) return true;  // a table without expressions has no arena for them
  THD* const thd = table_.in_use;
  Listener listener(told);
  Query_arena arena;
  const bool is_strict = thd->abort_on_warning && told != Conditions::kNone;
  const Abort_on_warning_instant_set strictness(thd, is_strict);
  thd->push_internal_handler(&listener);
  thd->set_n_backup_active_arena(table_.expr_arena, &arena);
  for (Field* const column : columns_) column->vcol_info->expr->save_in_field(column, false);
  thd->restore_active_arena(table_.expr_arena, &arena);
  thd->pop_internal_handler();
  return !listener.has_heard_error();
}

bool VirtualColumns::compute_in(const codec::TableLayout& layout, std::uint8_t* record,
                                std::vector<std::string>& blobs, Conditions told) {
  const std::vector<ColumnLayout>& columns = layout.columns;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].stored) copy_in(columns[i], record, *table_.field[i]);
  }
  if (!compute(told)) return false;
  blobs.resize(columns.size());
  for (const Field* const column : columns_) {
    copy_out(*column, columns[column->field_index], record, blobs[column->field_index]);
  }
  return true;
}

}  // namespace basalt::server
