#pragma once
#include <cstdint>

namespace basalt::block_cache {

// A data block of a file before it is compressed: as much, or a little less than one more entry.
inline constexpr std::uint64_t kBlockBytes = 8 * 1024;
// A cache of blocks is no smaller, however little memory there is.
inline constexpr std::uint64_t kBlockCacheMin = 8 * 1024 * 1024;

}  // namespace basalt::block_cache
