#include "server/release_check.h"

#include <charconv>

namespace basalt::server {

std::string find_release_mismatch(std::string_view built_for, std::string_view running) {
  const bool is_same =
      running.starts_with(built_for) &&
      (running.size() == built_for.size() || running.substr(built_for.size()).starts_with("-log"));
  if (is_same) return {};
  return "this ha_rocksdb.so was built for MariaDB " + std::string(built_for) +
         ", and this server is " + std::string(running) +
         ": what they share in memory may differ, so the engine does not start; nothing was "
         "changed. Install the package mariadb-plugin-basalt that was built for this server "
         "(./basalt package --refresh builds one), or go back to the server it was built for";
}

int release_number(std::string_view release) {
  const char* next = release.data();
  const char* const end = next + release.size();
  int number = 0;
  for (int part = 0; part < 3; ++part) {
    if (part != 0 && (next == end || *next++ != '.')) return 0;
    int value = 0;
    const std::from_chars_result read = std::from_chars(next, end, value);
    if (read.ec != std::errc() || value < 0 || value > 99) return 0;
    next = read.ptr;
    number = 100 * number + value;
  }
  return number;
}

}  // namespace basalt::server
