#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/test_support.h"
#include "catalog/catalog.h"
#include "inspect/arguments.h"
#include "inspect/ldb.h"
#include "inspect/sst_dump.h"
#include "inspect/stored_database.h"
#include "kv/test_directory.h"

// Goal: whoever looks into the files finds each entry under the names of its table and index, and
// leaves the files as they were. Method: the programs, on a database that was closed.
namespace basalt::inspect {
namespace {

namespace fs = std::filesystem;
using basalt::test::must;
using testing::internal::CaptureStdout;
using testing::internal::GetCapturedStdout;

catalog::TableDefinition make_table(const std::string& name) {
  catalog::TableDefinition table;
  table.name = name;
  table.columns = {{"id", codec::ColumnKind::kSignedInteger, 4, 0, false, true}};
  table.indexes = {{"PRIMARY", 0, 0, true, {{0, 0, false, 4}}},
                   {"by_id", 0, 0, false, {{0, 0, false, 4}}}};
  return table;
}

class InspectTest : public testing::Test {
 protected:
  InspectTest() {
    const std::unique_ptr<kv::Database> database = kv::test::open_database(path_);
    catalog::Catalog catalog(*database);
    must(catalog.load());
    for (const char* name : {"shop/customers", "shop/orders"}) {
      const catalog::TablePointer table = catalog.create(make_table(name)).value();
      put(*database, table->indexes[0].id, "\x01", "row");
      put(*database, table->indexes[1].id, "\x01\x02", "");
      // What was dropped is still there.
      put(*database, kUnknownIndex, "\x03", "gone");
    }
    must(database->flush());
    // And this in the WAL alone.
    put(*database, catalog.find("shop/orders")->indexes[0].id, "\x04", "late");
  }
  static void put(kv::Database& database, catalog::IndexId index, std::string_view key,
                  std::string_view value) {
    std::string bytes;
    append_be32(bytes, index);
    kv::WriteBatch batch;
    batch.put(kv::kDefaultFamily, bytes.append(key), value);
    must(database.write(batch, kv::Durability::kSynced));
  }
  // What a program prints when it succeeds.
  static std::string printed(int (*program)(int, char**), std::vector<std::string> words) {
    words.insert(words.begin(), "program");
    std::vector<char*> texts;
    for (std::string& word : words) texts.push_back(word.data());
    CaptureStdout();
    const int code = program(static_cast<int>(texts.size()), texts.data());
    std::string text = GetCapturedStdout();
    return code == 0 ? text : "exit code " + std::to_string(code);
  }
  std::string ldb(std::vector<std::string> words) {
    words.insert(words.begin(), "--db=" + path_);
    return printed(run_ldb, std::move(words));
  }
  // The one file of the family of tables.
  std::string sst_file() const {
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(path_)) {
      if (entry.path().extension() == ".sst") files.push_back(entry.path());
    }
    std::ranges::sort(files);
    for (const std::string& file : files) {
      const std::string text =
          printed(run_sst_dump, {"--command=indexes", "--file=" + file, "--db=" + path_});
      if (text.find("PRIMARY") != std::string::npos) return file;
    }
    return {};
  }
  std::vector<std::string> files() const {
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(path_)) {
      files.push_back(entry.path().filename().string() + " " +
                      std::to_string(fs::file_size(entry.path())) + " " +
                      std::to_string(fs::last_write_time(entry.path()).time_since_epoch().count()));
    }
    std::ranges::sort(files);
    return files;
  }

  static constexpr catalog::IndexId kUnknownIndex = 9999;
  kv::test::TestDirectory directory_;
  const std::string path_ = directory_ / "db";
};

TEST_F(InspectTest, TablesAreListedWithTheirIndexes) {
  const std::string text = ldb({"tables"});
  EXPECT_NE(text.find(" default shop/customers.PRIMARY\n"), std::string::npos) << text;
  EXPECT_NE(text.find(" default shop/orders.by_id\n"), std::string::npos) << text;
}

TEST_F(InspectTest, TheKeysOfATableAreListedByItsNameThoseInTheWalToo) {
  EXPECT_EQ(ldb({"keys", "--table=shop/orders"}),
            "shop/orders.PRIMARY 01\nshop/orders.PRIMARY 04\nshop/orders.by_id 0102\n");
  EXPECT_EQ(ldb({"keys", "--table=shop/orders", "--index=PRIMARY", "--values", "--max_keys=1"}),
            "shop/orders.PRIMARY 01 => 726F77\n");
}

TEST_F(InspectTest, ATableThatIsNotThereAndAnUnknownOptionAreErrors) {
  EXPECT_EQ(ldb({"keys", "--table=shop/nothing"}), "exit code 1");
  EXPECT_EQ(ldb({"keys", "--tables=shop/orders"}), "exit code 1");
  EXPECT_EQ(ldb({"keys", "--max_keys=few"}), "exit code 1");
  EXPECT_EQ(printed(run_ldb, {"--db=" + path_ + "/nowhere", "tables"}), "exit code 1");
}

TEST_F(InspectTest, RocksdbsOwnScanNamesTablesToo) {
  const std::string text = ldb({"scan", "--no_value"});
  EXPECT_NE(text.find("shop/customers.PRIMARY 01\n"), std::string::npos) << text;
  EXPECT_NE(text.find("(no table, index 9999) 03\n"), std::string::npos) << text;
}

TEST_F(InspectTest, CommandsThatChangeFilesAreRefusedAndOthersLeaveThemAsTheyWere) {
  const std::vector<std::string> before = files();
  for (const char* command : {"put", "delete", "compact", "repair", "nonsense"}) {
    EXPECT_EQ(ldb({command, "a", "b"}), "exit code 1") << command;
  }
  for (const char* command : {"tables", "keys", "scan", "checkconsistency", "list_column_families",
                              "manifest_dump", "dump_live_files", "idump"}) {
    EXPECT_NE(ldb({command}), "exit code 1") << command;
  }
  EXPECT_EQ(files(), before);
}

TEST_F(InspectTest, AFileTellsItsIndexesAndEntriesByName) {
  const std::string file = "--file=" + sst_file();
  const std::string indexes = printed(run_sst_dump, {"--command=indexes", file});
  EXPECT_NE(indexes.find("1 0 shop/orders.PRIMARY\n"), std::string::npos) << indexes;
  const std::string keys = printed(run_sst_dump, {"--command=keys", file, "--values"});
  EXPECT_NE(keys.find("shop/orders.PRIMARY 01 seq:"), std::string::npos) << keys;
  EXPECT_NE(keys.find(" put => 726F77\n"), std::string::npos) << keys;
  EXPECT_EQ(printed(run_sst_dump, {"--command=keys", "--file=" + path_ + "/none.sst"}),
            "exit code 1");
}

TEST_F(InspectTest, RocksdbsOwnCheckReadsOurFiles) {
  const std::string text = printed(run_sst_dump, {"--command=check", "--file=" + sst_file()});
  EXPECT_NE(text.find("from [] to []"), std::string::npos) << text;
}

}  // namespace
}  // namespace basalt::inspect
