#include "server/settings.h"

#include <utility>

namespace basalt::server {
namespace {

std::uint64_t number_of(std::uint64_t value) { return value; }
std::uint64_t number_of(int value) { return static_cast<std::uint64_t>(value); }
std::uint64_t number_of(kv::DirectIo value) { return value == kv::DirectIo::kOn ? 1 : 0; }

const char* direct_io_rule(const Machine& machine) {
  if (!machine.is_memory_ours) {
    return "no limit says how much memory is this server's: what others leave keeps pages of "
           "tables";
  }
  return machine.has_direct_io ? "the memory is limited, and one cache uses it best"
                               : "the file system has none";
}

std::string block_cache_rule(const Machine& machine, const kv::DatabaseOptions& used) {
  if (used.process_memory_bytes != 0) {
    return "what all else in memory leaves of the limit as it is now, but for a tenth of it, at "
           "least 40 MiB";
  }
  std::string rule = used.direct_io == kv::DirectIo::kOn ? "three quarters" : "half";
  rule += " of the memory that the server, an eighth but at least 224 MiB, and the memtables leave";
  if (!machine.is_memory_ours) {
    rule += "; no more than a quarter, as no limit says that the memory is for this server alone";
  }
  return rule;
}

// `given` is its type's zero where the engine is to choose.
template <typename Value>
Setting explain_one(const char* name, Value given, Value used, std::string rule) {
  const bool is_given = given != Value{};
  if (is_given) rule.clear();
  // Only the block cache does not always have what it was given.
  if (used < given) rule = "all that the rest of the process leaves of the limit";
  return {name, number_of(used), is_given, std::move(rule)};
}

}  // namespace

std::vector<Setting> explain(const Machine& machine, const kv::DatabaseOptions& given,
                             const kv::DatabaseOptions& used) {
  return {
      {"memory", machine.memory_bytes, false,
       machine.is_memory_ours ? "the limit of the control group" : "all that the machine has"},
      {"cores", number_of(machine.cores), false, "all that the machine has"},
#define BASALT_SETTING(...)
#define BASALT_CHOSEN_SETTING(name, kind, scope, change, default_value, limits, text, field, rule) \
  explain_one("rocksdb_" #name, given.field, used.field, rule),
#include "server/settings.def"
#undef BASALT_SETTING
#undef BASALT_CHOSEN_SETTING
  };
}

}  // namespace basalt::server
