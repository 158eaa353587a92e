#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// How the values of a string column compare, as far as keys need to know.
//
// Purpose     Turn a string into units whose order, compared one by one, is the SQL order. The
//             key encoding (docs/formats/keys.md) adds the padding rule.
// Ownership   Codecs keep pointers: a Collation outlives every codec made with it.
// Threads     All members are const and callable from any thread at once.
// Must not    change its answers: they are stored in keys.
namespace basalt::codec {

class Collation {
 public:
  struct Traits {
    std::uint16_t id;
    // Bytes of one weight in append_weights(): 1, 2 or 3. A weight is below 2^22.
    std::uint8_t weight_width;
    // The weight of U+0020. 0 if a space has none; then pads_with_space is false.
    std::uint32_t space_weight;
    // Whether the shorter string compares as if it were continued with spaces.
    bool pads_with_space;
    // memcmp of the values is their order, and a space is the byte 0x20: `binary`, and _bin
    // collations of single-byte character sets and of UTF-8.
    bool bytes_are_weights;
    // What CHAR columns are padded with, if not 0x20: U+0020 in a character set whose
    // characters have at least 2 or 4 bytes. In static storage.
    std::string_view space = " ";
  };

  explicit Collation(const Traits& traits);
  virtual ~Collation();
  Collation(const Collation&) = delete;
  Collation& operator=(const Collation&) = delete;

  const Traits& traits() const { return traits_; }

  // The number of bytes that the first `characters` characters of `value` occupy; value.size()
  // if it has no more. An ill-formed byte counts as a character.
  virtual std::size_t prefix_bytes(std::string_view value, std::size_t characters) const = 0;

  // Appends the weights of `value`, unpadded, each of traits().weight_width bytes, most
  // significant first. Not called if bytes_are_weights.
  virtual void append_weights(std::string_view value, std::string& out) const = 0;

 private:
  const Traits traits_;
};

// The order of bytes: id 63, NOPAD, one character per byte.
const Collation& binary_collation();

}  // namespace basalt::codec
