#include "inspect/sst_dump.h"

#include <rocksdb/options.h>
#include <rocksdb/sst_dump_tool.h>

#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <string_view>

#include "inspect/arguments.h"
#include "inspect/sst_file.h"
#include "inspect/stored_database.h"

namespace basalt::inspect {
namespace {

constexpr const char* kUsage =

    R"(mariadb-sst-dump: shows what single files of the engine ROCKSDB (Basalt) hold

  mariadb-sst-dump --command=indexes --file=FILE.sst [--db=DIRECTORY]
      the indexes that have entries in it: entries, of these removals, table.index
  mariadb-sst-dump --command=keys --file=FILE.sst [--db=DIRECTORY] [--read_num=N] [--values]
      every entry, replaced and removed ones too: table.index, key in hexadecimal digits,
      sequence number, kind, value
  mariadb-sst-dump --command=check|scan|verify|identify|raw|... --file=FILE_OR_DIRECTORY ...
      as RocksDB's sst_dump; --help-rocksdb has its options

The names come from the dictionary in DIRECTORY (rocksdb_datadir), by default that of the file.
)";

std::string directory_of(const std::string& file) {
  const std::size_t slash = file.rfind('/');
  return slash == std::string::npos ? "." : file.substr(0, slash);
}

Status print_indexes(const SstFile& file, const IndexNames& names) {
  Result<std::map<catalog::IndexId, SstFile::IndexCount>> counts = file.count_entries();
  if (!counts.is_ok()) return counts.take_status();
  for (const auto& [id, count] : counts.value()) {
    std::printf("%llu %llu %s\n", static_cast<unsigned long long>(count.entries),
                static_cast<unsigned long long>(count.removals), names.describe(id).c_str());
  }
  return Status::ok();
}

Status run_own(std::string_view command, const Arguments& arguments) {
  const bool shows_keys = command == "keys";
  BASALT_TRY(arguments.check_known(
      shows_keys ? std::set<std::string_view>{"command", "file", "db", "read_num", "values"}
                 : std::set<std::string_view>{"command", "file", "db"}));
  const std::string path = arguments.value("file");
  const std::string directory = arguments.has("db") ? arguments.value("db") : directory_of(path);
  Result<std::unique_ptr<StoredDatabase>> database = StoredDatabase::open(directory);
  if (!database.is_ok()) return database.take_status();
  const IndexNames& names = database.value()->names();
  Result<std::unique_ptr<SstFile>> file = SstFile::open(path);
  if (!file.is_ok()) return file.take_status();
  if (!shows_keys) return print_indexes(*file.value(), names);
  Result<std::uint64_t> keys_max =
      arguments.number("read_num", std::numeric_limits<std::uint64_t>::max());
  if (!keys_max.is_ok()) return keys_max.take_status();
  return file.value()->print_entries(names, arguments.has("values"), keys_max.value(), stdout);
}

}  // namespace

int run_sst_dump(int count, char** texts) {
  const Arguments arguments = Arguments::parse(count, texts);
  const std::string command = arguments.value("command");
  if (arguments.has("help") || count == 1) {
    std::fputs(kUsage, arguments.has("help") ? stdout : stderr);
    return arguments.has("help") ? 0 : 1;
  }
  if (command == "keys" || command == "indexes") {
    const Status status = run_own(command, arguments);
    if (status.is_ok()) return 0;
    std::fprintf(stderr, "mariadb-sst-dump: %s\n", status.message().c_str());
    return 1;
  }
  std::string help = "--help";
  char* words[] = {texts[0], help.data()};
  const bool asks_for_help = arguments.has("help-rocksdb");
  return rdb::SSTDumpTool().Run(asks_for_help ? 2 : count, asks_for_help ? words : texts,
                                reading_options());
}

}  // namespace basalt::inspect
