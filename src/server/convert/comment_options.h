#pragma once
#include <string>
#include <string_view>
#include <vector>

// The options that MyRocks reads from comments: assignments `name=value`, separated by semicolons,
// for one partition `partition_name=value`.
namespace basalt::server {

struct CommentOption {
  std::string partition;  // empty: of the whole table
  std::string value;
};

// The assignments to `name` in a comment, in their order; spaces around names and values do not
// count.
std::vector<CommentOption> options_in(std::string_view comment, std::string_view name);

// What an index's comment says of column families.
struct FamilyOptions {
  std::vector<CommentOption> assigned;  // by `cfname=`
  std::string bare;                     // the whole comment, if it may be a name and nothing else
};
FamilyOptions family_options_in(std::string_view comment);

}  // namespace basalt::server
