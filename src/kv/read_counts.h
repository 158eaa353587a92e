#pragma once
#include <cstdint>

namespace basalt::kv {

// What one reader has read, for reports of its table. Bytes are of keys and values of entries, of
// values alone where a key was sought.
struct ReadCounts {
  std::uint64_t gets = 0;
  std::uint64_t get_bytes = 0;
  std::uint64_t multi_get_bytes = 0;
  std::uint64_t seeks = 0;
  std::uint64_t nexts = 0;
  std::uint64_t previouses = 0;
  std::uint64_t iterator_bytes = 0;
};

}  // namespace basalt::kv
