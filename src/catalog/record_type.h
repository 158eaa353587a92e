#pragma once
#include <cstdint>

namespace basalt::catalog {

// The first byte of a dictionary key: docs/formats/catalog.md.
enum class RecordType : std::uint8_t {
  kFormat = 0,
  kTable = 1,
  kDroppedIndex = 2,
  kNextId = 3,
  kAutoIncrement = 4,
  kStatistics = 5,
  kHiddenRowId = 6,
  kForeignKey = 8,
};

}  // namespace basalt::catalog
