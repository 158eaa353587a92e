#pragma once
#include <string>

#include "server/mariadb.h"

namespace basalt::server {

// Empty for a text that the server does not have.
inline std::string text_of(const LEX_CSTRING& text) {
  return text.str == nullptr ? std::string() : std::string(text.str, text.length);
}

}  // namespace basalt::server
