#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "base/key_range.h"
#include "base/status.h"
#include "bulk/background_writer.h"
#include "bulk/entry_buffer.h"
#include "bulk/external_sort.h"
#include "kv/database.h"
#include "table/entry_files.h"
#include "table/interruption.h"

namespace basalt::table {

// The entries of one index, in any order, on their way into files.
//
// How         As long as they come in the order of their keys, as they mostly do in the primary
//             index, they are written to files at once, by a thread of their own. From the first
//             one that does not on all are sorted; what is in files by then is read back.
// Life cycle  add()... -> finish(). After an error it is of no more use, and fails again.
// Errors      Those of files as in bulk::ExternalSort, bulk::SstWriter and txn::SpilledRun;
//             kInterrupted.
// Threads     One at a time.
class IndexLoad {
 public:
  // Into `whole`, of `family`; the paths of its files begin with `path`, as nobody else's do.
  struct Place {
    kv::Database& database;
    kv::FamilyId family;
    KeyRange whole;
    std::string path;
  };

  // Sorts in so many bytes. `threads_left`: how many threads the load may still begin. Both that
  // and `interruption` outlive this.
  IndexLoad(Place place, std::size_t sort_bytes, std::size_t& threads_left,
            const Interruption& interruption);
  ~IndexLoad();
  IndexLoad(const IndexLoad&) = delete;
  IndexLoad& operator=(const IndexLoad&) = delete;

  Status add(std::string_view key, std::string_view value);
  // As write_entry_files().
  Status finish(const FileResources& resources, EntryFiles& files);

 private:
  Status add_in_order(std::string_view key, std::string_view value);
  // There are enough for a file: false if no thread can write it.
  bool begin_file();
  // Gives what there is to a sort.
  Status begin_sort();
  Status read_back(const std::string& path);

  const Place place_;
  const std::size_t sort_bytes_;
  std::size_t& threads_left_;
  const Interruption& interruption_;
  Status failure_;
  bulk::EntryBuffer head_;  // of the entries in order, before there is a file
  std::unique_ptr<bulk::BackgroundWriter> writer_;
  EntryFiles in_order_;
  std::unique_ptr<bulk::ExternalSort> sort_;
};

}  // namespace basalt::table
