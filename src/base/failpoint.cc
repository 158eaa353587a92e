#include "base/failpoint.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string>

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

}  // namespace basalt
