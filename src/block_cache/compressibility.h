#pragma once
#include <cstdint>
#include <string>
#include <string_view>

namespace basalt::block_cache {

// How large entries become when a flush writes them to a file, judged by some of them.
class EntrySizes {
 public:
  // The entries of a run, in order; of a large value only the beginning is compressed.
  void add(std::string_view key, std::string_view value);

  struct Average {
    double bytes = 0;  // of a key and its value; 0: nothing was added
    double stored = 0;
  };
  Average average();

 private:
  void end_block();

  std::string block_;
  std::string previous_;
  std::uint64_t entries_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t cut_bytes_ = 0;
  std::uint64_t raw_block_bytes_ = 0;
  std::uint64_t stored_bytes_ = 0;
};

}  // namespace basalt::block_cache
