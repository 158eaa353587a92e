#pragma once
#include <atomic>
#include <cstddef>
#include <functional>

#include "base/status.h"

namespace basalt {

// One part of a piece of work. `has_failed` turns true when another part has failed: what this one
// comes to is not wanted any more, and its own status is then of no interest. Throws nothing.
using PartOfWork = std::function<Status(std::size_t number, const std::atomic<bool>& has_failed)>;

// Does the parts 0 to `count` - 1 side by side: the first in the calling thread, each of the others
// in one of its own, or in the calling thread if the system has no more. Returns when all have
// ended; the error of the part that failed first.
Status run_in_parallel(std::size_t count, const PartOfWork& part);

}  // namespace basalt
