#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "catalog/definitions.h"
#include "codec/layout.h"
#include "server/convert/collation.h"
#include "table/table_opening.h"
#include "server/mariadb.h"

namespace basalt::server {

// A table of the server, translated once per table share.
struct ServerTable {
  codec::TableLayout layout;
  // What the dictionary would say of it; ids are zero.
  catalog::TableDefinition definition;
  table::AutoIncrementSource auto_increment;
  // Our number of each of the server's indexes: the primary is 0 with us.
  std::vector<std::size_t> index_numbers;
  // Bytes that the stored primary key needs at most, without index id.
  std::size_t primary_key_bytes_max = 0;

  // The server's number of our index; 0 if the server has none, as of a hidden primary key.
  unsigned server_index(std::size_t our_number) const;
};

ServerTable translate_table(const TABLE& table, std::string_view name,
                            CollationRegistry& collations);

// Whether the engine keeps the key's values unique; of a long UNIQUE the server does.
bool is_unique(const KEY& key);

// The dictionary's name of a table file path ("./db/table").
std::string_view table_name_of(const char* path);
// Whether a table of that name was made by the server, for itself: "database/#sql...".
bool is_servers_own_name(std::string_view name);
// Whether it is of a temporary table, of this run of the server or of one before.
bool is_temporary_name(std::string_view name);

}  // namespace basalt::server
