#include "catalog/records.h"

#include "base/bytes.h"

namespace basalt::catalog {

std::string make_key(RecordType type, std::uint32_t id) {
  std::string key = make_key(type);
  append_be32(key, id);
  return key;
}

std::string make_number(std::uint64_t number) {
  std::string value;
  append_varint(value, number);
  return value;
}

void put_foreign_key(const ForeignKeyDefinition& key, kv::WriteBatch& batch) {
  std::string value;
  append_foreign_key(key, value);
  batch.put(kv::kSystemFamily, make_key(RecordType::kForeignKey, key.id), value);
}

}  // namespace basalt::catalog
