// Measures what it costs to turn records of a table like sysbench's into keys and rows, and back.
#include <benchmark/benchmark.h>

#include <string>

#include "base/bytes.h"
#include "codec/internal/test_support.h"
#include "codec/primary_codec.h"
#include "codec/secondary_codec.h"

namespace basalt::codec {
namespace {

// id INT, k INT, c CHAR(120), pad CHAR(60); PRIMARY KEY (id), INDEX (k).
class Rows {
 public:
  Rows() {
    store_le(record_.data() + 1, std::int32_t{4711});
    store_le(record_.data() + 5, std::int32_t{42});
    for (std::size_t i = 9; i < 189; ++i) record_[i] = static_cast<std::uint8_t>('0' + i % 10);
    primary_.make_key(record_.data(), 0, key_);
    primary_.make_row(record_.data(), 1, row_);
    by_k_.make_entry(record_.data(), key_, entry_key_, entry_value_);
  }

  static TableLayout layout() {
    TableLayout layout;
    layout.columns.resize(4);
    for (std::uint32_t i = 0; i < 2; ++i) {
      layout.columns[i].record_offset = 1 + 4 * i;
      layout.columns[i].record_length = 4;
    }
    layout.columns[2].kind = layout.columns[3].kind = ColumnKind::kFixedString;
    layout.columns[2].record_offset = 9;
    layout.columns[2].record_length = 120;
    layout.columns[3].record_offset = 129;
    layout.columns[3].record_length = 60;
    layout.record_length = 189;
    return layout;
  }

  const IndexLayout primary_layout_{300, true, {{0}}};
  const PrimaryCodec primary_{layout(), primary_layout_};
  const SecondaryCodec by_k_{layout(), {301, false, {{1}}}, primary_layout_};
  std::vector<std::uint8_t> record_ = std::vector<std::uint8_t>(189);
  std::string key_;
  std::string row_;
  std::string entry_key_;
  std::string entry_value_;
};

void make_primary_key(benchmark::State& state) {
  Rows rows;
  for (auto _ : state) {
    rows.primary_.make_key(rows.record_.data(), 0, rows.key_);
    benchmark::DoNotOptimize(rows.key_.data());
  }
}
BENCHMARK(make_primary_key);

void make_row(benchmark::State& state) {
  Rows rows;
  for (auto _ : state) {
    rows.primary_.make_row(rows.record_.data(), 1, rows.row_);
    benchmark::DoNotOptimize(rows.row_.data());
  }
}
BENCHMARK(make_row);

// The first so many columns.
void read_row(benchmark::State& state) {
  Rows rows;
  ColumnSet wanted(4);
  for (std::size_t i = 0; i < static_cast<std::size_t>(state.range(0)); ++i) wanted.set(i);
  const ReadPlan plan = rows.primary_.plan(wanted);
  for (auto _ : state) {
    const Status status = rows.primary_.read(rows.key_, rows.row_, plan, rows.record_.data());
    if (!status.is_ok()) state.SkipWithError("the row does not decode");
    benchmark::DoNotOptimize(rows.record_.data());
  }
}
BENCHMARK(read_row)->Arg(1)->Arg(4);

void make_entry(benchmark::State& state) {
  Rows rows;
  for (auto _ : state) {
    rows.by_k_.make_entry(rows.record_.data(), rows.key_, rows.entry_key_, rows.entry_value_);
    benchmark::DoNotOptimize(rows.entry_key_.data());
  }
}
BENCHMARK(make_entry);

void primary_key_of_entry(benchmark::State& state) {
  Rows rows;
  for (auto _ : state) {
    const Status status = rows.by_k_.primary_key_of(rows.entry_key_, rows.entry_value_, rows.key_);
    if (!status.is_ok()) state.SkipWithError("the entry does not decode");
    benchmark::DoNotOptimize(rows.key_.data());
  }
}
BENCHMARK(primary_key_of_entry);

}  // namespace
}  // namespace basalt::codec
