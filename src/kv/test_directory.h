#pragma once
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <system_error>
#include <thread>

#include "base/assert.h"
#include "base/test_directory.h"
#include "base/test_support.h"
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
  return basalt::test::must(Database::open(small_options(directory)));
}

// The files below a directory and their sizes. The info log is left out: it grows at any time, and
// no recovery reads it.
inline std::map<std::string, std::uintmax_t> file_sizes(const std::string& directory,
                                                        std::error_code& error) {
  std::map<std::string, std::uintmax_t> sizes;
  std::filesystem::recursive_directory_iterator files(directory, error);
  for (; !error && files != std::filesystem::end(files); files.increment(error)) {
    const bool is_file = files->is_regular_file(error);
    if (error) break;
    if (!is_file || files->path().filename() == "LOG") continue;
    sizes[files->path()] = files->file_size(error);
    if (error) break;
  }
  return sizes;
}

// Copies the files of an open database as a crash of the process would leave them: nothing is
// flushed or closed first. No test thread may write meanwhile. A flush or a compaction in the
// background may, and a copy across its end would be of no moment: the manifest names a file of
// after it, and the listing was of before. Each of them adds a file before the manifest names it,
// so a copy during which no name and no size changed is of one moment; another is made anew.
inline void copy_crash_image(const std::string& from, const std::string& to) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::error_code error;
    const std::map<std::string, std::uintmax_t> before = file_sizes(from, error);
    if (!error) {
      std::filesystem::copy(from, to, std::filesystem::copy_options::recursive, error);
    }
    if (!error && file_sizes(from, error) == before && !error) return;
    std::filesystem::remove_all(to);
    std::this_thread::sleep_for(std::chrono::milliseconds(attempt));
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
