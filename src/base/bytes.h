#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

// Fixed-width integers in stored and in server byte order.
//
// Byte strings are std::string_view / std::string everywhere below the server: RocksDB slices,
// literals in tests and std::string buffers convert without casts.
// The machine is little-endian (x86-64); asserted below.
namespace basalt {

static_assert(std::endian::native == std::endian::little);

template <typename T>
inline T load_le(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <typename T>
inline void store_le(void* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

inline std::uint32_t load_be32(const void* from) {
  return __builtin_bswap32(load_le<std::uint32_t>(from));
}
inline std::uint64_t load_be64(const void* from) {
  return __builtin_bswap64(load_le<std::uint64_t>(from));
}
inline void store_be32(void* to, std::uint32_t value) { store_le(to, __builtin_bswap32(value)); }
inline void store_be64(void* to, std::uint64_t value) { store_le(to, __builtin_bswap64(value)); }

inline void append_be32(std::string& out, std::uint32_t value) {
  char bytes[4];
  store_be32(bytes, value);
  out.append(bytes, sizeof bytes);
}
inline void append_be64(std::string& out, std::uint64_t value) {
  char bytes[8];
  store_be64(bytes, value);
  out.append(bytes, sizeof bytes);
}

// Reads `size` (1..8) bytes, least significant first.
inline std::uint64_t load_le_sized(const void* from, std::size_t size) {
  std::uint64_t value = 0;
  std::memcpy(&value, from, size);
  return value;
}
inline void store_le_sized(void* to, std::uint64_t value, std::size_t size) {
  std::memcpy(to, &value, size);
}

// The number that `count` (0..8) bytes from `begin` on make, most significant first. What `bytes`
// does not reach to is 0, so numbers of the same count order as the strings do.
inline std::uint64_t number_at(std::string_view bytes, std::size_t begin, std::size_t count) {
  if (count != 0 && begin <= bytes.size() && bytes.size() - begin >= sizeof(std::uint64_t)) {
    return load_be64(bytes.data() + begin) >> 8 * (sizeof(std::uint64_t) - count);
  }
  char room[sizeof(std::uint64_t)] = {};
  const std::string_view there = bytes.substr(std::min(begin, bytes.size()), count);
  std::copy(there.begin(), there.end(), room);
  return count == 0 ? 0 : load_be64(room) >> 8 * (sizeof room - count);
}

// How many bytes both begin with.
inline std::size_t common_bytes(std::string_view a, std::string_view b) {
  const std::size_t shorter = std::min(a.size(), b.size());
  std::size_t i = 0;
  for (; i + 8 <= shorter; i += 8) {
    const std::uint64_t difference =
        load_le<std::uint64_t>(a.data() + i) ^ load_le<std::uint64_t>(b.data() + i);
    if (difference != 0) return i + static_cast<std::size_t>(__builtin_ctzll(difference)) / 8;
  }
  while (i < shorter && a[i] == b[i]) ++i;
  return i;
}

// LEB128: 7 bits per byte, least significant group first, top bit set on all but the last.
inline void append_varint(std::string& out, std::uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

// Reads a varint from the front of `bytes` and moves `bytes` past it.
// Returns false, leaving both unchanged, if there is no complete varint of at most 64 bits.
inline bool consume_varint(std::string_view& bytes, std::uint64_t& value) {
  std::uint64_t result = 0;
  for (std::size_t i = 0; i < bytes.size() && i < 10; ++i) {
    const auto byte = static_cast<std::uint8_t>(bytes[i]);
    if (i == 9 && byte > 1) return false;
    result |= static_cast<std::uint64_t>(byte & 0x7F) << (7 * i);
    if ((byte & 0x80) == 0) {
      value = result;
      bytes.remove_prefix(i + 1);
      return true;
    }
  }
  return false;
}

inline void append_length_prefixed(std::string& out, std::string_view bytes) {
  append_varint(out, bytes.size());
  out.append(bytes);
}

// Returns false, leaving both unchanged, if `bytes` does not begin with a complete string.
inline bool consume_length_prefixed(std::string_view& bytes, std::string_view& value) {
  std::string_view rest = bytes;
  std::uint64_t size = 0;
  if (!consume_varint(rest, size) || size > rest.size()) return false;
  value = rest.substr(0, size);
  rest.remove_prefix(size);
  bytes = rest;
  return true;
}

}  // namespace basalt
