#include "inspect/arguments.h"

#include <charconv>

namespace basalt::inspect {

Arguments Arguments::parse(int count, char** texts) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string_view text = texts[i];
    if (!text.starts_with("--")) {
      arguments.words.emplace_back(text);
      continue;
    }
    const std::size_t equals = text.find('=');
    const bool has_value = equals != std::string_view::npos;
    arguments.options[std::string(text.substr(2, has_value ? equals - 2 : equals))] =
        has_value ? text.substr(equals + 1) : std::string_view();
  }
  return arguments;
}

std::string Arguments::value(std::string_view name) const {
  const auto found = options.find(name);
  return found == options.end() ? std::string() : found->second;
}

Result<std::uint64_t> Arguments::number(std::string_view name, std::uint64_t otherwise) const {
  if (!has(name)) return otherwise;
  const std::string text = value(name);
  const char* const end = text.data() + text.size();
  std::uint64_t number = 0;
  const std::from_chars_result read = std::from_chars(text.data(), end, number);
  if (read.ec == std::errc() && read.ptr == end) return number;
  return Status(ErrorCode::kInvalidArgument,
                "--" + std::string(name) + "=" + text + " is no number");
}

Status Arguments::check_known(const std::set<std::string_view>& known) const {
  for (const auto& [name, value] : options) {
    if (known.contains(name)) continue;
    std::string message = "there is no option --" + name + " here; there are";
    for (const std::string_view other : known) message.append(" --").append(other);
    return Status(ErrorCode::kInvalidArgument, std::move(message));
  }
  return Status::ok();
}

}  // namespace basalt::inspect
