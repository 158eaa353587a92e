#include "table/checker.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/bytes.h"

namespace basalt::table {
namespace {

constexpr std::uint64_t kStepsBetweenChecks = 1024;

std::string count_of(std::uint64_t number, const char* noun) {
  return std::to_string(number) + " " + noun;
}

}  // namespace

void Checker::Digest::add(std::string_view key, std::string_view value, std::string& buffer) {
  buffer.clear();
  append_length_prefixed(buffer, key);
  buffer.append(value);
  const XXH128_hash_t hash = XXH3_128bits(buffer.data(), buffer.size());
  ++entries;
  low += hash.low64;
  high += hash.high64;
}

Checker::Checker(kv::Database& database, const Table& table, const Interruption& interruption)
    : database_(database),
      table_(table),
      interruption_(interruption),
      expected_(table.index_count()) {}

Status Checker::check_interruption() {
  if (++steps_ % kStepsBetweenChecks != 0 || !interruption_.is_raised()) return Status::ok();
  return Status::of(ErrorCode::kInterrupted);
}

// The entry of the row that the iterator is on goes to key_ and value_.
void Checker::make_entry(std::size_t index_number, const std::uint8_t* record,
                         std::string_view primary_key) {
  table_.secondary(index_number).make_entry(record, primary_key, key_, value_);
  if (table_.has_expiry()) prepend_row_time(row_time_, value_);
}

Result<bool> Checker::run(std::uint8_t* record, const CompleteRow& complete, const Report& report) {
  // Before the snapshot: what is in it, and not expired then, no compaction takes.
  const kv::ExpiryReading reading(database_.expiry_clock());
  if (table_.has_expiry()) {
    expired_before_ = table_.definition().expiry->lifetime.expired_before(reading.time());
  }
  snapshot_ = database_.take_snapshot();
  BASALT_TRY(digest_rows(record, complete));
  bool sound = undecodable_rows_ == 0;
  if (!sound) report(count_of(undecodable_rows_, "rows do not decode"));
  for (std::size_t i = 1; i < table_.index_count(); ++i) {
    Digest found;
    std::uint64_t undecodable = 0;
    BASALT_TRY(check_entries(i, undecodable, found));
    if (undecodable == 0 && found == expected_[i]) continue;
    sound = false;
    BASALT_TRY(report_index(i, found, undecodable, record, complete, report));
  }
  return sound;
}

Status Checker::visit_rows(std::uint8_t* record, const CompleteRow& complete, const Visit& visit) {
  const codec::ReadPlan plan =
      table_.primary().plan(codec::ColumnSet(table_.layout().columns.size(), true));
  rows_ = 0;
  undecodable_rows_ = 0;
  kv::Iterator iterator =
      database_.new_iterator(table_.family(0), {snapshot_.get(), false}, table_.whole_range(0));
  for (iterator.seek_to_first(); iterator.is_valid(); iterator.next()) {
    BASALT_TRY(check_interruption());
    row_time_ = row_time(iterator.value());
    if (row_time_ < expired_before_) continue;
    ++rows_;
    if (!table_.primary().read(iterator.key(), iterator.value(), plan, record).is_ok()) {
      ++undecodable_rows_;
      continue;
    }
    BASALT_TRY(complete(record));
    BASALT_TRY(visit(iterator.key()));
  }
  return iterator.status();
}

Status Checker::digest_rows(std::uint8_t* record, const CompleteRow& complete) {
  return visit_rows(record, complete, [this, record](std::string_view primary_key) {
    for (std::size_t i = 1; i < table_.index_count(); ++i) {
      make_entry(i, record, primary_key);
      expected_[i].add(key_, value_, buffer_);
    }
    return Status::ok();
  });
}

Status Checker::check_entries(std::size_t index_number, std::uint64_t& undecodable,
                              Digest& digest) {
  kv::Iterator iterator = database_.new_iterator(
      table_.family(index_number), {snapshot_.get(), false}, table_.whole_range(index_number));
  for (iterator.seek_to_first(); iterator.is_valid(); iterator.next()) {
    BASALT_TRY(check_interruption());
    if (row_time(iterator.value()) < expired_before_) continue;
    digest.add(iterator.key(), iterator.value(), buffer_);
    const Status status =
        table_.secondary(index_number).primary_key_of(iterator.key(), iterator.value(), key_);
    if (!status.is_ok()) ++undecodable;
  }
  return iterator.status();
}

// Says what is wrong with an index that is known to differ from the rows.
Status Checker::report_index(std::size_t index_number, const Digest& found,
                             std::uint64_t undecodable, std::uint8_t* record,
                             const CompleteRow& complete, const Report& report) {
  std::uint64_t wrong = 0;
  kv::PinnedValue stored;
  const Visit compare = [&](std::string_view primary_key) {
    make_entry(index_number, record, primary_key);
    bool exists = false;
    BASALT_TRY(
        database_.get(table_.family(index_number), key_, {snapshot_.get(), true}, stored, exists));
    if (!exists || stored.view() != value_) ++wrong;
    return Status::ok();
  };
  BASALT_TRY(visit_rows(record, complete, compare));
  const std::string prefix = "index '" + table_.index(index_number).name + "'";
  if (wrong > 0) report(prefix + ": " + count_of(wrong, "rows have no entry or a wrong one"));
  // Rows that do not decode have no entry to compare with: theirs are no damage of the index.
  const bool explained_by_rows = undecodable_rows_ > 0 && found.entries == rows_;
  if (undecodable > 0 || found.entries != rows_ || (wrong == 0 && !explained_by_rows)) {
    report(prefix + " has " + count_of(found.entries, "entries, of which ") +
           std::to_string(undecodable) + " do not decode; the table has " +
           count_of(rows_, "rows"));
  }
  return Status::ok();
}

}  // namespace basalt::table
