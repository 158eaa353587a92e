#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/key_range.h"
#include "base/status.h"
#include "rdb/rocksdb_fwd.h"
#include "wal/health.h"

namespace basalt::bulk {

// Sorts entries of one index by their keys in bounded memory. Those with equal keys come one after
// the other, in any order.
//
// How         Entries are collected in memory. When it is full they are sorted and written to a
//             file, as a run; at the end the runs are merged. What fits is in no file. Several
//             threads sort an index together, each what it finds with a sort of its own, and then
//             each merges a range of the keys of all of them.
// Life cycle  add()... -> finish() -> visit_sorted(), any number of times. After an error it is of
//             no more use.
// Errors      Of the file: kIoError, kNoSpace; as wal/health.h has them where rows may not be
//             changed; kCorruption if the file is not what was written.
// Memory      As given, and some of it once more, briefly, while it grows; some 64 keys of each
//             time that it was full. Each merge takes kReadBytesMin for each run at least, and has
//             one value that is longer than that.
// Threads     One at a time; several at once may visit what is finished.
class ExternalSort {
 public:
  // Called with each entry, valid during the call. An error ends the visits.
  using Visit = std::function<Status(std::string_view key, std::string_view value)>;
  static constexpr std::size_t kReadBytesMin = std::size_t{16} << 10;

  // The file at `path` is made when memory is full. The owner of its directory removes it. `files`
  // and `health` are the database's, and outlive this.
  ExternalSort(rdb::FileSystem& files, wal::Health& health, std::string path,
               std::size_t memory_bytes);
  ~ExternalSort();
  ExternalSort(const ExternalSort&) = delete;
  ExternalSort& operator=(const ExternalSort&) = delete;

  Status add(std::string_view key, std::string_view value);
  // Nothing is added any more.
  Status finish();

  // Keys of entries about sample_bytes() apart, in no order: what divides the entries into equal
  // parts. After finish().
  std::vector<std::string> samples() const;
  // A part of the memory given.
  std::size_t sample_bytes() const { return sample_bytes_; }
  // How many runs are in the file.
  std::size_t run_count() const { return runs_.size(); }

 private:
  // An entry in memory. Most are told apart by the bytes behind the index id.
  struct Entry {
    std::uint64_t prefix;
    const char* bytes;  // its size, then key and value
  };
  // A place in a run where an entry begins, and its key.
  struct Mark {
    std::string key;
    std::uint64_t offset;
  };
  struct Run {
    std::uint64_t begin;
    std::uint64_t end;
    std::vector<Mark> marks;  // ascending, about sample_bytes() apart
  };
  class File;
  class Reader;
  class MemoryReader;
  class RunReader;
  friend Status visit_sorted(std::span<const std::unique_ptr<ExternalSort>> sorts,
                             const KeyRange& range, std::size_t memory_bytes, const Visit& visit);

  std::size_t growth(std::size_t bytes) const;
  char* allocate(std::size_t bytes);
  void sort_entries();
  Status spill();
  void add_readers(const KeyRange& range, std::size_t read_bytes,
                   std::vector<std::unique_ptr<Reader>>& readers) const;

  rdb::FileSystem& files_;
  wal::Health& health_;
  const std::string path_;
  const std::size_t memory_bytes_;
  const std::size_t sample_bytes_;
  std::vector<Entry> entries_;
  std::vector<std::unique_ptr<char[]>> chunks_;
  char* next_ = nullptr;         // free bytes of the last chunk
  std::size_t chunk_left_ = 0;   // how many
  std::size_t chunk_bytes_ = 0;  // of all chunks
  std::unique_ptr<File> file_;
  std::vector<Run> runs_;
};

// Visits the entries in `range` of all of `sorts`, which are finished and have no key in common, in
// the order of their keys. `memory_bytes` is for what is read of files.
Status visit_sorted(std::span<const std::unique_ptr<ExternalSort>> sorts, const KeyRange& range,
                    std::size_t memory_bytes, const ExternalSort::Visit& visit);

}  // namespace basalt::bulk
