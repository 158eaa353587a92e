#pragma once
#include <chrono>
#include <cstdint>

#include "kv/database.h"

namespace basalt::table {

// Long work that gives way to those who write to the database meanwhile: it takes a fifth of the
// time then, and all of it where nobody writes. A build that others hardly notice is worth more
// than one that is over sooner.
//
// Threads     Each has its own.
class Pace {
 public:
  using Duration = std::chrono::steady_clock::duration;

  // Work that gives way to nobody.
  Pace() = default;
  explicit Pace(const kv::Database& database) : database_(&database) {}

  // To be called again and again, a millisecond or less of work apart; sleeps now and then.
  void give_way();

  // How long to rest when so much was worked since the last rest, while others wrote.
  static Duration rest_behind(Duration worked);

 private:
  const kv::Database* database_ = nullptr;
  std::uint64_t seen_ = 0;  // the newest sequence number
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace basalt::table
