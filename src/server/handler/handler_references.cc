#include <cstdlib>
#include <cstring>

#include "server/convert/foreign_key_text.h"
#include "server/handler/foreign_key_definition.h"
#include "server/handler/ha_rocksdb.h"
#include "server/plugin.h"
#include "table/reference_index.h"
#include "table/references.h"
#include "server/mariadb.h"

namespace basalt::server {
namespace {

using catalog::ForeignKeyColumn;
using catalog::ForeignKeyDefinition;
using catalog::ForeignKeyPointer;
using catalog::ReferentialAction;

LEX_CSTRING* make_name(THD* thd, std::string_view text) {
  return thd->make_clex_string(text.data(), text.size());
}

enum_fk_option option_of(ReferentialAction action) {
  switch (action) {
    case ReferentialAction::kRestrict: return FK_OPTION_RESTRICT;
    case ReferentialAction::kNoAction: return FK_OPTION_NO_ACTION;
    case ReferentialAction::kCascade: return FK_OPTION_CASCADE;
    case ReferentialAction::kSetNull: return FK_OPTION_SET_NULL;
  }
  return FK_OPTION_RESTRICT;
}

// Adds the columns of one side, and which of them may be NULL.
void add_columns(THD* thd, const ForeignKeyDefinition& key, bool is_parent, FOREIGN_KEY_INFO& info,
                 List<LEX_CSTRING>& fields) {
  const catalog::TablePointer table =
      the_engine().catalog().find(is_parent ? key.parent : key.child);
  unsigned number = 0;
  for (const ForeignKeyColumn& column : key.columns) {
    const std::string& name = is_parent ? column.parent : column.child;
    fields.push_back(make_name(thd, name), thd->mem_root);
    if (table != nullptr) {
      const std::size_t found = catalog::find_column(*table, name);
      if (found < table->columns.size() && table->columns[found].nullable) {
        info.set_nullable(thd, is_parent, number, static_cast<unsigned>(key.columns.size()));
      }
    }
    ++number;
  }
}

// The name of the parent's index; null if there is none.
LEX_CSTRING* referenced_index(THD* thd, const ForeignKeyDefinition& key) {
  const catalog::TablePointer parent = the_engine().catalog().find(key.parent);
  if (parent == nullptr) return nullptr;
  const auto columns = table::columns_of(key, &ForeignKeyColumn::parent, *parent);
  const std::size_t number = table::find_index_on(*parent, columns);
  if (columns.empty() || number == parent->indexes.size()) return nullptr;
  return make_name(thd, parent->indexes[number].name);
}

FOREIGN_KEY_INFO* make_info(THD* thd, const ForeignKeyDefinition& key) {
  void* const memory = thd->alloc(sizeof(FOREIGN_KEY_INFO));
  if (memory == nullptr) return nullptr;
  auto* const info = new (memory) FOREIGN_KEY_INFO;
  const TableNames child = names_in_sql(key.child);
  const TableNames parent = names_in_sql(key.parent);
  info->foreign_id = make_name(thd, constraint_in_sql(key));
  info->foreign_db = make_name(thd, child.database);
  info->foreign_table = make_name(thd, child.table);
  info->referenced_db = make_name(thd, parent.database);
  info->referenced_table = make_name(thd, parent.table);
  info->update_method = option_of(key.on_update);
  info->delete_method = option_of(key.on_delete);
  info->referenced_key_name = referenced_index(thd, key);
  add_columns(thd, key, false, *info, info->foreign_fields);
  add_columns(thd, key, true, *info, info->referenced_fields);
  return info;
}

bool begins_with_columns(const catalog::TableDefinition& table, std::size_t index_number,
                         const ForeignKeyDefinition& key, std::string ForeignKeyColumn::*side) {
  const auto columns = table::columns_of(key, side, table);
  return !columns.empty() && table::begins_with(table, index_number, columns);
}

}  // namespace

int ha_rocksdb::get_foreign_key_list(THD* thd, List<FOREIGN_KEY_INFO>* list) noexcept {
  for (const ForeignKeyPointer& key :
       the_engine().catalog().foreign_keys_of(opened().definition().name)) {
    FOREIGN_KEY_INFO* const info = make_info(thd, *key);
    if (info == nullptr) continue;
    const catalog::TablePointer parent = the_engine().catalog().find(key->parent);
    // Without checks the parent was perhaps made anew, with other types.
    if (parent != nullptr && !can_lead_to(*key, *parent)) info->referenced_key_name = nullptr;
    list->push_back(info, thd->mem_root);
  }
  return 0;
}

// The server opens the tables that it finds here, and waits for an ALTER TABLE that puts a copy in
// the place of one.
int ha_rocksdb::get_parent_foreign_key_list(THD* thd, List<FOREIGN_KEY_INFO>* list) noexcept {
  for (const ForeignKeyPointer& key :
       the_engine().catalog().references_by_name(opened().definition().name)) {
    FOREIGN_KEY_INFO* const info = make_info(thd, *key);
    if (info != nullptr) list->push_back(info, thd->mem_root);
  }
  return 0;
}

// Asked in each statement.
bool ha_rocksdb::referenced_by_foreign_key() const noexcept {
  const std::uint64_t generation = the_engine().catalog().reference_generation();
  if (share_->references_generation.load(std::memory_order_acquire) != generation) {
    const bool is_referenced =
        !the_engine().catalog().references_to(opened().definition().name).empty();
    share_->is_referenced.store(is_referenced, std::memory_order_relaxed);
    share_->references_generation.store(generation, std::memory_order_release);
  }
  return share_->is_referenced.load(std::memory_order_relaxed);
}

char* ha_rocksdb::get_foreign_key_create_info() noexcept {
  std::string text;
  for (const ForeignKeyPointer& key :
       the_engine().catalog().foreign_keys_of(opened().definition().name)) {
    text += ",\n  " + constraint_text(ha_thd(), *key);
  }
  return text.empty() ? nullptr : strdup(text.c_str());
}

void ha_rocksdb::free_foreign_key_create_info(char* text) noexcept { free(text); }

// Another engine does not know of the keys.
bool ha_rocksdb::can_switch_engines() noexcept {
  const std::string& name = opened().definition().name;
  return the_engine().catalog().foreign_keys_of(name).empty() && !referenced_by_foreign_key();
}

bool ha_rocksdb::is_fk_defined_on_table_or_index(uint index) noexcept {
  const catalog::TableDefinition& definition = opened().definition();
  const auto own = the_engine().catalog().foreign_keys_of(definition.name);
  const auto referencing = the_engine().catalog().references_to(definition.name);
  if (index == MAX_KEY) return !own.empty() || !referencing.empty();
  const std::size_t number = our_index(index);
  for (const ForeignKeyPointer& key : own) {
    if (begins_with_columns(definition, number, *key, &ForeignKeyColumn::child)) return true;
  }
  for (const ForeignKeyPointer& key : referencing) {
    if (begins_with_columns(definition, number, *key, &ForeignKeyColumn::parent)) return true;
  }
  return false;
}

// Table and index of the last HA_ERR_FOREIGN_DUPLICATE_KEY.
bool ha_rocksdb::get_foreign_dup_key(char* table_name, uint table_name_size, char* key_name,
                                     uint key_name_size) noexcept {
  if (references_ == nullptr || references_->duplicate_in_child().index.empty()) return false;
  const table::ReferenceEnforcer::IndexName& name = references_->duplicate_in_child();
  strmake(table_name, names_in_sql(name.table).table.c_str(), table_name_size - 1);
  strmake(key_name, name.index.c_str(), key_name_size - 1);
  return true;
}

// From here on rows are written with a look at the foreign keys there are, if the session wants it.
int ha_rocksdb::bind_references(THD* thd) {
  writer_->set_references(nullptr);
  // The copy of an ALTER TABLE is a temporary table to the server, too, but has foreign keys.
  if (is_sequence() || !writes_rows_ || is_temporary_name(opened().definition().name)) return 0;
  if (ignores_foreign_keys(thd)) return 0;
  if (references_ == nullptr) {
    auto references = the_engine().references_of(opened());
    if (!references.is_ok()) return report(references.take_status());
    references_ = std::make_unique<table::ReferenceEnforcer>(
        opened(), std::move(references.value()), the_engine());
  }
  references_->set_parents_transaction(&transaction());
  if (Status status = references_->bind(transaction(), wait_policy()); !status.is_ok()) {
    return report(std::move(status));
  }
  references_->set_interruption(session_);
  references_->set_context(&session_->cascade_context());
  writer_->set_references(references_.get());
  return 0;
}

}  // namespace basalt::server
