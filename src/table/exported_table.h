#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "catalog/definitions.h"

// What a table is in files that another server can import: the form of the file `<table>.cfg`,
// docs/formats/exported-tables.md.
namespace basalt::table {

// A file with entries of one index, as the index has them, its id of there included.
struct ExportedFile {
  std::string suffix;  // its name, behind `<table>.`
  std::uint64_t bytes = 0;

  bool operator==(const ExportedFile&) const = default;
};

struct ExportedIndex {
  std::vector<ExportedFile> files;  // in the order of their keys
  std::uint64_t entries = 0;
  std::uint64_t checksum = 0;  // of all entries: files of two exports are not to be mixed

  bool operator==(const ExportedIndex&) const = default;
};

struct ExportedTable {
  catalog::TableDefinition definition;
  // Of each column what the definition does not tell and rows depend on: the server's words for its
  // type, and what computes it.
  std::vector<std::string> columns;
  std::vector<ExportedIndex> indexes;  // as those of the definition
  // The values that the counters give next; 0: the table has no such counter.
  std::uint64_t next_auto_increment = 0;
  std::uint64_t next_row_id = 0;
};

// The checksum of one entry more.
std::uint64_t checksum_with(std::uint64_t checksum, std::string_view key, std::string_view value);

// `path`: of the table's files, without a suffix: "./database/table".
std::string exported_definition_path(const std::string& path);
std::string exported_file_path(const std::string& path, const std::string& suffix);
// Of the files of an index: "0-1.sst", "0-2.sst", ...; and what they begin with.
std::string exported_file_suffix(std::size_t index, std::size_t number);
std::string exported_file_prefix(std::size_t index);

// Whether the bytes begin as those of pack_exported() do. InnoDB's files have the same name.
bool is_exported(std::string_view bytes);
std::string pack_exported(const ExportedTable& table);
// kInvalidArgument if the bytes are not what pack_exported() has made, or of a later version;
// nothing is read out of bounds.
Result<ExportedTable> parse_exported(std::string_view bytes);

// The first difference for which rows of `exported` are none of a table with the definition and the
// columns; empty if there is none.
std::string find_difference(const ExportedTable& exported,
                            const catalog::TableDefinition& definition,
                            const std::vector<std::string>& columns);

}  // namespace basalt::table
