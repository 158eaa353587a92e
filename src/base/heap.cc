#include "base/heap.h"

#include <malloc.h>
#include <stdlib.h>

#include <cstring>

namespace basalt {
namespace {

constexpr int kDirectBytes = 4 << 20;   // pieces of this size are the system's
constexpr int kFreeBytesMax = 8 << 20;  // that a heap keeps at its end

// The variables of mallopt(3), and those of glibc's tunables.
bool has_chosen() {
  constexpr const char* kVariables[] = {"MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_",
                                        "MALLOC_TOP_PAD_", "MALLOC_MMAP_MAX_"};
  for (const char* variable : kVariables) {
    if (getenv(variable) != nullptr) return true;
  }
  const char* const tunables = getenv("GLIBC_TUNABLES");
  return tunables != nullptr && std::strstr(tunables, "glibc.malloc.") != nullptr;
}

}  // namespace

void give_freed_memory_back_early() {
  if (has_chosen()) return;
  mallopt(M_MMAP_THRESHOLD, kDirectBytes);
  mallopt(M_TRIM_THRESHOLD, kFreeBytesMax);
}

void give_freed_memory_back_now() {
  if (!has_chosen()) malloc_trim(0);
}

}  // namespace basalt
