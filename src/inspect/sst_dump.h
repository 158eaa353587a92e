#pragma once

namespace basalt::inspect {

// The program mariadb-sst-dump: RocksDB's sst_dump, and commands of its own that know tables and
// indexes. Returns its exit code.
int run_sst_dump(int count, char** texts);

}  // namespace basalt::inspect
