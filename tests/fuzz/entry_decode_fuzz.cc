// Goal: whatever the bytes of a secondary index entry are, SecondaryCodec stays inside of them
// and of the planned columns, and reports nothing but kCorruption.
#include "codec/primary_codec.h"
#include "codec/secondary_codec.h"
#include "fuzz_input.h"

using basalt::codec::ColumnSet;
using basalt::codec::PrimaryCodec;
using basalt::codec::SecondaryCodec;
using basalt::codec::test::ExactCopy;
using basalt::codec::test::RandomTable;
using basalt::fuzz::FuzzInput;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  FuzzInput input(data, size);
  RandomTable random(input.number(1));
  const PrimaryCodec primary(random.table().layout(), random.primary());
  const SecondaryCodec codec(random.table().layout(), random.secondary(), random.primary());
  const ColumnSet columns = random.random_columns();
  std::string primary_key;
  std::string key;
  std::string value;
  const auto record = random.random_record();
  primary.make_key(record.data(), 1, primary_key);
  codec.make_entry(record.data(), primary_key, key, value);
  if (input.number(1) % 4 == 0) {
    key.replace(4, std::string::npos, input.bytes(input.number(1)));
    value = input.all();
  } else {
    basalt::fuzz::damage(input, key);
    basalt::fuzz::damage(input, value);
  }

  const ExactCopy stored_key(key);
  const ExactCopy stored_value(value);
  basalt::fuzz::GuardedRecord result(random.table().layout().record_length);
  const basalt::Status status =
      codec.read(stored_key.view(), stored_value.view(), codec.plan(columns), result.data());
  basalt::fuzz::require(status.is_ok() || status.is(basalt::ErrorCode::kCorruption));
  result.require_untouched_but(random.table().writable_bits(columns));

  std::string found;
  const basalt::Status outcome =
      codec.primary_key_of(stored_key.view(), stored_value.view(), found);
  basalt::fuzz::require(outcome.is_ok() || outcome.is(basalt::ErrorCode::kCorruption));
  basalt::fuzz::require(codec.common_parts(stored_key.view(), stored_key.view()) <=
                        codec.extended_part_count());
  return 0;
}
