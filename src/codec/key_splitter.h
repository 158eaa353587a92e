#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "codec/layout.h"

// Where the parts of stored keys end, for those who count values without reading them.
//
// Purpose     Needs of the layouts only what the dictionary knows: kinds, record lengths,
//             nullability and collations of columns; no offsets. So it works for tables that
//             nobody has opened.
// Ownership   Copies what it needs of the layouts; only the collations must outlive it.
// Threads     All members are const and callable from any thread at once.
// Cost        One pass over the bytes from the first asked part on; no allocation.
namespace basalt::codec {

class KeySplitter {
 public:
  // Splits primary keys: their parts, or the hidden row id as the only part.
  KeySplitter(const TableLayout& table, const IndexLayout& primary);
  // Splits the keys of secondary entries: the own parts, then those of the primary key that follow.
  KeySplitter(const TableLayout& table, const IndexLayout& secondary, const IndexLayout& primary);
  ~KeySplitter();
  KeySplitter(KeySplitter&&) noexcept;
  KeySplitter& operator=(KeySplitter&&) noexcept;

  std::size_t part_count() const;

  // Sets ends[i], for every i from `from` on, to where in `key` part i ends; ends[from - 1] must
  // hold where the part before ends. A part that is not in the key, or does not decode, ends with
  // the key.
  void split(std::string_view key, std::size_t from, std::uint32_t* ends) const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

}  // namespace basalt::codec
