#include "codec/internal/record_field.h"

#include "base/bytes.h"

namespace basalt::codec {

namespace {

constexpr std::uint64_t kEightSpaces = 0x2020202020202020;

// Records pad CHAR columns to the widest characters there can be, so most of a field may be
// padding: look at 32 bytes at a time.
std::size_t stripped_size(const char* data, std::size_t size) {
  while (size >= 32) {
    const char* const group = data + size - 32;
    const std::uint64_t difference = (load_le<std::uint64_t>(group) ^ kEightSpaces) |
                                     (load_le<std::uint64_t>(group + 8) ^ kEightSpaces) |
                                     (load_le<std::uint64_t>(group + 16) ^ kEightSpaces) |
                                     (load_le<std::uint64_t>(group + 24) ^ kEightSpaces);
    if (difference != 0) break;
    size -= 32;
  }
  while (size >= 8) {
    const std::uint64_t difference = load_le<std::uint64_t>(data + size - 8) ^ kEightSpaces;
    if (difference != 0) return size - static_cast<std::size_t>(std::countl_zero(difference)) / 8;
    size -= 8;
  }
  while (size > 0 && data[size - 1] == ' ') --size;
  return size;
}

}  // namespace

Space space_of(const Collation* collation) {
  if (collation == nullptr) return {};
  const std::string_view space = collation->traits().space;
  return {space.data(), static_cast<std::uint32_t>(space.size())};
}

std::string_view strip_spaces(std::string_view value, Space space) {
  if (space.width == 1) return value.substr(0, stripped_size(value.data(), value.size()));
  const std::string_view bytes(space.bytes, space.width);
  while (value.ends_with(bytes)) value.remove_suffix(bytes.size());
  return value;
}

void fill_spaces(std::uint8_t* to, std::size_t size, Space space) {
  if (space.width == 1) {
    std::memset(to, ' ', size);
    return;
  }
  for (; size >= space.width; size -= space.width, to += space.width)
    std::memcpy(to, space.bytes, space.width);
  std::memset(to, 0, size);
}

}  // namespace basalt::codec
