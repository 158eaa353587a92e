#include "wal/wal_marks.h"

#include <gtest/gtest.h>

namespace basalt::wal {
namespace {

TEST(WalMarksFormat, IsFrozen) {
  const WalMark mark{WalMark::Kind::kIngesting, 0x0102};
  const std::string_view bytes("basalt\x02\x02\x01\0\0\0\0\0\0", 15);
  EXPECT_EQ(encode(mark), bytes);
  EXPECT_EQ(parse_wal_mark(bytes), mark);
}

TEST(WalMarksFormat, AMarkIsFoundInARecordOfSeveralBatches) {
  const WalMark mark{WalMark::Kind::kIngested, 3};
  const std::string before("\x03\x0f");
  const std::string other = encode({WalMark::Kind::kOpened, 9});
  EXPECT_EQ(find_wal_mark(before + "text" + other + before + encode(mark) + before + other), mark);
  EXPECT_EQ(find_wal_mark(before), WalMark());
}

TEST(WalMarksFormat, OtherBytesAreNoMark) {
  const std::string bytes = encode({WalMark::Kind::kOpened, 7});
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(parse_wal_mark(bytes.substr(0, size)), WalMark());
  }
  EXPECT_EQ(parse_wal_mark("nothing"), WalMark());
  std::string unknown = bytes;
  unknown[6] = 9;
  EXPECT_EQ(parse_wal_mark(unknown), WalMark());
}

}  // namespace
}  // namespace basalt::wal
