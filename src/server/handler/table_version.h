#pragma once
#include <cstdint>

#include "catalog/definitions.h"

namespace basalt::server {

// A number that tells a table from others of its name, and each of its definitions from the others:
// after a crash the server asks whether an ALTER TABLE has changed it.
inline std::uint64_t version_of(const catalog::TableDefinition& table) {
  return std::uint64_t{table.id} << 32 | table.schema_version;
}

}  // namespace basalt::server
