#pragma once
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "server/mariadb.h"

// Which column family the comment of an index asks for.
namespace basalt::server {

// Tells the client of the first index whose comment names a family that cannot be: 0, or an error.
int check_index_families(const TABLE& table);

// What of the comments of indexes names no family.
std::vector<std::string> family_warnings(const TABLE& table);

// The names of a table's partitions by those of their files, which are also those in the
// dictionary.
class PartitionNames {
 public:
  explicit PartitionNames(const TABLE& table);
  // Of the partition that `file` belongs to: the subpartition, if there are any, first. None in a
  // table without partitions.
  std::vector<std::string> of(std::string_view file) const;

 private:
  // By what files have for the partition and the subpartition, which may be empty.
  std::map<std::pair<std::string, std::string>, std::vector<std::string>> by_file_;
};

// Whether the table has a partition, or a subpartition, of that name, in any case of its letters.
bool has_partition(const TABLE& table, const std::string& name);

// The families for the indexes of a definition made of `table` (translate_table()), or of the
// partition of it that is stored as `name`, "database/table#P#partition".
engine::Engine::FamilyNames index_families(const TABLE& table, std::string_view name);

// Whether an index that both tables have is to be in another family in `altered`, or that of one of
// the partitions, which both have likewise. The server asks each partition whether a change is
// possible, and takes a No of one for a Yes if another one can do it at once.
bool moves_indexes(const TABLE& table, const TABLE& altered);

}  // namespace basalt::server
