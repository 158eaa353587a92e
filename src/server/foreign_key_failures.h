#pragma once
#include <string>
#include <string_view>

#include "base/mutex.h"
#include "table/reference_enforcer.h"
#include "server/mariadb.h"

namespace basalt::server {

// The latest change of a row, or of a definition, that a foreign key has refused: for SHOW ENGINE
// ROCKSDB STATUS.
//
// Threads     Safe from any thread.
class ForeignKeyFailures {
 public:
  // `text`: lines that say what was tried, and what forbids it. The time, the connection and the
  // beginning of its statement are put before them.
  void note(THD* thd, std::string_view text);
  // Empty if there was none since the start.
  std::string latest() const;

 private:
  mutable Mutex mutex_{MutexRank::kForeignKeyFailures};
  std::string latest_ BASALT_GUARDED_BY(mutex_);
};

// Notes a refused change of a row by a statement that writes to `table`. Its old record is null for
// a new row, the new one for a row that goes.
void note_refused_row(THD* thd, TABLE& table, const table::ReferenceEnforcer::Refusal& refusal,
                      const uchar* old_record, const uchar* new_record);
// Notes a refused definition: `why` is what the client is told.
void note_refused_definition(THD* thd, const std::string& why);

}  // namespace basalt::server
