#pragma once
#include <cstdint>

namespace basalt::lock {

// kShared is compatible with kShared only; kExclusive with nothing. Ordered by strength.
enum class LockMode : std::uint8_t { kShared, kExclusive };

constexpr bool conflicts(LockMode left, LockMode right) {
  return left == LockMode::kExclusive || right == LockMode::kExclusive;
}

}  // namespace basalt::lock
