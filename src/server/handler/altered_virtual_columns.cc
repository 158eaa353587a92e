#include "server/handler/altered_virtual_columns.h"

#include <cstring>

#include "base/assert.h"

namespace basalt::server {

AlteredVirtualColumns::AlteredVirtualColumns(TABLE& table,
                                             const catalog::TableDefinition& definition,
                                             std::span<const std::size_t> indexes)
    : table_(table), columns_(table) {
  BASALT_ASSERT(definition.columns.size() == table.s->fields);
  for (const std::size_t index : indexes) {
    for (const catalog::KeyPartDefinition& part : definition.indexes[index].parts) {
      columns_.add(*table.field[part.column]);
    }
  }
}

table::CompleteRow AlteredVirtualColumns::completion() {
  if (columns_.is_empty()) return nullptr;
  table_.in_use->get_stmt_da()->reset_current_row_for_warning(1);
  return [this](std::uint8_t* record) { return compute(record); };
}

void AlteredVirtualColumns::stop_warnings() {
  warns_ = false;
  if (!columns_.is_empty()) table_.in_use->get_stmt_da()->reset_current_row_for_warning(0);
}

// Expressions read and write the record that the server's fields point to.
Status AlteredVirtualColumns::compute(std::uint8_t* record) {
  THD* const thd = table_.in_use;
  uchar* const servers = table_.record[0];
  const std::size_t length = table_.s->reclength;
  if (record != servers) std::memcpy(servers, record, length);
  // The server has it so while the indexes are built, and not when what was missed is made up for.
  const Abort_on_warning_instant_set strictness(thd, thd->is_strict_mode());
  using Conditions = VirtualColumns::Conditions;
  if (!columns_.compute(warns_ ? Conditions::kAll : Conditions::kErrors)) {
    return Status(ErrorCode::kInterrupted, "a virtual column cannot be computed");
  }
  if (record != servers) std::memcpy(record, servers, length);
  if (warns_) thd->get_stmt_da()->inc_current_row_for_warning();
  return Status::ok();
}

}  // namespace basalt::server
