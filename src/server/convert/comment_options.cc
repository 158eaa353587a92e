#include "server/convert/comment_options.h"

#include "kv/families.h"

namespace basalt::server {
namespace {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

}  // namespace

std::vector<CommentOption> options_in(std::string_view comment, std::string_view name) {
  std::vector<CommentOption> options;
  while (!comment.empty()) {
    const std::size_t end = comment.find(';');
    const std::string_view assignment = comment.substr(0, end);
    comment = end == std::string_view::npos ? std::string_view() : comment.substr(end + 1);
    const std::size_t equal_sign = assignment.find('=');
    if (equal_sign == std::string_view::npos) continue;
    std::string_view left = trimmed(assignment.substr(0, equal_sign));
    if (!left.ends_with(name)) continue;
    left.remove_suffix(name.size());
    const bool is_of_partition = left.size() > 1 && left.ends_with('_');
    if (!left.empty() && !is_of_partition) continue;
    if (is_of_partition) left.remove_suffix(1);
    options.push_back({std::string(left), std::string(trimmed(assignment.substr(equal_sign + 1)))});
  }
  return options;
}

FamilyOptions family_options_in(std::string_view comment) {
  FamilyOptions options{options_in(comment, "cfname"), {}};
  const std::string_view name = trimmed(comment);
  // Any other text is a comment, but for the two names that nobody may have.
  if (kv::check_family_name(name).is_ok() || name == kv::kSystemFamilyName) options.bare = name;
  return options;
}

}  // namespace basalt::server
