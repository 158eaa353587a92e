#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "base/mutex.h"
#include "base/row_time.h"
#include "catalog/definitions.h"

namespace basalt::catalog {

// The table of each index, built ones included.
//
// Threads     Safe from any thread. Its mutex is never held during a write to the database, so that
//             flushes and compactions may ask.
class IndexOwners {
 public:
  // Null if there is none.
  TablePointer find(IndexId index) const;
  // How long the rows of the index live; nothing: for ever.
  std::optional<RowLifetime> lifetime_of(IndexId index) const;
  // Whether an index of the family is of a table whose rows expire. Asked by each compaction.
  bool has_lifetimes(std::uint32_t family) const;
  // The same of any family.
  bool has_lifetimes() const;

  // All indexes of the table are its own from now on, whosever they were.
  void add(const TablePointer& table);
  // The index of an ALTER TABLE, or its journal, which `altered` does not have.
  void add_built(IndexId index, const TablePointer& altered);
  // What is removed is there.
  void remove(IndexId index);
  void remove(const TableDefinition& table);

 private:
  void set(IndexId index, const TablePointer& table) BASALT_REQUIRES(mutex_);
  void erase(IndexId index) BASALT_REQUIRES(mutex_);

  mutable Mutex mutex_{MutexRank::kIndexOwners};
  std::unordered_map<IndexId, TablePointer> tables_ BASALT_GUARDED_BY(mutex_);
  // How many indexes of a family are of tables whose rows expire; none is no entry.
  std::unordered_map<std::uint32_t, std::size_t> expiring_ BASALT_GUARDED_BY(mutex_);
};

}  // namespace basalt::catalog
