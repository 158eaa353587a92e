#include "server/handler/column_changes.h"

#include <array>

namespace basalt::server {
namespace {

bool is_integer(enum_field_types type) {
  return type == MYSQL_TYPE_TINY || type == MYSQL_TYPE_SHORT || type == MYSQL_TYPE_INT24 ||
         type == MYSQL_TYPE_LONG || type == MYSQL_TYPE_LONGLONG;
}

bool can_convert_integer(const Field& field, const Column_definition& to) {
  // A generated column may show how many zeros are in front.
  const unsigned kept_flags = UNSIGNED_FLAG | AUTO_INCREMENT_FLAG;
  return is_integer(to.real_field_type()) && ((field.flags ^ to.flags) & kept_flags) == 0 &&
         ((field.flags | to.flags) & ZEROFILL_FLAG) == 0 && field.pack_length() <= to.pack_length;
}

// JSON and GEOMETRY are not: they refuse values.
bool is_text_or_blob(const Type_handler* type) {
  return type == &type_handler_tiny_blob || type == &type_handler_blob ||
         type == &type_handler_medium_blob || type == &type_handler_long_blob;
}

// CHAR, VARCHAR or one of the TEXTs and BLOBs, and the same of these afterwards. BINARY is padded
// with zeros, which are part of the value.
bool can_convert_string(const Field& field, const Column_definition& to) {
  const bool is_blob = is_text_or_blob(field.type_handler());
  const bool is_char =
      field.type_handler() == &type_handler_string && field.charset() != &my_charset_bin;
  const bool is_same_type = is_blob ? is_text_or_blob(to.type_handler())
                                    : (is_char || field.type_handler() == &type_handler_varchar) &&
                                          field.type_handler() == to.type_handler();
  if (!is_same_type || field.compression_method() != nullptr ||
      to.compression_method() != nullptr) {
    return false;
  }
  const bool is_binary = field.charset() == &my_charset_bin;
  if (is_binary != (to.charset == &my_charset_bin)) return false;
  const bool is_long_enough =
      is_blob ? field.pack_length() <= to.pack_length
              : field.char_length() <= to.char_length && field.field_length <= to.length;
  return is_long_enough && Charset(field.charset()).encoding_allows_reinterpret_as(to.charset);
}

// Whether all rows that are there get the value that new rows get now.
bool has_one_default(const Field& field) {
  return (field.flags & AUTO_INCREMENT_FLAG) == 0 && field.check_constraint == nullptr &&
         (field.default_value == nullptr || field.default_value->expr->basic_const_item() ||
          field.has_default_now_unireg_check());
}

// Whether a column goes whose name another one has then. The server takes an expression that names
// it for the same as before.
bool gives_name_away(const TABLE& table, const TABLE& altered, const catalog::TableChange& change) {
  for (uint i = 0; i < table.s->fields; ++i) {
    const bool stays = std::ranges::find(change.columns, i, &catalog::ColumnOrigin::before) !=
                       change.columns.end();
    if (stays) continue;
    for (uint j = 0; j < altered.s->fields; ++j) {
      const LEX_CSTRING& name = table.field[i]->field_name;
      if (Lex_ident(name).streq(altered.field[j]->field_name)) return true;
    }
  }
  return false;
}

// Whether the same bytes may be another text, of columns that are equal to the server.
bool has_other_text(const Field& before, const Field& after) {
  const bool fills_up = ((before.flags | after.flags) & ZEROFILL_FLAG) != 0;
  const bool has_width = fills_up || before.type() == MYSQL_TYPE_YEAR;
  if (((before.flags ^ after.flags) & ZEROFILL_FLAG) != 0 ||
      (has_width && before.field_length != after.field_length) ||
      before.decimals() != after.decimals()) {
    return true;
  }
  if (before.vcol_info == nullptr) return false;
  // What a column has no room for is cut off.
  if (before.cmp_type() == REAL_RESULT && before.field_length != after.field_length) return true;
  const TYPELIB* const values = before.get_typelib();
  const TYPELIB* const values_after = after.get_typelib();
  return values != nullptr && values_after != nullptr && values->count != values_after->count;
}

// Also where the server takes two for the same, as it does LIKE and NOT LIKE.
bool has_other_expression(const Field& before, const Field& after) {
  if (before.vcol_info == nullptr || after.vcol_info == nullptr) return false;
  String text;
  String text_after;
  before.vcol_info->print(&text);
  after.vcol_info->print(&text_after);
  return !text.eq(&text_after, &my_charset_bin);
}

bool is_made_not_null(const Field& before, const Field& after) {
  return before.maybe_null() && !after.maybe_null();
}

// Whether the server's copy gives all rows the same value for NULL, the type's zero.
bool has_zero(const Field& field) {
  return field.stored_in_db() && field.vcol_info == nullptr &&
         field.type() != MYSQL_TYPE_TIMESTAMP && field.type() != MYSQL_TYPE_GEOMETRY &&
         (field.flags & AUTO_INCREMENT_FLAG) == 0;
}

// Whether the values of other columns, or the answers of a CHECK, may hang on the values of
// columns.
bool has_expressions(const TABLE& table) {
  return table.vfield != nullptr || table.check_constraints != nullptr;
}

std::optional<std::string> zero_of(Field& field, const codec::ColumnLayout& column) {
  std::vector<uchar> record(field.table->s->rec_buff_length);
  const my_ptrdiff_t distance = record.data() - field.table->record[0];
  field.move_field_offset(distance);
  field.reset();
  field.move_field_offset(-distance);
  return codec::value_in_record(column, record.data());
}

bool has_other_collation(const Field& before, const Field& after) {
  return before.has_charset() && before.charset() != after.charset();
}

// Whether the rows of a table stay in their partitions, which the values of the column decide. Keys
// are distributed by a hash of the value's bytes, to which the size of an integer, the spaces of a
// CHAR and the collation belong.
bool keeps_partitions(const Field& field, const Column_definition& to) {
  return field.type_handler() == &type_handler_varchar &&
         to.type_handler() == &type_handler_varchar && field.charset() == to.charset;
}

// The columns by whose values, not by an expression's, rows are distributed over partitions, and
// those by which over subpartitions.
using Distribution = std::array<std::vector<std::uint32_t>, 2>;
Distribution distribution_of(const TABLE& table) {
  Distribution distribution;
  const partition_info* const parts = table.part_info;
  const auto add = [](Field** fields, std::vector<std::uint32_t>& columns) {
    for (; fields != nullptr && *fields != nullptr; ++fields) {
      columns.push_back((*fields)->field_index);
    }
  };
  if (parts->list_of_part_fields || parts->column_list) {
    add(parts->part_field_array, distribution[0]);
  }
  if (parts->list_of_subpart_fields) add(parts->subpart_field_array, distribution[1]);
  return distribution;
}

}  // namespace

bool moves_rows(const TABLE& table, const TABLE& altered, const catalog::TableChange& change) {
  if (table.part_info == nullptr || altered.part_info == nullptr) return false;
  Distribution afterwards = distribution_of(altered);
  for (std::vector<std::uint32_t>& columns : afterwards) {
    for (std::uint32_t& column : columns) column = change.column_before(column);
  }
  return afterwards != distribution_of(table);
}

bool can_convert_column(const Field& field, const Column_definition& to) {
  if ((field.flags & FIELD_IN_PART_FUNC_FLAG) != 0 && !keeps_partitions(field, to)) return false;
  // The server looks at rows for a CHECK that comes with the type where they are copied.
  if (field.vcol_info != nullptr || to.vcol_info != nullptr || to.check_constraint != nullptr) {
    return false;
  }
  return is_integer(field.real_type()) ? can_convert_integer(field, to)
                                       : can_convert_string(field, to);
}

Compare_keys compare_key_part(const Field& field, const Column_definition& to,
                              const KEY_PART_INFO& part, const KEY_PART_INFO& new_part) {
  const bool is_same_length = part.length == new_part.length;
  if (field.is_equal(to)) return is_same_length ? Compare_keys::Equal : Compare_keys::NotEqual;
  const bool is_longer = field.type_handler() == &type_handler_varchar &&
                         can_convert_column(field, to) && field.charset() == to.charset;
  if (!is_longer) return Compare_keys::NotEqual;
  if (is_same_length) return Compare_keys::Equal;
  const bool is_whole = part.length == field.key_length() && new_part.length == to.length;
  return is_whole ? Compare_keys::EqualButKeyPartLength : Compare_keys::NotEqual;
}

bool keeps_generated_values(const TABLE& table) {
  for (Field* const* field = table.vfield; field != nullptr && *field != nullptr; ++field) {
    if ((*field)->stored_in_db() || ((*field)->flags & PART_KEY_FLAG) != 0) return true;
  }
  return false;
}

bool changes_kept_values(const TABLE& table, const TABLE& altered, const Alter_info& info) {
  if (!keeps_generated_values(table)) return false;
  if (table.s->table_charset != altered.s->table_charset) return true;
  // The server's own hidden columns are not among those of the statement.
  if (altered.s->fields != info.create_list.elements) return true;
  List_iterator_fast<Create_field> columns(const_cast<List<Create_field>&>(info.create_list));
  for (uint i = 0; i < altered.s->fields; ++i) {
    const Field* const before = columns++->field;
    if (before == nullptr) continue;
    if (has_other_text(*before, *altered.field[i]) ||
        has_other_expression(*before, *altered.field[i])) {
      return true;
    }
  }
  return false;
}

std::optional<catalog::TableChange> find_changes(const TABLE& table, const TABLE& altered,
                                                 const Alter_inplace_info& info,
                                                 const ServerTable& translation,
                                                 bool replaces_null) {
  // The server's own hidden columns are not among those of the statement.
  if (altered.s->fields != info.alter_info->create_list.elements || table.s->long_unique_table ||
      altered.s->long_unique_table || info.error_if_not_empty) {
    return std::nullopt;
  }
  catalog::TableChange change;
  List_iterator_fast<Create_field> columns(info.alter_info->create_list);
  for (uint i = 0; i < altered.s->fields; ++i) {
    const Field* const before = columns++->field;
    Field& after = *altered.field[i];
    catalog::ColumnOrigin origin;
    if (before != nullptr) {
      origin.before = before->field_index;
      // What is computed by the old collation is stored in indexes and columns.
      if (has_other_collation(*before, after) && table.vfield != nullptr) return std::nullopt;
      if (is_made_not_null(*before, after)) {
        // To another partition.
        const bool may_move = (before->flags & FIELD_IN_PART_FUNC_FLAG) != 0;
        if (!has_zero(after) || (replaces_null && (may_move || has_expressions(altered)))) {
          return std::nullopt;
        }
        origin.initial_value = zero_of(after, translation.layout.columns[i]);
      }
    } else if (after.stored_in_db()) {
      if (!has_one_default(after)) return std::nullopt;
      origin.initial_value =
          codec::value_in_record(translation.layout.columns[i], altered.record[0]);
    }
    change.columns.push_back(std::move(origin));
  }
  if (table.vfield != nullptr && gives_name_away(table, altered, change)) return std::nullopt;
  return change;
}

}  // namespace basalt::server
