#pragma once

namespace basalt::inspect {

// The program mariadb-ldb: RocksDB's ldb, of which only the commands that change nothing, and two
// of its own that know tables and indexes. Returns its exit code.
int run_ldb(int count, char** texts);

}  // namespace basalt::inspect
