#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/machine.h"
#include "kv/options.h"

// The sizes of a database by the names that users know, and the rules they follow. Needs no server.
namespace basalt::server {

// What a setting has come to.
struct Setting {
  std::string name;  // the system variable, or what of the machine others are chosen by
  std::uint64_t value = 0;
  bool is_given = false;  // not chosen here
  std::string reason;     // of a chosen one: the rule
};

// The machine, then the sizes that are `used`: those `given`, and what kv::with_defaults_for()
// chose.
std::vector<Setting> explain(const Machine& machine, const kv::DatabaseOptions& given,
                             const kv::DatabaseOptions& used);

}  // namespace basalt::server
