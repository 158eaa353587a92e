#include "codec/internal/string_key.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "codec/internal/test_support.h"

namespace basalt::codec {
namespace {

using std::string_literals::operator""s;
using Padding = StringForm::Padding;

std::string encode(std::string_view units, const StringForm& form) {
  std::string out = "head";
  append_string_key(units, form, out);
  EXPECT_TRUE(out.starts_with("head"));
  return out.substr(4);
}

StringForm space_run(std::uint8_t width = 1, std::uint32_t space = ' ') {
  return make_string_form(Padding::kSpaceRun, width, space);
}
StringForm zero_escaped(std::uint8_t width = 1) {
  return make_string_form(Padding::kZeroEscaped, width, 0x20);
}
StringForm space_count(std::uint8_t width = 1, std::uint32_t space = ' ') {
  return make_string_form(Padding::kSpaceCount, width, space);
}

constexpr Padding kPaddings[] = {Padding::kSpaceRun, Padding::kZeroEscaped, Padding::kSpaceCount};

// All strings up to length 4 over bytes around the space and the ends of the range, and runs of
// spaces around the longest that fits into one byte, with every kind of neighbour.
std::vector<std::string> hostile_strings() {
  constexpr std::string_view kBytes("\x00\x1F\x20\x21\xFF", 5);
  std::vector<std::string> strings{""};
  for (std::size_t begin = 0, length = 1; length <= 4; ++length) {
    const std::size_t end = strings.size();
    for (; begin < end; ++begin)
      for (const char byte : kBytes) strings.push_back(strings[begin] + byte);
  }
  for (const std::size_t run : {5, 125, 126, 127, 128, 251, 252, 253, 254, 378, 379})
    for (const std::string& head : {""s, "!"s})
      for (const std::string& tail : {""s, "\0"s, "\x1F"s, "!"s, "\xFF"s, "! !"s})
        strings.push_back(head + std::string(run, ' ') + tail);
  return strings;
}

std::string complement(std::string bytes) {
  for (char& byte : bytes) byte = static_cast<char>(~byte);
  return bytes;
}

class StringKeyOrder : public testing::TestWithParam<std::size_t> {};

// Goal: the promises of the header against the obvious comparison. Method: all pairs.
TEST_P(StringKeyOrder, EncodingsSortLikeTheStringsAndNoneIsAPrefixOfAnother) {
  const Collation& collation = test::collation(GetParam());
  const Collation::Traits& traits = collation.traits();
  const bool wide = !traits.bytes_are_weights;
  const auto width = wide ? traits.weight_width : std::uint8_t{1};
  for (const Padding padding : kPaddings) {
    const StringForm form = make_string_form(padding, width, traits.space_weight);
    const std::vector<std::string> strings = hostile_strings();
    std::vector<test::Units> units;
    std::vector<std::string> keys;
    for (const std::string& string : strings) {
      units.push_back(test::units_of(collation, string));
      std::string weights = string;
      if (wide) {
        weights.clear();
        collation.append_weights(string, 0, weights);
      }
      keys.push_back(encode(weights, form));
    }
    for (std::size_t a = 0; a < strings.size(); ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        const int expected = padding == Padding::kSpaceRun
                                 ? test::compare_padded(units[a], units[b], traits.space_weight)
                                 : test::compare_unpadded(units[a], units[b]);
        ASSERT_EQ(test::sign_of(keys[a].compare(keys[b])), expected)
            << testing::PrintToString(strings[a]) << " vs " << testing::PrintToString(strings[b]);
        ASSERT_TRUE(expected == 0 ||
                    (!keys[a].starts_with(keys[b]) && !keys[b].starts_with(keys[a])))
            << testing::PrintToString(strings[a]) << " vs " << testing::PrintToString(strings[b]);
      }
    }
  }
}

TEST_P(StringKeyOrder, SkippingEndsExactlyBehindAnEncodingOrReportsItsTruncation) {
  const Collation& collation = test::collation(GetParam());
  const Collation::Traits& traits = collation.traits();
  const auto width = traits.bytes_are_weights ? std::uint8_t{1} : traits.weight_width;
  for (const Padding padding : kPaddings) {
    const StringForm form = make_string_form(padding, width, traits.space_weight);
    for (const std::string& string : hostile_strings()) {
      std::string weights;
      if (traits.bytes_are_weights) {
        weights = string;
      } else {
        collation.append_weights(string, 0, weights);
      }
      for (const std::uint8_t mask : {0x00, 0xFF}) {
        std::string key = encode(weights, form);
        if (mask != 0) key = complement(key);
        const std::string longer = key + "\x80\x01";
        Cursor from{std::string_view(longer)};
        ASSERT_EQ(skip_string_key(from, form, mask), nullptr);
        ASSERT_EQ(from.left(), 2u) << testing::PrintToString(string);
        for (std::size_t kept = 0; kept < key.size(); ++kept) {
          const test::ExactCopy cut(key.substr(0, kept));
          Cursor rest{cut.view()};
          ASSERT_NE(skip_string_key(rest, form, mask), nullptr) << kept;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(EveryCollation, StringKeyOrder,
                         testing::Range<std::size_t>(0, test::kCollations));

TEST(StringKey, DecodingGivesTheBytesBackUpToTrailingSpaces) {
  for (const StringForm& form : {space_run(), zero_escaped()}) {
    for (const std::string& string : hostile_strings()) {
      std::string expected = string;
      if (form.padding == Padding::kSpaceRun)
        while (expected.ends_with(' ')) expected.pop_back();
      for (const std::uint8_t mask : {0x00, 0xFF}) {
        std::string key = encode(string, form);
        if (mask != 0) key = complement(key);
        std::vector<std::uint8_t> to(expected.size());
        std::size_t size = 99;
        Cursor from{std::string_view(key)};
        ASSERT_EQ(decode_string_key(from, form, mask, to.data(), to.size(), size), nullptr);
        ASSERT_EQ(from.left(), 0u);
        ASSERT_EQ(std::string(to.begin(), to.end()), expected);
        ASSERT_EQ(size, expected.size());
        if (expected.empty()) continue;
        from = Cursor{std::string_view(key)};
        const std::size_t less = to.size() - 1;
        ASSERT_NE(decode_string_key(from, form, mask, to.data(), less, size), nullptr);
      }
    }
  }
}

TEST(StringKey, RejectsBytesThatNoEncoderWrites) {
  const auto rejects = [](std::string_view key, const StringForm& form) {
    Cursor from{key};
    return skip_string_key(from, form, 0) != nullptr;
  };
  EXPECT_TRUE(rejects("a \0"s, space_run()));
  EXPECT_TRUE(rejects("a \x7F\x00 \x80"s, space_run()));
  EXPECT_TRUE(rejects("a \x7F\x80"s, space_run()));
  EXPECT_TRUE(rejects("a \x7F\x81"s, space_run()));
  EXPECT_TRUE(rejects("a \x81\x01"s, space_run()));
  EXPECT_TRUE(rejects("a \x81\x80"s, space_run()));
  EXPECT_TRUE(rejects("a\0\0"s, zero_escaped()));
  EXPECT_TRUE(rejects("a\0\2"s, zero_escaped()));
  EXPECT_TRUE(rejects("a\0\2"s, space_count()));
  EXPECT_TRUE(rejects("a \x80\0\1"s, space_count()));
  EXPECT_TRUE(rejects("a \x7F\x81\0\1"s, space_count()));
  EXPECT_TRUE(rejects("\x82\x09\x80\0\1"s, space_count(2, 0x0209)));
}

// Pins the stored format. If this fails, existing indexes can no longer be read.
TEST(StringKey, SpaceRunFormatIsFrozen) {
  EXPECT_EQ(encode("", space_run()), " \x80");
  EXPECT_EQ(encode("ab", space_run()), "ab \x80");
  EXPECT_EQ(encode("ab   ", space_run()), "ab \x80");
  EXPECT_EQ(encode("a b", space_run()), "a \377b \x80");
  EXPECT_EQ(encode("a  b", space_run()), "a \376b \x80");
  EXPECT_EQ(encode("a \tb", space_run()), "a \x01\tb \x80");
  EXPECT_EQ(encode("  \t", space_run()), " \x02\t \x80");
  EXPECT_EQ(encode(std::string(126, ' ') + "x", space_run()), " \x82x \x80");
  EXPECT_EQ(encode(std::string(127, ' ') + "x", space_run()), " \x81\xFFx \x80");
  EXPECT_EQ(encode(std::string(253, ' ') + "x", space_run()), " \x81\x81\xFFx \x80");
  EXPECT_EQ(encode(std::string(126, ' ') + "\t", space_run()), " \x7E\t \x80");
  EXPECT_EQ(encode(std::string(127, ' ') + "\t", space_run()), " \x7F\x01\t \x80");
  EXPECT_EQ(encode(std::string(252, ' ') + "\t", space_run()), " \x7F\x7E\t \x80");
  EXPECT_EQ(encode("a\0"s, space_run()), "a\0 \x80"s);
}

// Pins the stored format. If this fails, existing indexes can no longer be read.
TEST(StringKey, ZeroEscapedFormatIsFrozen) {
  EXPECT_EQ(encode("", zero_escaped()), "\0\1"s);
  EXPECT_EQ(encode("a b ", zero_escaped()), "a b \0\1"s);
  EXPECT_EQ(encode("\0a\0"s, zero_escaped()), "\0\377a\0\xFF\0\1"s);
}

// Pins the stored format. If this fails, existing indexes can no longer be read.
TEST(StringKey, SpaceCountFormatIsFrozen) {
  EXPECT_EQ(encode("", space_count()), "\0\1"s);
  EXPECT_EQ(encode("ab", space_count()), "ab\0\1"s);
  EXPECT_EQ(encode("ab  ", space_count()), "ab \2\0\1"s);
  EXPECT_EQ(encode(std::string(127, ' '), space_count()), " \x7F\1\0\1"s);
  EXPECT_EQ(encode("a \t  b\0"s, space_count()), "a \1\t \376b\0\xFF\0\1"s);
  EXPECT_EQ(encode("\x20\x75\x02\x09\x02\x09\x02\x09"s, space_count(2, 0x0209)),
            "\xA0\x75\x82\x09\3\0\1"s);
}

// Pins the stored format. If this fails, existing indexes can no longer be read.
TEST(StringKey, FormatOfWideUnitsIsFrozen) {
  const StringForm form = space_run(2, 0x0209);
  EXPECT_EQ(encode("", form), "\x82\x09\x80");
  EXPECT_EQ(encode("\x00\x7F\x00\x80\x3F\xFF\x40\x00\xFF\xFF"s, form),
            "\x7F\x80\x80\xBF\xFF\xC0\x40\x00\xC0\xFF\xFF\x82\x09\x80"s);
  EXPECT_EQ(encode("\x02\x09\x02\x08\x02\x09\x02\x09\x02\x0A\x02\x09"s, form),
            "\x82\x09\x01\x82\x08\x82\x09\xFE\x82\x0A\x82\x09\x80"s);
  EXPECT_EQ(encode("\x3F\xFF\xFF\x00\x00\x20"s, space_run(3, 0x20)), "\xFF\xFF\xFF \x80");
  EXPECT_EQ(encode("\x00\x41\x00\x00"s, zero_escaped(2)), "A\0\xFF\0\1"s);
  EXPECT_EQ(encode("\x01\x00\x00\x00\x00\x00"s, zero_escaped(3)), "\xC1\0\0\0\xFF\0\1"s);
}

}  // namespace
}  // namespace basalt::codec
