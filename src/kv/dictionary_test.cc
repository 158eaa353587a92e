#include <rocksdb/advanced_cache.h>
#include <rocksdb/options.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/transaction_db.h>

#include <memory>
#include <string>

#include "base/bytes.h"
#include "base/test_support.h"
#include "kv/database.h"
#include "kv/iterator.h"
#include "kv/test_directory.h"
#include "wal/faulty_file_system.h"

// Goal: the dictionary that the blocks of a file share costs one read, and leaves blocks to be read
// ahead. Method: reads of data files are counted, when nothing of them is in the cache.
namespace basalt::kv {
namespace {

using basalt::test::must;
using wal::test::FaultyFileSystem;
using wal::test::Operation;

constexpr std::uint32_t kRows = 100'000;

std::string key_of(std::uint32_t number) {
  std::string key;
  append_be32(key, 300);
  append_be32(key, number);
  return key;
}

class DictionaryTest : public testing::Test {
 protected:
  // A file in the last level, of nearly four hundred blocks.
  DictionaryTest() {
    put_each(1);
    must(database_->compact(kDefaultFamily, {}));
  }
  void put_each(std::uint32_t step) {
    WriteBatch batch;
    for (std::uint32_t i = 0; i < kRows; i += step) {
      batch.put(kDefaultFamily, key_of(i), std::to_string(i * 2654435761U) + std::to_string(i * i));
    }
    must(database_->write(batch, Durability::kBuffered));
    must(database_->flush());
  }
  void count_reads_without_cache() {
    const auto* const table =
        database_->rocksdb().GetOptions().table_factory->GetOptions<rdb::BlockBasedTableOptions>();
    ASSERT_NE(table, nullptr);
    table->block_cache->EraseUnRefEntries();
    // All calls that are counted succeed.
    files_->set({.operation = Operation::kRead, .part = ".sst", .cause = 0});
  }

  const test::TestDirectory directory_;
  const std::shared_ptr<FaultyFileSystem> files_ = std::make_shared<FaultyFileSystem>();
  const std::unique_ptr<Database> database_ =
      must(Database::open(test::small_options(directory_ / "db"), files_));
};

TEST_F(DictionaryTest, ACompactionReadsTheDictionaryOfAFileOnce) {
  put_each(1000);
  count_reads_without_cache();
  must(database_->compact(kDefaultFamily, {}));
  EXPECT_GT(files_->failures(), 0);
  EXPECT_LT(files_->failures(), 500) << "not two for each block";
}

TEST_F(DictionaryTest, ARangeIsReadAheadThoughTheDictionaryIsReadBefore) {
  count_reads_without_cache();
  const KeyRange range{key_of(50'000), key_of(52'000)};
  Iterator iterator = database_->new_iterator(kDefaultFamily, {.expected_bytes = 60'000}, range);
  std::uint32_t entries = 0;
  for (iterator.seek_to_first(); iterator.is_valid(); iterator.next()) ++entries;
  must(iterator.status());
  EXPECT_EQ(entries, 2000U);
  EXPECT_LE(files_->failures(), 4) << "of nearly eight blocks; index and dictionary";
}

}  // namespace
}  // namespace basalt::kv
