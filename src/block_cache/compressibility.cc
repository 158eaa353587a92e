#include "block_cache/compressibility.h"

#include <lz4.h>

#include <algorithm>
#include <cstddef>
#include <string>

#include "base/bytes.h"
#include "block_cache/block_sizes.h"

namespace basalt::block_cache {

// As RocksDB's blocks have it: what the key shares with the one before, and the lengths, as
// numbers; the rest of the key, a sequence number and a type; the value.
void EntrySizes::add(std::string_view key, std::string_view value) {
  constexpr unsigned kTypeBits = 8;
  const std::size_t shared = common_bytes(previous_, key);
  append_varint(block_, shared);
  append_varint(block_, key.size() - shared);
  append_varint(block_, value.size());
  block_ += key.substr(shared);
  char trailer[sizeof(std::uint64_t)];
  store_le(trailer, (entries_ << kTypeBits) + 1);
  block_.append(trailer, sizeof trailer);
  block_ += value.substr(0, kBlockBytes);
  previous_ = key;
  ++entries_;
  bytes_ += key.size() + value.size();
  cut_bytes_ += value.size() - std::min<std::size_t>(value.size(), kBlockBytes);
  if (block_.size() >= kBlockBytes) end_block();
}

// LZ4 is what a flush compresses with (kv/rocksdb_options.h).
void EntrySizes::end_block() {
  std::string room(static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(block_.size()))),
                   '\0');
  const int bytes = LZ4_compress_default(
      block_.data(), room.data(), static_cast<int>(block_.size()), static_cast<int>(room.size()));
  const std::size_t stored = bytes > 0 ? static_cast<std::size_t>(bytes) : block_.size();
  raw_block_bytes_ += block_.size();
  stored_bytes_ += std::min(stored, block_.size());
  block_.clear();
  previous_.clear();
}

EntrySizes::Average EntrySizes::average() {
  if (!block_.empty()) end_block();
  if (entries_ == 0) return {};
  const auto entries = static_cast<double>(entries_);
  const double share = static_cast<double>(stored_bytes_) / static_cast<double>(raw_block_bytes_);
  return {static_cast<double>(bytes_) / entries,
          (static_cast<double>(stored_bytes_) + share * static_cast<double>(cut_bytes_)) / entries};
}

}  // namespace basalt::block_cache
