#include "bulk/background_writer.h"

#include <rocksdb/env.h>
#include <rocksdb/iterator.h>
#include <rocksdb/options.h>
#include <rocksdb/sst_file_reader.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/test_directory.h"
#include "base/test_support.h"
#include "rdb/slice.h"
#include "wal/faulty_file_system.h"

// Goal: files have every entry once, in their order; a disk that fails is an error for who goes on,
// and for nobody else. Method: files that are read back, and a disk that fails at some call.
namespace basalt::bulk {
namespace {

using basalt::test::fails_with;
using basalt::test::must;
using basalt::test::succeeds;
using wal::test::FaultyFileSystem;
using wal::test::Operation;
using Entries = std::vector<std::pair<std::string, std::string>>;

class BackgroundWriterTest : public testing::Test {
 protected:
  BackgroundWriterTest() { options_.env = env_.get(); }
  BackgroundWriter& begin(std::uint64_t file_bytes_max) {
    return writer_.emplace(std::make_unique<SstWriter>(options_, nullptr, health_,
                                                       directory_ / "file", file_bytes_max));
  }
  static std::string key_of(std::uint32_t number) {
    std::string key;
    append_be32(key, number);
    return key;
  }
  // Bytes that take as much in a file.
  static std::string value_of(std::uint32_t number, std::size_t bytes) {
    std::string value;
    for (std::uint64_t mixed = number + 1; value.size() < bytes;) {
      mixed = mixed * 6364136223846793005 + 1442695040888963407;
      append_be64(value, mixed ^ mixed >> 29);
    }
    value.resize(bytes);
    return value;
  }
  Status put(std::uint32_t count, std::size_t value_bytes) {
    for (std::uint32_t i = 0; i < count; ++i) {
      BASALT_TRY(writer_->put(key_of(i), value_of(i, value_bytes)));
    }
    return Status::ok();
  }
  Entries written() {
    Entries entries;
    for (const std::string& path : writer_->paths()) {
      rdb::SstFileReader file(options_);
      EXPECT_TRUE(file.Open(path).ok());
      const std::unique_ptr<rdb::Iterator> iterator(file.NewIterator(rdb::ReadOptions()));
      for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
        entries.emplace_back(rdb::view_of(iterator->key()), rdb::view_of(iterator->value()));
      }
      EXPECT_TRUE(iterator->status().ok());
    }
    return entries;
  }
  void expect_all(std::uint32_t count, std::size_t value_bytes) {
    const Entries entries = written();
    ASSERT_EQ(entries.size(), count);
    for (std::uint32_t i = 0; i < count; ++i) {
      ASSERT_EQ(entries[i], std::pair(key_of(i), value_of(i, value_bytes))) << i;
    }
  }

  basalt::test::TestDirectory directory_;
  std::shared_ptr<FaultyFileSystem> files_ = std::make_shared<FaultyFileSystem>();
  const std::unique_ptr<rdb::Env> env_ = rdb::NewCompositeEnv(files_);
  wal::Health health_{directory_.path(), 0};
  rdb::Options options_;
  std::optional<BackgroundWriter> writer_;
};

TEST_F(BackgroundWriterTest, EveryEntryIsWrittenOnce) {
  for (const std::uint32_t count : {0U, 1U, 1000U, 100'000U}) {
    begin(std::uint64_t{1} << 30);
    must(put(count, 30));
    ASSERT_TRUE(succeeds(writer_->finish()));
    EXPECT_EQ(writer_->paths().size(), count == 0 ? 0U : 1U);
    expect_all(count, 30);
  }
}

TEST_F(BackgroundWriterTest, ThereMayBeSeveralFiles) {
  begin(std::uint64_t{1} << 20);
  must(put(50'000, 100));
  ASSERT_TRUE(succeeds(writer_->finish()));
  EXPECT_GE(writer_->paths().size(), 4U);
  expect_all(50'000, 100);
}

TEST_F(BackgroundWriterTest, AnEntryMayBeLargerThanABuffer) {
  begin(std::uint64_t{1} << 20);
  must(put(20, 2 * BackgroundWriter::kBufferBytes));
  ASSERT_TRUE(succeeds(writer_->finish()));
  expect_all(20, 2 * BackgroundWriter::kBufferBytes);
}

TEST_F(BackgroundWriterTest, AFailureFailsWhatComesAndTheEnd) {
  for (const int skipped : {0, 1, 5, 12}) {
    begin(std::uint64_t{1} << 20);
    files_->set({.operation = Operation::kAppend, .part = ".sst", .skipped = skipped});
    Status status = put(200'000, 100);
    EXPECT_FALSE(status.is_ok()) << skipped;
    EXPECT_TRUE(fails_with(ErrorCode::kIoError, writer_->put("z", ""))) << skipped;
    EXPECT_TRUE(fails_with(ErrorCode::kIoError, writer_->finish())) << skipped;
    files_->heal();
  }
}

TEST_F(BackgroundWriterTest, WhoGivesItUpAwaitsNothing) {
  begin(std::uint64_t{1} << 20);
  must(put(50'000, 100));
  writer_.reset();
  begin(std::uint64_t{1} << 20);
  writer_.reset();
}

}  // namespace
}  // namespace basalt::bulk
