#include "codec/collation.h"

#include <gtest/gtest.h>

namespace basalt::codec {
namespace {

TEST(BinaryCollation, CountsBytesAndDoesNotPad) {
  const Collation& binary = binary_collation();
  EXPECT_EQ(binary.traits().id, 63);
  EXPECT_TRUE(binary.traits().bytes_are_weights);
  EXPECT_FALSE(binary.traits().pads_with_space);
  EXPECT_EQ(binary.prefix_bytes("\xC3\xA4z", 1), 1u);
  EXPECT_EQ(binary.prefix_bytes("ab", 2), 2u);
  EXPECT_EQ(binary.prefix_bytes("ab", 3), 2u);
}

TEST(BinaryCollation, WeightsAreTheBytes) {
  std::string out = "x";
  binary_collation().append_weights("a ", 0, out);
  EXPECT_EQ(out, "xa ");
}

}  // namespace
}  // namespace basalt::codec
