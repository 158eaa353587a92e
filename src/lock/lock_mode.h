#pragma once
#include <cstddef>
#include <cstdint>

namespace basalt::lock {

// The first kSpaceBytes bytes of a key name its space, which is an index. A range lies within one
// space.
constexpr std::size_t kSpaceBytes = 4;

// The mode of a lock on one key. kShared is compatible with kShared only; kExclusive with nothing.
// Ordered by strength.
enum class LockMode : std::uint8_t { kShared, kExclusive };

constexpr bool conflicts(LockMode left, LockMode right) {
  return left == LockMode::kExclusive || right == LockMode::kExclusive;
}

// The mode of a lock on all keys of a range, those that exist and those that do not. Ranges of
// different owners never conflict with each other as ranges, so a range is always granted at once.
enum class RangeMode : std::uint8_t {
  kGap,        // others may not insert keys into the range
  kShared,     // nor lock a key of it exclusively
  kExclusive,  // nor lock a key of it at all
};

constexpr bool conflicts(LockMode key_mode, RangeMode range) {
  return range == RangeMode::kExclusive ||
         (range == RangeMode::kShared && key_mode == LockMode::kExclusive);
}

}  // namespace basalt::lock
