#pragma once
#include <concepts>
#include <cstddef>
#include <optional>
#include <string_view>

#include "server/plugin.h"
#include "server/mariadb.h"

namespace basalt::server {

// Puts rows into a table of information_schema for the statement that asks for them.
class Rows {
 public:
  Rows(THD* thd, TABLE& table) : thd_(thd), table_(table) {}

  // Puts a row of one value for each column, in order: a text, a number, or for NULL std::nullopt
  // or an empty std::optional. False if the statement is to end: by an error, or for a KILL.
  template <typename... Values>
  bool put(const Values&... values) {
    restore_record(&table_, s->default_values);
    std::size_t column = 0;
    (store(*table_.field[column++], values), ...);
    has_failed_ = schema_table_store_record(thd_, &table_) || thd_kill_level(thd_) != 0;
    return !has_failed_;
  }
  // Tells the client an error of the engine.
  void fail(const char* what, const Status& status);
  bool has_failed() const { return has_failed_; }
  THD* thd() const { return thd_; }

 private:
  static void store(Field& field, std::string_view text);
  static void store(Field& field, double number) { field.store(number); }
  template <std::integral Number>
  static void store(Field& field, Number number) {
    field.set_notnull();
    field.store(static_cast<longlong>(number), std::unsigned_integral<Number>);
  }
  static void store(Field& field, std::nullopt_t) { field.set_null(); }
  template <typename Value>
  static void store(Field& field, const std::optional<Value>& value) {
    if (value) return store(field, *value);
    field.set_null();
  }

  THD* const thd_;
  TABLE& table_;
  bool has_failed_ = false;
};

// Whether the engine, which is a plugin of its own, runs; it does until the statement's end then.
bool keep_engine(THD* thd);
// Whether the user may see what others do; tells the client if not.
bool may_see_others(THD* thd);

// What a file of this folder makes a table of: its columns, and who puts the rows.
template <ST_FIELD_INFO* columns, void (*fill)(Rows&)>
int init_schema_table(void* schema_table) {
  if (!is_built_for_this_server()) return 1;
  auto* const table = static_cast<ST_SCHEMA_TABLE*>(schema_table);
  table->fields_info = columns;
  table->fill_table = [](THD* thd, TABLE_LIST* tables, COND*) -> int {
    if (!keep_engine(thd)) return 0;
    Rows rows(thd, *tables->table);
    fill(rows);
    return rows.has_failed() ? 1 : 0;
  };
  return 0;
}

template <void (*fill)(Rows&)>
void fill_if_allowed(Rows& rows) {
  if (may_see_others(rows.thd())) fill(rows);
}

// The same for one that tells of other users' transactions and keys.
template <ST_FIELD_INFO* columns, void (*fill)(Rows&)>
int init_guarded_table(void* schema_table) {
  return init_schema_table<columns, fill_if_allowed<fill>>(schema_table);
}

// Columns of the lengths that MyRocks gives them.
inline Show::Varchar name_type() { return Show::Varchar(NAME_LEN + 1); }
inline Show::Varchar text_type() { return Show::Varchar(FN_REFLEN + 1); }
inline Show::SLonglong number_type() { return Show::SLonglong(); }

}  // namespace basalt::server
