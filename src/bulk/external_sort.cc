#include "bulk/external_sort.h"

#include <rocksdb/file_system.h>

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "base/key_range.h"
#include "rdb/slice.h"
#include "rdb/status_conversion.h"

namespace basalt::bulk {
namespace {

// Before each entry, in memory and in the file: the sizes of key and value.
constexpr std::size_t kHeaderSize = 2 * sizeof(std::uint32_t);
constexpr std::size_t kChunkBytes = 256 * 1024;
constexpr std::size_t kWriteBytes = 1024 * 1024;
constexpr std::size_t kSamplesOfMemory = 64;
constexpr std::size_t kSampleBytesMin = 64 * 1024;
constexpr std::size_t kReadBytesMax = 1024 * 1024;

// The first bytes behind the index id.
std::uint64_t prefix_of(std::string_view key) {
  return number_at(key, kIndexIdBytes, sizeof(std::uint64_t));
}

std::size_t key_size(const char* entry) { return load_le<std::uint32_t>(entry); }
std::size_t value_size(const char* entry) {
  return load_le<std::uint32_t>(entry + sizeof(std::uint32_t));
}
std::size_t size_of(const char* entry) { return kHeaderSize + key_size(entry) + value_size(entry); }
std::string_view key_of(const char* entry) { return {entry + kHeaderSize, key_size(entry)}; }
std::string_view value_of(const char* entry) {
  return {entry + kHeaderSize + key_size(entry), value_size(entry)};
}

}  // namespace

// The file of the runs: written first, then read.
class ExternalSort::File {
 public:
  static Result<std::unique_ptr<File>> make(rdb::FileSystem& files, const std::string& path) {
    std::unique_ptr<File> file(new File(files, path));
    BASALT_TRY(rdb::from_rocksdb(
        file->files_.NewWritableFile(path, rdb::FileOptions(), &file->writer_, nullptr)));
    return file;
  }

  std::uint64_t size() const { return size_; }

  Status append(std::string_view bytes) {
    BASALT_TRY(rdb::from_rocksdb(writer_->Append(rdb::slice_of(bytes), rdb::IOOptions(), nullptr)));
    size_ += bytes.size();
    return Status::ok();
  }

  // Nothing is appended from then on.
  Status begin_reading() {
    BASALT_TRY(rdb::from_rocksdb(writer_->Close(rdb::IOOptions(), nullptr)));
    return rdb::from_rocksdb(
        files_.NewRandomAccessFile(path_, rdb::FileOptions(), &reader_, nullptr));
  }

  // Appends `bytes` bytes from `offset` on to `out`.
  Status read(std::uint64_t offset, std::size_t bytes, std::string& out) const {
    const std::size_t before = out.size();
    out.resize(before + bytes);
    char* const room = out.data() + before;
    rdb::Slice found;
    BASALT_TRY(
        rdb::from_rocksdb(reader_->Read(offset, bytes, rdb::IOOptions(), &found, room, nullptr)));
    if (found.size() != bytes) return damaged();
    if (found.data() != room) std::copy_n(found.data(), bytes, room);
    return Status::ok();
  }

  Status damaged() const {
    return Status(ErrorCode::kCorruption, "'" + path_ + "' is not what was written to it");
  }

 private:
  File(rdb::FileSystem& files, std::string path) : files_(files), path_(std::move(path)) {}

  rdb::FileSystem& files_;
  const std::string path_;
  std::uint64_t size_ = 0;
  std::unique_ptr<rdb::FSWritableFile> writer_;
  std::unique_ptr<rdb::FSRandomAccessFile> reader_;
};

// Goes through entries in the order of their keys.
class ExternalSort::Reader {
 public:
  virtual ~Reader() = default;

  // Moves to the first entry, then to the next; false behind the last.
  virtual Result<bool> next() = 0;
  std::string_view key() const { return key_of(entry_); }
  // Valid until the next move; `room` is for one that is not in memory.
  virtual Result<std::string_view> value(std::string& room) const = 0;

  bool operator<(const Reader& other) const {
    return prefix_ != other.prefix_ ? prefix_ < other.prefix_ : key() < other.key();
  }

 protected:
  void stand_on(const char* entry, std::uint64_t prefix) {
    entry_ = entry;
    prefix_ = prefix;
  }
  const char* entry() const { return entry_; }

 private:
  const char* entry_ = nullptr;
  std::uint64_t prefix_ = 0;
};

class ExternalSort::MemoryReader final : public Reader {
 public:
  explicit MemoryReader(std::span<const Entry> entries) : entries_(entries) {}

  Result<bool> next() override {
    if (entries_.empty()) return false;
    stand_on(entries_.front().bytes, entries_.front().prefix);
    entries_ = entries_.subspan(1);
    return true;
  }
  Result<std::string_view> value(std::string& /*room*/) const override { return value_of(entry()); }

 private:
  std::span<const Entry> entries_;  // that are still to come
};

// Reads the entries of a run that are in a range. Of long ones the value is read when it is asked
// for: each run waits with one.
class ExternalSort::RunReader final : public Reader {
 public:
  RunReader(const File& file, const Run& run, const KeyRange& range, std::size_t read_bytes)
      : file_(file), range_(range), end_(run.end), read_bytes_(read_bytes) {
    // The last mark that is not behind the range's beginning.
    const auto behind = std::upper_bound(
        run.marks.begin(), run.marks.end(), range.lower,
        [](const std::string& lower, const Mark& mark) { return lower < mark.key; });
    next_ = behind == run.marks.begin() ? run.begin : std::prev(behind)->offset;
  }

  Result<bool> next() override {
    while (true) {
      BASALT_TRY(pass_entry());
      if (position_ == buffer_.size() && next_ == end_) return false;
      BASALT_TRY(fill(kHeaderSize));
      const std::size_t size = size_of(buffer_.data() + position_);
      const bool is_long = size > kReadBytesMin;
      BASALT_TRY(fill(is_long ? size - value_size(buffer_.data() + position_) : size));
      entry_size_ = size;
      const char* const entry = buffer_.data() + position_;
      const std::string_view key = key_of(entry);
      if (!range_.upper.empty() && key >= range_.upper) return false;
      if (key < range_.lower) continue;
      stand_on(entry, prefix_of(key));
      return true;
    }
  }

  Result<std::string_view> value(std::string& room) const override {
    const std::size_t size = value_size(entry());
    const std::size_t before = entry_size_ - size;
    if (entry_size_ <= buffer_.size() - position_) return value_of(entry());
    room.clear();
    BASALT_TRY(file_.read(entry_begin() + before, size, room));
    return std::string_view(room);
  }

 private:
  // Where the entry begins in the file.
  std::uint64_t entry_begin() const { return next_ - (buffer_.size() - position_); }
  // Moves behind the entry, of which the end may not be in the buffer.
  Status pass_entry() {
    const std::uint64_t behind = entry_begin() + entry_size_;
    if (behind > end_) return file_.damaged();
    if (behind <= next_) {
      position_ += entry_size_;
    } else {
      buffer_.clear();
      position_ = 0;
      next_ = behind;
    }
    entry_size_ = 0;
    return Status::ok();
  }
  // Sees to it that so many bytes are in the buffer.
  Status fill(std::size_t bytes) {
    const std::size_t there = buffer_.size() - position_;
    if (there >= bytes) return Status::ok();
    if (bytes - there > end_ - next_) return file_.damaged();
    buffer_.erase(0, position_);
    position_ = 0;
    const std::size_t more =
        std::min<std::uint64_t>(std::max(bytes - there, read_bytes_), end_ - next_);
    BASALT_TRY(file_.read(next_, more, buffer_));
    next_ += more;
    return Status::ok();
  }

  const File& file_;
  const KeyRange& range_;
  std::uint64_t next_;  // of the file, behind what is in the buffer
  const std::uint64_t end_;
  const std::size_t read_bytes_;
  std::string buffer_;
  std::size_t position_ = 0;
  std::size_t entry_size_ = 0;
};

ExternalSort::ExternalSort(rdb::FileSystem& files, wal::Health& health, std::string path,
                           std::size_t memory_bytes)
    : files_(files),
      health_(health),
      path_(std::move(path)),
      memory_bytes_(memory_bytes),
      sample_bytes_(std::max(memory_bytes / kSamplesOfMemory, kSampleBytesMin)) {}

ExternalSort::~ExternalSort() = default;

// How many bytes an allocation adds to the memory in use.
std::size_t ExternalSort::growth(std::size_t bytes) const {
  return bytes <= chunk_left_ ? 0 : std::max(bytes, kChunkBytes);
}

char* ExternalSort::allocate(std::size_t bytes) {
  if (const std::size_t chunk = growth(bytes); chunk != 0) {
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(chunk));
    next_ = chunks_.back().get();
    chunk_left_ = chunk;
    chunk_bytes_ += chunk;
  }
  chunk_left_ -= bytes;
  return std::exchange(next_, next_ + bytes);
}

Status ExternalSort::add(std::string_view key, std::string_view value) {
  const std::size_t bytes = kHeaderSize + key.size() + value.size();
  // Twice: the vector may have room for as many again.
  const std::size_t used = chunk_bytes_ + entries_.size() * 2 * sizeof(Entry);
  if (!entries_.empty() && used + growth(bytes) > memory_bytes_) BASALT_TRY(spill());
  char* const entry = allocate(bytes);
  store_le(entry, static_cast<std::uint32_t>(key.size()));
  store_le(entry + sizeof(std::uint32_t), static_cast<std::uint32_t>(value.size()));
  std::copy(key.begin(), key.end(), entry + kHeaderSize);
  std::copy(value.begin(), value.end(), entry + kHeaderSize + key.size());
  entries_.push_back({prefix_of(key), entry});
  return Status::ok();
}

void ExternalSort::sort_entries() {
  std::sort(entries_.begin(), entries_.end(), [](const Entry& left, const Entry& right) {
    if (left.prefix != right.prefix) return left.prefix < right.prefix;
    return key_of(left.bytes) < key_of(right.bytes);
  });
}

Status ExternalSort::spill() {
  BASALT_TRY(health_.check_writable());
  if (file_ == nullptr) {
    Result<std::unique_ptr<File>> file = File::make(files_, path_);
    if (!file.is_ok()) return file.take_status();
    file_ = std::move(file.value());
  }
  sort_entries();
  Run run{file_->size(), file_->size(), {}};
  std::string buffer;
  buffer.reserve(kWriteBytes);
  for (const Entry& entry : entries_) {
    const std::size_t size = size_of(entry.bytes);
    if (buffer.size() + size > kWriteBytes) {
      BASALT_TRY(file_->append(buffer));
      buffer.clear();
    }
    if (run.marks.empty() || run.end - run.marks.back().offset >= sample_bytes_) {
      run.marks.push_back({std::string(key_of(entry.bytes)), run.end});
    }
    buffer.append(entry.bytes, size);
    run.end += size;
  }
  BASALT_TRY(file_->append(buffer));
  runs_.push_back(std::move(run));
  entries_.clear();
  chunks_.clear();
  chunk_left_ = 0;
  chunk_bytes_ = 0;
  return Status::ok();
}

Status ExternalSort::finish() {
  if (!runs_.empty()) {
    if (!entries_.empty()) BASALT_TRY(spill());
    entries_.shrink_to_fit();
    return file_->begin_reading();
  }
  sort_entries();
  return Status::ok();
}

std::vector<std::string> ExternalSort::samples() const {
  std::vector<std::string> keys;
  for (const Run& run : runs_) {
    for (const Mark& mark : run.marks) keys.push_back(mark.key);
  }
  std::size_t bytes = sample_bytes_;
  for (const Entry& entry : entries_) {
    if (bytes >= sample_bytes_) {
      keys.emplace_back(key_of(entry.bytes));
      bytes = 0;
    }
    bytes += size_of(entry.bytes);
  }
  return keys;
}

void ExternalSort::add_readers(const KeyRange& range, std::size_t read_bytes,
                               std::vector<std::unique_ptr<Reader>>& readers) const {
  for (const Run& run : runs_) {
    readers.push_back(std::make_unique<RunReader>(*file_, run, range, read_bytes));
  }
  const auto first_not_before = [&](const std::string& bound) {
    return std::partition_point(entries_.begin(), entries_.end(),
                                [&](const Entry& entry) { return key_of(entry.bytes) < bound; });
  };
  const auto begin = first_not_before(range.lower);
  const auto end = range.upper.empty() ? entries_.end() : first_not_before(range.upper);
  if (begin < end) readers.push_back(std::make_unique<MemoryReader>(std::span(begin, end)));
}

Status visit_sorted(std::span<const std::unique_ptr<ExternalSort>> sorts, const KeyRange& range,
                    std::size_t memory_bytes, const ExternalSort::Visit& visit) {
  std::size_t runs = 0;
  for (const auto& sort : sorts) runs += sort->run_count();
  const std::size_t read_bytes = std::clamp(memory_bytes / std::max<std::size_t>(runs, 1),
                                            ExternalSort::kReadBytesMin, kReadBytesMax);
  std::vector<std::unique_ptr<ExternalSort::Reader>> readers;
  for (const auto& sort : sorts) sort->add_readers(range, read_bytes, readers);
  // Those with an entry, of which the least is the heap's first.
  std::vector<ExternalSort::Reader*> heap;
  const auto is_behind = [](const auto* left, const auto* right) { return *right < *left; };
  const auto advance = [&](ExternalSort::Reader* reader) -> Status {
    Result<bool> found = reader->next();
    if (!found.is_ok()) return found.take_status();
    if (!found.value()) return Status::ok();
    heap.push_back(reader);
    std::push_heap(heap.begin(), heap.end(), is_behind);
    return Status::ok();
  };
  std::string long_value;
  for (const auto& reader : readers) BASALT_TRY(advance(reader.get()));
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), is_behind);
    ExternalSort::Reader* const least = heap.back();
    heap.pop_back();
    Result<std::string_view> value = least->value(long_value);
    if (!value.is_ok()) return value.take_status();
    BASALT_TRY(visit(least->key(), value.value()));
    BASALT_TRY(advance(least));
  }
  return Status::ok();
}

}  // namespace basalt::bulk
