#include "server/handler/row_as_stored.h"

#include <cstring>

namespace basalt::server {

std::unique_ptr<RowAsStored> RowAsStored::make(TABLE& server_table) {
  VirtualColumns computed(server_table);
  bool is_needed = false;
  for (Field* const* field = server_table.vfield; field != nullptr && *field != nullptr; ++field) {
    if (((*field)->flags & PART_KEY_FLAG) == 0) continue;
    if ((*field)->stored_in_db()) {
      is_needed = true;
    } else if (VirtualColumns::is_made_of_stored(**field)) {
      computed.add(**field);
      is_needed = true;
    }
  }
  return is_needed ? std::make_unique<RowAsStored>(computed) : nullptr;
}

Status RowAsStored::read(TABLE& server_table, const table::Table& table, table::RowWriter& writer,
                         txn::Transaction& transaction, std::string_view hidden_key,
                         const uchar*& record) {
  const std::size_t length = server_table.s->reclength;
  row_.assign(record, record + length);
  bool exists = false;
  BASALT_TRY(writer.read_again(transaction, record, hidden_key, row_.data(), exists));
  if (!exists) return Status::ok();  // whoever changes it says so
  record = row_.data();
  if (computed_.is_empty()) return Status::ok();
  // What the server has in its record, and in the buffers that BLOBs of that, or of others, lie in,
  // stays as it is.
  uchar* const servers = server_table.record[0];
  servers_.assign(servers, servers + length);
  exchange_buffers();
  computed_.compute_in(table.layout(), row_.data(), blobs_, VirtualColumns::Conditions::kNone);
  exchange_buffers();
  std::memcpy(servers, servers_.data(), length);
  return Status::ok();
}

void RowAsStored::exchange_buffers() {
  for (std::size_t i = 0; i < computed_.columns().size(); ++i) {
    Field* const column = computed_.columns()[i];
    const bool is_blob = (column->flags & BLOB_FLAG) != 0;
    if (is_blob) static_cast<Field_blob*>(column)->swap(buffers_[i], /*set_read_value=*/false);
  }
}

}  // namespace basalt::server
