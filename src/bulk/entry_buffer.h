#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/status.h"

namespace basalt::bulk {

// Entries one after the other in one piece of memory, of which it keeps some when it is cleared.
class EntryBuffer {
 public:
  void add(std::string_view key, std::string_view value) {
    append_length_prefixed(bytes_, key);
    append_length_prefixed(bytes_, value);
  }
  std::size_t bytes() const { return bytes_.size(); }
  void clear() {
    bytes_.clear();
    if (bytes_.capacity() > kKeptBytes) bytes_.shrink_to_fit();
  }

  // Calls `visit` with each key and value, as they came. An error ends the visits.
  template <typename Visit>
  Status visit(Visit&& visit) const {
    std::string_view rest = bytes_;
    std::string_view key;
    std::string_view value;
    while (consume_length_prefixed(rest, key) && consume_length_prefixed(rest, value)) {
      BASALT_TRY(visit(key, value));
    }
    return Status::ok();
  }

 private:
  static constexpr std::size_t kKeptBytes = std::size_t{1} << 20;

  std::string bytes_;
};

}  // namespace basalt::bulk
