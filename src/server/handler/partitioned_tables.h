#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "catalog/catalog.h"
#include "server/mariadb.h"

// Tables whose partitions are tables of ours. The dictionary knows the partitions alone; that they
// are one table, the server's partition engine knows from its list, a file beside the .frm. Names
// are the dictionary's, "database/table".
namespace basalt::server {

// The file of the partition engine's list: the server's working directory is its data directory.
std::string list_of(std::string_view name);
// Whether the partition engine has a table of that name.
bool has_partition_list(std::string_view name);
// Whether the server has a definition of the table of that name, the .frm. True also where that
// cannot be found out.
bool may_have_definition(const std::string& name);
// Whether that is the name of a partition.
bool is_partition(std::string_view name);

// The tables that are partitions of the table of that name.
std::vector<catalog::TablePointer> partitions_of(std::string_view name);

// Drops these tables in turn, up to the first that cannot be. `thd` may be null.
Status drop_partitions(THD* thd, const std::vector<catalog::TablePointer>& partitions);

// Renames partitions and list, for a server that renames a table by our engine and not by the
// partition engine: so it does when it recovers its DDL log, of an ALTER TABLE whose renames a
// crash has interrupted. Without this they would keep the name of the statement's copy. A partition
// that is there under both names was to be dropped under the new one, whose list is gone before its
// partitions. kTableNotFound if there is no such table, kTableExists if there is one of the new
// name.
Status rename_with_partitions(std::string_view from, std::string_view to);

// To be called at the start, before the server recovers its DDL log: where a crash has cut off that
// a table with partitions was renamed, those that had their new names get the former ones again. So
// the server finds them all beside the list, which is renamed behind them.
void bring_back_renamed_partitions();

// Drops the partitions of a table that has no list: the partition engine deletes it before it drops
// them, and the server has ended between. kTableNotFound if there are none, or if there is a list.
// kLockTimeout as refuse_if_undecided(). `thd` may be null.
Status drop_left_partitions(THD* thd, std::string_view name);

// To be called when the list of a table has got that name, behind its partitions.
void forget_renamed_partitions(std::string_view name);

// To be called when the server drops a table that has no partitions, to its knowledge. If there are
// some of that name, and it recovers its DDL log, drop_all_left_partitions() looks at them: so the
// server undoes a CREATE TABLE, as its log tells the engine of the partitions.
void note_dropped_in_recovery(std::string_view name);

// To be called when the server has recovered its DDL log. Drops what ALTER TABLE ... RENAME has
// copied, where the server had to complete the statement and has forgotten the table that was set
// aside; with its partitions and its .frm.
void drop_replaced_tables();

// To be called when the server has recovered its DDL log. Drops the left partitions of tables that
// statements have made for themselves, which nobody knows by name, and those, with the list, of
// tables that were noted and whose .frm is gone. Tells the error log of others.
void drop_all_left_partitions();

}  // namespace basalt::server
