#include "table/exported_table.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>

#include "base/bytes.h"
#include "table/exported_files.h"
#include "table/table_export.h"
#include "table/table_import.h"
#include "table/test_support.h"

// Goal: a table that is exported and imported has the same rows, of whatever versions, and locks
// out whatever is not what it was.
namespace basalt::table {
namespace {

namespace fs = std::filesystem;

using basalt::test::fails_with;
using basalt::test::must;
using test::Keys;
using test::Row;
using test::Store;

const std::vector<std::string> kTypes = {"int", "varchar(20)",  "varchar(12)",
                                         "int", "int unsigned", "blob"};

ExportedTable small_table() {
  ExportedTable table;
  table.definition.id = 5;
  table.definition.name = "a/t";
  table.definition.columns = {{"c", codec::ColumnKind::kSignedInteger, 4, 0, false, true}};
  table.definition.indexes = {{"PRIMARY", 6, 0, true, {{0, 0, false, 4}}}};
  table.columns = {"int(11)"};
  table.indexes = {{{{"0-1.sst", 300}, {"0-2.sst", 1}}, 7, 0x4142434445464748}};
  table.next_auto_increment = 8;
  table.next_row_id = 9;
  return table;
}

std::string with_checksum(std::string bytes) {
  append_be64(bytes, XXH3_64bits(bytes.data(), bytes.size()));
  return bytes;
}

// Pins the stored form: files that others have copied must be readable for ever.
TEST(ExportedTable, StoredFormatIsFrozen) {
  std::string definition;
  catalog::append_definition(small_table().definition, definition);
  std::string expected = "basalt exported table\n\x01";
  append_length_prefixed(expected, definition);
  expected += std::string(
      "\x01\x07int(11)\x08\x09\x01\x07"
      "ABCDEFGH\x02\x07"
      "0-1.sst\xAC\x02\x07"
      "0-2.sst\x01");
  EXPECT_EQ(pack_exported(small_table()), with_checksum(expected));
  const ExportedTable parsed = must(parse_exported(pack_exported(small_table())));
  EXPECT_EQ(parsed.definition, small_table().definition);
  EXPECT_EQ(parsed.columns, small_table().columns);
  EXPECT_EQ(parsed.indexes, small_table().indexes);
  EXPECT_EQ(parsed.next_auto_increment, 8u);
  EXPECT_EQ(parsed.next_row_id, 9u);
}

TEST(ExportedTable, EachChangedByteIsAnError) {
  const std::string bytes = pack_exported(small_table());
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] ^= 4;
    EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, parse_exported(changed))) << i;
    EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, parse_exported(bytes.substr(0, i)))) << i;
  }
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, parse_exported(bytes + "x")));
}

// By someone who knows how to make the checksum.
TEST(ExportedTable, NoBytesMakeMoreOfItThanAnError) {
  std::mt19937 random(1);
  std::string bytes = pack_exported(small_table());
  bytes.resize(bytes.size() - 8);
  for (int round = 0; round < 20'000; ++round) {
    std::string changed = bytes;
    for (std::uint32_t count = 1 + random() % 3; count != 0; --count) {
      const std::size_t at = 22 + random() % (changed.size() - 22);
      switch (random() % 3) {
        case 0: changed[at] = static_cast<char>(random()); break;
        case 1: changed.erase(at, random() % 4); break;
        default: changed.insert(at, 1, static_cast<char>(random()));
      }
      changed.resize(std::max<std::size_t>(changed.size(), 30));
    }
    const Result<ExportedTable> parsed = parse_exported(with_checksum(changed));
    if (!parsed.is_ok()) {
      EXPECT_TRUE(parsed.status().is(ErrorCode::kInvalidArgument)) << parsed.status().message();
      continue;
    }
    EXPECT_EQ(parsed.value().columns.size(), parsed.value().definition.columns.size());
    EXPECT_EQ(parsed.value().indexes.size(), parsed.value().definition.indexes.size());
  }
}

TEST(ExportedTable, FilesOfOtherDirectoriesAreNotRead) {
  for (const char* const suffix : {"../../0-1.sst", "/etc/passwd", ""}) {
    ExportedTable table = small_table();
    table.indexes[0].files[0].suffix = suffix;
    EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, parse_exported(pack_exported(table))));
  }
}

TEST(ExportedTable, WhatIsOfALaterReleaseSaysSo) {
  std::string bytes = pack_exported(small_table());
  bytes.resize(bytes.size() - 8);
  bytes[22] = 2;
  const auto parsed = parse_exported(with_checksum(bytes));
  ASSERT_TRUE(fails_with(ErrorCode::kInvalidArgument, parsed));
  EXPECT_NE(parsed.status().message().find("later release"), std::string::npos);
}

class ExportTest : public testing::TestWithParam<Keys> {
 protected:
  void insert_rows() {
    test::Session session(source_);
    for (int id = 1; id <= 200; ++id) must(session.insert(test::row_of(id)));
    Row nulls = test::row_of(300);
    nulls.email = nulls.note = std::nullopt;
    must(session.insert(nulls));
    session.commit();
  }
  static ExportedTable described() {
    ExportedTable table;
    table.columns = kTypes;
    return table;
  }
  Result<std::unique_ptr<TableExport>> make_export() {
    return TableExport::make(source_.database(), source_.table(), described(), path_, never_);
  }
  std::size_t file_count() const {
    const fs::directory_iterator files(path_.substr(0, path_.rfind('/')));
    return static_cast<std::size_t>(
        std::count_if(fs::begin(files), fs::end(files),
                      [](const fs::directory_entry& file) { return file.is_regular_file(); }));
  }
  // Of a row's key at most; a hidden one has as many.
  static std::size_t row_key_bytes() { return GetParam() == Keys::kHidden ? 8 : 100; }
  Status import() {
    Result<ExportedTable> exported = read_exported(target_.database(), path_);
    return exported.is_ok() ? import_of(exported.value(), row_key_bytes()) : exported.take_status();
  }
  // Into the target's table.
  Status import_of(const ExportedTable& exported, std::size_t row_key_bytes_max) {
    catalog::Catalog& catalog = target_.catalog();
    must(catalog.truncate("test/orders", catalog::Catalog::Emptied::kDiscarded));
    const catalog::TablePointer reserved =
        must(catalog.reserve_import("test/orders", exported.definition));
    std::uint64_t rows = 0;
    Status status = import_entries(target_.database(), exported, path_, *reserved,
                                   row_key_bytes_max, never_, rows);
    if (!status.is_ok()) {
      catalog.abandon_indexes(reserved);
      return status;
    }
    must(catalog.publish_altered(catalog::AlteredTable(reserved)));
    EXPECT_EQ(rows, exported.indexes[0].entries);
    return Status::ok();
  }

  const test::NeverInterrupted never_;
  kv::test::TestDirectory directory_;
  const std::string path_ = directory_ / "orders";
  Store source_{GetParam()};
  Store target_{GetParam()};
};

TEST_P(ExportTest, ATableThatIsImportedHasTheRowsOfTheExportedOne) {
  insert_rows();
  std::unique_ptr<TableExport> files = must(make_export());
  must(import());
  files.reset();
  for (int round = 0; round < 2; ++round) {
    round == 0 ? target_.reopen() : target_.crash();
    EXPECT_EQ(target_.check(), std::vector<std::string>());
    EXPECT_FALSE(target_.table().definition().is_discarded);
    for (std::size_t index = 0; index < test::kIndexes; ++index) {
      test::Session there(source_);
      test::Session here(target_);
      EXPECT_EQ(here.rows(index), there.rows(index)) << index;
    }
  }
  // No id is another's, nor left behind.
  test::Session session(target_);
  must(session.insert(test::row_of(1000)));
  session.commit();
  EXPECT_EQ(target_.check(), std::vector<std::string>());
}

TEST_P(ExportTest, AnEmptyTableIsImportedToo) {
  const std::unique_ptr<TableExport> files = must(make_export());
  EXPECT_EQ(file_count(), 1u);
  must(import());
  target_.reopen();
  test::Session session(target_);
  EXPECT_EQ(session.rows(), std::vector<Row>());
}

TEST_P(ExportTest, TheFilesGoWithTheExport) {
  insert_rows();
  {
    const std::unique_ptr<TableExport> files = must(make_export());
    EXPECT_EQ(file_count(), 1u + test::kIndexes);
  }
  EXPECT_EQ(file_count(), 0u);
  const test::AlwaysInterrupted always;
  test::Session session(source_);
  for (int id = 1001; id <= 3000; ++id) must(session.insert(test::row_of(id)));
  session.commit();
  EXPECT_TRUE(fails_with(
      ErrorCode::kInterrupted,
      TableExport::make(source_.database(), source_.table(), described(), path_, always)));
  EXPECT_EQ(file_count(), 0u);
}

TEST_P(ExportTest, AFileThatIsNotWhatItWasIsAnErrorAndNothingIsImported) {
  insert_rows();
  const std::unique_ptr<TableExport> files = must(make_export());
  const std::string file = exported_file_path(path_, exported_file_suffix(1, 1));
  const std::string other = exported_file_path(path_, exported_file_suffix(2, 1));
  const auto restore = [&, copy = file + "-copy"](bool back) {
    fs::copy_file(back ? copy : file, back ? file : copy, fs::copy_options::overwrite_existing);
  };
  restore(false);
  const std::vector<std::function<void()>> damages = {
      [&] { fs::remove(file); }, [&] { fs::resize_file(file, fs::file_size(file) - 1); },
      [&] {
        std::fstream damaged(file, std::ios::binary | std::ios::in | std::ios::out);
        damaged.seekp(20);
        damaged << "\xFF\xFF\xFF\xFF\xFF\xFF";
      },
      [&] {
        // Another index's, with the size that is told.
        const auto size = fs::file_size(file);
        fs::copy_file(other, file, fs::copy_options::overwrite_existing);
        fs::resize_file(file, size);
      }};
  for (const auto& damage : damages) {
    damage();
    EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, import()));
    restore(true);
  }
  must(import());
  target_.reopen();
  EXPECT_EQ(target_.check(), std::vector<std::string>());
  for (const catalog::DroppedIndex& dropped : target_.catalog().dropped_indexes()) {
    EXPECT_EQ(target_.catalog().find_by_index(dropped.id), nullptr);
  }
}

// Their sizes may be the same.
TEST_P(ExportTest, FilesOfTwoExportsAreNotMixed) {
  insert_rows();
  const std::unique_ptr<TableExport> files = must(make_export());
  const ExportedTable exported = must(read_exported(target_.database(), path_));
  Store other(GetParam());
  test::Session session(other);
  Row changed = test::row_of(1);
  changed.code = 1000;
  must(session.insert(changed));
  for (int id = 2; id <= 200; ++id) must(session.insert(test::row_of(id)));
  must(session.insert(test::row_of(300)));
  session.commit();
  const std::string other_path = directory_ / "other";
  const std::unique_ptr<TableExport> others =
      must(TableExport::make(other.database(), other.table(), described(), other_path, never_));
  const std::string suffix = exported_file_suffix(test::kByCode, 1);
  fs::copy_file(exported_file_path(other_path, suffix), exported_file_path(path_, suffix),
                fs::copy_options::overwrite_existing);
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, import_of(exported, row_key_bytes())));
}

TEST_P(ExportTest, KeysThatNoRowCanHaveAreNotImported) {
  insert_rows();
  const std::unique_ptr<TableExport> files = must(make_export());
  const ExportedTable exported = must(read_exported(target_.database(), path_));
  EXPECT_TRUE(fails_with(ErrorCode::kInvalidArgument, import_of(exported, 3)));
}

TEST(ExportedTable, WhatExpiresNoMoreIsAsWhatNeverDid) {
  ExportedTable table = small_table();
  const catalog::TableDefinition plain = table.definition;
  table.definition.expiry.emplace();
  EXPECT_EQ(find_difference(table, plain, table.columns), "");
  table.definition.expiry->lifetime.seconds = 5;
  EXPECT_NE(find_difference(table, plain, table.columns), "");
}

TEST(ExportedTable, HistoriesThatNoTableHasAreErrors) {
  const auto is_refused = [](auto change) {
    ExportedTable table = small_table();
    change(table.definition);
    return fails_with(ErrorCode::kInvalidArgument, parse_exported(pack_exported(table)));
  };
  using catalog::TableDefinition;
  EXPECT_TRUE(is_refused([](TableDefinition& table) { table.schema_version = UINT32_MAX; }));
  const codec::RowColumn now{.column = 0, .fixed_bytes = 4, .nullable = false, .since = 2};
  codec::RowColumn before = now;
  before.until = 2;
  before.fixed_bytes = 0;
  EXPECT_TRUE(is_refused([&](TableDefinition& table) { table.rows.columns = {before, now}; }));
  before.fixed_bytes = 2;
  EXPECT_FALSE(is_refused([&](TableDefinition& table) { table.rows.columns = {before, now}; }));
  EXPECT_TRUE(is_refused([&](TableDefinition& table) { table.rows.columns = {before}; }));
  EXPECT_TRUE(is_refused([&](TableDefinition& table) { table.rows.columns = {now, now}; }));
}

TEST_P(ExportTest, WhatDiffersIsNamed) {
  const std::unique_ptr<TableExport> files = must(make_export());
  const ExportedTable exported = must(read_exported(target_.database(), path_));
  const catalog::TableDefinition same = target_.table().definition();
  EXPECT_EQ(find_difference(exported, same, kTypes), "");
  const auto difference = [&](auto change) {
    catalog::TableDefinition other = same;
    change(other);
    return find_difference(exported, other, kTypes);
  };
  using catalog::TableDefinition;
  const auto expect_named = [](const std::string& text, std::initializer_list<const char*> parts) {
    for (const char* const part : parts) EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  const std::string last = same.columns.back().name;
  expect_named(difference([](TableDefinition& table) { table.columns.pop_back(); }),
               {"a column", last.c_str(), "this one has not"});
  expect_named(difference([](TableDefinition& table) {
                 table.columns.push_back(table.columns.back());
                 table.columns.back().name = "extra";
               }),
               {"a column 'extra'", "the exported one has not"});
  expect_named(difference([](TableDefinition& table) { table.columns[1].name = "mail"; }),
               {"'mail'", "where this one has"});
  expect_named(difference([](TableDefinition& table) { table.columns[1].collation_id = 9; }),
               {same.columns[1].name.c_str()});
  expect_named(difference([](TableDefinition& table) {
                 table.columns[1].nullable = !table.columns[1].nullable;
               }),
               {same.columns[1].name.c_str(), " NOT NULL"});
  expect_named(difference([](TableDefinition& table) {
                 table.columns[1].system_time = catalog::SystemTime::kUnversioned;
               }),
               {" WITHOUT SYSTEM VERSIONING in this one"});
  expect_named(difference([](TableDefinition& table) { table.indexes.pop_back(); }),
               {"an index", "this one has not"});
  expect_named(difference([](TableDefinition& table) { table.indexes[1].name = "by_mail"; }),
               {"'by_mail'"});
  expect_named(difference([](TableDefinition& table) { table.indexes[1].unique = false; }),
               {"UNIQUE (", " in the exported table, and ("});
  expect_named(
      difference([](TableDefinition& table) { table.indexes[4].parts[0].descending = false; }),
      {" DESC"});
  expect_named(
      difference([](TableDefinition& table) { table.indexes[4].parts[0].prefix_length = 7; }),
      {"(7)"});
  expect_named(difference([](TableDefinition& table) {
                 table.expiry.emplace();
                 table.expiry->lifetime.seconds = 1;
               }),
               {"ttl_duration"});
  std::vector<std::string> types = kTypes;
  types[5] = "enum('a')";
  EXPECT_NE(find_difference(exported, same, types), "");
}

TEST(ExportedTable, OfLongTypesTheDifferenceIsShown) {
  ExportedTable table = small_table();
  table.columns[0] = "enum(" + std::string(5000, 'x') + "'here')";
  std::vector<std::string> columns = table.columns;
  columns[0].replace(columns[0].find("here"), 4, "there");
  const std::string text = find_difference(table, table.definition, columns);
  EXPECT_LT(text.size(), 400u) << text;
  EXPECT_NE(text.find("'here')"), std::string::npos) << text;
  EXPECT_NE(text.find("'there')"), std::string::npos) << text;
}

TEST(ExportedTable, ItsFilesAreKnownByTheirNames) {
  EXPECT_EQ(exported_table_of("t.cfg"), "t");
  EXPECT_EQ(exported_table_of("t.12-3.sst"), "t");
  EXPECT_EQ(exported_table_of("t#P#p0.0-1.sst"), "t#P#p0");
  for (const char* const other : {"t.frm", "t.ibd", "t.sst", "t.1.sst", "t.1-.sst", "t.-1.sst",
                                  "t.a-1.sst", "1-1.sst", "t.1-1.sst.old", "000012.sst", ".cfg"}) {
    EXPECT_EQ(exported_table_of(other), "") << other;
  }
}

TEST_P(ExportTest, AllFilesOfTheTableAreRemovedAndNoOthers) {
  const std::string directory = path_.substr(0, path_.rfind('/'));
  const auto write = [](const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
  };
  write(path_ + ".cfg", pack_exported(small_table()));
  for (const char* const suffix : {".0-1.sst", ".7-9.sst", ".63-12.sst"}) write(path_ + suffix, "");
  const std::vector<std::string> others = {directory + "/other.cfg", directory + "/other.0-1.sst",
                                           path_ + "s.0-1.sst", path_ + ".frm"};
  for (const std::string& other : others) write(other, "");
  must(remove_exported(source_.database(), path_));
  EXPECT_EQ(file_count(), others.size());
  write(path_ + ".cfg", "of another engine");
  must(remove_exported(source_.database(), path_));
  EXPECT_EQ(file_count(), others.size() + 1);
  // At the start, of all tables that are asked for.
  write(path_ + ".1-1.sst", "");
  must(remove_left_exports(source_.database(), directory,
                           [](std::string_view table) { return table == "other"; }));
  EXPECT_TRUE(fs::exists(path_ + ".1-1.sst"));
  EXPECT_TRUE(fs::exists(others[0]));
  EXPECT_FALSE(fs::exists(others[1]));
}

INSTANTIATE_TEST_SUITE_P(Keys, ExportTest, testing::ValuesIn(test::kAllKeys), test::name_of);

}  // namespace
}  // namespace basalt::table
