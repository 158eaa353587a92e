#include "server/convert/collation.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/assert.h"

namespace basalt::server {
namespace {

constexpr unsigned kManyWeights = ~0U;

// Where the order that the server's comparison makes comes from, in the words of strnxfrm().
enum class Source : std::uint8_t {
  kBytes,      // the value is its own sequence of weights
  kTransform,  // strnxfrm()
  kLevels,     // strnxfrm(), a level at a time
  // strnxfrm() of the value without trailing spaces, which ends at a zero. Several passes over the
  // value follow each other there, so nothing can be padded.
  kPasses,
  // strnxfrm() up to the first zero, where the comparison stops too.
  kUntilZero,
  // strnxfrm() has an order of strokes, the comparison that of codes.
  kCodes,
};

bool has_flag(const CHARSET_INFO* charset, unsigned flag) { return (charset->state & flag) != 0; }

bool is_nopad(const CHARSET_INFO* charset) { return has_flag(charset, MY_CS_NOPAD); }

// memcmp of the strings themselves is their order, up to padding.
bool is_bytewise(const CHARSET_INFO* charset) {
  return charset == &my_charset_bin || (has_flag(charset, MY_CS_BINSORT) && charset->mbminlen == 1);
}

bool is_of(const CHARSET_INFO* charset, const char* character_set) {
  return std::strcmp(charset->cs_name.str, character_set) == 0;
}

Source source_of(const CHARSET_INFO* charset, bool is_char) {
  if (is_bytewise(charset)) return Source::kBytes;
  if (is_of(charset, "big5")) return Source::kCodes;
  // A CHAR is compared as in the collation with padding.
  if (is_of(charset, "tis620") && is_nopad(charset) && !is_char) return Source::kUntilZero;
  if (charset->levels_for_order == 1) return Source::kTransform;
  return charset->uca != nullptr ? Source::kLevels : Source::kPasses;
}

// Multi-byte characters of character sets that are not Unicode compare by their bytes or by two
// others; single bytes are all below the first of them, or between two in their byte order.
std::uint8_t weight_width(const CHARSET_INFO* charset) {
  if (is_bytewise(charset) || !has_flag(charset, MY_CS_UNICODE)) return 1;
  const bool is_full_code = has_flag(charset, MY_CS_BINSORT) && !is_of(charset, "ucs2");
  return is_full_code ? 3 : 2;
}

// Appends the result of strnxfrm(), unpadded.
void append_transformed(const CHARSET_INFO* charset, std::string_view value, unsigned flags,
                        std::string& out) {
  const std::size_t before = out.size();
  // strnxfrmlen() takes the length for characters of mbmaxlen bytes; they may all have mbminlen.
  const std::size_t characters = value.size() / charset->mbminlen + 1;
  out.resize(before + charset->strnxfrmlen(characters * charset->mbmaxlen));
  const std::size_t size = charset->strnxfrm(out.data() + before, out.size() - before, kManyWeights,
                                             value.data(), value.size(), flags);
  out.resize(before + size);
}

void append_passes(const CHARSET_INFO* charset, std::string_view value, std::string& out) {
  const std::size_t before = out.size();
  value.remove_suffix(value.size() - (value.find_last_not_of(' ') + 1));
  append_transformed(charset, value, 0, out);
  if (out.size() > before && out.back() == '\0') out.pop_back();
}

void append_until_zero(const CHARSET_INFO* charset, std::string_view value, std::string& out) {
  const std::size_t before = out.size();
  append_transformed(charset, value, 0, out);
  out.resize(std::min(out.find('\0', before), out.size()));
}

void append_codes(const CHARSET_INFO* charset, std::string_view value, std::string& out) {
  const char* at = value.data();
  const char* const end = at + value.size();
  while (at != end) {
    const std::size_t size = charset->charlen_fix(at, end);
    if (size == 1) {
      out.push_back(static_cast<char>(charset->sort_order[static_cast<std::uint8_t>(*at)]));
    } else {
      out.append(at, size);
    }
    at += size;
  }
}

// The strnxfrm() flag of a level: MY_STRXFRM_LEVEL1 and so on, of those that the collation has.
unsigned flag_of_level(const CHARSET_INFO* charset, std::size_t level) {
  unsigned levels = charset->levels_for_order;
  for (; level > 0; --level) levels &= levels - 1;
  return levels & ~(levels - 1);
}

void append_weights_of(const CHARSET_INFO* charset, Source source, std::string_view value,
                       std::size_t level, std::string& out) {
  switch (source) {
    case Source::kBytes: out.append(value); return;
    case Source::kTransform: return append_transformed(charset, value, 0, out);
    case Source::kLevels:
      return append_transformed(charset, value, flag_of_level(charset, level), out);
    case Source::kPasses: return append_passes(charset, value, out);
    case Source::kUntilZero: return append_until_zero(charset, value, out);
    case Source::kCodes: return append_codes(charset, value, out);
  }
  BASALT_UNREACHABLE();
}

std::string_view space_of(const CHARSET_INFO* charset) {
  using std::string_view_literals::operator""sv;
  if (charset->mbminlen == 1) return " "sv;
  if (charset->mbminlen == 4) return "\0\0\0 "sv;
  return is_of(charset, "utf16le") ? " \0"sv : "\0 "sv;
}

std::uint32_t space_weight(const CHARSET_INFO* charset, Source source, std::size_t level) {
  if (source == Source::kPasses) return 0;
  std::uint32_t weight = 0;
  std::string weights;
  append_weights_of(charset, source, space_of(charset), level, weights);
  for (const char byte : weights) weight = weight << 8 | static_cast<std::uint8_t>(byte);
  return weight;
}

codec::Collation::CharSpaces char_spaces_of(const CHARSET_INFO* charset) {
  using CharSpaces = codec::Collation::CharSpaces;
  if (!has_flag(charset, MY_CS_NON1TO1)) return CharSpaces::kPadding;
  // Tone marks weigh behind everything else, spaces included.
  if (is_of(charset, "tis620")) return CharSpaces::kWeighed;
  return is_nopad(charset) ? CharSpaces::kCounted : CharSpaces::kPadding;
}

codec::Collation::Traits traits_of(const CHARSET_INFO* charset, Source source) {
  codec::Collation::Traits traits{};
  traits.id = static_cast<std::uint16_t>(charset->number);
  traits.weight_width = weight_width(charset);
  traits.space_weight = space_weight(charset, source, 0);
  traits.pads_with_space =
      charset != &my_charset_bin && !is_nopad(charset) && source != Source::kPasses;
  traits.bytes_are_weights = source == Source::kBytes;
  traits.space = space_of(charset);
  traits.character_bytes_max = static_cast<std::uint8_t>(charset->mbmaxlen);
  traits.char_spaces = char_spaces_of(charset);
  if (source != Source::kLevels) return traits;
  const int levels = std::popcount(charset->levels_for_order);
  BASALT_ASSERT(static_cast<std::size_t>(levels) <= codec::Collation::kLevels);
  for (int level = 1; level < levels; ++level)
    traits.more_space_weights[level - 1] =
        space_weight(charset, source, static_cast<std::size_t>(level));
  return traits;
}

class ServerCollation final : public codec::Collation {
 public:
  ServerCollation(const CHARSET_INFO* charset, Source source)
      : Collation(traits_of(charset, source)), charset_(charset), source_(source) {}

  std::size_t prefix_bytes(std::string_view value, std::size_t characters) const override {
    if (value.size() <= characters) return value.size();
    if (charset_->mbmaxlen == 1) return characters;
    const std::size_t bytes =
        charset_->charpos(value.data(), value.data() + value.size(), characters);
    return std::min(bytes, value.size());
  }

  void append_weights(std::string_view value, std::size_t level, std::string& out) const override {
    append_weights_of(charset_, source_, value, level, out);
  }

 private:
  const CHARSET_INFO* const charset_;
  const Source source_;
};

}  // namespace

const codec::Collation* CollationRegistry::find(const CHARSET_INFO* charset, bool is_char) {
  const MutexLock guard(mutex_);
  std::unique_ptr<codec::Collation>& collation = collations_[{charset->number, is_char}];
  if (!collation)
    collation = std::make_unique<ServerCollation>(charset, source_of(charset, is_char));
  return collation.get();
}

const codec::Collation* CollationRegistry::find_by_id(std::uint16_t id, bool is_char) {
  const CHARSET_INFO* charset = get_charset(id, MYF(0));
  return charset == nullptr ? nullptr : find(charset, is_char);
}

}  // namespace basalt::server
