#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace basalt::wal {

// What can be done about a WAL that has lost something: the end of a sentence.
std::string damage_remedy();

// What RocksDB would not read of a WAL, and might not say so: it takes the first record that does
// not check out for the end.
struct WalDamage {
  std::string path;
  std::uint64_t offset = 0;  // of the first record that does not check out, in one of its parts
  std::uint64_t records_behind = 0;  // in the same file, or parts of one, that do
  std::uint64_t begun_behind = 0;    // those of them that are not later parts of a record
  std::uint64_t records_in_newer_wals = 0;
  // Whether a part of it was never written: the file ends there, or a sector is empty. So a crash
  // of the machine leaves what was not synced, in any order; nobody was told that it is there.
  // Otherwise something has changed what was written.
  bool is_unwritten = false;
};

// Checks the WALs of a database that is not open; reads each once. One entry for each
// file that is not sound, oldest first.
Result<std::vector<WalDamage>> check_wals(const std::string& directory);

// How many sequence numbers, at most, an ingestion may have taken before the first record of the
// WAL `wal`: one that had begun before, as the first mark from there on says. 0: none.
Result<std::uint64_t> numbers_taken_before(const std::string& directory, std::uint64_t wal);

// The same of the current manifest, which has the form of a WAL: where its last record begins, if
// a part of that was never written. RocksDB would take it for damage. Empty if there is none such.
Result<std::optional<WalDamage>> check_manifest(const std::string& directory);

}  // namespace basalt::wal
