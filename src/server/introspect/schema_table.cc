#include "server/introspect/schema_table.h"

#include "server/convert/error_mapping.h"

namespace basalt::server {

void Rows::store(Field& field, std::string_view text) {
  field.set_notnull();
  field.store(text.data(), text.size(), system_charset_info);
}

void Rows::fail(const char* what, const Status& status) {
  report_failure(what, status);
  has_failed_ = true;
}

bool keep_engine(THD* thd) {
  const LEX_CSTRING engine = {STRING_WITH_LEN("ROCKSDB")};
  return plugin_lock_by_name(thd, &engine, MYSQL_STORAGE_ENGINE_PLUGIN) != nullptr;
}

bool may_see_others(THD* thd) { return !check_global_access(thd, PROCESS_ACL); }

}  // namespace basalt::server
