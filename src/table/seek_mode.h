#pragma once
#include <cstdint>

namespace basalt::table {

// Which of the keys that compare with a search prefix is wanted. "Prefix" means: its leading
// parts equal those of the search.
enum class SeekMode : std::uint8_t {
  kFirstWithPrefix,
  kLastWithPrefix,
  kFirstAtOrAfter,  // the first with the prefix or greater
  kFirstAfter,      // the first greater than all with the prefix
  kLastAtOrBefore,  // the last with the prefix or smaller
  kLastBefore,      // the last smaller than all with the prefix
};

}  // namespace basalt::table
