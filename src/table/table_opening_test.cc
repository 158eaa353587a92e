#include "table/table_opening.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "table/test_support.h"

// Goal: counters start above everything that is stored, whatever index and type they come from.
namespace basalt::table {
namespace {

using basalt::test::must;
using codec::ColumnKind;
using test::Keys;

codec::ColumnLayout column_of(ColumnKind kind, std::uint32_t size) {
  codec::ColumnLayout column;
  column.kind = kind;
  column.record_offset = 1;
  column.record_length = size;
  return column;
}

template <typename T>
std::uint64_t counted(ColumnKind kind, T value, std::uint32_t size = sizeof(T)) {
  std::uint8_t record[1 + sizeof(T)];
  std::memset(record, 0xEE, sizeof record);
  std::memcpy(record + 1, &value, size);
  return counter_value(column_of(kind, size), record);
}

TEST(CounterValue, IntegersOfEverySizeCountAsWhatTheyAre) {
  for (std::uint32_t size = 1; size <= 8; ++size) {
    const std::uint64_t all = UINT64_MAX >> (64 - 8 * size);
    EXPECT_EQ(counted(ColumnKind::kUnsignedInteger, all, size), all) << size;
    EXPECT_EQ(counted(ColumnKind::kSignedInteger, all >> 1, size), all >> 1) << size;
    EXPECT_EQ(counted(ColumnKind::kSignedInteger, all, size), 0u) << "-1 in bytes: " << size;
    EXPECT_EQ(counted(ColumnKind::kSignedInteger, (all >> 1) + 1, size), 0u) << size;
    EXPECT_EQ(counted(ColumnKind::kUnsignedInteger, std::uint64_t{7}, size), 7u) << size;
  }
}

TEST(CounterValue, FloatingPointIsRoundedToAnInteger) {
  EXPECT_EQ(counted(ColumnKind::kDouble, 7.9), 8u);
  EXPECT_EQ(counted(ColumnKind::kFloat, 7.4F), 7u);
  EXPECT_EQ(counted(ColumnKind::kDouble, 0.4), 0u);
  EXPECT_EQ(counted(ColumnKind::kDouble, -5.0), 0u);
  EXPECT_EQ(counted(ColumnKind::kDouble, 1e300), UINT64_MAX);
  EXPECT_EQ(counted(ColumnKind::kDouble, 18446744073709551616.0), UINT64_MAX);
  EXPECT_EQ(counted(ColumnKind::kDouble, std::nan("")), 0u);
  EXPECT_EQ(counted(ColumnKind::kFloat, std::numeric_limits<float>::infinity()), UINT64_MAX);
}

class StateLoaderTest : public testing::Test {
 protected:
  static void insert(test::Store& store, std::vector<std::pair<int, std::uint32_t>> ids) {
    test::Session session(store);
    for (const auto& [id, code] : ids) {
      must(session.insert({id, std::nullopt, "Rome", id, code, std::nullopt}));
    }
    session.commit();
  }
  static std::uint64_t next_after_loading(test::Store& store, const AutoIncrementSource& source) {
    must(load_counters(store.database(), store.table(), source));
    return store.table().state().auto_increment.next();
  }
};

TEST_F(StateLoaderTest, AnEmptyTableStartsAtOne) {
  test::Store store(Keys::kId);
  EXPECT_EQ(next_after_loading(store, {true, test::kPrimary, test::kId}), 1u);
  EXPECT_EQ(next_after_loading(store, {true, test::kByCode, test::kCode}), 1u);
}

TEST_F(StateLoaderTest, TheGreatestValueIsFoundInThePrimaryKey) {
  test::Store store(Keys::kId);
  insert(store, {{-5, 1}, {7, 2}, {3, 3}});
  EXPECT_EQ(next_after_loading(store, {true, test::kPrimary, test::kId}), 8u);
}

TEST_F(StateLoaderTest, NegativeValuesDoNotCount) {
  test::Store store(Keys::kId);
  insert(store, {{-5, 1}, {-1, 2}});
  EXPECT_EQ(next_after_loading(store, {true, test::kPrimary, test::kId}), 1u);
}

TEST_F(StateLoaderTest, TheGreatestValueIsFoundInSecondaryIndexesOfBothDirections) {
  test::Store store(Keys::kCityAndId);
  insert(store, {{500, 90}, {2, 4'000'000'000}, {600, 70}});
  EXPECT_EQ(next_after_loading(store, {true, test::kByCode, test::kCode}), 4'000'000'001u);
  test::Store other(Keys::kId);
  insert(other, {{500, 1}, {2, 2}, {600, 3}});
  EXPECT_EQ(next_after_loading(other, {true, test::kByAmount, test::kAmount}), 601u);
}

TEST_F(StateLoaderTest, AStoredMarkAboveTheTableWins) {
  test::Store store(Keys::kId);
  insert(store, {{5, 1}});
  must(store.catalog().store_counter_mark(store.table().definition().id,
                                          catalog::CounterKind::kAutoIncrement, 100,
                                          kv::Durability::kBuffered));
  EXPECT_EQ(next_after_loading(store, {true, test::kPrimary, test::kId}), 100u);
}

TEST_F(StateLoaderTest, HiddenRowIdsGoOnAboveTheGreatestOneAfterStopsAndCrashes) {
  test::Store store(Keys::kHidden);
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < 40; ++i) {
      insert(store, {{round, static_cast<std::uint32_t>(round * 100 + i)}});
    }
    round % 2 == 0 ? store.reopen() : store.crash();
    ASSERT_EQ(store.entries(test::kPrimary), 40u * (static_cast<unsigned>(round) + 1));
  }
  EXPECT_TRUE(store.check().empty());
}

}  // namespace
}  // namespace basalt::table
