#pragma once
#include <unistd.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <ostream>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "base/status.h"

// How tests of all layers talk about outcomes.
namespace basalt {

inline void PrintTo(ErrorCode code, std::ostream* out) { *out << error_name(code); }

}  // namespace basalt

namespace basalt::test {

// For ASSERT_TRUE and EXPECT_TRUE: a failure shows the error.
inline testing::AssertionResult succeeds(const Status& status) {
  if (status.is_ok()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << error_name(status.code()) << ": " << status.message();
}
template <typename T>
testing::AssertionResult succeeds(const Result<T>& result) {
  return succeeds(result.status());
}

inline testing::AssertionResult fails_with(ErrorCode code, const Status& status) {
  if (status.is(code)) return testing::AssertionSuccess();
  return testing::AssertionFailure() << error_name(status.code()) << " instead of "
                                     << error_name(code) << ": " << status.message();
}
template <typename T>
testing::AssertionResult fails_with(ErrorCode code, const Result<T>& result) {
  return fails_with(code, result.status());
}

// For what a test only needs and does not test: ends the process if it fails.
inline void must(const Status& status) {
  if (status.is_ok()) return;
  std::fprintf(stderr, "a step that the test relies on failed: %s: %s\n",
               std::string(error_name(status.code())).c_str(), status.message().c_str());
  std::abort();
}
template <typename T>
T must(Result<T> result) {
  must(result.status());
  return std::move(result.value());
}

// What a test that draws begins with: 1, so that each run does the same, or $BASALT_TEST_SEED. 0
// there draws a new one. It is printed.
inline std::uint32_t seed() {
  const char* const given = std::getenv("BASALT_TEST_SEED");
  auto seed = given == nullptr ? 1U : static_cast<std::uint32_t>(std::strtoul(given, nullptr, 10));
  if (seed == 0) seed = std::random_device{}();
  std::printf("BASALT_TEST_SEED=%u\n", seed);
  return seed;
}

// Waits for `condition`, which is asked again and again. One that does not come true fails the
// test, by an exception, instead of hanging; no machine is so slow that a sound test meets it.
template <typename Condition>
void await(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) {
      throw std::runtime_error("what was awaited does not happen");
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

// Holds whoever comes to a holdpoint, until release(). One at a time in a process is in force, the
// latest; who is held by an earlier one stays.
class Hold {
 public:
  explicit Hold(const std::string& point)
      : path_(testing::TempDir() + "hold." + std::to_string(getpid()) + "." +
              std::to_string(made_++)) {
    std::ofstream(path_).put('x');
    setenv("BASALT_HOLDPOINT", (point + ":" + path_).c_str(), 1);
  }
  ~Hold() {
    release();
    unsetenv("BASALT_HOLDPOINT");
  }
  Hold(const Hold&) = delete;
  Hold& operator=(const Hold&) = delete;

  void release() const { std::remove(path_.c_str()); }

 private:
  static inline std::atomic<int> made_ = 0;
  const std::string path_;
};

}  // namespace basalt::test
