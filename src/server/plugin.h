#pragma once
#include <memory>
#include <string>
#include <vector>

#include "codec/collation.h"
#include "engine/engine.h"
#include "server/convert/collation.h"
#include "server/foreign_key_failures.h"
#include "server/handler/left_tables.h"
#include "server/row_counts.h"
#include "server/wait_observer.h"
#include "server/mariadb.h"

namespace basalt::server {

// What lives from the plugin's init to its deinit.
struct Plugin {
  handlerton* hton = nullptr;
  CollationRegistry collations;
  WaitReporter wait_reporter;
  RowCounters rows;
  ForeignKeyFailures foreign_key_failures;
  LeftTables left_tables;
  // What the partition engine does by itself; null where there is none.
  int (*drop_partitioned_table)(handlerton*, const char*) = nullptr;
  uint partition_slot = 0;  // its place among the server's engines
  // Whether the server has yet to recover its DDL log, or recovers it.
  bool recovers_ddl = false;
  // Tables that the server has dropped meanwhile as if they had no partitions, by their dictionary
  // names, also those that were not there.
  std::vector<std::string> dropped_in_recovery;
  std::unique_ptr<engine::Engine> engine;  // last: stopped first
};

// The one global of the engine. Null before init and after deinit.
extern Plugin* g_plugin;

// Whether the server is the release that the plugin was compiled for. If not, nothing of the server
// may be touched whose layout is not that of a plugin's interface.
bool is_built_for_this_server();

inline engine::Engine& the_engine() { return *g_plugin->engine; }

}  // namespace basalt::server
