#include "kv/log_marks.h"

#include <gtest/gtest.h>

namespace basalt::kv {
namespace {

TEST(LogMarksFormat, IsFrozen) {
  const LogMark mark{LogMark::Kind::kIngesting, 0x0102};
  const std::string_view bytes("basalt\x02\x02\x01\0\0\0\0\0\0", 15);
  EXPECT_EQ(encode(mark), bytes);
  EXPECT_EQ(parse_log_mark(bytes), mark);
}

TEST(LogMarksFormat, OtherBytesAreNoMark) {
  const std::string bytes = encode({LogMark::Kind::kOpened, 7});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(parse_log_mark(bytes.substr(0, size)), LogMark());
  }
  EXPECT_EQ(parse_log_mark("nothing"), LogMark());
  std::string unknown = bytes;
  unknown[6] = 9;
  EXPECT_EQ(parse_log_mark(unknown), LogMark());
}

}  // namespace
}  // namespace basalt::kv
