#pragma once
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <ostream>
#include <string>
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

}  // namespace basalt::test
