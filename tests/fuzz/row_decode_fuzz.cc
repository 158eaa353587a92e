// Goal: whatever the bytes of a primary index entry are, PrimaryCodec stays inside of them and of
// the planned columns, and reports nothing but kCorruption; also where the row is older than the
// table's columns.
#include "codec/primary_codec.h"
#include "fuzz_input.h"

using basalt::codec::ColumnSet;
using basalt::codec::PrimaryCodec;
using basalt::codec::RowColumn;
using basalt::codec::test::ExactCopy;
using basalt::codec::test::RandomTable;
using basalt::fuzz::FuzzInput;

// Reads every blob to its end: they must lie within the row.
static void touch_blobs(const RandomTable& random, const ColumnSet& columns,
                        const std::uint8_t* record, std::string_view row) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const basalt::codec::ColumnLayout& column = random.table().column(i);
    if (column.kind != basalt::codec::ColumnKind::kBlob || !columns.test(i) || !column.stored)
      continue;
    const char* data = nullptr;
    const std::uint8_t* const field = record + column.record_offset;
    const std::size_t size = basalt::load_le_sized(field, column.length_bytes);
    std::memcpy(&data, field + column.length_bytes, sizeof data);
    basalt::fuzz::require(size == 0 ||
                          (data >= row.data() && data + size <= row.data() + row.size()));
  }
}

// A history in which each column that may have one has come, or become what it is, with the second
// schema version, or another column went with it.
static basalt::codec::RowHistory history_of(RandomTable& random) {
  basalt::codec::RowHistory history;
  for (std::uint32_t i = 0; i < random.table().layout().columns.size(); ++i) {
    const basalt::codec::ColumnLayout& column = random.table().column(i);
    if (!column.stored) continue;
    const bool is_fixed = !basalt::codec::is_string(column.kind);
    const bool is_integer = basalt::codec::is_integer(column.kind);
    RowColumn now = {.column = i,
                     .fixed_bytes = is_fixed ? column.record_length : RowColumn::kVariable,
                     .nullable = column.nullable};
    const std::size_t kind = random.pick(4);
    if (kind == 0 && column.nullable) {
      now.since = 2;
      history.initial_values.push_back({i, std::nullopt});
    } else if (kind == 1 && (is_integer || column.nullable)) {
      RowColumn before = now;
      before.until = now.since = 2;
      before.nullable = false;
      if (is_integer)
        before.fixed_bytes = static_cast<std::uint32_t>(1 + random.pick(column.record_length));
      history.columns.push_back(before);
    } else if (kind == 1) {
      RowColumn before = now;
      before.until = now.since = 2;
      before.nullable = true;
      before.null_value = std::string(is_fixed ? column.record_length : 0, '\1');
      history.columns.push_back(before);
    } else if (kind == 2) {
      const auto bytes = static_cast<std::uint32_t>(random.pick(9));
      RowColumn dropped;
      dropped.fixed_bytes = bytes < 8 ? bytes : RowColumn::kVariable;
      dropped.nullable = random.pick(2) == 0;
      dropped.until = 2;
      history.columns.push_back(dropped);
    }
    history.columns.push_back(now);
  }
  return history;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzInput input(data, size);
  RandomTable random(input.number(1));
  const bool has_history = input.number(1) % 2 == 0;
  const PrimaryCodec codec(random.table().layout(), random.primary(),
                           has_history ? history_of(random) : basalt::codec::RowHistory());
  const ColumnSet columns = random.random_columns();
  std::string key;
  std::string row;
  const auto record = random.random_record();
  codec.make_key(record.data(), 1, key);
  codec.make_row(record.data(), input.number(1) % 4 * 100, row);
  if (input.number(1) % 4 == 0) {
    key.replace(4, std::string::npos, input.bytes(input.number(1)));
    row = input.all();
  } else {
    basalt::fuzz::damage(input, key);
    basalt::fuzz::damage(input, row);
  }

  const ExactCopy stored_key(key);
  const ExactCopy stored_row(row);
  basalt::fuzz::GuardedRecord result(random.table().layout().record_length);
  const basalt::Status status =
      codec.read(stored_key.view(), stored_row.view(), codec.plan(columns), result.data());
  basalt::fuzz::require(status.is_ok() || status.is(basalt::ErrorCode::kCorruption));
  result.require_untouched_but(random.table().writable_bits(columns));
  if (status.is_ok()) touch_blobs(random, columns, result.data(), stored_row.view());
  basalt::fuzz::require(codec.common_parts(stored_key.view(), stored_key.view()) <=
                        codec.part_count());
  std::uint32_t version = 0;
  PrimaryCodec::schema_version(stored_row.view(), version).ignore("any outcome is right");
  return 0;
}
