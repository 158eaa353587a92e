#include "inspect/index_names.h"

#include "base/bytes.h"

namespace basalt::inspect {

Status IndexNames::add(std::string_view value) {
  Result<catalog::TableDefinition> table = catalog::parse_definition(value);
  if (!table.is_ok()) return table.take_status();
  for (const catalog::IndexDefinition& index : table.value().indexes) {
    names_[index.id] = {table.value().name, index.name, index.family};
  }
  return Status::ok();
}

std::vector<catalog::IndexId> IndexNames::find(std::string_view table,
                                               std::string_view index) const {
  std::vector<catalog::IndexId> ids;
  for (const auto& [id, name] : names_) {
    const bool fits =
        (table.empty() || table == name.table) && (index.empty() || index == name.index);
    if (fits) ids.push_back(id);
  }
  return ids;
}

std::string IndexNames::describe(catalog::IndexId id) const {
  const auto found = names_.find(id);
  if (found == names_.end()) return "(no table, index " + std::to_string(id) + ")";
  return found->second.table + "." + found->second.index;
}

std::string IndexNames::describe(std::string_view key) const {
  if (key.size() < kIndexIdBytes) return hexadecimal(key);
  return describe(load_be32(key.data())) + " " + hexadecimal(key.substr(kIndexIdBytes));
}

std::string hexadecimal(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string text;
  text.reserve(2 * bytes.size());
  for (const char byte : bytes) {
    text += kDigits[static_cast<unsigned char>(byte) >> 4];
    text += kDigits[static_cast<unsigned char>(byte) & 15];
  }
  return text;
}

}  // namespace basalt::inspect
