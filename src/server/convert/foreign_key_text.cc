#include "server/convert/foreign_key_text.h"

namespace basalt::server {
namespace {

using catalog::ForeignKeyColumn;
using catalog::ReferentialAction;

std::string from_file_name(std::string_view name) {
  if (name.starts_with("#sql")) return std::string(name);  // the server's own, not encoded
  const std::string file_name(name);
  char buffer[NAME_LEN + 1];
  const uint size = filename_to_tablename(file_name.c_str(), buffer, sizeof buffer, true);
  return {buffer, size};
}

std::string to_file_name(std::string_view name) {
  const std::string table_name(name);
  char buffer[FN_REFLEN];
  const uint size = tablename_to_filename(table_name.c_str(), buffer, sizeof buffer);
  return {buffer, size};
}

std::string column_list(THD* thd, const catalog::ForeignKeyDefinition& key,
                        std::string ForeignKeyColumn::*side) {
  std::string text = "(";
  for (const ForeignKeyColumn& column : key.columns) {
    if (text.size() > 1) text += ", ";
    text += quoted_name(thd, column.*side);
  }
  return text + ")";
}

const char* action_text(ReferentialAction action) {
  switch (action) {
    case ReferentialAction::kRestrict: break;  // what there is without words
    case ReferentialAction::kNoAction: return "NO ACTION";
    case ReferentialAction::kCascade: return "CASCADE";
    case ReferentialAction::kSetNull: return "SET NULL";
  }
  return nullptr;
}

}  // namespace

TableNames names_in_sql(std::string_view name) {
  const std::size_t slash = name.find('/');
  return {from_file_name(name.substr(0, slash)), from_file_name(name.substr(slash + 1))};
}

std::string dictionary_name(std::string_view database, std::string_view table) {
  return to_file_name(database) + "/" + to_file_name(table);
}

std::string constraint_in_sql(const catalog::ForeignKeyDefinition& key) {
  return from_file_name(key.constraint_name());
}

std::string dictionary_constraint(std::string_view table, std::string_view constraint) {
  return std::string(table.substr(0, table.find('/') + 1)) + to_file_name(constraint);
}

std::string quoted_name(THD* thd, std::string_view name) {
  StringBuffer<NAME_LEN + 2> text(system_charset_info);
  append_identifier(thd, &text, name.data(), name.size());
  return {text.ptr(), text.length()};
}

std::string constraint_text(THD* thd, const catalog::ForeignKeyDefinition& key) {
  const TableNames child = names_in_sql(key.child);
  const TableNames parent = names_in_sql(key.parent);
  std::string text = "CONSTRAINT " + quoted_name(thd, constraint_in_sql(key)) + " FOREIGN KEY " +
                     column_list(thd, key, &ForeignKeyColumn::child) + " REFERENCES ";
  if (parent.database != child.database) text += quoted_name(thd, parent.database) + ".";
  text += quoted_name(thd, parent.table) + " " + column_list(thd, key, &ForeignKeyColumn::parent);
  if (const char* const action = action_text(key.on_delete)) {
    text += std::string(" ON DELETE ") + action;
  }
  if (const char* const action = action_text(key.on_update)) {
    text += std::string(" ON UPDATE ") + action;
  }
  return text;
}

std::string constraint_with_table(THD* thd, const catalog::ForeignKeyDefinition& key) {
  const TableNames child = names_in_sql(key.child);
  return quoted_name(thd, child.database) + "." + quoted_name(thd, child.table) + ", " +
         constraint_text(thd, key);
}

}  // namespace basalt::server
