#include "codec/internal/string_key.h"

#include <cstring>

#include "base/assert.h"
#include "codec/internal/record_field.h"

namespace basalt::codec {

namespace {

// What follows a space unit: the end, or the length of a run of spaces. Runs that a smaller unit
// follows sort below the end, and the longer the higher; runs that a greater unit follows sort
// above the end, and the longer the lower.
constexpr std::uint8_t kEnd = 0x80;
constexpr std::uint8_t kLowMore = 0x7F;
constexpr std::uint8_t kHighMore = 0x81;
constexpr std::size_t kSpacesMax = 126;

// What follows a zero unit.
constexpr std::uint8_t kZeroEnd = 0x01;
constexpr std::uint8_t kZeroUnit = 0xFF;

constexpr Fault kUnfinished = "key ends inside a string";
constexpr Fault kBadRun = "invalid run of spaces in a key";
constexpr Fault kBadZero = "invalid zero escape in a key";
constexpr Fault kTooLong = "string in a key is longer than its column";

std::uint8_t* put_unit(std::uint8_t* to, std::uint32_t unit) {
  if (unit < 0x80) {
    *to++ = static_cast<std::uint8_t>(unit);
  } else if (unit < 0x4000) {
    *to++ = static_cast<std::uint8_t>(0x80 | unit >> 8);
    *to++ = static_cast<std::uint8_t>(unit);
  } else {
    BASALT_ASSERT(unit < 1u << 22);
    *to++ = static_cast<std::uint8_t>(0xC0 | unit >> 16);
    *to++ = static_cast<std::uint8_t>(unit >> 8);
    *to++ = static_cast<std::uint8_t>(unit);
  }
  return to;
}

std::size_t unit_size(std::uint8_t lead) {
  return 1u + static_cast<unsigned>(lead >= 0x80) + static_cast<unsigned>(lead >= 0xC0);
}

template <unsigned width>
std::uint32_t unit_at(const std::uint8_t* units, std::size_t index) {
  const std::uint8_t* const at = units + index * width;
  if constexpr (width == 1) return at[0];
  if constexpr (width == 2) return static_cast<std::uint32_t>(at[0] << 8 | at[1]);
  return static_cast<std::uint32_t>(at[0] << 16 | at[1] << 8 | at[2]);
}

std::uint8_t* put_marker(std::uint8_t* to, const StringForm& form) {
  std::memcpy(to, form.marker, form.marker_size);
  return to + form.marker_size;
}

std::uint8_t* put_run(std::uint8_t* to, std::size_t spaces, bool smaller_follows) {
  for (; spaces > kSpacesMax; spaces -= kSpacesMax) *to++ = smaller_follows ? kLowMore : kHighMore;
  *to++ = static_cast<std::uint8_t>(smaller_follows ? spaces : 0x100 - spaces);
  return to;
}

// Copies single-byte units up to the first `stop` or the last unit; returns how many.
std::size_t put_until(std::uint8_t*& to, const std::uint8_t* from, std::size_t count,
                      std::uint8_t stop) {
  if (count == 0) return 0;
  const void* const found = std::memchr(from, stop, count);
  const std::size_t size =
      found == nullptr ? count
                       : static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - from);
  std::memcpy(to, from, size);
  to += size;
  return size;
}

template <unsigned width>
std::uint8_t* put_space_runs(std::uint8_t* to, const std::uint8_t* units, std::size_t count,
                             const StringForm& form) {
  const std::uint32_t space = form.space_unit;
  while (count > 0 && unit_at<width>(units, count - 1) == space) --count;
  std::size_t i = 0;
  while (i < count) {
    if constexpr (width == 1) {
      i += put_until(to, units + i, count - i, static_cast<std::uint8_t>(space));
      if (i == count) break;
    } else if (const std::uint32_t unit = unit_at<width>(units, i); unit != space) {
      to = put_unit(to, unit);
      ++i;
      continue;
    }
    const std::size_t begin = i;
    while (unit_at<width>(units, i) == space) ++i;  // ends: the last unit is not a space
    to = put_run(put_marker(to, form), i - begin, unit_at<width>(units, i) < space);
  }
  to = put_marker(to, form);
  *to++ = kEnd;
  return to;
}

template <unsigned width>
std::uint8_t* put_space_counts(std::uint8_t* to, const std::uint8_t* units, std::size_t count,
                               const StringForm& form) {
  const std::uint32_t space = form.space_unit;
  std::size_t i = 0;
  while (i < count) {
    const std::uint32_t unit = unit_at<width>(units, i);
    if (unit == space) {
      const std::size_t begin = i;
      while (i < count && unit_at<width>(units, i) == space) ++i;
      const bool smaller_follows = i == count || unit_at<width>(units, i) < space;
      to = put_run(put_marker(to, form), i - begin, smaller_follows);
      continue;
    }
    if constexpr (width == 1) {
      *to++ = static_cast<std::uint8_t>(unit);
    } else {
      to = put_unit(to, unit);
    }
    if (unit == 0) *to++ = kZeroUnit;
    ++i;
  }
  *to++ = 0;
  *to++ = kZeroEnd;
  return to;
}

template <unsigned width>
std::uint8_t* put_zero_escaped(std::uint8_t* to, const std::uint8_t* units, std::size_t count) {
  std::size_t i = 0;
  while (i < count) {
    if constexpr (width == 1) {
      i += put_until(to, units + i, count - i, 0);
      if (i == count) break;
    } else if (const std::uint32_t unit = unit_at<width>(units, i); unit != 0) {
      to = put_unit(to, unit);
      ++i;
      continue;
    }
    *to++ = 0;
    *to++ = kZeroUnit;
    ++i;
  }
  *to++ = 0;
  *to++ = kZeroEnd;
  return to;
}

template <unsigned width>
std::uint8_t* put_units(std::uint8_t* to, const std::uint8_t* units, std::size_t count,
                        const StringForm& form) {
  switch (form.padding) {
    case StringForm::Padding::kSpaceRun: return put_space_runs<width>(to, units, count, form);
    case StringForm::Padding::kZeroEscaped: return put_zero_escaped<width>(to, units, count);
    case StringForm::Padding::kSpaceCount: return put_space_counts<width>(to, units, count, form);
  }
  BASALT_UNREACHABLE();
}

template <unsigned width>
void append_units(std::string_view units, const StringForm& form, std::string& out) {
  BASALT_DEBUG_ASSERT(units.size() % width == 0);
  const std::size_t count = units.size() / width;
  // A unit takes at most 3 bytes, a single space or zero one more; as does the end.
  const std::size_t bound = (count + 1) * (width == 1 ? 2 : 4);
  const std::size_t begin = out.size();
  out.resize(begin + bound);
  auto* const first = reinterpret_cast<std::uint8_t*>(out.data());
  const auto* const from = reinterpret_cast<const std::uint8_t*>(units.data());
  const std::uint8_t* const last = put_units<width>(first + begin, from, count, form);
  out.resize(static_cast<std::size_t>(last - first));
}

// Reads what follows a space unit. `spaces` is 0 at the end of the string.
Fault consume_run(Cursor& from, std::uint8_t mask, std::size_t& spaces) {
  spaces = 0;
  if (from.at == from.end) return kUnfinished;
  std::uint8_t byte = *from.at++ ^ mask;
  if (byte == kEnd) return nullptr;
  const bool low = byte < kEnd;
  while (byte == (low ? kLowMore : kHighMore)) {
    spaces += kSpacesMax;
    if (from.at == from.end) return kUnfinished;
    byte = *from.at++ ^ mask;
  }
  if (byte == 0 || byte == kEnd || (byte < kEnd) != low) return kBadRun;
  spaces += low ? byte : 0x100u - byte;
  return nullptr;
}

// Reads what follows a zero unit; `zeros` is 1, or 0 at the end of the string.
Fault consume_zero(Cursor& from, std::uint8_t mask, std::size_t& zeros) {
  zeros = 0;
  if (from.at == from.end) return kUnfinished;
  const std::uint8_t byte = *from.at++ ^ mask;
  if (byte == kZeroEnd) return nullptr;
  if (byte != kZeroUnit) return kBadZero;
  zeros = 1;
  return nullptr;
}

Fault consume_after_marker(Cursor& from, const StringForm& form, std::uint8_t mask,
                           std::size_t& markers) {
  return form.padding == StringForm::Padding::kSpaceRun ? consume_run(from, mask, markers)
                                                        : consume_zero(from, mask, markers);
}

const std::uint8_t* find_marker(const Cursor& from, const StringForm& form, std::uint8_t mask) {
  if (from.at == from.end) return nullptr;
  const std::uint8_t stored = form.marker[0] ^ mask;
  return static_cast<const std::uint8_t*>(std::memchr(from.at, stored, from.left()));
}

bool is_marker(const std::uint8_t* unit, const StringForm& form, std::uint8_t mask) {
  for (std::size_t i = 1; i < form.marker_size; ++i)
    if ((unit[i] ^ mask) != form.marker[i]) return false;
  return true;
}

Fault skip_wide(Cursor& from, const StringForm& form, std::uint8_t mask) {
  const std::uint8_t marker_lead = form.marker[0] ^ mask;
  const std::uint8_t* at = from.at;
  while (at != from.end) {
    const std::uint8_t lead = *at;
    const std::size_t size = unit_size(lead ^ mask);
    if (static_cast<std::size_t>(from.end - at) < size) break;
    at += size;
    if (lead != marker_lead || !is_marker(at - size, form, mask)) continue;
    std::size_t markers = 0;
    from.at = at;
    if (const Fault fault = consume_after_marker(from, form, mask, markers)) return fault;
    if (markers == 0) return nullptr;
    at = from.at;
  }
  return kUnfinished;
}

Fault skip_space_counts(Cursor& from, const StringForm& form, std::uint8_t mask) {
  while (from.at != from.end) {
    const std::uint8_t lead = *from.at ^ mask;
    const std::size_t size = form.unit_width == 1 ? 1 : unit_size(lead);
    if (from.left() < size) break;
    const std::uint8_t* const unit = from.at;
    from.at += size;
    std::size_t count = 0;
    if (lead == 0) {
      if (const Fault fault = consume_zero(from, mask, count)) return fault;
      if (count == 0) return nullptr;
    } else if (lead == form.marker[0] && is_marker(unit, form, mask)) {
      if (const Fault fault = consume_run(from, mask, count)) return fault;
      if (count == 0) return kBadRun;
    }
  }
  return kUnfinished;
}

}  // namespace

StringForm make_string_form(StringForm::Padding padding, std::uint8_t unit_width,
                            std::uint32_t space_unit) {
  StringForm form;
  form.padding = padding;
  form.unit_width = unit_width;
  form.space_unit = space_unit;
  BASALT_ASSERT(padding != StringForm::Padding::kSpaceCount || space_unit != 0);
  const std::uint32_t marker = padding == StringForm::Padding::kZeroEscaped ? 0 : space_unit;
  if (unit_width == 1) {
    form.marker[0] = static_cast<std::uint8_t>(marker);
  } else {
    form.marker_size = static_cast<std::uint8_t>(put_unit(form.marker, marker) - form.marker);
  }
  return form;
}

void append_string_key(std::string_view units, const StringForm& form, std::string& out) {
  switch (form.unit_width) {
    case 1: return append_units<1>(units, form, out);
    case 2: return append_units<2>(units, form, out);
    case 3: return append_units<3>(units, form, out);
    default: BASALT_UNREACHABLE();
  }
}

Fault skip_string_key(Cursor& from, const StringForm& form, std::uint8_t mask) {
  if (form.padding == StringForm::Padding::kSpaceCount) return skip_space_counts(from, form, mask);
  if (form.unit_width != 1) return skip_wide(from, form, mask);
  std::size_t markers = 1;
  while (markers != 0) {
    const std::uint8_t* const marker = find_marker(from, form, mask);
    if (marker == nullptr) return kUnfinished;
    from.at = marker + 1;
    if (const Fault fault = consume_after_marker(from, form, mask, markers)) return fault;
  }
  return nullptr;
}

Fault decode_string_key(Cursor& from, const StringForm& form, std::uint8_t mask, std::uint8_t* to,
                        std::size_t capacity, std::size_t& size) {
  BASALT_DEBUG_ASSERT(form.unit_width == 1);
  BASALT_DEBUG_ASSERT(form.padding != StringForm::Padding::kSpaceCount);
  size = 0;
  std::size_t markers = 1;
  while (markers != 0) {
    const std::uint8_t* const marker = find_marker(from, form, mask);
    if (marker == nullptr) return kUnfinished;
    const auto chunk = static_cast<std::size_t>(marker - from.at);
    if (chunk > capacity - size) return kTooLong;
    copy_masked(to + size, from.at, chunk, mask);
    size += chunk;
    from.at = marker + 1;
    if (const Fault fault = consume_after_marker(from, form, mask, markers)) return fault;
    if (markers > capacity - size) return kTooLong;
    if (markers != 0) std::memset(to + size, form.marker[0], markers);
    size += markers;
  }
  return nullptr;
}

}  // namespace basalt::codec
