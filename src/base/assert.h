#pragma once

// Invariant checks.
//
// BASALT_ASSERT        Always on. For facts whose violation would spread corruption: stored
//                      formats, lock ownership, life times.
// BASALT_DEBUG_ASSERT  On in `dev` and sanitizer builds. For the row path.
// BASALT_UNREACHABLE   A branch that no input can reach.
namespace basalt {

// Prints the failed condition and ends the process. The only function of the engine that does.
[[noreturn]] void fatal_error(const char* condition, const char* file, int line) noexcept;

}  // namespace basalt

#define BASALT_ASSERT(condition)                     \
  (__builtin_expect(static_cast<bool>(condition), 1) \
       ? static_cast<void>(0)                        \
       : ::basalt::fatal_error(#condition, __FILE__, __LINE__))

#ifdef BASALT_DEBUG
#define BASALT_DEBUG_ASSERT(condition) BASALT_ASSERT(condition)
#else
#define BASALT_DEBUG_ASSERT(condition) static_cast<void>(sizeof(static_cast<bool>(condition)))
#endif

#define BASALT_UNREACHABLE() ::basalt::fatal_error("unreachable", __FILE__, __LINE__)
