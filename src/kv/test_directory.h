#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "base/assert.h"
#include "base/test_directory.h"
#include "kv/database.h"

// Databases for tests of this layer and those above.
namespace basalt::kv::test {

using basalt::test::TestDirectory;

inline DatabaseOptions small_options(std::string directory) {
  DatabaseOptions options;
  options.directory = std::move(directory);
  options.block_cache_bytes = 8 << 20;
  options.memtable_bytes = 4 << 20;
  options.background_jobs = 2;
  return options;
}

inline std::unique_ptr<Database> open_database(const std::string& directory) {
  Result<std::unique_ptr<Database>> database = Database::open(small_options(directory));
  BASALT_ASSERT(database.is_ok());
  return std::move(database.value());
}

// Copies the files of an open database as a crash of the process would leave them: nothing is
// flushed or closed first. No test thread may write meanwhile; the copy is made anew if RocksDB
// removes an obsolete file under it.
inline void copy_crash_image(const std::string& from, const std::string& to) {
  std::error_code error;
  for (int attempt = 0; attempt < 20; ++attempt) {
    std::filesystem::copy(from, to, std::filesystem::copy_options::recursive, error);
    if (!error) return;
    std::filesystem::remove_all(to);
  }
  BASALT_UNREACHABLE();
}

// The value of a key, or "(none)".
inline std::string value_of(Database& database, FamilyId family, std::string_view key,
                            const ReadView& view = {}) {
  PinnedValue value;
  bool found = false;
  BASALT_ASSERT(database.get(family, key, view, value, found).is_ok());
  return found ? std::string(value.view()) : "(none)";
}

// The number of entries with lower <= key < upper that are visible now.
inline std::uint64_t count_entries(Database& database, FamilyId family, const KeyRange& range) {
  std::uint64_t count = 0;
  Iterator iterator = database.new_iterator(family, {}, range);
  for (iterator.seek_to_first(); iterator.is_valid(); iterator.next()) ++count;
  BASALT_ASSERT(iterator.status().is_ok());
  return count;
}

}  // namespace basalt::kv::test
