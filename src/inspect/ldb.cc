#include "inspect/ldb.h"

#include <rocksdb/ldb_tool.h>
#include <rocksdb/options.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "inspect/arguments.h"
#include "inspect/stored_database.h"
#include "rdb/slice.h"

namespace basalt::inspect {
namespace {

constexpr const char* kUsage =

    R"(mariadb-ldb: shows what the files of the engine ROCKSDB (Basalt) hold

  mariadb-ldb --db=DIRECTORY tables
      tables and indexes: index id, column family, name
  mariadb-ldb --db=DIRECTORY keys [--table=DATABASE/TABLE [--index=NAME]]
              [--max_keys=N] [--values]
      entries in the order of their keys: table.index, key, value in hexadecimal digits
  mariadb-ldb --db=DIRECTORY COMMAND ...
      a command of RocksDB's ldb, of those that change nothing:
     )";

constexpr const char* kUsageEnd = R"(

DIRECTORY is rocksdb_datadir, mostly #rocksdb in the server's data directory. Nothing in it is
locked, made or changed.
)";

// Those of RocksDB's that open a database for reading only, or only read its files.
constexpr std::array<std::string_view, 17> kReadingCommands = {"approxsize",
                                                               "checkconsistency",
                                                               "dump",
                                                               "dump_live_files",
                                                               "dump_wal",
                                                               "file_checksum_dump",
                                                               "get",
                                                               "get_entity",
                                                               "get_property",
                                                               "idump",
                                                               "list_column_families",
                                                               "list_file_range_deletes",
                                                               "list_live_files_metadata",
                                                               "manifest_dump",
                                                               "multi_get",
                                                               "multi_get_entity",
                                                               "scan"};

// RocksDB asks for it in `scan --no_value`.
class KeyFormatter final : public rdb::SliceFormatter {
 public:
  explicit KeyFormatter(const IndexNames& names) : names_(names) {}
  std::string Format(const rdb::Slice& key) const override {
    return names_.describe(rdb::view_of(key));
  }

 private:
  const IndexNames& names_;
};

int fail(std::string_view message) {
  std::fprintf(stderr, "mariadb-ldb: %.*s\n", static_cast<int>(message.size()), message.data());
  return 1;
}

void print_usage(std::FILE* out) {
  std::fputs(kUsage, out);
  for (const std::string_view command : kReadingCommands) {
    std::fprintf(out, " %s", command.data());
  }
  std::fputs(kUsageEnd, out);
}

Status print_tables(const StoredDatabase& database) {
  for (const auto& [id, name] : database.names().all()) {
    std::printf("%u %s %s.%s\n", id, database.family_name(name.family).c_str(), name.table.c_str(),
                name.index.c_str());
  }
  return Status::ok();
}

Status print_keys(StoredDatabase& database, const Arguments& arguments) {
  const std::string table = arguments.value("table");
  const std::string index = arguments.value("index");
  Result<std::uint64_t> keys_max =
      arguments.number("max_keys", std::numeric_limits<std::uint64_t>::max());
  if (!keys_max.is_ok()) return keys_max.take_status();
  const std::vector<catalog::IndexId> ids = database.names().find(table, index);
  if (ids.empty() && (!table.empty() || !index.empty())) {
    return Status(ErrorCode::kTableNotFound, "there is no such index: table '" + table +
                                                 "', index '" + index +
                                                 "'; the command tables lists all");
  }
  for (const catalog::IndexId id : ids) {
    BASALT_TRY(database.print_entries(id, arguments.has("values"), keys_max.value(), stdout));
  }
  return Status::ok();
}

Status run_own(std::string_view command, const Arguments& arguments) {
  const bool is_tables = command == "tables";
  BASALT_TRY(arguments.check_known(
      is_tables ? std::set<std::string_view>{"db"}
                : std::set<std::string_view>{"db", "table", "index", "max_keys", "values"}));
  Result<std::unique_ptr<StoredDatabase>> database = StoredDatabase::open(arguments.value("db"));
  if (!database.is_ok()) return database.take_status();
  if (is_tables) return print_tables(*database.value());
  return print_keys(*database.value(), arguments);
}

}  // namespace

int run_ldb(int count, char** texts) {
  const Arguments arguments = Arguments::parse(count, texts);
  if (arguments.has("version")) return rdb::LDBTool().RunAndReturn(count, texts);
  if (arguments.has("help") || arguments.words.empty()) {
    print_usage(arguments.has("help") ? stdout : stderr);
    return arguments.has("help") ? 0 : 1;
  }
  const std::string& command = arguments.words.front();
  if (command == "tables" || command == "keys") {
    const Status status = run_own(command, arguments);
    return status.is_ok() ? 0 : fail(status.message());
  }
  if (std::ranges::find(kReadingCommands, command) == kReadingCommands.end()) {
    return fail("the command " + command +
                " is none, or would change files that only the engine may change; --help lists "
                "those there are");
  }
  rdb::LDBOptions ldb_options;
  // Without a dictionary, of another database for example, keys are shown as they are.
  Result<std::unique_ptr<StoredDatabase>> database = StoredDatabase::open(arguments.value("db"));
  if (database.is_ok()) {
    ldb_options.key_formatter = std::make_shared<KeyFormatter>(database.value()->names());
  }
  return rdb::LDBTool().RunAndReturn(count, texts, reading_options(), ldb_options);
}

}  // namespace basalt::inspect
