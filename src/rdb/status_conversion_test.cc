#include "rdb/status_conversion.h"

#include <rocksdb/status.h>

#include "base/test_support.h"

// Goal: RocksDB's errors keep their text and become the code that callers react to.
namespace basalt::rdb {
namespace {

TEST(StatusConversion, EveryKindOfErrorBecomesTheCodeThatSomebodyReactsTo) {
  EXPECT_TRUE(from_rocksdb(rdb::Status::OK()).is_ok());
  EXPECT_EQ(from_rocksdb(rdb::Status::NotFound("x")).code(), ErrorCode::kNotFound);
  EXPECT_EQ(from_rocksdb(rdb::Status::Corruption("x")).code(), ErrorCode::kCorruption);
  EXPECT_EQ(from_rocksdb(rdb::Status::IOError("x")).code(), ErrorCode::kIoError);
  EXPECT_EQ(from_rocksdb(rdb::Status::NoSpace()).code(), ErrorCode::kNoSpace);
  EXPECT_EQ(from_rocksdb(rdb::Status::InvalidArgument("x")).code(), ErrorCode::kInvalidArgument);
  EXPECT_EQ(from_rocksdb(rdb::Status::NotSupported("x")).code(), ErrorCode::kUnsupported);
  EXPECT_EQ(from_rocksdb(rdb::Status::MemoryLimit("x")).code(), ErrorCode::kTooLarge);
  EXPECT_EQ(from_rocksdb(rdb::Status::Aborted("x")).code(), ErrorCode::kIoError);
  EXPECT_EQ(from_rocksdb(rdb::Status::ShutdownInProgress()).code(), ErrorCode::kIoError);
}

TEST(StatusConversion, TheTextThatNamesFileAndCauseIsKept) {
  const Status status = from_rocksdb(rdb::Status::IOError("while writing", "000007.sst"));
  EXPECT_NE(status.message().find("while writing"), std::string::npos);
  EXPECT_NE(status.message().find("000007.sst"), std::string::npos);
  EXPECT_NE(from_rocksdb(rdb::Status::NoSpace()).message().find("free space"), std::string::npos);
}

}  // namespace
}  // namespace basalt::rdb
