#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "codec/layout.h"
#include "codec/read_plan.h"
#include "codec/row_history.h"

// Records to primary index entries, and back.
//
// Purpose     The key of a row is its primary key (or a hidden row id), the value is the rest of
//             the row. Formats: docs/formats/keys.md, docs/formats/rows.md; both are frozen.
// Ownership   Copies what it needs of the layouts; only the collations must outlive it. Output
//             strings are replaced, and keep their capacity.
// Threads     All members are const and callable from any thread at once.
// Cost        One pass; no allocation beyond the growth of the output strings.
// Must not    trust stored bytes: whatever they are, read() stays inside of them and of the
//             record's planned columns.
namespace basalt::codec {

class PrimaryCodec {
 public:
  // `history` tells of rows that were written when the table had other columns.
  PrimaryCodec(const TableLayout& table, IndexLayout primary, const RowHistory& history = {});
  ~PrimaryCodec();
  PrimaryCodec(PrimaryCodec&&) noexcept;
  PrimaryCodec& operator=(PrimaryCodec&&) noexcept;

  std::uint32_t index_id() const;
  bool has_hidden_key() const;
  // Parts of the key that is visible to the user: 0 with a hidden key.
  std::size_t part_count() const;

  // The key of the record: 4 bytes of index id, then the parts, or `hidden_row_id`, which is
  // ignored without a hidden key. A NULL in a primary key column is a caller's bug.
  void make_key(const std::uint8_t* record, std::uint64_t hidden_row_id, std::string& key) const;

  // Index id and the first `part_count` parts.
  void make_value_lock(const std::uint8_t* record, std::size_t part_count, std::string& key) const;

  // The value of the record, without its time. The variable data of a row is below 4 GiB
  // (asserted).
  void make_row(const std::uint8_t* record, std::uint32_t schema_version, std::string& row) const;

  // The steps that unpack `wanted`. VIRTUAL columns are in no row and left out.
  ReadPlan plan(const ColumnSet& wanted) const;

  // Unpacks the planned columns into `record` and touches nothing else of it: not the other
  // columns, not their null bits, not the unused tail of a VARCHAR. A NULL column gets its null
  // bit and a neutral value (zeros, spaces, length 0). Blob pointers point into `row`, or, of a
  // column that the row is older than, into this object.
  // Fails with kCorruption if the bytes do not decode; planned columns are then undefined.
  Status read(std::string_view key, std::string_view row, const ReadPlan& plan,
              std::uint8_t* record) const;

  // The beginning of all keys whose first `part_count` parts equal those of a key tuple in the
  // server's format: per part a null byte if the column is nullable, a 2-byte length if it is a
  // VARCHAR or blob, then tuple_length bytes.
  void make_search_prefix(const std::uint8_t* tuple, std::size_t part_count,
                          std::string& key) const;

  // The number of leading parts in which two keys agree. 0 with a hidden key.
  std::size_t common_parts(std::string_view key_a, std::string_view key_b) const;

  // The row id in a key of an index with a hidden key. 0, which is never allocated, if the key
  // has not the length of one.
  static std::uint64_t hidden_row_id(std::string_view key);

  // The schema version that a row was made with; `row` without its time.
  static Status schema_version(std::string_view row, std::uint32_t& version);

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

}  // namespace basalt::codec
