#pragma once
#include <cstdint>
#include <string>

#include "catalog/foreign_keys.h"
#include "kv/database.h"

// The records of the dictionary: docs/formats/catalog.md.
namespace basalt::catalog {

// The first byte of a record's key.
enum class RecordType : std::uint8_t {
  kFormat = 0,
  kTable = 1,
  kDroppedIndex = 2,
  kNextId = 3,
  kAutoIncrement = 4,
  kStatistics = 5,
  kHiddenRowId = 6,
  kForeignKey = 8,
  kAlteration = 10,
  kRenamedPartition = 12,
  kCopiedTable = 13,
};

inline std::string make_key(RecordType type) { return std::string(1, static_cast<char>(type)); }
std::string make_key(RecordType type, std::uint32_t id);
// A record's value that is a number.
std::string make_number(std::uint64_t number);
// The key has its id.
void put_foreign_key(const ForeignKeyDefinition& key, kv::WriteBatch& batch);

// Calls `visit(key without type byte, value)` for every record of one type.
template <typename Visit>
Status scan_records(kv::Database& database, RecordType type, Visit visit) {
  const std::string prefix = make_key(type);
  const std::string end(1, static_cast<char>(static_cast<std::uint8_t>(type) + 1));
  kv::Iterator iterator = database.new_iterator(kv::kSystemFamily, {}, {prefix, end});
  for (iterator.seek_to_first(); iterator.is_valid(); iterator.next()) {
    BASALT_TRY(visit(iterator.key().substr(1), iterator.value()));
  }
  return iterator.status();
}

}  // namespace basalt::catalog
