#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "codec/internal/cursor.h"
#include "codec/layout.h"

// Values of string columns inside records.
namespace basalt::codec {

// The padding of a CHAR column: U+0020 in its character set, in static storage.
struct Space {
  const char* bytes = " ";
  std::uint32_t width = 1;
};
Space space_of(const Collation* collation);

// `value` without the spaces at its end.
std::string_view strip_spaces(std::string_view value, Space space);
// Fills `size` bytes with spaces. A remainder smaller than a space becomes zeros.
void fill_spaces(std::uint8_t* to, std::size_t size, Space space);

inline std::uint32_t load_length(const std::uint8_t* from, std::uint8_t length_bytes) {
  std::uint64_t length = 0;
  copy_bytes(&length, from, length_bytes);
  return static_cast<std::uint32_t>(length);
}

// The data of a VARCHAR or VARBINARY at `field`.
inline std::string_view variable_string_at(const std::uint8_t* field, std::uint8_t length_bytes) {
  return {reinterpret_cast<const char*>(field) + length_bytes, load_length(field, length_bytes)};
}

// The data that the blob column at `field` points to.
inline std::string_view blob_at(const std::uint8_t* field, std::uint8_t length_bytes) {
  const char* data = nullptr;
  std::memcpy(&data, field + length_bytes, sizeof data);
  return {data, load_length(field, length_bytes)};
}

// The largest length that fits into `length_bytes` bytes.
inline std::uint64_t largest_length(std::uint8_t length_bytes) {
  return (std::uint64_t{1} << (8 * length_bytes)) - 1;
}

inline bool is_null(const std::uint8_t* record, std::uint32_t null_offset, std::uint8_t null_mask) {
  return (record[null_offset] & null_mask) != 0;
}
inline void set_null(std::uint8_t* record, std::uint32_t null_offset, std::uint8_t null_mask,
                     bool null) {
  std::uint8_t& bits = record[null_offset];
  bits = static_cast<std::uint8_t>(null ? bits | null_mask : bits & ~null_mask);
}

// Writes what stands for "no value" into a NULL column's field.
inline void write_neutral_string(std::uint8_t* field, std::uint8_t length_bytes) {
  std::memset(field, 0, length_bytes);
}
inline void write_neutral_blob(std::uint8_t* field, std::uint8_t length_bytes) {
  std::memset(field, 0, length_bytes + sizeof(const char*));
}

}  // namespace basalt::codec
