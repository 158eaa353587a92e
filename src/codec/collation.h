#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

// How the values of a string column compare, as far as keys need to know.
//
// Purpose     Turn a string into units whose order, compared one by one, is the SQL order. The
//             key encoding (docs/formats/keys.md) adds the padding rule. A collation may have
//             several levels: strings that are equal on one are compared on the next.
// Ownership   Codecs keep pointers: a Collation outlives every codec made with it.
// Threads     All members are const and callable from any thread at once.
// Must not    change its answers: they are stored in keys.
namespace basalt::codec {

class Collation {
 public:
  static constexpr std::size_t kLevels = 3;

  // What the spaces mean with which CHAR values are padded to their column's length, or to that of
  // a key part with a prefix.
  enum class CharSpaces : std::uint8_t {
    // Nothing: values compare as if they were continued with spaces for ever. Of collations whose
    // space has no weight: nothing either, and the shorter string sorts first.
    kPadding,
    // They have a part in the weights of the characters before them, which append_weights() is
    // given together with them; else nothing.
    kWeighed,
    // They are characters like all others: of two sequences of weights the shorter sorts first, on
    // every level. So 'ss' and U+00DF with a space are told apart where the two are equal without.
    kCounted,
  };

  struct Traits {
    std::uint16_t id;
    // Bytes of one weight in append_weights(): 1, 2 or 3. A weight is below 2^22.
    std::uint8_t weight_width;
    // The weight of U+0020. 0 if a space has none; then pads_with_space is false.
    std::uint32_t space_weight;
    // Whether the shorter string compares as if it were continued with spaces; on the first level.
    bool pads_with_space;
    // memcmp of the values is their order, and a space is the byte 0x20: `binary`, and _bin
    // collations of single-byte character sets and of UTF-8.
    bool bytes_are_weights;
    // What CHAR columns are padded with, if not 0x20: U+0020 in a character set whose
    // characters have at least 2 or 4 bytes. In static storage.
    std::string_view space = " ";
    // At most so many bytes are one character.
    std::uint8_t character_bytes_max = 1;
    CharSpaces char_spaces = CharSpaces::kPadding;
    // The weights of U+0020 on the levels after the first, in their order; 0 behind the last. On
    // these levels all strings but the CHARs of CharSpaces::kCounted are padded.
    std::uint32_t more_space_weights[kLevels - 1] = {};
  };

  explicit Collation(const Traits& traits);
  virtual ~Collation();
  Collation(const Collation&) = delete;
  Collation& operator=(const Collation&) = delete;

  const Traits& traits() const { return traits_; }
  // 1, 2 or 3.
  std::size_t level_count() const;
  std::uint32_t space_weight(std::size_t level) const {
    return level == 0 ? traits_.space_weight : traits_.more_space_weights[level - 1];
  }

  // The number of bytes that the first `characters` characters of `value` occupy; value.size()
  // if it has no more. An ill-formed byte counts as a character.
  virtual std::size_t prefix_bytes(std::string_view value, std::size_t characters) const = 0;

  // Appends the weights of `value` on `level`, unpadded, each of traits().weight_width bytes, most
  // significant first. Not called if bytes_are_weights.
  virtual void append_weights(std::string_view value, std::size_t level,
                              std::string& out) const = 0;

 private:
  const Traits traits_;
};

// The order of bytes: id 63, NOPAD, one character per byte.
const Collation& binary_collation();

}  // namespace basalt::codec
