#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "kv/database.h"
#include "table/complete_row.h"
#include "table/index_builder.h"
#include "table/interruption.h"
#include "table/journal.h"
#include "table/table.h"
#include "txn/transaction_manager.h"

namespace basalt::table {

// New indexes of a table that is written to meanwhile.
//
// How         The rows of a snapshot are built from (IndexBuilder). Then, in rounds, the rows that
//             the journal names since the snapshot before are compared in both, and the indexes
//             become those of the later one (IndexUpdater).
// Requires    That the table's journal is open, from a time when no change of the table was open;
//             what is committed by then is in the first snapshot.
// Life cycle  build() -> catch_up(), several times -> catch_up() once more while nobody can change
//             the table, and no change of it is open: then the indexes are those of the table.
//             After an error it is of no more use.
// Errors      Those of IndexBuilder and IndexUpdater.
// Threads     One at a time, and the same one where columns are computed; writers go on.
class IndexBuild {
 public:
  using Resources = IndexBuilder::Resources;

  // `altered`: the table with its new indexes; `indexes`: their numbers there, in their order.
  // `rows_before`: as of BuildTables; if it is not null, `indexes` are all that there are.
  // `complete`: as of BuildTables, where it is not empty.
  IndexBuild(kv::Database& database, txn::TransactionManager& transactions,
             std::unique_ptr<const Table> altered, std::unique_ptr<const Table> rows_before,
             std::vector<std::size_t> indexes, catalog::IndexId journal, const Resources& resources,
             CompleteRow complete = nullptr);

  // `pace`: of each of its threads.
  Status build(const Interruption& interruption, Pace pace = Pace());
  // Returns how many rows were changed since, or may have been.
  Result<std::uint64_t> catch_up(const Interruption& interruption);

  const Table& table() const { return *table_; }
  // How many bytes of entries the last catch_up() has changed.
  std::uint64_t changed_bytes() const { return changed_bytes_; }
  // How many rows the table has, as far as the indexes are.
  std::uint64_t rows() const { return rows_; }
  // After kDuplicateKey.
  const std::optional<DuplicateRow>& duplicate() const { return duplicate_; }
  // Puts the values into `record` that the row of duplicate() has in common with another one.
  Status read_duplicate(std::uint8_t* record) const;

 private:
  kv::Database& database_;
  txn::TransactionManager& transactions_;
  const std::unique_ptr<const Table> table_;
  const std::unique_ptr<const Table> rows_before_;
  const CompleteRow complete_;
  const BuildTables tables_;
  const std::vector<std::size_t> indexes_;
  const catalog::IndexId journal_;
  const Resources resources_;
  JournalReader reader_;
  std::unique_ptr<kv::Snapshot> snapshot_;  // which the indexes' entries are of
  std::uint64_t rows_ = 0;
  std::uint64_t changed_bytes_ = 0;
  std::optional<DuplicateRow> duplicate_;
};

// Lets `builds`, which will be completed together, catch up with writers until little is left for
// the last time, or what is left does not become less: there are always more changes then. After an
// error one of them is of no more use.
Status catch_up_with_writers(std::span<IndexBuild* const> builds, const Interruption& interruption);

}  // namespace basalt::table
