#pragma once
#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <system_error>

#include "base/assert.h"

namespace basalt::test {

// Where test directories are made: in TMPDIR if set, else in memory if there is room, because the
// tests sync thousands of small files.
inline std::filesystem::path test_root() {
  std::error_code error;
  const std::filesystem::path memory = "/dev/shm";
  const bool has_room = std::filesystem::space(memory, error).available > (std::uintmax_t{1} << 30);
  if (getenv("TMPDIR") == nullptr && !error && has_room) return memory;
  return std::filesystem::temp_directory_path();
}

// A new, empty directory; removed at the end with all that is in it.
class TestDirectory {
 public:
  TestDirectory() {
    std::string pattern = test_root() / "basalt_test.XXXXXX";
    BASALT_ASSERT(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~TestDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestDirectory(const TestDirectory&) = delete;
  TestDirectory& operator=(const TestDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

}  // namespace basalt::test
