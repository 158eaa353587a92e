#include "table/checker.h"

#include <vector>

namespace basalt::table {
namespace {

constexpr std::uint64_t kStepsBetweenChecks = 1024;

std::string count_of(std::uint64_t number, const char* noun) {
  return std::to_string(number) + " " + noun;
}

}  // namespace

Checker::Checker(kv::Database& database, const Table& table, const Interruption& interruption)
    : database_(database), table_(table), interruption_(interruption) {}

Status Checker::check_interruption() {
  if (++steps_ % kStepsBetweenChecks != 0 || !interruption_.is_raised()) return Status::ok();
  return Status::of(ErrorCode::kInterrupted);
}

Result<bool> Checker::run(std::uint8_t* record, const Complete& complete, const Report& report) {
  snapshot_ = database_.take_snapshot();
  BASALT_TRY(check_rows(record, complete, report));
  for (std::size_t i = 1; i < table_.index_count(); ++i) BASALT_TRY(check_entries(i, report));
  return sound_;
}

Status Checker::check_rows(std::uint8_t* record, const Complete& complete, const Report& report) {
  const codec::ReadPlan plan =
      table_.primary().plan(codec::ColumnSet(table_.layout().columns.size(), true));
  std::vector<std::uint64_t> wrong(table_.index_count(), 0);
  std::uint64_t undecodable = 0;
  kv::Iterator iterator = database_.new_iterator(
      table_.family(0), {snapshot_.get(), false}, table_.whole_range(0));
  for (iterator.seek_to_first(); iterator.is_valid(); iterator.next()) {
    BASALT_TRY(check_interruption());
    ++rows_;
    if (!table_.primary().read(iterator.key(), iterator.value(), plan, record).is_ok()) {
      ++undecodable;
      continue;
    }
    BASALT_TRY(complete(record));
    for (std::size_t i = 1; i < table_.index_count(); ++i) {
      BASALT_TRY(check_entry_of(i, record, iterator.key(), wrong[i]));
    }
  }
  BASALT_TRY(iterator.status());
  if (undecodable > 0) {
    sound_ = false;
    report(count_of(undecodable, "rows do not decode"));
  }
  for (std::size_t i = 1; i < table_.index_count(); ++i) {
    if (wrong[i] == 0) continue;
    sound_ = false;
    report("index '" + table_.index(i).name + "': " +
           count_of(wrong[i], "rows have no entry or a wrong one"));
  }
  return Status::ok();
}

Status Checker::check_entry_of(std::size_t index_number, const std::uint8_t* record,
                               std::string_view primary_key, std::uint64_t& wrong) {
  table_.secondary(index_number).make_entry(record, primary_key, key_, value_);
  bool found = false;
  BASALT_TRY(database_.get(table_.family(index_number), key_, {snapshot_.get(), false}, stored_,
                           found));
  if (!found || stored_.view() != value_) ++wrong;
  return Status::ok();
}

// With as many entries as rows, and every row's entry there, no entry can be without a row.
Status Checker::check_entries(std::size_t index_number, const Report& report) {
  std::uint64_t entries = 0;
  std::uint64_t undecodable = 0;
  kv::Iterator iterator =
      database_.new_iterator(table_.family(index_number), {snapshot_.get(), false},
                             table_.whole_range(index_number));
  for (iterator.seek_to_first(); iterator.is_valid(); iterator.next()) {
    BASALT_TRY(check_interruption());
    ++entries;
    const Status status = table_.secondary(index_number)
                              .primary_key_of(iterator.key(), iterator.value(), key_);
    if (!status.is_ok()) ++undecodable;
  }
  BASALT_TRY(iterator.status());
  if (undecodable > 0 || entries != rows_) {
    sound_ = false;
    report("index '" + table_.index(index_number).name + "' has " +
           count_of(entries, "entries, of which ") + std::to_string(undecodable) +
           " do not decode; the table has " + count_of(rows_, "rows"));
  }
  return Status::ok();
}

}  // namespace basalt::table
