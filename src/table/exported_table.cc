#include "table/exported_table.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/bytes.h"

namespace basalt::table {
namespace {

constexpr std::string_view kMagic = "basalt exported table\n";
constexpr std::uint64_t kVersion = 1;
constexpr std::size_t kChecksumBytes = 8;
// No table comes that far; what is greater leaves no room for changes.
constexpr std::uint32_t kSchemaVersionMax = UINT32_MAX / 2;

Status damaged() {
  return Status(ErrorCode::kInvalidArgument,
                "the file with the table's definition is damaged, or of another engine; copy it "
                "anew, while FLUSH TABLES ... FOR EXPORT holds the table");
}

std::uint64_t checksum_of(std::string_view bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

bool parse_texts(std::string_view& bytes, std::vector<std::string>& texts) {
  std::uint64_t count = 0;
  if (!consume_varint(bytes, count)) return false;
  for (; count != 0; --count) {
    std::string_view text;
    if (!consume_length_prefixed(bytes, text)) return false;
    texts.emplace_back(text);
  }
  return true;
}

// A name in another directory would have other files read, and removed.
bool is_file_name(std::string_view name) {
  return !name.empty() && name.find('/') == std::string_view::npos;
}

bool parse_index(std::string_view& bytes, ExportedIndex& index) {
  std::uint64_t files = 0;
  if (!consume_varint(bytes, index.entries) || bytes.size() < kChecksumBytes) return false;
  index.checksum = load_be64(bytes.data());
  bytes.remove_prefix(kChecksumBytes);
  if (!consume_varint(bytes, files)) return false;
  for (; files != 0; --files) {
    std::string_view suffix;
    ExportedFile file;
    if (!consume_length_prefixed(bytes, suffix) || !is_file_name(suffix) ||
        !consume_varint(bytes, file.bytes)) {
      return false;
    }
    file.suffix = suffix;
    index.files.push_back(std::move(file));
  }
  return true;
}

// The first column or index that has another name in one of the two, or is not there: "a column",
// "an index". Empty if there is none.
template <typename Named>
std::string other_name(const char* what, const std::vector<Named>& there,
                       const std::vector<Named>& here) {
  for (std::size_t i = 0; i < std::max(there.size(), here.size()); ++i) {
    if (i == here.size()) {
      return "the exported table has " + std::string(what) + " '" + there[i].name +
             "', which this one has not";
    }
    if (i == there.size()) {
      return "this table has " + std::string(what) + " '" + here[i].name +
             "', which the exported one has not";
    }
    if (there[i].name != here[i].name) {
      return "the exported table has " + std::string(what) + " '" + there[i].name +
             "' where this one has '" + here[i].name + "'";
    }
  }
  return {};
}

std::string attributes_of(const catalog::ColumnDefinition& column) {
  std::string text = column.nullable ? "" : " NOT NULL";
  switch (column.system_time) {
    case catalog::SystemTime::kNone: break;
    case catalog::SystemTime::kRowStart: text += " AS ROW START"; break;
    case catalog::SystemTime::kRowEnd: text += " AS ROW END"; break;
    case catalog::SystemTime::kUnversioned: text += " WITHOUT SYSTEM VERSIONING"; break;
  }
  return text;
}

std::string describe(const catalog::IndexDefinition& index,
                     const std::vector<catalog::ColumnDefinition>& columns) {
  std::string text = index.unique ? "UNIQUE (" : "(";
  for (const catalog::KeyPartDefinition& part : index.parts) {
    if (&part != &index.parts.front()) text += ", ";
    text += columns[part.column].name;
    if (part.prefix_length != 0) text += "(" + std::to_string(part.prefix_length) + ")";
    if (part.descending) text += " DESC";
  }
  text += ")";
  if (index.value_lock_parts != 0) {
    text += ", " + std::to_string(index.value_lock_parts) + " of them unique without overlaps";
  }
  return text;
}

// The server cuts long errors: of long texts that differ late, from shortly before there.
std::string both(const std::string& what, std::string_view there, std::string_view here) {
  constexpr std::size_t kWhole = 100;
  const std::size_t same = static_cast<std::size_t>(
      std::mismatch(there.begin(), there.end(), here.begin(), here.end()).first - there.begin());
  const auto start_of_character = [](std::string_view text, std::size_t at) {
    while (at > 0 && at < text.size() && (text[at] & 0xC0) == 0x80) --at;
    return std::min(at, text.size());
  };
  const auto shown = [&](std::string_view text) {
    if (text.size() <= kWhole) return std::string(text);
    const std::size_t begin = start_of_character(text, same < kWhole / 2 ? 0 : same - kWhole / 2);
    const std::size_t end = start_of_character(text, begin + kWhole);
    return (begin == 0 ? "" : "...") + std::string(text.substr(begin, end - begin)) +
           (end == text.size() ? "" : "...");
  };
  return what + " is " + shown(there) + " in the exported table, and " + shown(here) +
         " in this one";
}

}  // namespace

std::uint64_t checksum_with(std::uint64_t checksum, std::string_view key, std::string_view value) {
  checksum = XXH3_64bits_withSeed(key.data(), key.size(), checksum);
  return XXH3_64bits_withSeed(value.data(), value.size(), checksum);
}

std::string exported_definition_path(const std::string& path) { return path + ".cfg"; }

std::string exported_file_path(const std::string& path, const std::string& suffix) {
  return path + "." + suffix;
}

std::string exported_file_prefix(std::size_t index) { return std::to_string(index) + "-"; }

std::string exported_file_suffix(std::size_t index, std::size_t number) {
  return exported_file_prefix(index) + std::to_string(number) + ".sst";
}

bool is_exported(std::string_view bytes) { return bytes.starts_with(kMagic); }

std::string pack_exported(const ExportedTable& table) {
  BASALT_ASSERT(table.columns.size() == table.definition.columns.size());
  BASALT_ASSERT(table.indexes.size() == table.definition.indexes.size());
  std::string bytes(kMagic);
  append_varint(bytes, kVersion);
  std::string definition;
  catalog::append_definition(table.definition, definition);
  append_length_prefixed(bytes, definition);
  append_varint(bytes, table.columns.size());
  for (const std::string& column : table.columns) append_length_prefixed(bytes, column);
  append_varint(bytes, table.next_auto_increment);
  append_varint(bytes, table.next_row_id);
  append_varint(bytes, table.indexes.size());
  for (const ExportedIndex& index : table.indexes) {
    append_varint(bytes, index.entries);
    append_be64(bytes, index.checksum);
    append_varint(bytes, index.files.size());
    for (const ExportedFile& file : index.files) {
      append_length_prefixed(bytes, file.suffix);
      append_varint(bytes, file.bytes);
    }
  }
  append_be64(bytes, checksum_of(bytes));
  return bytes;
}

Result<ExportedTable> parse_exported(std::string_view bytes) {
  if (!is_exported(bytes) || bytes.size() < kMagic.size() + kChecksumBytes) return damaged();
  const std::size_t end = bytes.size() - kChecksumBytes;
  if (load_be64(bytes.data() + end) != checksum_of(bytes.substr(0, end))) return damaged();
  bytes = bytes.substr(kMagic.size(), end - kMagic.size());
  std::uint64_t version = 0;
  if (!consume_varint(bytes, version)) return damaged();
  if (version != kVersion) {
    return Status(ErrorCode::kInvalidArgument,
                  "the table was exported by a later release; upgrade this server first");
  }
  ExportedTable table;
  std::string_view definition;
  std::uint64_t indexes = 0;
  if (!consume_length_prefixed(bytes, definition) || !parse_texts(bytes, table.columns) ||
      !consume_varint(bytes, table.next_auto_increment) ||
      !consume_varint(bytes, table.next_row_id) || !consume_varint(bytes, indexes)) {
    return damaged();
  }
  Result<catalog::TableDefinition> parsed = catalog::parse_definition(definition);
  if (!parsed.is_ok()) return damaged();
  table.definition = std::move(parsed.value());
  for (; indexes != 0; --indexes) {
    if (!parse_index(bytes, table.indexes.emplace_back())) return damaged();
  }
  if (!bytes.empty() || table.definition.is_discarded ||
      table.definition.schema_version > kSchemaVersionMax ||
      table.columns.size() != table.definition.columns.size() ||
      table.indexes.size() != table.definition.indexes.size()) {
    return damaged();
  }
  return table;
}

std::string find_difference(const ExportedTable& exported,
                            const catalog::TableDefinition& definition,
                            const std::vector<std::string>& columns) {
  const std::vector<catalog::ColumnDefinition>& there = exported.definition.columns;
  const std::vector<catalog::ColumnDefinition>& here = definition.columns;
  if (std::string other = other_name("a column", there, here); !other.empty()) return other;
  for (std::size_t i = 0; i < here.size(); ++i) {
    if (there[i] == here[i] && exported.columns[i] == columns[i]) continue;
    return both("column '" + here[i].name + "'", exported.columns[i] + attributes_of(there[i]),
                columns[i] + attributes_of(here[i]));
  }
  if (std::string other = other_name("an index", exported.definition.indexes, definition.indexes);
      !other.empty()) {
    return other;
  }
  for (std::size_t i = 0; i < definition.indexes.size(); ++i) {
    const catalog::IndexDefinition& index = definition.indexes[i];
    const catalog::IndexDefinition& exported_index = exported.definition.indexes[i];
    if (catalog::has_same_columns(exported_index, index)) continue;
    return both("index '" + index.name + "'", describe(exported_index, there),
                describe(index, here));
  }
  // Rows that expire no more may have their time nevertheless, which the import knows of.
  const auto seconds_of = [](const catalog::TableDefinition& table) {
    return table.expiry.has_value() ? table.expiry->lifetime.seconds : 0;
  };
  const std::uint64_t seconds = seconds_of(definition);
  if (seconds_of(exported.definition) != seconds ||
      (seconds != 0 && exported.definition.expiry->column != definition.expiry->column)) {
    return "rows of the two do not expire alike (ttl_duration, ttl_col)";
  }
  return {};
}

}  // namespace basalt::table
