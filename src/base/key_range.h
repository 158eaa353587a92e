#pragma once
#include <cstddef>
#include <cstdint>
#include <string>

namespace basalt {

// A key of a table begins with the id of its index, big-endian, so that the entries of an index
// are neighbours: docs/formats/keys.md.
inline constexpr std::size_t kIndexIdBytes = sizeof(std::uint32_t);

// The keys from `lower` on and before `upper`, by bytes. An empty bound does not limit.
struct KeyRange {
  std::string lower;
  std::string upper;
};

// All keys of an index, and no others.
KeyRange index_key_range(std::uint32_t index_id);

}  // namespace basalt
