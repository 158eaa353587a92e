// Goal: the promises of PrimaryCodec and SecondaryCodec for tables and records that nobody
// thought of. Method: a few thousand tables made up from their numbers as seeds, with records of
// hostile values; a failure prints the seed, and the same seed makes the same table.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "codec/internal/test_support.h"
#include "codec/key_splitter.h"
#include "codec/primary_codec.h"
#include "codec/secondary_codec.h"

namespace basalt::codec {
namespace {

using test::ExactCopy;
using test::RandomTable;
using test::Record;

constexpr std::uint32_t kTables = 2000;

struct Codecs {
  explicit Codecs(const RandomTable& random)
      : primary(random.table().layout(), random.primary()),
        secondary(random.table().layout(), random.secondary(), random.primary()) {}

  PrimaryCodec primary;
  SecondaryCodec secondary;
};

struct Stored {
  std::string primary_key;
  std::string row;
  std::string key;
  std::string value;
};

Stored store(const Codecs& codecs, const Record& record, std::uint64_t row_id) {
  Stored stored;
  codecs.primary.make_key(record.data(), row_id, stored.primary_key);
  codecs.primary.make_row(record.data(), 1, stored.row);
  codecs.secondary.make_entry(record.data(), stored.primary_key, stored.key, stored.value);
  std::string key = "left from before";
  codecs.secondary.make_key(record.data(), stored.primary_key, key);
  EXPECT_EQ(key, stored.key) << "the key alone is the entry's";
  return stored;
}

// Checks that `columns` came back and all else is as it was: filled with 0xA5.
void expect_read(const test::TestTable& table, const Record& record, const Record& result,
                 const ColumnSet& columns) {
  const std::vector<std::uint8_t> writable = table.writable_bits(columns);
  for (std::size_t i = 0; i < writable.size(); ++i)
    ASSERT_EQ((result.bytes[i] ^ 0xA5) & ~writable[i], 0) << "byte " << i;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    if (!columns.test(i)) continue;
    ASSERT_TRUE(table.same(record, result, i)) << "column " << i;
    if (is_null_in(table.column(i), record)) {
      ASSERT_TRUE(table.is_neutral(result, i)) << "column " << i;
    }
  }
}

// The columns among `columns` that are in the primary index.
ColumnSet stored_columns(const test::TestTable& table, ColumnSet columns) {
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (columns.test(i) && !table.column(i).stored) columns.unset(i);
  return columns;
}
ColumnSet given_columns(const SecondaryCodec& codec, ColumnSet columns) {
  for (std::size_t i = 0; i < columns.size(); ++i) {
    ColumnSet one(columns.size());
    one.set(i);
    if (columns.test(i) && !codec.gives_all(one)) columns.unset(i);
  }
  return columns;
}

TEST(RandomTables, EveryColumnComesBackAndNothingElseIsTouched) {
  for (std::uint32_t seed = 0; seed < kTables; ++seed) {
    SCOPED_TRACE(seed);
    RandomTable random(seed);
    const Codecs codecs(random);
    for (std::uint64_t row_id = 1; row_id <= 5; ++row_id) {
      const Record record = random.random_record();
      const Stored stored = store(codecs, record, row_id);
      const ExactCopy primary_key(stored.primary_key);
      const ExactCopy row(stored.row);
      const ExactCopy key(stored.key);
      const ExactCopy value(stored.value);
      const ColumnSet columns = random.random_columns();

      Record result = random.table().make_record(0xA5);
      const Status read_row = codecs.primary.read(primary_key.view(), row.view(),
                                                  codecs.primary.plan(columns), result.data());
      ASSERT_TRUE(read_row.is_ok()) << read_row.message();
      expect_read(random.table(), record, result, stored_columns(random.table(), columns));

      result = random.table().make_record(0xA5);
      const Status read_entry = codecs.secondary.read(
          key.view(), value.view(), codecs.secondary.plan(columns), result.data());
      ASSERT_TRUE(read_entry.is_ok()) << read_entry.message();
      expect_read(random.table(), record, result, given_columns(codecs.secondary, columns));

      std::string found;
      ASSERT_TRUE(codecs.secondary.primary_key_of(key.view(), value.view(), found).is_ok());
      ASSERT_EQ(found, stored.primary_key);
      if (HasFatalFailure()) return;
    }
  }
}

TEST(RandomTables, KeysSortAsSqlDoes) {
  for (std::uint32_t seed = 0; seed < kTables; ++seed) {
    SCOPED_TRACE(seed);
    RandomTable random(seed);
    const Codecs codecs(random);
    std::vector<Record> records;
    std::vector<Stored> stored;
    for (std::uint64_t i = 0; i < 12; ++i) {
      records.push_back(random.random_record());
      stored.push_back(store(codecs, records.back(), i + 1));
    }
    const std::vector<KeyPartLayout>& parts = random.primary().parts;
    std::string prefix_a;
    std::string prefix_b;
    for (std::size_t a = 0; a < records.size(); ++a) {
      for (std::size_t b = 0; b < records.size(); ++b) {
        const int by_row_id = test::compare_numbers(a, b);
        ASSERT_EQ(test::sign_of(stored[a].primary_key.compare(stored[b].primary_key)),
                  parts.empty() ? by_row_id
                                : random.table().compare_parts(records[a], records[b], parts));
        codecs.secondary.make_unique_prefix(records[a].data(), prefix_a);
        codecs.secondary.make_unique_prefix(records[b].data(), prefix_b);
        const int order =
            random.table().compare_parts(records[a], records[b], random.secondary().parts);
        ASSERT_EQ(test::sign_of(prefix_a.compare(prefix_b)), order);
        if (order != 0) {
          ASSERT_EQ(test::sign_of(stored[a].key.compare(stored[b].key)), order);
        }
      }
    }
  }
}

TEST(RandomTables, TuplesOfARecordLeadToItsEntries) {
  for (std::uint32_t seed = 0; seed < kTables; ++seed) {
    SCOPED_TRACE(seed);
    RandomTable random(seed);
    const Codecs codecs(random);
    const Record record = random.random_record();
    const Stored stored = store(codecs, record, 1);
    std::string prefix;
    std::string tuple;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(tuple.data());
    for (std::size_t i = 0; i < random.primary().parts.size(); ++i) {
      random.table().append_tuple_part(record, random.primary().parts[i], tuple);
      bytes = reinterpret_cast<const std::uint8_t*>(tuple.data());
      codecs.primary.make_search_prefix(bytes, i + 1, prefix);
      ASSERT_TRUE(stored.primary_key.starts_with(prefix));
    }
    ASSERT_TRUE(random.primary().parts.empty() || prefix == stored.primary_key);

    tuple.clear();
    const std::vector<KeyPartLayout> extended = random.extended_parts();
    ASSERT_EQ(codecs.secondary.extended_part_count(), extended.size());
    std::string unique_key = stored.key;
    if (codecs.secondary.is_unique_entry(record.data())) unique_key += stored.value;
    for (std::size_t i = 0; i < extended.size(); ++i) {
      random.table().append_tuple_part(record, extended[i], tuple);
      bytes = reinterpret_cast<const std::uint8_t*>(tuple.data());
      codecs.secondary.make_search_prefix(bytes, i + 1, prefix);
      ASSERT_TRUE(unique_key.starts_with(prefix)) << i;
    }
  }
}

TEST(RandomTables, CommonPartsIsWhereTheOrderDiffersFirst) {
  for (std::uint32_t seed = 0; seed < kTables; ++seed) {
    SCOPED_TRACE(seed);
    RandomTable random(seed);
    const Codecs codecs(random);
    const Record a = random.random_record();
    Record b = random.table().make_record();
    b.bytes = a.bytes;
    const std::vector<KeyPartLayout> extended = random.extended_parts();
    const std::size_t changed = random.pick(extended.size());
    const ColumnLayout& column = random.table().column(extended[changed].column);
    if (column.kind == ColumnKind::kBlob || is_null_in(column, a)) continue;
    b.bytes[column.record_offset + column.length_bytes] ^= 0x15;
    std::size_t expected = 0;
    while (expected < extended.size() && random.table().compare_part(a, b, extended[expected]) == 0)
      ++expected;
    const Stored stored_a = store(codecs, a, 1);
    const Stored stored_b = store(codecs, b, 2);
    if (codecs.secondary.is_unique_entry(a.data()) || codecs.secondary.is_unique_entry(b.data()))
      expected = std::min(expected, codecs.secondary.part_count());
    ASSERT_EQ(codecs.secondary.common_parts(stored_a.key, stored_b.key), expected);
  }
}

// What the dictionary knows of a table: nothing of where a record holds the columns.
TableLayout without_offsets(const TableLayout& layout) {
  TableLayout result = layout;
  result.record_length = 0;
  for (ColumnLayout& column : result.columns) {
    column.record_offset = 0;
    column.null_offset = 0;
    column.null_mask = 0;
  }
  return result;
}

// The number of parts that end where two keys are still equal, found by their ends alone.
std::size_t common_by_ends(const KeySplitter& splitter, std::string_view a, std::string_view b) {
  std::vector<std::uint32_t> ends(splitter.part_count());
  splitter.split(a, 0, ends.data());
  const std::string_view shorter = a.size() < b.size() ? a : b;
  const auto equal = static_cast<std::size_t>(
      std::mismatch(shorter.begin(), shorter.end(), a.size() < b.size() ? b.begin() : a.begin())
          .first -
      shorter.begin());
  std::size_t common = 0;
  while (common < ends.size() && ends[common] <= equal) ++common;
  return common;
}

TEST(RandomTables, PartsEndWhereKeysOfOtherValuesDiffer) {
  for (std::uint32_t seed = 0; seed < kTables; ++seed) {
    SCOPED_TRACE(seed);
    RandomTable random(seed);
    const Codecs codecs(random);
    const TableLayout layout = without_offsets(random.table().layout());
    const KeySplitter primary(layout, random.primary());
    const KeySplitter secondary(layout, random.secondary(), random.primary());
    ASSERT_EQ(primary.part_count(), std::max<std::size_t>(random.primary().parts.size(), 1));
    const std::size_t row_id_parts = random.primary().parts.empty() ? 1 : 0;
    ASSERT_EQ(secondary.part_count(), codecs.secondary.extended_part_count() + row_id_parts);
    const Record record_a = random.random_record();
    const Record record_b = random.random_record();
    const Stored a = store(codecs, record_a, 1);
    const Stored b = store(codecs, record_b, 2);
    std::vector<std::uint32_t> ends(secondary.part_count());
    secondary.split(a.key, 0, ends.data());
    ASSERT_EQ(ends.back(), a.key.size());
    std::vector<std::uint32_t> resumed = ends;
    std::fill(resumed.begin() + 1, resumed.end(), 0);
    secondary.split(a.key, 1, resumed.data());
    ASSERT_EQ(resumed, ends) << "resumed behind the first part";
    if (a.key != b.key) {
      ASSERT_EQ(common_by_ends(secondary, a.key, b.key),
                codecs.secondary.common_parts(a.key, b.key));
    }
    if (!random.primary().parts.empty() && a.primary_key != b.primary_key) {
      ASSERT_EQ(common_by_ends(primary, a.primary_key, b.primary_key),
                codecs.primary.common_parts(a.primary_key, b.primary_key));
    }
  }
}

TEST(RandomTables, PartsOfDamagedKeysEndWithinThem) {
  for (std::uint32_t seed = 0; seed < kTables; ++seed) {
    SCOPED_TRACE(seed);
    RandomTable random(seed);
    const Codecs codecs(random);
    const KeySplitter splitter(random.table().layout(), random.secondary(), random.primary());
    std::string key = store(codecs, random.random_record(), 1).key;
    key[random.pick(key.size())] ^= static_cast<char>(1 + random.pick(255));
    key.resize(random.pick(key.size() + 1));
    const ExactCopy damaged(key);
    std::vector<std::uint32_t> ends(splitter.part_count());
    splitter.split(damaged.view(), 0, ends.data());
    std::uint32_t previous = 0;
    for (const std::uint32_t end : ends) {
      ASSERT_GE(end, previous);
      ASSERT_LE(end, key.size());
      previous = end;
    }
  }
}

// Damaged bytes may decode to something; what counts is that nothing outside of the planned
// columns is written, and, under the sanitizer, nothing outside of the input is read.
void read_damaged(const RandomTable& random, const Codecs& codecs, const Stored& damaged,
                  const ColumnSet& columns) {
  const ExactCopy primary_key(damaged.primary_key);
  const ExactCopy row(damaged.row);
  const ExactCopy key(damaged.key);
  const ExactCopy value(damaged.value);
  const std::vector<std::uint8_t> writable = random.table().writable_bits(columns);
  const auto expect_untouched = [&](const Record& result) {
    for (std::size_t i = 0; i < writable.size(); ++i)
      ASSERT_EQ((result.bytes[i] ^ 0xA5) & ~writable[i], 0) << "byte " << i;
  };
  Record result = random.table().make_record(0xA5);
  const Status primary = codecs.primary.read(primary_key.view(), row.view(),
                                             codecs.primary.plan(columns), result.data());
  ASSERT_TRUE(primary.is_ok() || primary.is(ErrorCode::kCorruption));
  expect_untouched(result);
  result = random.table().make_record(0xA5);
  const Status secondary = codecs.secondary.read(key.view(), value.view(),
                                                 codecs.secondary.plan(columns), result.data());
  ASSERT_TRUE(secondary.is_ok() || secondary.is(ErrorCode::kCorruption));
  expect_untouched(result);
  std::string found;
  codecs.secondary.primary_key_of(key.view(), value.view(), found).ignore("may succeed");
  (void)codecs.secondary.common_parts(key.view(), primary_key.view());
  (void)codecs.primary.common_parts(primary_key.view(), primary_key.view());
}

TEST(RandomTables, DamagedBytesNeverReachBeyondThePlannedColumns) {
  std::mt19937 damage(1);
  for (std::uint32_t seed = 0; seed < kTables; ++seed) {
    SCOPED_TRACE(seed);
    RandomTable random(seed);
    const Codecs codecs(random);
    const Record record = random.random_record();
    const Stored stored = store(codecs, record, 1);
    for (int i = 0; i < 12; ++i) {
      Stored damaged = stored;
      for (std::string* bytes :
           {&damaged.primary_key, &damaged.row, &damaged.key, &damaged.value}) {
        if (bytes->empty()) continue;
        const std::size_t at = damage() % bytes->size();
        if (damage() % 3 == 0) {
          bytes->resize(at);
        } else {
          (*bytes)[at] ^= static_cast<char>(1u << damage() % 8);
        }
      }
      read_damaged(random, codecs, damaged, random.random_columns());
      if (HasFatalFailure()) return;
    }
  }
}

TEST(RandomTables, EveryTruncationOfAnEntryIsCorruption) {
  for (std::uint32_t seed = 0; seed < kTables / 4; ++seed) {
    SCOPED_TRACE(seed);
    RandomTable random(seed);
    const Codecs codecs(random);
    const Record record = random.random_record();
    const Stored stored = store(codecs, record, 1);
    std::string found;
    for (std::size_t kept = 0; kept < stored.key.size(); ++kept) {
      const ExactCopy key(stored.key.substr(0, kept));
      const Status status = codecs.secondary.primary_key_of(key.view(), stored.value, found);
      // The key of a unique entry does not matter where the value has the whole primary key.
      ASSERT_TRUE(status.is(ErrorCode::kCorruption) ||
                  codecs.secondary.is_unique_entry(record.data()));
    }
    const ColumnSet all(random.table().layout().columns.size(), true);
    const ReadPlan plan = codecs.primary.plan(all);
    Record result = random.table().make_record();
    for (std::size_t kept = 0; kept < stored.row.size() && !plan.row.empty(); ++kept) {
      const ExactCopy row(stored.row.substr(0, kept));
      ASSERT_TRUE(codecs.primary.read(stored.primary_key, row.view(), plan, result.data())
                      .is(ErrorCode::kCorruption))
          << kept;
    }
  }
}

}  // namespace
}  // namespace basalt::codec
