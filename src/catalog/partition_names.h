#pragma once
#include <string_view>

// Names of partitions, each of which is a table to the dictionary: "database/table#P#partition", of
// subpartitions "database/table#P#partition#SP#subpartition", as the server would call their files.
namespace basalt::catalog {

// Stands behind a table's name in those of its partitions.
inline constexpr std::string_view kPartitionMark = "#P#";

// What stands before the mark: the table that the partition `name` is of. Empty if it is none.
inline std::string_view table_of_partition(std::string_view name) {
  const std::size_t mark = name.find(kPartitionMark);
  return mark == std::string_view::npos ? std::string_view() : name.substr(0, mark);
}

}  // namespace basalt::catalog
