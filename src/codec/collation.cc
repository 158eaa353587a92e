#include "codec/collation.h"

#include <algorithm>

#include "base/assert.h"

namespace basalt::codec {

namespace {

class BinaryCollation final : public Collation {
 public:
  BinaryCollation()
      : Collation({.id = 63,
                   .weight_width = 1,
                   .space_weight = 0x20,
                   .pads_with_space = false,
                   .bytes_are_weights = true}) {}

  std::size_t prefix_bytes(std::string_view value, std::size_t characters) const override {
    return std::min(value.size(), characters);
  }
  void append_weights(std::string_view value, std::size_t /*level*/,
                      std::string& out) const override {
    out.append(value);
  }
};

}  // namespace

// The rules on which decoding rests: a violation would store keys that cannot be read.
Collation::Collation(const Traits& traits) : traits_(traits) {
  BASALT_ASSERT(traits.weight_width >= 1 && traits.weight_width <= 3);
  BASALT_ASSERT(traits.space_weight < 1u << 22);
  BASALT_ASSERT(traits.weight_width > 1 || traits.space_weight <= 0xFF);
  BASALT_ASSERT(!traits.pads_with_space || traits.space_weight != 0);
  BASALT_ASSERT(traits.space.size() == 1 || traits.space.size() == 2 || traits.space.size() == 4);
  BASALT_ASSERT(!traits.bytes_are_weights ||
                (traits.space_weight == 0x20 && traits.space == " " &&
                 traits.char_spaces == CharSpaces::kPadding && level_count() == 1));
  BASALT_ASSERT(traits.char_spaces == CharSpaces::kPadding || traits.space_weight != 0);
  BASALT_ASSERT(traits.character_bytes_max != 0);
  for (const std::uint32_t weight : traits.more_space_weights)
    BASALT_ASSERT(weight < 1u << (traits.weight_width == 1 ? 8 : 22));
}

std::size_t Collation::level_count() const {
  std::size_t count = 1;
  for (const std::uint32_t weight : traits_.more_space_weights) count += weight != 0 ? 1 : 0;
  return count;
}

Collation::~Collation() = default;

const Collation& binary_collation() {
  static const BinaryCollation collation;
  return collation;
}

}  // namespace basalt::codec
