#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"

// The time of a row, in tables whose rows expire: seconds since 1970, with which the stored values
// of the row and of all its index entries begin. docs/formats/rows.md, Time.
namespace basalt {

inline constexpr std::size_t kRowTimeBytes = sizeof(std::uint64_t);

// How long rows live, from their time on.
struct RowLifetime {
  std::uint64_t seconds = 0;  // 0: they do not expire
  // Rows of earlier times are gone, however long rows live now: when they lived shorter compactions
  // may have taken these.
  std::uint64_t gone_before = 0;

  // Rows of earlier times than this are expired at `now`.
  std::uint64_t expired_before(std::uint64_t now) const {
    const std::uint64_t by_age = seconds != 0 && now >= seconds ? now - seconds + 1 : 0;
    return std::max(by_age, gone_before);
  }
  bool operator==(const RowLifetime&) const = default;
};

// The time that a stored value tells. Of one that is too short, which decoding will find damaged,
// the end of time: nobody takes it for expired.
inline std::uint64_t row_time(std::string_view value) {
  return value.size() < kRowTimeBytes ? UINT64_MAX : load_be64(value.data());
}

// Puts the time in front of a value.
inline void prepend_row_time(std::uint64_t time, std::string& value) {
  char bytes[kRowTimeBytes];
  store_be64(bytes, time);
  value.insert(0, bytes, kRowTimeBytes);
}

}  // namespace basalt
