#include "kv/database_directory.h"

#include <rocksdb/comparator.h>
#include <rocksdb/db.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/test_support.h"
#include "kv/test_directory.h"
#include "rdb/rocksdb_fwd.h"

// Goal: a directory of MyRocks is refused before anything in it changes. Method: a database with
// the order of keys that MyRocks gives its families.
namespace basalt::kv {
namespace {

namespace fs = std::filesystem;
using basalt::test::must;

class MyRocksOrder final : public rdb::Comparator {
 public:
  const char* Name() const override { return "RocksDB_SE_v3.10"; }
  int Compare(const rdb::Slice& a, const rdb::Slice& b) const override { return a.compare(b); }
  void FindShortestSeparator(std::string*, const rdb::Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

class DatabaseDirectoryTest : public testing::Test {
 protected:
  // Leaves a database with entries in a file and in the WAL.
  void make_myrocks() {
    static const MyRocksOrder order;
    rdb::Options options;
    options.create_if_missing = true;
    options.create_missing_column_families = true;
    options.comparator = &order;
    const std::vector<rdb::ColumnFamilyDescriptor> families = {
        {rdb::kDefaultColumnFamilyName, options}, {"__system__", options}};
    std::vector<rdb::ColumnFamilyHandle*> handles;
    std::unique_ptr<rdb::DB> db;
    ASSERT_TRUE(rdb::DB::Open(options, path_, families, &handles, &db).ok());
    ASSERT_TRUE(db->Put(rdb::WriteOptions(), "a", "1").ok());
    ASSERT_TRUE(db->Flush(rdb::FlushOptions()).ok());
    ASSERT_TRUE(db->Put(rdb::WriteOptions(), "b", "2").ok());
    for (rdb::ColumnFamilyHandle* handle : handles) {
      ASSERT_TRUE(db->DestroyColumnFamilyHandle(handle).ok());
    }
  }
  std::map<std::string, std::string> files() const {
    std::map<std::string, std::string> files;
    for (const auto& entry : fs::directory_iterator(path_)) {
      std::ifstream file(entry.path(), std::ios::binary);
      files[entry.path().filename()] = std::string(std::istreambuf_iterator<char>(file), {});
    }
    return files;
  }

  test::TestDirectory directory_;
  const std::string path_ = directory_ / "db";
};

TEST_F(DatabaseDirectoryTest, ADatabaseOfMyRocksIsRefusedWithTheRemedyAndNothingInItChanges) {
  make_myrocks();
  const std::map<std::string, std::string> before = files();
  ASSERT_FALSE(before.empty());
  const Result<std::unique_ptr<Database>> opened = Database::open(test::small_options(path_));
  ASSERT_FALSE(opened.is_ok());
  EXPECT_EQ(opened.status().code(), ErrorCode::kUnsupported);
  EXPECT_NE(opened.status().message().find(path_), std::string::npos);
  EXPECT_NE(opened.status().message().find("MyRocks"), std::string::npos);
  EXPECT_NE(opened.status().message().find("migrate"), std::string::npos);
  EXPECT_EQ(files(), before);
}

TEST_F(DatabaseDirectoryTest, OursIsNotTakenForOneOfMyRocks) {
  test::open_database(path_).reset();
  must(check_directory(test::small_options(path_)));
  // As little as what it holds makes it one.
  {
    const std::unique_ptr<Database> database = test::open_database(path_);
    WriteBatch batch;
    batch.put(kDefaultFamily, "RocksDB_SE_v3.10", "RocksDB_SE_v3.10");
    must(database->write(batch, Durability::kSynced));
  }
  must(check_directory(test::small_options(path_)));
}

}  // namespace
}  // namespace basalt::kv
