#include "base/status.h"

namespace basalt {
namespace {

struct CodeInfo {
  std::string_view name;
  std::string_view text;
  ErrorScope scope;
};

constexpr CodeInfo kCodes[] = {
    {"kOk", "ok", ErrorScope::kNone},
#define BASALT_ERROR(name, scope, text) {#name, text, ErrorScope::k##scope},
#include "base/error_codes.def"
#undef BASALT_ERROR
};

const CodeInfo& info_of(ErrorCode code) {
  const auto index = static_cast<std::size_t>(code);
  BASALT_ASSERT(index < std::size(kCodes));
  return kCodes[index];
}

}  // namespace

std::string_view error_name(ErrorCode code) { return info_of(code).name; }
std::string_view error_text(ErrorCode code) { return info_of(code).text; }
ErrorScope error_scope(ErrorCode code) { return info_of(code).scope; }

Status::Status(ErrorCode code, std::string message) : state_(new State{code, std::move(message)}) {
  BASALT_ASSERT(code != ErrorCode::kOk);
}

std::string Status::message() const {
  if (!state_) return {};
  if (state_->message.empty()) return std::string(error_text(state_->code));
  return state_->message;
}

Status Status::clone() const { return state_ ? Status(state_->code, state_->message) : Status(); }

}  // namespace basalt
