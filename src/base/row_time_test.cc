#include "base/row_time.h"

#include <gtest/gtest.h>

namespace basalt {
namespace {

// Whether a row of that time is expired.
bool is_expired(const RowLifetime& lifetime, std::uint64_t time, std::uint64_t now) {
  return time < lifetime.expired_before(now);
}

TEST(RowLifetime, ARowIsExpiredWhenItsLifetimeHasPassed) {
  const RowLifetime lifetime = {.seconds = 10};
  EXPECT_FALSE(is_expired(lifetime, 100, 109));
  EXPECT_TRUE(is_expired(lifetime, 100, 110));
  EXPECT_TRUE(is_expired(lifetime, 100, UINT64_MAX));
  EXPECT_FALSE(is_expired(lifetime, 100, 0)) << "a row of the future";
  EXPECT_FALSE(is_expired(lifetime, 0, 9));
  EXPECT_TRUE(is_expired(lifetime, 0, 10));
}

TEST(RowLifetime, TheLongestLifetimeDoesNotOverflow) {
  const RowLifetime lifetime = {.seconds = UINT64_MAX};
  EXPECT_FALSE(is_expired(lifetime, 1, UINT64_MAX));
  EXPECT_TRUE(is_expired(lifetime, 0, UINT64_MAX));
  EXPECT_FALSE(is_expired(lifetime, UINT64_MAX, UINT64_MAX));
}

TEST(RowLifetime, WithoutOneOnlyRowsThatAreGoneAreExpired) {
  EXPECT_FALSE(is_expired({}, 0, UINT64_MAX));
  const RowLifetime ended = {.seconds = 0, .gone_before = 50};
  EXPECT_TRUE(is_expired(ended, 49, 0));
  EXPECT_FALSE(is_expired(ended, 50, UINT64_MAX));
  const RowLifetime longer = {.seconds = 1000, .gone_before = 50};
  EXPECT_TRUE(is_expired(longer, 49, 60));
  EXPECT_FALSE(is_expired(longer, 50, 1049));
  EXPECT_TRUE(is_expired(longer, 50, 1050));
}

// Pins the stored form. If this fails, existing tables can no longer be read.
TEST(RowTime, StoredFormatIsFrozen) {
  std::string value = "row";
  prepend_row_time(0x0102030405060708, value);
  EXPECT_EQ(value, "\x01\x02\x03\x04\x05\x06\x07\x08row");
  EXPECT_EQ(row_time(value), 0x0102030405060708u);
}

TEST(RowTime, AValueThatIsTooShortIsNotExpired) {
  EXPECT_EQ(row_time(""), UINT64_MAX);
  EXPECT_EQ(row_time("\1\2\3\4\5\6\7"), UINT64_MAX);
}

}  // namespace
}  // namespace basalt
