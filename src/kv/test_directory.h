#pragma once
#include <stdlib.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "base/assert.h"
#include "kv/database.h"

// Databases for tests of this layer and those above.
namespace basalt::kv::test {

// Where test directories are made: in TMPDIR if set, else in memory if there is room, because the
// tests sync thousands of small files.
inline std::filesystem::path test_root() {
  std::error_code error;
  const std::filesystem::path memory = "/dev/shm";
  const bool has_room = std::filesystem::space(memory, error).available > (std::uintmax_t{1} << 30);
  if (getenv("TMPDIR") == nullptr && !error && has_room) return memory;
  return std::filesystem::temp_directory_path();
}

// A new, empty directory; removed at the end with all that is in it.
class TestDirectory {
 public:
  TestDirectory() {
    std::string pattern = test_root() / "basalt_test.XXXXXX";
    BASALT_ASSERT(mkdtemp(pattern.data()) != nullptr);
    path_ = pattern;
  }
  ~TestDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TestDirectory(const TestDirectory&) = delete;
  TestDirectory& operator=(const TestDirectory&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

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
