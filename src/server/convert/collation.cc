#include "server/convert/collation.h"

namespace basalt::server {
namespace {

constexpr unsigned kManyWeights = ~0U;

// memcmp of the strings themselves is their order, up to padding.
bool is_bytewise(const CHARSET_INFO* charset) {
  return charset == &my_charset_bin ||
         ((charset->state & MY_CS_BINSORT) != 0 && charset->mbminlen == 1);
}

std::uint8_t weight_width(const CHARSET_INFO* charset) {
  return charset->mbmaxlen == 1 || is_bytewise(charset) ? 1 : 2;
}

// Appends the weights of `value`, unpadded.
void append_server_weights(const CHARSET_INFO* charset, std::string_view value,
                           std::string& out) {
  const std::size_t before = out.size();
  // strnxfrmlen() takes the length for characters of mbmaxlen bytes; they may all have one.
  out.resize(before + charset->strnxfrmlen(value.size() * charset->mbmaxlen));
  const std::size_t size =
      charset->strnxfrm(out.data() + before, out.size() - before, kManyWeights, value.data(),
                        value.size(), 0);
  out.resize(before + size);
}

std::uint32_t space_weight(const CHARSET_INFO* charset) {
  if (is_bytewise(charset)) return 0x20;
  std::uint32_t weight = 0;
  if (charset->mbminlen != 1) return weight;
  std::string weights;
  append_server_weights(charset, " ", weights);
  for (const char byte : weights) {
    weight = weight << 8 | static_cast<std::uint8_t>(byte);
  }
  return weight;
}

codec::Collation::Traits traits_of(const CHARSET_INFO* charset) {
  codec::Collation::Traits traits{};
  traits.id = static_cast<std::uint16_t>(charset->number);
  if (charset->mbminlen == 2) traits.space = std::string_view("\0 ", 2);
  if (charset->mbminlen == 4) traits.space = std::string_view("\0\0\0 ", 4);
  if (!CollationRegistry::is_indexable(charset)) {
    // Never part of a key: only the bytes matter.
    traits.weight_width = 1;
    traits.space_weight = 0x20;
    return traits;
  }
  traits.weight_width = weight_width(charset);
  traits.space_weight = space_weight(charset);
  traits.pads_with_space =
      charset != &my_charset_bin && (charset->state & MY_CS_NOPAD) == 0;
  traits.bytes_are_weights = is_bytewise(charset);
  return traits;
}

class ServerCollation final : public codec::Collation {
 public:
  explicit ServerCollation(const CHARSET_INFO* charset)
      : Collation(traits_of(charset)), charset_(charset) {}

  std::size_t prefix_bytes(std::string_view value, std::size_t characters) const override {
    if (value.size() <= characters) return value.size();
    if (charset_->mbmaxlen == 1) return characters;
    const std::size_t bytes =
        charset_->charpos(value.data(), value.data() + value.size(), characters);
    return bytes < value.size() ? bytes : value.size();
  }

  void append_weights(std::string_view value, std::string& out) const override {
    append_server_weights(charset_, value, out);
  }

 private:
  const CHARSET_INFO* const charset_;
};

}  // namespace

bool CollationRegistry::is_indexable(const CHARSET_INFO* charset) {
  if (is_bytewise(charset)) return true;
  if (charset->levels_for_order != 1 || charset->mbminlen != 1) return false;
  return charset->mbmaxlen == 1 || (charset->state & MY_CS_UNICODE) != 0;
}

const codec::Collation* CollationRegistry::find(const CHARSET_INFO* charset) {
  const std::lock_guard guard(mutex_);
  std::unique_ptr<codec::Collation>& collation = collations_[charset->number];
  if (!collation) collation = std::make_unique<ServerCollation>(charset);
  return collation.get();
}

}  // namespace basalt::server
