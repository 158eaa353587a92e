#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/assert.h"

// Outcome of an operation that can fail.
//
// Purpose     Carry an error code and a text for the administrator from where the error is
//             known to where somebody reacts. Success is a null pointer and costs nothing.
// Ownership   A Status owns its text. Copies are not offered; move it or pass it by reference.
// Threads     A Status belongs to one thread at a time.
namespace basalt {

enum class ErrorCode : std::uint8_t {
  kOk = 0,
#define BASALT_ERROR(name, scope, text) name,
#include "base/error_codes.def"
#undef BASALT_ERROR
};

// What must be rolled back before the caller may go on.
enum class ErrorScope : std::uint8_t { kNone, kStatement, kTransaction, kEngine };

// The symbolic name of a code ("kDeadlock"), for logs and tests.
std::string_view error_name(ErrorCode code);
// The general text of a code, as in error_codes.def.
std::string_view error_text(ErrorCode code);
ErrorScope error_scope(ErrorCode code);

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(ErrorCode code, std::string message);
  Status(Status&&) noexcept = default;
  Status& operator=(Status&&) noexcept = default;
  Status(const Status&) = delete;
  Status& operator=(const Status&) = delete;

  static Status ok() { return Status(); }
  // An error without details; its message is the code's general text.
  static Status of(ErrorCode code) { return Status(code, std::string()); }

  bool is_ok() const { return state_ == nullptr; }
  ErrorCode code() const { return state_ ? state_->code : ErrorCode::kOk; }
  bool is(ErrorCode code) const { return this->code() == code; }
  // What an administrator reads. Empty when ok.
  std::string message() const;
  // A second, independent Status with the same content.
  Status clone() const;
  // Drops the status on purpose; `reason` says at the call why that is right.
  void ignore(std::string_view reason) const { (void)reason; }

 private:
  struct State {
    ErrorCode code;
    std::string message;
  };
  std::unique_ptr<State> state_;
};

// A value, or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    BASALT_ASSERT(!status_.is_ok());
  }
  bool is_ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  Status take_status() { return std::move(status_); }
  T& value() {
    BASALT_ASSERT(value_.has_value());
    return *value_;
  }
  const T& value() const {
    BASALT_ASSERT(value_.has_value());
    return *value_;
  }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace basalt

// Returns the status of `expression` from the enclosing function unless it is ok.
#define BASALT_TRY(expression)                         \
  do {                                                 \
    ::basalt::Status basalt_try_status = (expression); \
    if (!basalt_try_status.is_ok()) [[unlikely]]       \
      return basalt_try_status;                        \
  } while (false)
