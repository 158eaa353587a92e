#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "table/system_versions.h"
#include "table/table.h"

namespace basalt::table {

// What changes that foreign keys bring to other tables need to know of the statement.
//
// Threads     Called by the thread that runs the statement.
class StatementContext {
 public:
  virtual ~StatementContext() = default;
  // When the statement began, to which the history of rows is dated.
  virtual SystemTimestamp time() = 0;
  // Before rows of `table` are changed: from here on, until the transaction ends, nobody replaces
  // the table by a copy, and waits for whoever does so already. kDefinitionMismatch: it has been
  // replaced since it was opened. kDeadlock, kLockTimeout, kInterrupted, of which the client knows.
  virtual Status begin_changes(const Table& table) = 0;

  enum class Version : std::uint8_t {
    kStored,  // is in the table: what its columns had no place for, or no value, they had then
    kNew,
  };
  // Gives the columns `wanted` of `record`, which are not stored, their values; those that are
  // stored have theirs. The record is of `table` and has the layout of make_stored_layout(). Values
  // of blobs are in `blobs` and stay there until the next call with it. An expression that fails
  // for a new row is an error, of which the client knows. kUnsupported if the statement cannot
  // compute them.
  virtual Status compute_columns(const Table& table, const codec::ColumnSet& wanted,
                                 Version version, std::uint8_t* record,
                                 std::vector<std::string>& blobs) = 0;
};

}  // namespace basalt::table
