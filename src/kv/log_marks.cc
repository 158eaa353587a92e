#include "kv/log_marks.h"

#include "base/bytes.h"

namespace basalt::kv {
namespace {

constexpr std::string_view kPrefix = "basalt";

}  // namespace

std::string encode(const LogMark& mark) {
  std::string bytes(kPrefix);
  bytes.push_back(static_cast<char>(mark.kind));
  bytes.resize(bytes.size() + sizeof(mark.number));
  store_le(bytes.data() + kPrefix.size() + 1, mark.number);
  return bytes;
}

LogMark parse_log_mark(std::string_view bytes) {
  LogMark mark;
  const bool is_ours = bytes.size() == kPrefix.size() + 1 + sizeof(mark.number) &&
                       bytes.starts_with(kPrefix) &&
                       bytes[kPrefix.size()] <= static_cast<char>(LogMark::Kind::kIngested) &&
                       bytes[kPrefix.size()] >= 0;
  if (!is_ours) return mark;
  mark.kind = static_cast<LogMark::Kind>(bytes[kPrefix.size()]);
  mark.number = load_le<std::uint64_t>(bytes.data() + kPrefix.size() + 1);
  return mark;
}

}  // namespace basalt::kv
