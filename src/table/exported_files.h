#pragma once
#include <functional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "kv/database.h"

// The files of exported tables by their names: docs/formats/exported-tables.md.
namespace basalt::table {

// The name of the table if a file of that name, without its directory, can be one of an exported
// table: "t" of "t.cfg" and of "t.12-3.sst"; else empty. The view is into `file`.
std::string_view exported_table_of(std::string_view file);

// Removes all files of an exported table that lie at `path`, as of exported_definition_path(), of
// whatever export; a definition of another engine stays. All that can be removed are; what cannot
// is told to the error log, and the first error is returned.
Status remove_exported(kv::Database& database, const std::string& path);

// The same for all tables in `directory` of which `is_left` is true.
Status remove_left_exports(kv::Database& database, const std::string& directory,
                           const std::function<bool(std::string_view table)>& is_left);

}  // namespace basalt::table
