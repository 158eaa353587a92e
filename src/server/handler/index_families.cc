#include "server/handler/index_families.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "kv/families.h"
#include "server/convert/comment_options.h"
#include "server/convert/sql_text.h"

namespace basalt::server {
namespace {

constexpr std::string_view kPerIndexFamily = "$per_index_cf";
constexpr std::string_view kReverse = "rev:";

std::string_view comment_of(const KEY& key) {
  if ((key.flags & HA_USES_COMMENT) == 0) return {};
  return {key.comment.str, key.comment.length};
}

bool has_comments(const TABLE& table) {
  return std::ranges::any_of(std::span(table.key_info, table.s->keys),
                             [](const KEY& key) { return !comment_of(key).empty(); });
}

std::string of_index(const KEY& key) {
  return "index `" + std::string(key.name.str, key.name.length) + "`";
}

// The names of each part of the table that has indexes of its own: the subpartition, if there are
// any, first. One part without names if the table has no partitions.
std::vector<std::vector<std::string>> parts_of(const TABLE& table) {
  if (table.part_info == nullptr) return {{}};
  std::vector<std::vector<std::string>> parts;
  List_iterator<partition_element> partitions(table.part_info->partitions);
  while (partition_element* partition = partitions++) {
    List_iterator<partition_element> subparts(partition->subpartitions);
    if (partition->subpartitions.is_empty()) parts.push_back({partition->partition_name});
    while (const partition_element* subpart = subparts++) {
      parts.push_back({subpart->partition_name, partition->partition_name});
    }
  }
  return parts;
}

// The part of a file's name behind a mark; empty if it has none.
std::string_view part_of_file(std::string_view file, std::string_view mark) {
  const std::size_t start = file.find(mark, file.rfind('/') + 1);
  if (start == std::string_view::npos) return {};
  const std::string_view rest = file.substr(start + mark.size());
  return rest.substr(0, rest.find('#'));
}

std::string in_file_names(const std::string& name) {
  std::array<char, FN_REFLEN> encoded{};
  const uint length = tablename_to_filename(name.c_str(), encoded.data(), FN_REFLEN);
  return {encoded.data(), length};
}

}  // namespace

PartitionNames::PartitionNames(const TABLE& table) {
  if (table.part_info == nullptr) return;
  for (std::vector<std::string>& names : parts_of(table)) {
    const std::string subpartition = names.size() > 1 ? in_file_names(names.front()) : "";
    by_file_.emplace(std::pair(in_file_names(names.back()), subpartition), std::move(names));
  }
}

std::vector<std::string> PartitionNames::of(std::string_view file) const {
  const auto found = by_file_.find(
      std::pair(std::string(part_of_file(file, "#P#")), std::string(part_of_file(file, "#SP#"))));
  return found == by_file_.end() ? std::vector<std::string>() : found->second;
}

bool has_partition(const TABLE& table, const std::string& name) {
  const auto is_named = [&](const std::string& each) { return equal_names(each, name); };
  return std::ranges::any_of(parts_of(table), [&](const std::vector<std::string>& names) {
    return std::ranges::any_of(names, is_named);
  });
}

namespace {

// What a comment assigns to a partition; to the whole table, if `partition` is empty.
std::optional<std::string> assigned_to(const FamilyOptions& options, const std::string& partition) {
  for (const CommentOption& option : options.assigned) {
    if (equal_names(option.partition, partition)) return option.value;
  }
  return std::nullopt;
}

// The family of an index of a table, or of a partition with these names. A comment that is a name
// and no assignment counts for tables without partitions only, as in MyRocks.
std::string family_of(const KEY& key, const TABLE& table,
                      const std::vector<std::string>& partitions) {
  const FamilyOptions options = family_options_in(comment_of(key));
  for (const std::string& partition : partitions) {
    if (std::optional<std::string> family = assigned_to(options, partition)) return *family;
  }
  if (std::optional<std::string> family = assigned_to(options, {})) return *family;
  return table.part_info == nullptr ? options.bare : std::string();
}

// All families that a comment names.
std::vector<std::string> families_named(const KEY& key, const TABLE& table) {
  const FamilyOptions options = family_options_in(comment_of(key));
  std::vector<std::string> names;
  for (const CommentOption& option : options.assigned) names.push_back(option.value);
  if (table.part_info == nullptr && options.assigned.empty()) names.push_back(options.bare);
  std::erase(names, "");
  return names;
}

int refuse(uint code, const std::string& text) {
  my_printf_error(code, "%s", MYF(0), text.c_str());
  return HA_WRONG_CREATE_OPTION;
}

}  // namespace

int check_index_families(const TABLE& table) {
  for (uint i = 0; i < table.s->keys; ++i) {
    const KEY& key = table.key_info[i];
    for (const std::string& name : families_named(key, table)) {
      if (name == kPerIndexFamily) {
        return refuse(ER_PER_INDEX_CF_DEPRECATED,
                      "ROCKSDB makes no column family of its own for " + of_index(key) +
                          ", as '$per_index_cf' asks for; give the family a name");
      }
      const Status status = kv::check_family_name(name);
      if (status.is_ok()) continue;
      return refuse(ER_WRONG_ARGUMENTS,
                    "ROCKSDB: COMMENT of " + of_index(key) + ": " + status.message());
    }
  }
  return 0;
}

std::vector<std::string> family_warnings(const TABLE& table) {
  std::vector<std::string> warnings;
  for (uint i = 0; i < table.s->keys; ++i) {
    const KEY& key = table.key_info[i];
    const FamilyOptions options = family_options_in(comment_of(key));
    for (const CommentOption& option : options.assigned) {
      if (option.partition.empty() || has_partition(table, option.partition)) continue;
      warnings.push_back(option.partition + "_cfname=" + option.value + " in the COMMENT of " +
                         of_index(key) + " has no effect: there is no such partition");
    }
    if (table.part_info != nullptr && options.bare.starts_with(kReverse)) {
      warnings.push_back(options.bare + " in the COMMENT of " + of_index(key) +
                         " has no effect: of a table with partitions cfname= names the family");
    }
  }
  return warnings;
}

engine::Engine::FamilyNames index_families(const TABLE& table, std::string_view name) {
  std::vector<std::string> partitions;
  // Each partition asks, and its names are those of one among all.
  if (has_comments(table)) partitions = PartitionNames(table).of(name);
  const uint primary = table.s->primary_key;
  // The primary one comes first, also if it is hidden and so has no comment.
  engine::Engine::FamilyNames families(1);
  for (uint i = 0; i < table.s->keys; ++i) {
    std::string family = family_of(table.key_info[i], table, partitions);
    if (i == primary) {
      families.front() = std::move(family);
    } else {
      families.push_back(std::move(family));
    }
  }
  return families;
}

bool moves_indexes(const TABLE& table, const TABLE& altered) {
  const std::vector<std::vector<std::string>> parts = parts_of(table);
  for (uint i = 0; i < altered.s->keys; ++i) {
    const KEY& key = altered.key_info[i];
    for (uint j = 0; j < table.s->keys; ++j) {
      const KEY& known = table.key_info[j];
      if (!equal_names(key.name.str, known.name.str) ||
          (comment_of(key).empty() && comment_of(known).empty()))
        continue;
      for (const std::vector<std::string>& part : parts) {
        if (family_of(key, altered, part) != family_of(known, table, part)) return true;
      }
    }
  }
  return false;
}

}  // namespace basalt::server
