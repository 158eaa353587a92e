#include "table/system_versions.h"

#include <cstring>

#include "base/assert.h"
#include "table/record_values.h"

namespace basalt::table {
namespace {

using catalog::SystemTime;

std::optional<std::uint32_t> find_role(const catalog::TableDefinition& table, SystemTime role) {
  for (std::uint32_t i = 0; i < table.columns.size(); ++i) {
    const catalog::ColumnDefinition& column = table.columns[i];
    const bool is_timestamp = column.kind == codec::ColumnKind::kOrderedBytes &&
                              column.record_length == kEndOfTime.size();
    if (column.system_time == role && is_timestamp) return i;
  }
  return std::nullopt;
}

}  // namespace

SystemVersions::SystemVersions(const Table& table)
    : table_(table),
      row_end_(find_role(table.definition(), SystemTime::kRowEnd)),
      row_start_(find_role(table.definition(), SystemTime::kRowStart)) {}

bool SystemVersions::is_history(const std::uint8_t* record) const {
  if (!row_end_) return false;
  const codec::ColumnLayout& column = table_.layout().columns[*row_end_];
  return std::memcmp(record + column.record_offset, kEndOfTime.data(), kEndOfTime.size()) != 0;
}

bool SystemVersions::is_kept(const std::uint8_t* old_record, const std::uint8_t* new_record) const {
  if (!row_end_) return false;
  const catalog::TableDefinition& definition = table_.definition();
  for (std::size_t i = 0; i < definition.columns.size(); ++i) {
    const catalog::ColumnDefinition& column = definition.columns[i];
    if (column.system_time != SystemTime::kNone || !column.stored) continue;
    if (values_differ(table_.layout().columns[i], old_record, new_record)) return true;
  }
  return false;
}

void SystemVersions::begin(const SystemTimestamp& now, std::uint8_t* record) const {
  BASALT_DEBUG_ASSERT(row_start_.has_value());
  if (!row_start_) return;
  const codec::ColumnLayout& column = table_.layout().columns[*row_start_];
  std::memcpy(record + column.record_offset, now.data(), now.size());
}

void SystemVersions::end(const SystemTimestamp& now, std::uint8_t* record) const {
  BASALT_ASSERT(row_end_.has_value());
  const codec::ColumnLayout& column = table_.layout().columns[*row_end_];
  std::memcpy(record + column.record_offset, now.data(), now.size());
}

}  // namespace basalt::table
