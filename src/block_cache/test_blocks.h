#pragma once
#include <cstddef>
#include <random>
#include <string>
#include <vector>

// Blocks of data of different kinds, for tests and benchmarks of their compression.
namespace basalt::block_cache::test {

inline constexpr std::size_t kBlock = 8000;

// Groups of digits with dashes between them.
inline std::string digits(std::mt19937& random) {
  std::string block(kBlock, '-');
  for (std::size_t i = 0; i < kBlock; ++i) {
    if (i % 12 != 11) block[i] = static_cast<char>('0' + random() % 10);
  }
  return block;
}

// Words of a vocabulary, the first ones more often.
inline std::string text(std::mt19937& random) {
  static const std::vector<std::string> kWords = [] {
    std::mt19937 letters(1);
    std::vector<std::string> words(2000);
    for (std::string& word : words) {
      for (std::size_t i = 2 + letters() % 8; i > 0; --i) word += "etaoinshrdlu"[letters() % 12];
      word += ' ';
    }
    return words;
  }();
  std::string block;
  while (block.size() < kBlock) block += kWords[random() % (1 + random() % kWords.size())];
  return block;
}

inline std::string noise(std::mt19937& random) {
  std::string block(kBlock, '\0');
  for (char& c : block) c = static_cast<char>(random());
  return block;
}

}  // namespace basalt::block_cache::test
