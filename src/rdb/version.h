#pragma once
#include <rocksdb/version.h>

#include <string_view>

namespace basalt::rdb {

// The commit of the release that ours is made of, with the patches of tools/rocksdb. Changes with
// the version.
inline constexpr std::string_view kReleaseCommit = "abeebd9630f11bd08c28b7bd43c7bdfc62050654";
static_assert(ROCKSDB_MAJOR == 11 && ROCKSDB_MINOR == 8 && ROCKSDB_PATCH == 1);

}  // namespace basalt::rdb
