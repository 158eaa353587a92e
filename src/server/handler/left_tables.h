#pragma once
#include <set>
#include <string>
#include <string_view>

#include "base/mutex.h"

namespace basalt::server {

// Copies of ALTER TABLE that the server has dropped, and that are still in the dictionary: the
// engine could not drop them while it was read-only, and the server does not ask again. It has
// removed the file of their definition.
class LeftTables {
 public:
  // A drop of the table, or of a partition, has failed for that reason. Nothing if it is no copy:
  // where another statement may be about to use the name nobody can tell that its table is left.
  void note(std::string_view name) BASALT_EXCLUDES(mutex_);
  // The engine can write again: drops those that were noted.
  void drop() BASALT_EXCLUDES(mutex_);

 private:
  Mutex mutex_{MutexRank::kLeftTables};
  std::set<std::string> names_ BASALT_GUARDED_BY(mutex_);
};

// At the start, when the server has recovered its DDL log: a warning for each table without a file
// of its definition. It may be the only one that has the rows of an interrupted statement.
void warn_of_left_tables();

}  // namespace basalt::server
