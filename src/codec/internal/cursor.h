#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

// Reading stored bytes that may be damaged.
namespace basalt::codec {

// What is wrong with stored bytes, in static storage; null: nothing. Becomes the message of a
// kCorruption status at the edge of the codec.
using Fault = const char*;

// What is left of a byte string. Every access through `at` needs a check of left() first.
struct Cursor {
  const std::uint8_t* at = nullptr;
  const std::uint8_t* end = nullptr;

  Cursor() = default;
  Cursor(const std::uint8_t* from, const std::uint8_t* to) : at(from), end(to) {}
  explicit Cursor(std::string_view bytes)
      : at(reinterpret_cast<const std::uint8_t*>(bytes.data())), end(at + bytes.size()) {}

  std::size_t left() const { return static_cast<std::size_t>(end - at); }
};

// Reads a varint and moves past it; false if there is none that fits 64 bits.
inline bool consume_varint(Cursor& from, std::uint64_t& value) {
  value = 0;
  for (unsigned shift = 0; shift < 64 && from.at != from.end; shift += 7) {
    const std::uint8_t byte = *from.at++;
    if (shift == 63 && byte > 1) return false;
    value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

// Copies `size` bytes; a few machine instructions for the sizes of numbers.
inline void copy_bytes(void* to, const void* from, std::size_t size) {
  switch (size) {
    case 1: std::memcpy(to, from, 1); break;
    case 2: std::memcpy(to, from, 2); break;
    case 3: std::memcpy(to, from, 3); break;
    case 4: std::memcpy(to, from, 4); break;
    case 8: std::memcpy(to, from, 8); break;
    default:
      if (size != 0) std::memcpy(to, from, size);
  }
}

// Copies bytes of a part whose bytes are complemented if `mask` is 0xFF; 0 if not.
inline void copy_masked(std::uint8_t* to, const std::uint8_t* from, std::size_t size,
                        std::uint8_t mask) {
  if (mask == 0) return copy_bytes(to, from, size);
  for (std::size_t i = 0; i < size; ++i) to[i] = static_cast<std::uint8_t>(~from[i]);
}

}  // namespace basalt::codec
