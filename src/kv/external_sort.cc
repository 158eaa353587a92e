#include "kv/external_sort.h"

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/utilities/transaction_db.h>

#include <algorithm>
#include <utility>

#include "base/bytes.h"
#include "kv/rocksdb_access.h"
#include "kv/status_conversion.h"

namespace basalt::kv {
namespace {

constexpr std::size_t kIndexIdSize = 4;
// Before each entry, in memory and in the file: the sizes of key and value.
constexpr std::size_t kHeaderSize = 2 * sizeof(std::uint32_t);
constexpr std::size_t kChunkBytes = 256 * 1024;
constexpr std::size_t kWriteBytes = 1024 * 1024;
constexpr std::size_t kReadBytesMin = 16 * 1024;
constexpr std::size_t kReadBytesMax = 1024 * 1024;

// The first bytes behind the index id.
std::uint64_t prefix_of(std::string_view key) {
  return number_at(key, kIndexIdSize, sizeof(std::uint64_t));
}

std::size_t key_size(const char* entry) { return load_le<std::uint32_t>(entry); }
std::size_t value_size(const char* entry) {
  return load_le<std::uint32_t>(entry + sizeof(std::uint32_t));
}
std::size_t size_of(const char* entry) {
  return kHeaderSize + key_size(entry) + value_size(entry);
}
std::string_view key_of(const char* entry) { return {entry + kHeaderSize, key_size(entry)}; }
std::string_view value_of(const char* entry) {
  return {entry + kHeaderSize + key_size(entry), value_size(entry)};
}

}  // namespace

// The file of the runs: written first, then read.
class ExternalSort::File {
 public:
  static Result<std::unique_ptr<File>> make(Database& database, const std::string& path) {
    std::unique_ptr<File> file(new File(*database.rocksdb().GetEnv()->GetFileSystem(), path));
    BASALT_TRY(from_rocksdb(
        file->files_.NewWritableFile(path, rdb::FileOptions(), &file->writer_, nullptr)));
    return file;
  }

  std::uint64_t size() const { return size_; }

  Status append(std::string_view bytes) {
    BASALT_TRY(from_rocksdb(writer_->Append(slice_of(bytes), rdb::IOOptions(), nullptr)));
    size_ += bytes.size();
    return Status::ok();
  }

  // Nothing is appended from then on.
  Status begin_reading() {
    BASALT_TRY(from_rocksdb(writer_->Close(rdb::IOOptions(), nullptr)));
    return from_rocksdb(
        files_.NewRandomAccessFile(path_, rdb::FileOptions(), &reader_, nullptr));
  }

  // Appends `bytes` bytes from `offset` on to `out`.
  Status read(std::uint64_t offset, std::size_t bytes, std::string& out) const {
    const std::size_t before = out.size();
    out.resize(before + bytes);
    char* const room = out.data() + before;
    rdb::Slice found;
    BASALT_TRY(from_rocksdb(
        reader_->Read(offset, bytes, rdb::IOOptions(), &found, room, nullptr)));
    if (found.size() != bytes) return damaged();
    if (found.data() != room) std::copy_n(found.data(), bytes, room);
    return Status::ok();
  }

  Status damaged() const {
    return Status(ErrorCode::kCorruption, "'" + path_ + "' is not what was written to it");
  }

 private:
  File(rdb::FileSystem& files, std::string path) : files_(files), path_(std::move(path)) {}

  rdb::FileSystem& files_;  // of the database
  const std::string path_;
  std::uint64_t size_ = 0;
  std::unique_ptr<rdb::FSWritableFile> writer_;
  std::unique_ptr<rdb::FSRandomAccessFile> reader_;
};

// Goes through the entries of a run.
class ExternalSort::RunReader {
 public:
  RunReader(const File& file, const Run& run, std::size_t read_bytes)
      : file_(file), next_(run.begin), end_(run.end), read_bytes_(read_bytes) {}

  // False behind the last entry.
  Result<bool> next() {
    position_ += entry_size_;
    entry_size_ = 0;
    if (position_ == buffer_.size() && next_ == end_) return false;
    BASALT_TRY(fill(kHeaderSize));
    const std::size_t size = size_of(buffer_.data() + position_);
    BASALT_TRY(fill(size));
    entry_size_ = size;
    prefix_ = prefix_of(key());
    return true;
  }
  std::string_view key() const { return key_of(buffer_.data() + position_); }
  std::string_view value() const { return value_of(buffer_.data() + position_); }

  bool operator<(const RunReader& other) const {
    return prefix_ != other.prefix_ ? prefix_ < other.prefix_ : key() < other.key();
  }

 private:
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
  std::uint64_t next_;  // of the file, behind what is in the buffer
  const std::uint64_t end_;
  const std::size_t read_bytes_;
  std::string buffer_;
  std::size_t position_ = 0;
  std::size_t entry_size_ = 0;
  std::uint64_t prefix_ = 0;
};

ExternalSort::ExternalSort(Database& database, std::string path, std::size_t memory_bytes)
    : database_(database), path_(std::move(path)), memory_bytes_(memory_bytes) {}

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
  BASALT_TRY(database_.health().check_writable());
  if (file_ == nullptr) {
    Result<std::unique_ptr<File>> file = File::make(database_, path_);
    if (!file.is_ok()) return file.take_status();
    file_ = std::move(file.value());
  }
  sort_entries();
  const std::uint64_t begin = file_->size();
  std::string buffer;
  buffer.reserve(kWriteBytes);
  for (const Entry& entry : entries_) {
    const std::size_t size = size_of(entry.bytes);
    if (buffer.size() + size > kWriteBytes) {
      BASALT_TRY(file_->append(buffer));
      buffer.clear();
    }
    buffer.append(entry.bytes, size);
  }
  BASALT_TRY(file_->append(buffer));
  runs_.push_back({begin, file_->size()});
  entries_.clear();
  chunks_.clear();
  chunk_left_ = 0;
  chunk_bytes_ = 0;
  return Status::ok();
}

Status ExternalSort::drain(const Visit& visit) {
  if (runs_.empty()) return visit_memory(visit);
  if (!entries_.empty()) BASALT_TRY(spill());
  entries_.shrink_to_fit();
  BASALT_TRY(file_->begin_reading());
  return merge(visit);
}

Status ExternalSort::visit_memory(const Visit& visit) {
  sort_entries();
  for (const Entry& entry : entries_) {
    BASALT_TRY(visit(key_of(entry.bytes), value_of(entry.bytes)));
  }
  return Status::ok();
}

Status ExternalSort::merge(const Visit& visit) {
  const std::size_t read_bytes =
      std::clamp(memory_bytes_ / runs_.size(), kReadBytesMin, kReadBytesMax);
  std::vector<std::unique_ptr<RunReader>> readers;
  for (const Run& run : runs_) {
    auto reader = std::make_unique<RunReader>(*file_, run, read_bytes);
    Result<bool> found = reader->next();
    if (!found.is_ok()) return found.take_status();
    if (found.value()) readers.push_back(std::move(reader));
  }
  // The least is the heap's first.
  const auto is_behind = [](const auto& left, const auto& right) { return *right < *left; };
  std::make_heap(readers.begin(), readers.end(), is_behind);
  while (!readers.empty()) {
    std::pop_heap(readers.begin(), readers.end(), is_behind);
    RunReader& least = *readers.back();
    BASALT_TRY(visit(least.key(), least.value()));
    Result<bool> found = least.next();
    if (!found.is_ok()) return found.take_status();
    if (found.value()) {
      std::push_heap(readers.begin(), readers.end(), is_behind);
    } else {
      readers.pop_back();
    }
  }
  return Status::ok();
}

}  // namespace basalt::kv
