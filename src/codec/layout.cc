#include "codec/layout.h"

#include <algorithm>
#include <bit>

#include "base/assert.h"

namespace basalt::codec {

ColumnSet::ColumnSet(std::size_t columns, bool all) : size_(columns), words_((columns + 63) / 64) {
  if (all) set_all();
}

void ColumnSet::set(std::size_t column) {
  BASALT_ASSERT(column < size_);
  words_[column / 64] |= std::uint64_t{1} << (column % 64);
}

void ColumnSet::unset(std::size_t column) {
  BASALT_ASSERT(column < size_);
  words_[column / 64] &= ~(std::uint64_t{1} << (column % 64));
}

void ColumnSet::set_all() {
  std::fill(words_.begin(), words_.end(), ~std::uint64_t{0});
  if (size_ % 64 != 0) words_.back() = (std::uint64_t{1} << (size_ % 64)) - 1;
}

void ColumnSet::keep(const ColumnSet& other) {
  for (std::size_t i = 0; i < words_.size(); ++i) {
    words_[i] &= i < other.words_.size() ? other.words_[i] : 0;
  }
}

void ColumnSet::clear() { std::fill(words_.begin(), words_.end(), 0); }

std::size_t ColumnSet::count() const {
  std::size_t total = 0;
  for (const std::uint64_t word : words_) total += static_cast<std::size_t>(std::popcount(word));
  return total;
}

bool ColumnSet::contains(const ColumnSet& other) const {
  for (std::size_t i = 0; i < other.words_.size(); ++i) {
    const std::uint64_t mine = i < words_.size() ? words_[i] : 0;
    if ((other.words_[i] & ~mine) != 0) return false;
  }
  return true;
}

}  // namespace basalt::codec
