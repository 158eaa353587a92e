#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "kv/database.h"
#include "table/complete_row.h"
#include "table/interruption.h"
#include "table/table.h"

namespace basalt::table {

// Compares every index of a table with its rows, in one snapshot.
//
// Each row must decode and have exactly one entry in every secondary index, equal to the one its
// columns give; there must be no other entries. `report` is called once per kind of damage and
// index.
//
// How         One pass over the rows makes each index's entries and sums up their hashes; one pass
//             over each index sums up the hashes of what is there. Sums do not depend on the
//             order. Equal counts and 128-bit sums: the same entries. An index that differs is
//             gone through row by row, to say how many are wrong.
class Checker {
 public:
  using Report = std::function<void(const std::string& problem)>;

  Checker(kv::Database& database, const Table& table, const Interruption& interruption);

  // `record` is a buffer of the table's record length. Returns whether the table is sound;
  // an error only if the check could not be done.
  Result<bool> run(std::uint8_t* record, const CompleteRow& complete, const Report& report);

 private:
  struct Digest {
    std::uint64_t entries = 0;
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    void add(std::string_view key, std::string_view value, std::string& buffer);
    bool operator==(const Digest&) const = default;
  };
  // Called with each row that decodes.
  using Visit = std::function<Status(std::string_view primary_key)>;

  Status visit_rows(std::uint8_t* record, const CompleteRow& complete, const Visit& visit);
  Status digest_rows(std::uint8_t* record, const CompleteRow& complete);
  Status check_entries(std::size_t index_number, std::uint64_t& undecodable, Digest& digest);
  Status report_index(std::size_t index_number, const Digest& found, std::uint64_t undecodable,
                      std::uint8_t* record, const CompleteRow& complete, const Report& report);
  Status check_interruption();
  void make_entry(std::size_t index_number, const std::uint8_t* record,
                  std::string_view primary_key);

  kv::Database& database_;
  const Table& table_;
  const Interruption& interruption_;
  std::unique_ptr<kv::Snapshot> snapshot_;
  std::vector<Digest> expected_;  // per index
  std::uint64_t rows_ = 0;
  std::uint64_t undecodable_rows_ = 0;
  std::uint64_t steps_ = 0;
  // Rows and entries of earlier times are expired and do not count; 0: none is.
  std::uint64_t expired_before_ = 0;
  std::uint64_t row_time_ = 0;  // of the row that is visited
  std::string key_;
  std::string value_;
  std::string buffer_;
};

}  // namespace basalt::table
