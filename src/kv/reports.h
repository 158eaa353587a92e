#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "index_stats/index_properties.h"
#include "kv/database.h"

// What an administrator may know of a database: its files, families and threads, as RocksDB tells
// of them. Nothing here is needed to read or write it.
//
// Threads     Any. All of it asks RocksDB for its mutex, some of it reads properties of all files:
//             for statements that somebody waits for.
namespace basalt::kv {

struct FamilyReport {
  FamilyId id = 0;
  std::string name;
};
// All families that there are. One may be gone when it is asked about: then nothing is told of it.
std::vector<FamilyReport> family_reports(const Database& database);
// Empty if there is none of that id.
std::string family_name(const Database& database, FamilyId family);

// A file of a column family, and what its properties say. Bytes are as stored.
struct FileReport {
  // What the file says of one index.
  struct Index {
    std::uint32_t id = 0;
    index_stats::IndexProperties properties;
  };

  std::string name;  // without its directory
  FamilyId family = 0;
  std::uint64_t data_blocks = 0;
  std::uint64_t entries = 0;
  std::uint64_t raw_key_bytes = 0;
  std::uint64_t raw_value_bytes = 0;
  std::uint64_t data_bytes = 0;
  std::uint64_t index_bytes = 0;
  std::uint64_t index_partitions = 0;
  std::uint64_t top_level_index_bytes = 0;
  std::uint64_t filter_bytes = 0;
  std::string compression;
  std::string compression_options;
  std::string filter_policy;
  // Seconds since 1970; 0: not known.
  std::uint64_t created = 0;  // of the oldest data
  std::uint64_t file_created = 0;
  std::uint64_t oldest_key = 0;
  std::vector<Index> indexes;
};

// The files of all families: by family, those of each in the order of their names.
Result<std::vector<FileReport>> file_reports(Database& database);

// One of RocksDB's properties that consists of several figures; empty if there is none of the name.
std::map<std::string, std::string> map_property(Database& database, FamilyId family,
                                                std::string_view name);
// A property that is a number; 0 if there is none of the name.
std::uint64_t number_property(Database& database, FamilyId family, std::string_view name);

// The options that the family has now, as RocksDB writes them; those of its tables begin with
// "table_factory::".
std::vector<std::pair<std::string, std::string>> family_options(Database& database,
                                                                FamilyId family);

// A thread of RocksDB's, and what it does at the moment; texts are empty while it does nothing.
struct ThreadReport {
  std::uint64_t id = 0;
  std::string kind;
  std::string family;
  std::string operation;
  std::string stage;
  std::uint64_t elapsed_ms = 0;
  std::string state;
};
std::vector<ThreadReport> thread_reports();

// Memory of all families, in bytes.
struct MemoryReport {
  std::uint64_t memtables = 0;
  std::uint64_t memtables_unflushed = 0;
  std::uint64_t table_readers = 0;
  std::uint64_t block_cache = 0;
  std::uint64_t block_cache_capacity = 0;
};
MemoryReport memory_report(Database& database);

}  // namespace basalt::kv
