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
  // Whatever is in the server's record, and in the buffers that its BLOBs lie in, stays.
  uchar* const servers = server_table.record[0];
  servers_.assign(servers, servers + length);
  computed_.compute_in(table.layout(), row_.data(), blobs_, VirtualColumns::Conditions::kNone);
  std::memcpy(servers, servers_.data(), length);
  computed_.compute(VirtualColumns::Conditions::kNone);
  return Status::ok();
}

}  // namespace basalt::server
