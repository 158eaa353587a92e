#include "server/introspect/names.h"

#include "base/bytes.h"
#include "lock/lock_mode.h"
#include "server/plugin.h"
#include "server/mariadb.h"

namespace basalt::server {
namespace {

// From the letters of file names to those of SQL.
std::string decoded(std::string_view name) {
  char text[NAME_LEN + 1];
  const std::string file_name(name);
  return {text, filename_to_tablename(file_name.c_str(), text, sizeof text, true)};
}

}  // namespace

TableName split_name(std::string_view name) {
  TableName result;
  const std::size_t slash = name.find('/');
  if (slash != std::string_view::npos) {
    result.schema = decoded(name.substr(0, slash));
    name.remove_prefix(slash + 1);
  }
  std::size_t end = name.find("#P#");
  if (end == std::string_view::npos) end = name.find("#p#");
  if (end != std::string_view::npos) {
    result.partition = decoded(name.substr(end + 3));
    name = name.substr(0, end);
  }
  result.table = decoded(name);
  return result;
}

std::string hex_of(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string text;
  for (const char byte : bytes) {
    text.push_back(kDigits[static_cast<unsigned char>(byte) >> 4]);
    text.push_back(kDigits[static_cast<unsigned char>(byte) & 15]);
  }
  return text;
}

std::string KeyOwner::table_name() const {
  if (table == nullptr) return "";
  const TableName name = split_name(table->name);
  std::string text = name.schema + "." + name.table;
  if (name.partition) text += " partition " + *name.partition;
  return text;
}

KeyOwner owner_of(std::string_view key) {
  KeyOwner owner;
  if (key.size() < lock::kSpaceBytes) return owner;
  const catalog::IndexId id = load_be32(key.data());
  owner.table = the_engine().catalog().find_by_index(id);
  if (owner.table == nullptr) return owner;
  for (const catalog::IndexDefinition& index : owner.table->indexes) {
    if (index.id == id) owner.index = &index;
  }
  return owner;
}

std::string key_text(std::string_view key) {
  if (key.size() < lock::kSpaceBytes) return hex_of(key);
  const KeyOwner owner = owner_of(key);
  std::string text = "index " + std::to_string(load_be32(key.data()));
  if (owner.index != nullptr) text = "index " + owner.index->name + " of " + owner.table->name;
  return text + ", key " + hex_of(key.substr(lock::kSpaceBytes));
}

}  // namespace basalt::server
