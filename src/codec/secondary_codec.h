#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "codec/layout.h"
#include "codec/read_plan.h"

// Records to secondary index entries, and back to the columns that the entry covers.
//
// Purpose     An entry finds the row's primary key, and gives back the original values of its
//             columns, whatever their collation, so that reads need not visit the row.
//             Format: docs/formats/keys.md; frozen.
// Terms       "Suffix": the primary key parts that the index's own parts do not give. "Extended
//             parts": own parts, then suffix parts. A hidden row id is in the suffix without
//             being an extended part. "Unique form": the key is the own parts only, and the
//             suffix leads the value; of entries of a unique index with no NULL among the parts.
// Ownership   Copies what it needs of the layouts; only the collations must outlive it. Output
//             strings are replaced, and keep their capacity.
// Threads     All members are const and callable from any thread at once.
// Cost        One pass; no allocation beyond the growth of the output strings.
// Must not    trust stored bytes: whatever they are, readers stay inside of them and of the
//             record's planned columns.
namespace basalt::codec {

class SecondaryCodec {
 public:
  SecondaryCodec(const TableLayout& table, IndexLayout secondary, const IndexLayout& primary);
  ~SecondaryCodec();
  SecondaryCodec(SecondaryCodec&&) noexcept;
  SecondaryCodec& operator=(SecondaryCodec&&) noexcept;

  std::uint32_t index_id() const;
  bool is_unique() const;
  std::size_t part_count() const;
  std::size_t extended_part_count() const;
  // The column of an extended part; below extended_part_count().
  std::uint32_t extended_column(std::size_t number) const;

  // Whether the record's entry is of unique form. False for a non-unique index.
  bool is_unique_entry(const std::uint8_t* record) const;

  // The record's entry, without its time. `primary_key` is what PrimaryCodec::make_key() made of
  // the same record, whose primary key columns must be filled in.
  void make_entry(const std::uint8_t* record, std::string_view primary_key, std::string& key,
                  std::string& value) const;
  // The same entry's key alone.
  void make_key(const std::uint8_t* record, std::string_view primary_key, std::string& key) const;

  // What a duplicate check of a unique index locks and looks up: index id and own parts.
  void make_unique_prefix(const std::uint8_t* record, std::string& key) const;
  // Index id and the first `part_count` own parts; false if one of them is NULL.
  bool make_value_lock(const std::uint8_t* record, std::size_t part_count, std::string& key) const;

  // The full primary key, with the primary's index id, of the entry's row. Fails with
  // kCorruption if the entry does not decode; `primary_key` is then undefined.
  Status primary_key_of(std::string_view key, std::string_view value,
                        std::string& primary_key) const;

  // Whether an entry gives every column of the set: whole columns among the extended parts.
  bool gives_all(const ColumnSet& wanted) const;
  // The steps that unpack `wanted`, without the columns that the entry cannot give.
  ReadPlan plan(const ColumnSet& wanted) const;

  // Unpacks the planned columns into `record` and touches nothing else of it, as
  // PrimaryCodec::read() does. Fails with kCorruption if the bytes do not decode; planned columns
  // are then undefined.
  Status read(std::string_view key, std::string_view value, const ReadPlan& plan,
              std::uint8_t* record) const;

  // The beginning of all keys whose first `part_count` extended parts equal those of a key
  // tuple, as in PrimaryCodec. Entries of unique form have no suffix in their keys: beyond
  // part_count() the prefix finds none of them.
  void make_search_prefix(const std::uint8_t* tuple, std::size_t part_count,
                          std::string& key) const;

  // The number of leading extended parts in which two keys agree.
  std::size_t common_parts(std::string_view key_a, std::string_view key_b) const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

}  // namespace basalt::codec
