// Goal: what cannot be read is not taken for missing: a table that an error makes look empty would
// be read first in every join. Method: the table's files fail when they are read.
#include <memory>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/test_support.h"
#include "kv/test_directory.h"
#include "stats/key_layouts.h"
#include "stats/table_statistics.h"
#include "wal/faulty_file_system.h"

namespace basalt::stats {
namespace {

using basalt::test::must;
using wal::test::FaultyFileSystem;
using wal::test::Operation;

constexpr std::uint32_t kRows = 30'000;

class ReadErrorTest : public testing::Test {
 protected:
  ReadErrorTest() {
    open();
    catalog::TableDefinition definition;
    definition.name = "test/t";
    definition.columns = {{"id", codec::ColumnKind::kSignedInteger, 4, 0, false, true}};
    definition.indexes = {{"PRIMARY", 0, 0, true, {{0, 0, false, 4}}}};
    table_ = must(catalog_->create(std::move(definition)));
  }
  ~ReadErrorTest() override { database_->set_key_structures(nullptr); }

  // Nothing is in memory then.
  void open() {
    key_layouts_.reset();
    catalog_.reset();
    database_.reset();
    kv::DatabaseOptions options = kv::test::small_options(directory_ / "db");
    options.direct_io = kv::DirectIo::kOff;
    database_ = must(kv::Database::open(options, files_));
    catalog_ = std::make_unique<catalog::Catalog>(*database_);
    must(catalog_->load());
    key_layouts_ = std::make_unique<KeyLayouts>(*catalog_, nullptr);
  }
  void write_rows() {
    kv::WriteBatch batch;
    for (std::uint32_t row = 0; row < kRows; ++row) {
      std::string key;
      append_be32(key, table_->indexes[0].id);
      append_be32(key, row);
      batch.put(kv::kDefaultFamily, key, std::string(80, static_cast<char>('a' + row % 26)));
    }
    must(database_->write(batch, kv::Durability::kBuffered));
    must(database_->flush());
  }
  std::uint64_t rows_while_unreadable() {
    files_->set({.operation = Operation::kRead, .part = ".sst"});
    TableStatistics statistics(*database_, *catalog_, key_layouts_.get(), table_,
                               std::make_shared<ChangedRows>());
    const std::uint64_t rows = statistics.size().rows;
    EXPECT_GT(files_->failures(), 0);
    files_->heal();
    return rows;
  }

  kv::test::TestDirectory directory_;
  std::shared_ptr<FaultyFileSystem> files_ = std::make_shared<FaultyFileSystem>();
  std::unique_ptr<kv::Database> database_;
  std::unique_ptr<catalog::Catalog> catalog_;
  std::unique_ptr<KeyLayouts> key_layouts_;
  catalog::TablePointer table_;
};

TEST_F(ReadErrorTest, ATableThatCannotBeReadHasTheRowsThatItsFilesTellOf) {
  database_->set_key_structures(key_layouts_.get());
  write_rows();
  database_->set_key_structures(nullptr);
  open();
  EXPECT_GT(rows_while_unreadable(), kRows / 2);
}

TEST_F(ReadErrorTest, ATableThatCannotBeReadIsNotEmptyThoughItsFilesTellNothing) {
  write_rows();
  open();
  EXPECT_GT(rows_while_unreadable(), 100u);
}

}  // namespace
}  // namespace basalt::stats
