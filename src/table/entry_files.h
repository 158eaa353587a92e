#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/key_range.h"
#include "base/status.h"
#include "bulk/external_sort.h"
#include "kv/database.h"
#include "table/interruption.h"
#include "table/pace.h"

// From sorted entries of an index to files that can be ingested, by several threads.
namespace basalt::table {

// A key, and about how much there is between the one before it and it.
struct WeighedKey {
  std::string key;
  std::uint64_t weight;
};

// Cuts `whole` into at most `most` ranges with about the same weight, about `least` or more.
std::vector<KeyRange> cut_range(const KeyRange& whole, std::vector<WeighedKey> keys,
                                std::size_t most, std::uint64_t least);

// Looks now and then whether one of several threads is to end before its work is done, and gives
// way to writers.
class Watch {
 public:
  Watch(const Interruption& interruption, const std::atomic<bool>& has_failed, Pace pace = Pace())
      : interruption_(interruption), has_failed_(has_failed), pace_(pace) {}

  // kInterrupted if so.
  Status check();

 private:
  const Interruption& interruption_;
  const std::atomic<bool>& has_failed_;
  Pace pace_;
  std::uint64_t steps_ = 0;
};

// What it may take of the machine: bytes to read sorts with, and threads, the caller's included.
struct FileResources {
  std::size_t memory_bytes;
  std::size_t threads;
  Pace pace = Pace();  // of each thread
};

// The files of an index, and what is in them.
struct EntryFiles {
  std::vector<std::string> paths;
  // Empty without entries.
  std::string first_key;
  std::string first_value;
  std::string last_key;
  bool has_duplicate = false;
};

// Writes the entries of finished `sorts`, all of the index `whole`, to files whose paths begin with
// `path`. kDuplicateKey if a key is there twice: it is in `files.first_key`, with one of its values
// then. Else kInterrupted, and errors as of bulk::visit_sorted() and bulk::SstWriter.
Status write_entry_files(kv::Database& database, kv::FamilyId family, const KeyRange& whole,
                         std::span<const std::unique_ptr<bulk::ExternalSort>> sorts,
                         const std::string& path, const FileResources& resources,
                         const Interruption& interruption, EntryFiles& files);

}  // namespace basalt::table
