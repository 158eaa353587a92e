#pragma once
#include <set>
#include <string>
#include <string_view>

#include "base/mutex.h"

namespace basalt::server {

// Tables that the server has dropped, and that are still in the dictionary: the engine could not
// drop them while it was read-only, and the server does not ask again. It has removed the file of
// their definition.
class LeftTables {
 public:
  // A drop of the table, or of a partition, has failed.
  void note(std::string_view name) BASALT_EXCLUDES(mutex_);
  // The engine can write again: drops those that were noted and whose definition is gone. Where
  // the server has kept it the table is still there for its users.
  void drop() BASALT_EXCLUDES(mutex_);

 private:
  Mutex mutex_{MutexRank::kLeftTables};
  std::set<std::string> names_ BASALT_GUARDED_BY(mutex_);
};

// At the start, when the server has recovered its DDL log: drops the copies of ALTER TABLE that are
// left from before. Of others nobody knows whether their file was lost: a warning names each.
void drop_left_copies();

}  // namespace basalt::server
