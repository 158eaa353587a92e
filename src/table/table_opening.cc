#include "table/table_opening.h"

#include <cmath>
#include <vector>

#include "base/bytes.h"

namespace basalt::table {
namespace {

constexpr double kTwoTo64 = 18446744073709551616.0;

// As the server makes an integer of it.
std::uint64_t round_to_counter(double value) {
  const double whole = std::rint(value);
  if (!(whole >= 1)) return 0;
  return whole >= kTwoTo64 ? UINT64_MAX : static_cast<std::uint64_t>(whole);
}

// The counter's value in the first or last entry of the index, whichever is greatest.
Result<std::uint64_t> greatest_value(kv::Database& database, const Table& table,
                                     const AutoIncrementSource& source) {
  const bool descending = table.index(source.index_number).parts.front().descending;
  kv::Iterator iterator = database.new_iterator(table.family(source.index_number), {},
                                                table.whole_range(source.index_number));
  if (descending) {
    iterator.seek_to_first();
  } else {
    iterator.seek_to_last();
  }
  if (!iterator.is_valid()) {
    BASALT_TRY(iterator.status());
    return std::uint64_t{0};
  }
  codec::ColumnSet wanted(table.layout().columns.size());
  wanted.set(source.column);
  std::vector<std::uint8_t> record(table.layout().record_length);
  if (source.index_number == 0) {
    BASALT_TRY(table.primary().read(iterator.key(), iterator.value(), table.primary().plan(wanted),
                                    record.data()));
  } else {
    const codec::SecondaryCodec& codec = table.secondary(source.index_number);
    BASALT_TRY(codec.read(iterator.key(), iterator.value(), codec.plan(wanted), record.data()));
  }
  return counter_value(table.layout().columns[source.column], record.data());
}

Result<std::uint64_t> greatest_row_id(kv::Database& database, const Table& table) {
  kv::Iterator iterator = database.new_iterator(table.family(0), {}, table.whole_range(0));
  iterator.seek_to_last();
  if (iterator.is_valid()) return codec::PrimaryCodec::hidden_row_id(iterator.key());
  BASALT_TRY(iterator.status());
  return std::uint64_t{0};
}

std::uint64_t value_after(std::uint64_t value) { return value == UINT64_MAX ? value : value + 1; }

}  // namespace

std::uint64_t counter_value(const codec::ColumnLayout& column, const std::uint8_t* record) {
  const std::uint8_t* field = record + column.record_offset;
  switch (column.kind) {
    case codec::ColumnKind::kUnsignedInteger: return load_le_sized(field, column.record_length);
    case codec::ColumnKind::kSignedInteger: {
      const std::uint64_t value = load_le_sized(field, column.record_length);
      const bool negative = (value >> (8 * column.record_length - 1)) & 1;
      return negative ? 0 : value;
    }
    case codec::ColumnKind::kFloat:
      return round_to_counter(static_cast<double>(load_le<float>(field)));
    case codec::ColumnKind::kDouble: return round_to_counter(load_le<double>(field));
    case codec::ColumnKind::kOrderedBytes:
    case codec::ColumnKind::kFixedString:
    case codec::ColumnKind::kVariableString:
    case codec::ColumnKind::kBlob: return 0;
  }
  BASALT_UNREACHABLE();
}

Result<std::uint64_t> next_auto_increment(kv::Database& database, const Table& table,
                                          const AutoIncrementSource& auto_increment) {
  Result<std::uint64_t> greatest = greatest_value(database, table, auto_increment);
  if (!greatest.is_ok()) return greatest;
  return value_after(greatest.value());
}

Status load_counters(kv::Database& database, const Table& table,
                     const AutoIncrementSource& auto_increment) {
  if (auto_increment.exists) {
    const Result<std::uint64_t> next = next_auto_increment(database, table, auto_increment);
    if (!next.is_ok()) return next.status().clone();
    BASALT_TRY(table.state().auto_increment.load(next.value()));
  }
  if (table.has_hidden_key()) {
    Result<std::uint64_t> greatest = greatest_row_id(database, table);
    if (!greatest.is_ok()) return greatest.take_status();
    BASALT_TRY(table.state().hidden_row_id.load(value_after(greatest.value())));
  }
  return Status::ok();
}

void load_greatest_key(kv::Database& database, txn::TransactionManager& transactions,
                       const Table& table) {
  // What is prepared may come yet.
  const std::uint32_t rows = table.definition().indexes.front().id;
  if (!table.has_integer_key() || transactions.undecided().exist_in({&rows, 1})) return;
  kv::Iterator iterator = database.new_iterator(table.family(0), {}, table.whole_range(0));
  iterator.seek_to_last();
  if (!iterator.status().is_ok()) return;
  table.state().greatest_key.load(
      iterator.is_valid() ? table.ordinal(iterator.key()).value_or(UINT64_MAX) : 0);
}

}  // namespace basalt::table
