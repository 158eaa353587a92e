#include <cstdio>
#include <cstdlib>

#include "base/assert.h"

namespace basalt {

void fatal_error(const char* condition, const char* file, int line) noexcept {
  std::fprintf(stderr,
               "basalt: invariant violated: %s (%s:%d)\n"
               "basalt: stopping before wrong data spreads; committed data is safe in the "
               "write-ahead log. Please report this with the lines above.\n",
               condition, file, line);
  std::fflush(stderr);
  std::abort();
}

}  // namespace basalt
