#pragma once
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include "codec/internal/test_support.h"

// What the fuzzers make of their input: the seed of a table, and bytes to store or to damage.
namespace basalt::fuzz {

// Takes the input apart from the front; zeros follow its end.
class FuzzInput {
 public:
  FuzzInput(const std::uint8_t* data, std::size_t size)
      : rest_(reinterpret_cast<const char*>(data), size) {}

  bool is_empty() const { return rest_.empty(); }
  std::uint32_t number(std::size_t bytes) {
    std::uint32_t value = 0;
    for (; bytes > 0; --bytes) {
      value = value << 8 | (rest_.empty() ? 0 : static_cast<std::uint8_t>(rest_.front()));
      if (!rest_.empty()) rest_.remove_prefix(1);
    }
    return value;
  }
  std::string bytes(std::size_t size) {
    const std::string result(rest_.substr(0, size));
    rest_.remove_prefix(result.size());
    return result;
  }
  std::string all() { return bytes(rest_.size()); }

 private:
  std::string_view rest_;
};

// Changes a few bytes of something valid: so an input gets past the outermost checks.
inline void damage(FuzzInput& input, std::string& bytes) {
  for (std::uint32_t changes = input.number(1) % 4; changes > 0 && !bytes.empty(); --changes) {
    const std::size_t at = input.number(2) % bytes.size();
    switch (const std::uint32_t way = input.number(1); way % 4) {
      case 0: bytes.resize(at); break;
      case 1: bytes[at] = static_cast<char>(input.number(1)); break;
      case 2: bytes[at] ^= static_cast<char>(1u << way / 4 % 8); break;
      default: bytes.insert(at, input.bytes(way / 4)); break;
    }
  }
}

inline void require(bool condition) {
  if (!condition) std::abort();
}

// A record in memory of exactly its size, which knows what a reader may not have changed.
class GuardedRecord {
 public:
  explicit GuardedRecord(std::size_t size)
      : size_(size), bytes_(std::make_unique<std::uint8_t[]>(size)) {
    std::fill_n(bytes_.get(), size, std::uint8_t{0xA5});
  }
  std::uint8_t* data() { return bytes_.get(); }
  void require_untouched_but(const std::vector<std::uint8_t>& writable) const {
    for (std::size_t i = 0; i < size_; ++i) require(((bytes_[i] ^ 0xA5) & ~writable[i]) == 0);
  }

 private:
  std::size_t size_;
  std::unique_ptr<std::uint8_t[]> bytes_;
};

}  // namespace basalt::fuzz
