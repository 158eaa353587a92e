#include <algorithm>
#include <string>
#include <vector>

#include "server/convert/foreign_key_text.h"
#include "server/introspect/schema_table.h"
#include "server/introspect/tables.h"

// Foreign keys as InnoDB's INNODB_SYS_FOREIGN and INNODB_SYS_FOREIGN_COLS tell of them.
namespace basalt::server {
namespace {

using catalog::ForeignKeyDefinition;
using catalog::ForeignKeyPointer;
using catalog::ReferentialAction;
using Show::ULong;

ST_FIELD_INFO g_columns[] = {
    Show::Column("ID", text_type(), NOT_NULL),
    Show::Column("FOR_NAME", text_type(), NOT_NULL),
    Show::Column("REF_NAME", text_type(), NOT_NULL),
    Show::Column("N_COLS", ULong(), NOT_NULL),
    Show::Column("TYPE", ULong(), NOT_NULL),
    Show::CEnd(),
};

ST_FIELD_INFO g_column_columns[] = {
    Show::Column("ID", text_type(), NOT_NULL),
    Show::Column("FOR_COL_NAME", name_type(), NOT_NULL),
    Show::Column("REF_COL_NAME", name_type(), NOT_NULL),
    Show::Column("POS", ULong(), NOT_NULL),
    Show::CEnd(),
};

// InnoDB's bits of an action on DELETE; the same of one on UPDATE are four times as great, but for
// that of NO ACTION.
unsigned type_of(const ForeignKeyDefinition& key) {
  unsigned type = 0;
  switch (key.on_delete) {
    case ReferentialAction::kRestrict: break;
    case ReferentialAction::kCascade: type |= 1; break;
    case ReferentialAction::kSetNull: type |= 2; break;
    case ReferentialAction::kNoAction: type |= 16; break;
  }
  switch (key.on_update) {
    case ReferentialAction::kRestrict: break;
    case ReferentialAction::kCascade: type |= 4; break;
    case ReferentialAction::kSetNull: type |= 8; break;
    case ReferentialAction::kNoAction: type |= 32; break;
  }
  return type;
}

std::vector<ForeignKeyPointer> all_keys() {
  std::vector<ForeignKeyPointer> all;
  for (const catalog::TablePointer& table : the_engine().catalog().all_tables()) {
    // A copy that replaces a table has the names of that table's.
    if (catalog::is_being_made(table->name)) continue;
    const auto keys = the_engine().catalog().foreign_keys_of(table->name);
    all.insert(all.end(), keys.begin(), keys.end());
  }
  std::ranges::sort(all, {}, [](const ForeignKeyPointer& key) { return key->name; });
  return all;
}

std::string id_of(const ForeignKeyDefinition& key) {
  return key.name.substr(0, key.name.find('/') + 1) + constraint_in_sql(key);
}

void fill(Rows& rows) {
  for (const ForeignKeyPointer& key : all_keys()) {
    if (!rows.put(id_of(*key), key->child, key->parent, key->columns.size(), type_of(*key))) return;
  }
}

void fill_columns(Rows& rows) {
  for (const ForeignKeyPointer& key : all_keys()) {
    unsigned position = 0;
    for (const catalog::ForeignKeyColumn& column : key->columns) {
      if (!rows.put(id_of(*key), column.child, column.parent, position++)) return;
    }
  }
}

}  // namespace

int init_sys_foreign(void* schema_table) noexcept {
  return init_guarded_table<g_columns, fill>(schema_table);
}

int init_sys_foreign_cols(void* schema_table) noexcept {
  return init_guarded_table<g_column_columns, fill_columns>(schema_table);
}

}  // namespace basalt::server
