#include "server/foreign_key_failures.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/time_text.h"
#include "server/convert/foreign_key_text.h"
#include "server/introspect/names.h"
#include "server/plugin.h"

namespace basalt::server {
namespace {

using catalog::ForeignKeyColumn;
using catalog::ForeignKeyDefinition;
using Refusal = table::ReferenceEnforcer::Refusal;

constexpr std::size_t kStatementBytesMax = 1000;
constexpr uint32 kValueBytesMax = 100;

const char* text_of(Refusal::Change change) {
  switch (change) {
    case Refusal::Change::kInsert: return "to be inserted";
    case Refusal::Change::kUpdate: return "to be updated";
    case Refusal::Change::kRemoval: return "to be removed";
  }
  return "";
}

std::string table_text(THD* thd, const std::string& dictionary_name) {
  const TableNames names = names_in_sql(dictionary_name);
  return quoted_name(thd, names.database) + "." + quoted_name(thd, names.table);
}

bool holds_bytes(const Field& field) {
  return !field.has_charset() && field.str_needs_quotes() && field.charset() == &my_charset_bin &&
         (field.type() == MYSQL_TYPE_VARCHAR || field.type() == MYSQL_TYPE_STRING ||
          field.type() == MYSQL_TYPE_BLOB);
}

std::string quoted_text(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted.append(c == '\'' ? 2 : 1, c);
  return quoted + "'";
}

// A column's value in a record of its table, as SQL writes it; a long one is cut off.
std::string value_text(Field& field, const uchar* record) {
  const my_ptrdiff_t offset = record - field.table->record[0];
  field.move_field_offset(offset);
  if (field.is_null()) {
    field.move_field_offset(-offset);
    return "NULL";
  }
  StringBuffer<kValueBytesMax + 1> buffer;
  const String* const value = field.val_str(&buffer);
  const std::string_view bytes(value->ptr(), std::min(value->length(), kValueBytesMax));
  std::string text;
  if (holds_bytes(field)) {
    text = "0x" + hex_of(bytes);
  } else {
    String utf8;
    uint errors = 0;
    utf8.copy(bytes.data(), static_cast<uint32>(bytes.size()), value->charset(),
              system_charset_info, &errors);
    text.assign(utf8.ptr(), utf8.length());
    if (field.str_needs_quotes()) text = quoted_text(text);
  }
  if (bytes.size() < value->length()) text += "...";
  field.move_field_offset(-offset);
  return text;
}

// "`a` = 1, `b` = 2" of the key's columns on one side; empty if the table has not all of them.
std::string values_text(THD* thd, TABLE& table, const ForeignKeyDefinition& key,
                        std::string ForeignKeyColumn::*side, const uchar* record) {
  MY_BITMAP* const read_set = tmp_use_all_columns(&table, &table.read_set);
  std::string text;
  std::size_t found = 0;
  for (const ForeignKeyColumn& column : key.columns) {
    for (Field** field = table.field; *field != nullptr; ++field) {
      const LEX_CSTRING& name = (*field)->field_name;
      if (std::string_view(name.str, name.length) != column.*side) continue;
      text += (found++ == 0 ? "" : ", ") + quoted_name(thd, column.*side) + " = " +
              value_text(**field, record);
    }
  }
  tmp_restore_column_map(&table.read_set, read_set);
  return found == key.columns.size() ? text : "";
}

}  // namespace

void ForeignKeyFailures::note(THD* thd, std::string_view text) {
  std::string entry = time_text(std::chrono::system_clock::now()) + "\n";
  if (thd != nullptr) {
    const std::string_view statement(thd->query(), thd->query_length());
    entry += "connection " + std::to_string(thd_get_thread_id(thd)) + ": ";
    const std::size_t kept = std::min(statement.size(), kStatementBytesMax);
    entry +=
        statement.substr(0, Well_formed_prefix(thd->charset(), statement.data(), kept).length());
    entry += statement.size() > kStatementBytesMax ? "...\n" : "\n";
  }
  entry += text;
  const MutexLock guard(mutex_);
  latest_ = std::move(entry);
}

std::string ForeignKeyFailures::latest() const {
  const MutexLock guard(mutex_);
  return latest_;
}

void note_refused_row(THD* thd, TABLE& table, const Refusal& refusal, const uchar* old_record,
                      const uchar* new_record) {
  if (refusal.key == nullptr) return;
  const ForeignKeyDefinition& key = *refusal.key;
  const std::string own = dictionary_name({table.s->db.str, table.s->db.length},
                                          {table.s->table_name.str, table.s->table_name.length});
  std::string text =
      "a row of " + table_text(thd, refusal.table) + " was " + text_of(refusal.change);
  const bool is_own = refusal.table == own;
  if (!is_own) text += ", because of a change of " + table_text(thd, own);
  text += "\nrefused by " + constraint_with_table(thd, key) + "\n";
  // With a new row the key's parent is missing, with an old one there are children.
  const bool is_child = refusal.is_child;
  const uchar* const record = is_child ? new_record : old_record;
  if (is_own && record != nullptr) {
    text += "value: " +
            values_text(thd, table, key,
                        is_child ? &ForeignKeyColumn::child : &ForeignKeyColumn::parent, record) +
            "\n";
  }
  const std::string other = table_text(thd, is_child ? key.parent : key.child);
  if (refusal.prefix.empty()) {
    text += other + " has no index that fits, or is not there\n";
  } else {
    text += (is_child ? "not found: " : "found: ") + key_text(refusal.prefix) + "\n";
  }
  g_plugin->foreign_key_failures.note(thd, text);
}

void note_refused_definition(THD* thd, const std::string& why) {
  g_plugin->foreign_key_failures.note(thd, why + "\n");
}

}  // namespace basalt::server
