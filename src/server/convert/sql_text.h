#pragma once
#include <string>

#include "server/mariadb.h"

namespace basalt::server {

// Empty for a text that the server does not have.
inline std::string text_of(const LEX_CSTRING& text) {
  return text.str == nullptr ? std::string() : std::string(text.str, text.length);
}

// Whether the server takes two names of columns, indexes, constraints or partitions for one.
inline bool equal_names(const char* a, const char* b) {
  return my_strcasecmp(system_charset_info, a, b) == 0;
}
inline bool equal_names(const std::string& a, const std::string& b) {
  return equal_names(a.c_str(), b.c_str());
}

}  // namespace basalt::server
