#include "server/virtual_columns.h"

#include <cstddef>
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

// Columns of a table, by their numbers there.
class FieldSet {
 public:
  explicit FieldSet(const TABLE& table) : bits_((table.s->fields + kBits - 1) / kBits) {
    my_bitmap_init(&set_, bits_.data(), table.s->fields);
  }
  FieldSet(const FieldSet&) = delete;
  FieldSet& operator=(const FieldSet&) = delete;

  bool has(const Field& field) const { return bitmap_is_set(&set_, field.field_index); }
  void add(const Field& field) { bitmap_set_bit(&set_, field.field_index); }
  // Those that an expression names.
  void add_named_by(TABLE& table, Item& expression) {
    // The server may be using the table's own set: as its read set, while it has a handler cloned.
    const MY_BITMAP servers = table.tmp_set;
    table.tmp_set = set_;
    expression.walk(&Item::add_field_to_set_processor, true, &table);
    table.tmp_set = servers;
  }

 private:
  static constexpr std::size_t kBits = 8 * sizeof(my_bitmap_map);

  std::vector<my_bitmap_map> bits_;
  MY_BITMAP set_{};
};

std::ptrdiff_t count_generated(const TABLE& table) {
  Field** end = table.vfield;
  while (*end != nullptr) ++end;
  return end - table.vfield;
}

bool is_virtual(const Field& field) { return field.vcol_info != nullptr && !field.stored_in_db(); }

// A column that is VIRTUAL and what it is made of, down to what rows have. No expression names a
// generated column that comes later in the table: the server refuses it.
void add_with_bases(const Field& column, FieldSet& columns) {
  TABLE& table = *column.table;
  columns.add(column);
  for (Field** last = table.vfield + count_generated(table); last != table.vfield;) {
    Field& generated = **--last;
    if (!is_virtual(generated) || !columns.has(generated)) continue;
    columns.add_named_by(table, *generated.vcol_info->expr);
  }
}

}  // namespace

bool VirtualColumns::is_made_of_stored(const Field& column) {
  FieldSet needed(*column.table);
  add_with_bases(column, needed);
  for (Field* const* field = column.table->vfield; *field != nullptr; ++field) {
    if ((*field)->stored_in_db() && needed.has(**field)) return true;
  }
  return false;
}

void VirtualColumns::add(const Field& column) {
  if (!is_virtual(column)) return;
  FieldSet needed(table_);
  for (const Field* const known : columns_) needed.add(*known);
  add_with_bases(column, needed);
  columns_.clear();
  for (Field* const* field = table_.vfield; *field != nullptr; ++field) {
    if (is_virtual(**field) && needed.has(**field)) columns_.push_back(*field);
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
