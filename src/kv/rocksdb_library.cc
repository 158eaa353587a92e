#include "kv/rocksdb_library.h"

#include <rocksdb/convenience.h>
#include <rocksdb/options.h>

#include <iterator>

#include "base/assert.h"
#include "rdb/rocksdb_fwd.h"
#include "rdb/version.h"

namespace basalt::kv {

std::string supported_compressions() {
  std::string names;
  for (const rdb::CompressionType type : rdb::GetSupportedCompressions()) {
    std::string name;
    if (!rdb::GetStringFromCompressionType(&name, type).ok()) continue;
    if (name.starts_with('k')) name.erase(0, 1);
    constexpr std::string_view kEnding = "Compression";
    if (name.ends_with(kEnding)) name.resize(name.size() - kEnding.size());
    if (name == "No") continue;
    if (!names.empty()) names += ",";
    names += name;
  }
  return names;
}

std::string_view rocksdb_commit() { return rdb::kReleaseCommit; }

std::string log_level_name(unsigned long level) {
  constexpr const char* kNames[] = {"DEBUG_LEVEL", "INFO_LEVEL", "WARN_LEVEL", "ERROR_LEVEL",
                                    "FATAL_LEVEL"};
  BASALT_ASSERT(level < std::size(kNames));
  return kNames[level];
}

}  // namespace basalt::kv
