#pragma once
#include <cstdint>
#include <functional>

#include "base/status.h"

namespace basalt::table {

// Fills in the generated columns that are not stored, after a row was read into `record`. The
// engine cannot do it itself. Values may lie outside the record, until the next call. Belongs to
// one thread.
using CompleteRow = std::function<Status(std::uint8_t* record)>;

}  // namespace basalt::table
