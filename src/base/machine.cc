#include "base/machine.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <system_error>
#include <thread>

namespace basalt {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

std::uint64_t machine_memory_bytes() {
  return static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) *
         static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

// The number in a control group file, or kUnlimited ("max", absent, unreadable).
std::uint64_t read_limit(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t limit = 0;
  return file >> limit ? limit : kUnlimited;
}

// The smallest limit on the way from this process's control group up to the root.
std::uint64_t control_group_limit() {
  std::uint64_t limit = kUnlimited;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const auto first = line.find(':');
    const auto second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    std::string group = line.substr(second + 1);
    const bool is_version_2 = controllers.empty();
    if (!is_version_2 && controllers.find("memory") == std::string::npos) continue;
    const std::string root = is_version_2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory";
    const char* file = is_version_2 ? "/memory.max" : "/memory.limit_in_bytes";
    while (true) {
      limit = std::min(limit, read_limit(root + group + file));
      const auto slash = group.rfind('/');
      if (slash == std::string::npos || group == "/") break;
      group.resize(slash);
    }
  }
  return limit;
}

bool has_direct_io(const std::string& directory) {
  constexpr std::size_t kPageBytes = 4096;
  if (directory.empty()) return false;
  fs::path existing = directory;
  std::error_code error;
  while (existing.has_relative_path() && !fs::is_directory(existing, error)) {
    existing = existing.parent_path();
  }
  std::string name = (existing / "direct_io.XXXXXX").string();
  const int file = mkostemp(name.data(), O_CLOEXEC | O_DIRECT);
  if (file < 0) return false;
  unlink(name.c_str());
  alignas(kPageBytes) static const char page[kPageBytes] = {};
  const bool has_written = pwrite(file, page, kPageBytes, 0) == ssize_t{kPageBytes};
  ::close(file);
  return has_written;
}

}  // namespace

std::uint64_t limited_memory_bytes(std::uint64_t otherwise) {
  const std::uint64_t limit = control_group_limit();
  return limit < machine_memory_bytes() ? limit : otherwise;
}

std::uint64_t available_memory_bytes() { return limited_memory_bytes(machine_memory_bytes()); }

Machine this_machine(const std::string& directory) {
  const std::uint64_t memory = available_memory_bytes();
  return {.memory_bytes = memory,
          .is_memory_ours = memory < machine_memory_bytes(),
          .has_direct_io = has_direct_io(directory),
          .cores = static_cast<int>(std::thread::hardware_concurrency())};
}

std::size_t threads_of_statement() {
  constexpr std::size_t kMin = 2;
  constexpr std::size_t kMax = 4;
  return std::clamp<std::size_t>(std::thread::hardware_concurrency() / 2, kMin, kMax);
}

std::uint64_t resident_bytes() {
  // The second number of proc_pid_statm(5).
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages = 0;
  if (!(file >> pages >> pages)) return 0;
  return pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace basalt
