#pragma once
#include <strings.h>

#include <string_view>

namespace basalt {

// Whether two names of SQL are one, in any case of their ASCII letters.
inline bool is_same_name(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace basalt
