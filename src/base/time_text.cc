#include "base/time_text.h"

#include <time.h>

#include <array>

namespace basalt {

std::string time_text(std::chrono::system_clock::time_point time) {
  const time_t seconds = std::chrono::system_clock::to_time_t(time);
  tm parts{};
  localtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  return {text.data(), strftime(text.data(), text.size(), "%F %T", &parts)};
}

}  // namespace basalt
