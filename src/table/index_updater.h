#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "bulk/external_sort.h"
#include "kv/database.h"
#include "table/entry_maker.h"
#include "table/interruption.h"
#include "table/table.h"

namespace basalt::table {

// Brings new indexes of a table, whose entries are those of the rows in one snapshot, to what the
// rows are in a later one.
//
// How         Of each row that may have changed both versions are read, and make entries. Those
//             that differ are sorted by index and key, so that what one row gives up and another
//             one gets meet: then each key is removed once, put once, or both.
// Requires    That nobody else reads or writes the indexes.
// Life cycle  add()... -> run(), once. After an error the indexes are of no more use.
// Errors      kDuplicateKey, if rows have the same values in a unique index in the later snapshot:
//             duplicate() tells of one; kInterrupted; as bulk::ExternalSort; as kv::Database::get()
//             and write(); those of EntryMaker::read().
class IndexUpdater {
 public:
  struct Snapshots {
    const kv::Snapshot& before;
    const kv::Snapshot& after;
  };

  // `indexes`: their numbers in tables.table, in their order. Files are made in `directory`, which
  // the caller removes. `memory_bytes`: for sorting.
  IndexUpdater(kv::Database& database, const BuildTables& tables,
               std::span<const std::size_t> indexes, const Snapshots& snapshots,
               const std::string& directory, std::size_t memory_bytes);

  // A row that may have changed. One may be added several times.
  Status add(std::string_view primary_key);
  Status run(const Interruption& interruption);

  // How many rows were looked at, and how many more there are than before. After run().
  std::uint64_t rows() const { return rows_; }
  std::int64_t more_rows() const { return more_rows_; }
  // How many bytes of entries were changed.
  std::uint64_t bytes() const { return bytes_; }
  const std::optional<DuplicateRow>& duplicate() const { return duplicate_; }

 private:
  struct Entry {
    std::string key;  // empty: none
    std::string value;
  };
  // What becomes of one key of an index.
  struct Change {
    std::string key;
    std::string value;  // of what is put
    bool is_removed = false;
    bool is_put = false;
  };
  struct Index {
    std::size_t number;
    std::unique_ptr<bulk::ExternalSort> changes;
    Entry before;
    Entry after;
  };

  Status compare_rows(const Interruption& interruption);
  // Rows in `keys_`.
  Status compare_batch();
  Status read_rows(const kv::Snapshot& snapshot, kv::PinnedValues& rows);
  // Makes the entries of the row `number` of `rows`. `exists` tells whether there is one.
  Status make_entries(const kv::Snapshot& snapshot, const kv::PinnedValues& rows,
                      std::size_t number, Entry Index::*entry, bool& exists);
  Status add_changes(Index& index);
  Status write(Index& index, const Interruption& interruption);
  Status put_change(const Index& index, const Change& change, kv::WriteBatch& batch);
  Status refuse(const Index& index, std::string_view key, std::string_view value);

  kv::Database& database_;
  const BuildTables tables_;
  const Snapshots snapshots_;
  const std::size_t sort_bytes_;
  const std::unique_ptr<bulk::ExternalSort> row_keys_;
  std::vector<Index> indexes_;
  EntryMaker maker_;
  std::vector<std::string> keys_;
  kv::PinnedValues before_;
  kv::PinnedValues after_;
  kv::PinnedValue large_;
  std::uint64_t rows_ = 0;
  std::int64_t more_rows_ = 0;
  std::uint64_t bytes_ = 0;
  std::optional<DuplicateRow> duplicate_;
};

}  // namespace basalt::table
