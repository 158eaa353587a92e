#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

// What the collector of index properties must be told of keys. This layer knows only that a key
// begins with its index's id: 4 bytes, big-endian.
namespace basalt::index_stats {

// Knows where the parts of one index's keys end. Callable from any thread at once.
class KeyStructure {
 public:
  virtual ~KeyStructure() = default;

  virtual std::size_t count() const = 0;
  // Whether entries are written again, with other values, when rows change: those of a primary
  // key, and of tables whose rows expire. All others are put once and removed once.
  virtual bool are_overwritten() const = 0;
  // As codec::KeySplitter::split().
  virtual void split(std::string_view key, std::size_t from, std::uint32_t* ends) const = 0;
};

// Knows the indexes. Asked by background threads while they write files.
class KeyStructureSource {
 public:
  virtual ~KeyStructureSource() = default;

  // Null if the index is not known. Must not wait for a write to the database: that may wait for
  // the flush that asks.
  virtual std::shared_ptr<const KeyStructure> find(std::uint32_t index_id) = 0;
};

}  // namespace basalt::index_stats
