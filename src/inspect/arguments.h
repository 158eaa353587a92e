#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace basalt::inspect {

// The words of a command line: `--name=value`, `--name`, and others.
struct Arguments {
  std::map<std::string, std::string, std::less<>> options;  // without a value: empty
  std::vector<std::string> words;

  static Arguments parse(int count, char** texts);

  bool has(std::string_view name) const { return options.contains(name); }
  // Empty if it is not there.
  std::string value(std::string_view name) const;
  // kInvalidArgument if it is no number; `otherwise` if it is not there.
  Result<std::uint64_t> number(std::string_view name, std::uint64_t otherwise) const;
  // kInvalidArgument, with its name, for an option that is none of `known`.
  Status check_known(const std::set<std::string_view>& known) const;
};

}  // namespace basalt::inspect
