#include "base/failpoint.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <string>
#include <thread>

namespace basalt {
namespace {

struct Armed {
  std::string name;
  std::atomic<long> visits_left{0};

  Armed() {
    const char* setting = std::getenv("BASALT_FAILPOINT");
    if (setting == nullptr) return;
    name = setting;
    visits_left = 1;
    const auto colon = name.rfind(':');
    if (colon == std::string::npos) return;
    visits_left = std::strtol(name.c_str() + colon + 1, nullptr, 10);
    name.resize(colon);
  }
};

Armed& armed() {
  static Armed instance;
  return instance;
}

}  // namespace

void visit_failpoint(std::string_view name) noexcept {
  Armed& point = armed();
  if (point.name.empty() || point.name != name) return;
  if (--point.visits_left == 0) std::raise(SIGKILL);
}

void visit_holdpoint(std::string_view name) noexcept {
  const char* const setting = std::getenv("BASALT_HOLDPOINT");
  if (setting == nullptr) return;
  const std::string_view text = setting;
  const std::size_t at = text.find(':');
  if (at == std::string_view::npos || text.substr(0, at) != name) return;
  while (access(setting + at + 1, F_OK) == 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

}  // namespace basalt
