#include "catalog/foreign_keys.h"

#include <charconv>

#include "base/assert.h"
#include "base/bytes.h"

namespace basalt::catalog {
namespace {

constexpr std::uint64_t kFormatVersion = 1;
// The server allows 32 columns in a key.
constexpr std::uint64_t kColumnsMax = 64;
constexpr std::string_view kGenerated = "_ibfk_";

// Both parts of "database/table".
std::string_view database_of(std::string_view name) { return name.substr(0, name.find('/')); }
std::string_view table_of(std::string_view name) { return name.substr(name.find('/') + 1); }

// The table's part of a generated name. Behind names that some systems keep for devices ("con") the
// server puts a mark, which means nothing inside a name: with it another one would read the same.
std::string_view stem_of(std::string_view table) {
  constexpr std::string_view kDeviceMark = "@@@";
  std::string_view stem = table_of(table);
  if (stem.ends_with(kDeviceMark)) stem.remove_suffix(kDeviceMark.size());
  return stem;
}

bool consume_text(std::string_view& rest, std::string& text) {
  std::string_view value;
  if (!consume_length_prefixed(rest, value)) return false;
  text = value;
  return true;
}

bool consume_action(std::string_view& rest, ReferentialAction& action) {
  std::uint64_t number = 0;
  if (!consume_varint(rest, number)) return false;
  if (number > static_cast<std::uint64_t>(ReferentialAction::kSetNull)) return false;
  action = static_cast<ReferentialAction>(number);
  return true;
}

bool consume_columns(std::string_view& rest, std::vector<ForeignKeyColumn>& columns) {
  std::uint64_t count = 0;
  if (!consume_varint(rest, count) || count == 0 || count > kColumnsMax) return false;
  for (std::uint64_t i = 0; i < count; ++i) {
    ForeignKeyColumn& column = columns.emplace_back();
    if (!consume_text(rest, column.child) || !consume_text(rest, column.parent)) return false;
  }
  return true;
}

bool consume_foreign_key(std::string_view& rest, ForeignKeyDefinition& key) {
  return consume_text(rest, key.name) && consume_text(rest, key.child) &&
         consume_text(rest, key.parent) && consume_columns(rest, key.columns) &&
         consume_action(rest, key.on_delete) && consume_action(rest, key.on_update) && rest.empty();
}

}  // namespace

bool is_being_made(std::string_view table) { return table_of(table).starts_with("#sql"); }

bool is_set_aside(std::string_view table) { return table_of(table).starts_with("#sql-backup-"); }

void append_foreign_key(const ForeignKeyDefinition& key, std::string& out) {
  BASALT_DEBUG_ASSERT(!key.columns.empty() && key.columns.size() <= kColumnsMax);
  append_varint(out, kFormatVersion);
  append_length_prefixed(out, key.name);
  append_length_prefixed(out, key.child);
  append_length_prefixed(out, key.parent);
  append_varint(out, key.columns.size());
  for (const ForeignKeyColumn& column : key.columns) {
    append_length_prefixed(out, column.child);
    append_length_prefixed(out, column.parent);
  }
  append_varint(out, static_cast<std::uint64_t>(key.on_delete));
  append_varint(out, static_cast<std::uint64_t>(key.on_update));
}

Result<ForeignKeyDefinition> parse_foreign_key(std::string_view bytes) {
  std::uint64_t version = 0;
  if (!consume_varint(bytes, version) || version != kFormatVersion) {
    return Status(ErrorCode::kCorruption,
                  "foreign key of unknown format version " + std::to_string(version));
  }
  ForeignKeyDefinition key;
  if (!consume_foreign_key(bytes, key)) {
    return Status(ErrorCode::kCorruption, "foreign key does not decode");
  }
  return key;
}

std::string generated_name(std::string_view child, std::uint32_t number) {
  BASALT_DEBUG_ASSERT(number != 0);
  return std::string(stem_of(child)) + std::string(kGenerated) + std::to_string(number);
}

std::uint32_t generated_number(std::string_view name, std::string_view child) {
  std::string_view rest = table_of(name);
  const std::string_view stem = stem_of(child);
  if (!rest.starts_with(stem)) return 0;
  rest.remove_prefix(stem.size());
  if (!rest.starts_with(kGenerated)) return 0;
  rest.remove_prefix(kGenerated.size());
  std::uint32_t number = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  const bool is_number = error == std::errc() && end == rest.data() + rest.size();
  return is_number && !rest.starts_with('0') ? number : 0;
}

std::string renamed_constraint(std::string_view name, std::string_view from, std::string_view to) {
  const std::uint32_t number = generated_number(name, from);
  const std::string constraint =
      number == 0 ? std::string(table_of(name)) : generated_name(to, number);
  return std::string(database_of(to)) + "/" + constraint;
}

}  // namespace basalt::catalog
