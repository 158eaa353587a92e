#pragma once
#include <chrono>
#include <string>

namespace basalt {

// The local time, to the second, as SQL writes it: "2024-02-29 23:59:58". Safe from any thread.
std::string time_text(std::chrono::system_clock::time_point time);

}  // namespace basalt
