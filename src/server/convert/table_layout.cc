#include "server/convert/table_layout.h"

#include <algorithm>

namespace basalt::server {
namespace {

using codec::ColumnKind;

ColumnKind integer_kind(const Field& field) {
  return (field.flags & UNSIGNED_FLAG) != 0 ? ColumnKind::kUnsignedInteger
                                            : ColumnKind::kSignedInteger;
}

// Temporal types of before MySQL 5.6: big-endian with fractions, little-endian without.
ColumnKind old_temporal_kind(const Field& field, ColumnKind without_fraction) {
  return field.decimals() > 0 ? ColumnKind::kOrderedBytes : without_fraction;
}

// INET4, INET6 and UUID come as strings too, but compare as bytes whatever their charset() says.
ColumnKind string_kind(const Field& field) {
  const bool is_char = field.type_handler() == &type_handler_string;
  return is_char && field.charset() != &my_charset_bin ? ColumnKind::kFixedString
                                                       : ColumnKind::kOrderedBytes;
}

ColumnKind kind_of(const Field& field) {
  switch (field.real_type()) {
    case MYSQL_TYPE_TINY:
    case MYSQL_TYPE_SHORT:
    case MYSQL_TYPE_INT24:
    case MYSQL_TYPE_LONG:
    case MYSQL_TYPE_LONGLONG: return integer_kind(field);
    case MYSQL_TYPE_FLOAT: return ColumnKind::kFloat;
    case MYSQL_TYPE_DOUBLE: return ColumnKind::kDouble;
    case MYSQL_TYPE_YEAR:
    case MYSQL_TYPE_NEWDATE:
    case MYSQL_TYPE_ENUM:
    case MYSQL_TYPE_SET: return ColumnKind::kUnsignedInteger;
    case MYSQL_TYPE_DATE: return ColumnKind::kSignedInteger;
    case MYSQL_TYPE_TIME: return old_temporal_kind(field, ColumnKind::kSignedInteger);
    case MYSQL_TYPE_DATETIME:
    case MYSQL_TYPE_TIMESTAMP: return old_temporal_kind(field, ColumnKind::kUnsignedInteger);
    case MYSQL_TYPE_VARCHAR:
    case MYSQL_TYPE_VARCHAR_COMPRESSED: return ColumnKind::kVariableString;
    case MYSQL_TYPE_TINY_BLOB:
    case MYSQL_TYPE_MEDIUM_BLOB:
    case MYSQL_TYPE_LONG_BLOB:
    case MYSQL_TYPE_BLOB:
    case MYSQL_TYPE_BLOB_COMPRESSED:
    case MYSQL_TYPE_GEOMETRY: return ColumnKind::kBlob;
    case MYSQL_TYPE_STRING: return string_kind(field);
    case MYSQL_TYPE_BIT:
    case MYSQL_TYPE_NEWDECIMAL:
    case MYSQL_TYPE_TIME2:
    case MYSQL_TYPE_DATETIME2:
    case MYSQL_TYPE_TIMESTAMP2: return ColumnKind::kOrderedBytes;
    case MYSQL_TYPE_DECIMAL:
    case MYSQL_TYPE_NULL:
    case MYSQL_TYPE_VAR_STRING:
      break;  // Never the real type of a stored column in a table made by this series.
  }
  return ColumnKind::kOrderedBytes;
}

std::uint8_t length_bytes_of(const Field& field, ColumnKind kind) {
  if (kind == ColumnKind::kVariableString) {
    return static_cast<std::uint8_t>(static_cast<const Field_varstring&>(field).length_bytes);
  }
  if (kind == ColumnKind::kBlob) {
    return static_cast<std::uint8_t>(field.pack_length() - portable_sizeof_char_ptr);
  }
  return 0;
}

codec::ColumnLayout column_layout(const Field& field, const TABLE& table,
                                  CollationRegistry& collations) {
  codec::ColumnLayout column;
  column.kind = kind_of(field);
  column.record_offset = static_cast<std::uint32_t>(field.ptr - table.record[0]);
  column.record_length = field.pack_length();
  column.length_bytes = length_bytes_of(field, column.kind);
  column.nullable = field.null_ptr != nullptr;
  if (column.nullable) {
    column.null_offset = static_cast<std::uint32_t>(field.null_ptr - table.record[0]);
    column.null_mask = field.null_bit;
  }
  column.stored = field.stored_in_db();
  if (codec::is_string(column.kind)) {
    const bool is_char = column.kind == ColumnKind::kFixedString;
    column.collation = collations.find(field.charset(), is_char);
  }
  return column;
}

catalog::SystemTime system_time_of(const Field& field, const TABLE& table) {
  if (!table.versioned()) return catalog::SystemTime::kNone;
  if (&field == table.vers_end_field()) return catalog::SystemTime::kRowEnd;
  if (&field == table.vers_start_field()) return catalog::SystemTime::kRowStart;
  return field.vers_update_unversioned() ? catalog::SystemTime::kUnversioned
                                         : catalog::SystemTime::kNone;
}

catalog::KeyPartDefinition part_definition(const KEY_PART_INFO& part, const TABLE& table) {
  const Field& field = *table.field[part.fieldnr - 1];
  catalog::KeyPartDefinition definition;
  definition.column = part.fieldnr - 1U;
  definition.descending = (part.key_part_flag & HA_REVERSE_SORT) != 0;
  definition.tuple_length = part.length;
  const bool whole = part.length == field.key_length() && (field.flags & BLOB_FLAG) == 0;
  if (!whole) definition.prefix_length = part.length / field.charset()->mbmaxlen;
  return definition;
}

// The server checks a long UNIQUE by the hash that is the key's only part, and overlaps of periods
// by the parts before the period's end and start.
std::uint32_t value_lock_parts(const KEY& key) {
  if (key.algorithm == HA_KEY_ALG_LONG_HASH) return 1;
  return key.without_overlaps ? key.user_defined_key_parts - 2 : 0;
}

catalog::IndexDefinition index_definition(const KEY& key, const TABLE& table) {
  catalog::IndexDefinition definition;
  definition.name = std::string(key.name.str, key.name.length);
  definition.unique = is_unique(key);
  definition.value_lock_parts = value_lock_parts(key);
  for (uint i = 0; i < key.user_defined_key_parts; ++i) {
    definition.parts.push_back(part_definition(key.key_part[i], table));
  }
  return definition;
}

// An upper bound of a key part's encoding; docs/formats/keys.md has the forms. A unit takes at most
// as many bytes as below: a single space or zero has a byte more, but is never written in 3.
std::size_t encoded_bytes_max(const KEY_PART_INFO& part, const codec::ColumnLayout& column,
                              const CHARSET_INFO* charset) {
  if (!codec::is_string(column.kind)) return column.record_length + 1U;
  const codec::Collation::Traits& traits = column.collation->traits();
  const std::size_t units = traits.bytes_are_weights
                                ? part.length
                                : charset->strnxfrmlen(part.length) / traits.weight_width;
  const std::size_t unit_bytes = traits.weight_width == 1 ? 2 : 3;
  const std::size_t end_bytes = 4;
  return 1 + units * unit_bytes + column.collation->level_count() * end_bytes;
}

std::size_t primary_key_bytes_max(const ServerTable& result, const TABLE& table) {
  const uint primary = table.s->primary_key;
  if (primary == MAX_KEY) return 8;
  const KEY& key = table.key_info[primary];
  std::size_t bytes = 0;
  for (uint i = 0; i < key.user_defined_key_parts; ++i) {
    const KEY_PART_INFO& part = key.key_part[i];
    bytes += encoded_bytes_max(part, result.layout.columns[part.fieldnr - 1],
                               table.field[part.fieldnr - 1]->charset());
  }
  return bytes;
}

// Returns the table's part of a dictionary name, "database/table".
std::string_view without_database(std::string_view name) {
  return name.substr(name.rfind('/') + 1);
}

}  // namespace

unsigned ServerTable::server_index(std::size_t our_number) const {
  const auto found = std::find(index_numbers.begin(), index_numbers.end(), our_number);
  return found == index_numbers.end() ? 0 : static_cast<unsigned>(found - index_numbers.begin());
}

ServerTable translate_table(const TABLE& table, std::string_view name,
                            CollationRegistry& collations) {
  ServerTable result;
  result.definition.name = name;
  result.layout.record_length = static_cast<std::uint32_t>(table.s->reclength);
  for (uint i = 0; i < table.s->fields; ++i) {
    const Field& field = *table.field[i];
    const codec::ColumnLayout column = column_layout(field, table, collations);
    result.layout.columns.push_back(column);
    catalog::ColumnDefinition definition;
    definition.name = std::string(field.field_name.str, field.field_name.length);
    definition.kind = column.kind;
    definition.record_length = column.record_length;
    definition.collation_id =
        codec::is_string(column.kind) ? static_cast<std::uint16_t>(field.charset()->number) : 0;
    definition.nullable = column.nullable;
    definition.stored = column.stored;
    definition.system_time = system_time_of(field, table);
    result.definition.columns.push_back(std::move(definition));
  }

  const uint primary = table.s->primary_key;
  if (primary == MAX_KEY) {
    catalog::IndexDefinition hidden;
    hidden.name = "(hidden)";
    result.definition.indexes.push_back(hidden);
  } else {
    result.definition.indexes.push_back(index_definition(table.key_info[primary], table));
  }
  result.index_numbers.resize(table.s->keys);
  for (uint i = 0; i < table.s->keys; ++i) {
    if (i == primary) continue;
    result.index_numbers[i] = result.definition.indexes.size();
    result.definition.indexes.push_back(index_definition(table.key_info[i], table));
  }
  if (table.found_next_number_field != nullptr && table.s->next_number_keypart == 0) {
    result.auto_increment.exists = true;
    result.auto_increment.index_number = result.index_numbers[table.s->next_number_index];
    result.auto_increment.column = table.found_next_number_field->field_index;
  }
  result.primary_key_bytes_max = primary_key_bytes_max(result, table);
  return result;
}

bool is_unique(const KEY& key) {
  return (key.flags & HA_NOSAME) != 0 && key.algorithm != HA_KEY_ALG_LONG_HASH;
}

std::string_view table_name_of(const char* path) {
  std::string_view name(path);
  if (name.starts_with("./")) name.remove_prefix(2);
  return name;
}

bool is_servers_own_name(std::string_view name) {
  return without_database(name).starts_with("#sql");
}

bool is_temporary_name(std::string_view name) {
  return without_database(name).starts_with("#sql-temptable-");
}

}  // namespace basalt::server
