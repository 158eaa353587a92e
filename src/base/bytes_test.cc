#include "base/bytes.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "base/test_support.h"

// Goal: stored integers come back, in the pinned form, and no damaged one is read out of bounds.
namespace basalt {
namespace {

using namespace std::string_literals;

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

std::string varint(std::uint64_t value) {
  std::string out;
  append_varint(out, value);
  return out;
}

// The numbers around each change of length.
std::vector<std::uint64_t> boundaries() {
  std::vector<std::uint64_t> numbers = {0, 1, kMax - 1, kMax};
  for (int bits = 7; bits < 64; bits += 7) {
    const std::uint64_t power = std::uint64_t{1} << bits;
    numbers.insert(numbers.end(), {power - 1, power, power + 1});
  }
  return numbers;
}

TEST(CommonBytes, EndWhereTheStringsDifferOrTheShorterEnds) {
  for (std::size_t size = 0; size < 20; ++size) {
    const std::string whole(size, 'x');
    EXPECT_EQ(common_bytes(whole, whole), size);
    EXPECT_EQ(common_bytes(whole, whole + "y"), size);
    for (std::size_t i = 0; i < size; ++i) {
      std::string other = whole;
      other[i] = 'y';
      EXPECT_EQ(common_bytes(whole, other), i);
    }
  }
}

TEST(Varint, EveryLengthComesBackAndNothingBehindItIsConsumed) {
  for (const std::uint64_t number : boundaries()) {
    const std::string stored = varint(number) + "\xFFrest";
    std::string_view bytes = stored;
    std::uint64_t value = 0;
    ASSERT_TRUE(consume_varint(bytes, value)) << number;
    EXPECT_EQ(value, number);
    EXPECT_EQ(bytes, "\xFFrest");
  }
}

TEST(Varint, StoredFormatIsFrozen) {
  EXPECT_EQ(varint(0), "\0"s);
  EXPECT_EQ(varint(127), "\x7F"s);
  EXPECT_EQ(varint(128), "\x80\x01"s);
  EXPECT_EQ(varint(300), "\xAC\x02"s);
  EXPECT_EQ(varint(kMax), "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"s);
}

TEST(Varint, ATruncatedOneChangesNothing) {
  for (const std::uint64_t number : boundaries()) {
    const std::string whole = varint(number);
    for (std::size_t kept = 0; kept < whole.size(); ++kept) {
      const std::string cut = whole.substr(0, kept);
      std::string_view bytes = cut;
      std::uint64_t value = 42;
      ASSERT_FALSE(consume_varint(bytes, value)) << number << " cut to " << kept;
      EXPECT_EQ(value, 42u);
      EXPECT_EQ(bytes, cut);
    }
  }
}

TEST(Varint, MoreThan64BitsAreRejected) {
  const std::string nine(9, '\xFF');
  for (const std::string& stored : {nine + "\x02", nine + "\x7F", nine + "\x81\x01",
                                    std::string(11, '\x80'), std::string(20, '\xFF')}) {
    std::string_view bytes = stored;
    std::uint64_t value = 42;
    EXPECT_FALSE(consume_varint(bytes, value));
    EXPECT_EQ(value, 42u);
    EXPECT_EQ(bytes.size(), stored.size());
  }
}

TEST(LengthPrefixed, StringsOfEveryLengthComeBack) {
  for (const std::size_t size : {0u, 1u, 127u, 128u, 300u, 70000u}) {
    const std::string text(size, 'x');
    std::string stored;
    append_length_prefixed(stored, text);
    stored += "rest";
    std::string_view bytes = stored;
    std::string_view value;
    ASSERT_TRUE(consume_length_prefixed(bytes, value));
    EXPECT_EQ(value, text);
    EXPECT_EQ(bytes, "rest");
  }
}

TEST(LengthPrefixed, ATruncatedOrOverlongOneChangesNothing) {
  std::string whole;
  append_length_prefixed(whole, std::string(200, 'x'));
  std::vector<std::string> damaged = {varint(kMax) + "abc", varint(4) + "abc"};
  for (std::size_t kept = 0; kept < whole.size(); ++kept) {
    damaged.push_back(whole.substr(0, kept));
  }
  for (const std::string& stored : damaged) {
    std::string_view bytes = stored;
    std::string_view value = "before";
    ASSERT_FALSE(consume_length_prefixed(bytes, value)) << stored.size();
    EXPECT_EQ(value, "before");
    EXPECT_EQ(bytes, stored);
  }
}

TEST(FixedWidth, BigEndianBytesSortLikeTheirNumbers) {
  std::string small;
  std::string large;
  append_be32(small, 0x01020304);
  append_be32(large, 0x01020400);
  EXPECT_EQ(small, "\x01\x02\x03\x04"s);
  EXPECT_LT(small, large);
  EXPECT_EQ(load_be32(large.data()), 0x01020400u);
  std::string wide;
  append_be64(wide, 0x0102030405060708);
  EXPECT_EQ(wide, "\x01\x02\x03\x04\x05\x06\x07\x08"s);
  EXPECT_EQ(load_be64(wide.data()), 0x0102030405060708u);
}

TEST(FixedWidth, NumbersOfBytesOrderAsTheBytesAndMissingOnesAreZeros) {
  const std::string key = "\x01\x02\x03\xFF\x05\x06\x07\x08\x09\x0A"s;
  EXPECT_EQ(number_at(key, 0, 8), 0x010203FF05060708u);
  EXPECT_EQ(number_at(key, 3, 1), 0xFFu);
  EXPECT_EQ(number_at(key, 2, 3), 0x03FF05u);
  EXPECT_EQ(number_at(key, 4, 8), 0x05060708090A0000u);
  EXPECT_EQ(number_at(key, 8, 4), 0x090A0000u);
  EXPECT_EQ(number_at(key, 10, 8), 0u);
  EXPECT_EQ(number_at(key, 99, 8), 0u);
  EXPECT_EQ(number_at(key, 0, 0), 0u);
  EXPECT_EQ(number_at(std::string_view(), 0, 4), 0u);
}

TEST(FixedWidth, EverySizeOfLittleEndianNumbersComesBackAndTouchesNoOtherByte) {
  for (std::size_t size = 1; size <= 8; ++size) {
    const std::uint64_t number = 0x8877665544332211 >> (8 * (8 - size));
    char bytes[10];
    std::memset(bytes, '?', sizeof bytes);
    store_le_sized(bytes + 1, number, size);
    EXPECT_EQ(load_le_sized(bytes + 1, size), number);
    EXPECT_EQ(bytes[0], '?');
    EXPECT_EQ(bytes[size + 1], '?');
  }
}

}  // namespace
}  // namespace basalt
