#pragma once
#include <atomic>
#include <cstdint>
#include <string_view>

#include "rdb/rocksdb_fwd.h"

namespace basalt::memtable {

// A key as RocksDB orders them within a memtable: by the user's key, and of one user's key the
// newest first. The type is no part of the order: two entries of a user's key never have the same
// sequence number.
struct InternalKey {
  std::string_view user_key;
  std::uint64_t trailer = 0;  // the sequence number, shifted left by a byte, and the type

  // Returns the key of a memtable entry, which is the length of the internal key as a varint32, the
  // user key, the trailer in little endian, then the value, which does not matter here.
  static InternalKey of_entry(const char* entry);
  // Parses a user key with the trailer behind it.
  static InternalKey parse(std::string_view internal_key);

  std::uint64_t sequence() const { return trailer >> 8; }

  // Negative, zero or positive, as this one is before, the same as, or behind the other.
  int compare(const InternalKey& other) const;
};

// The entries of a memtable in order.
//
// Purpose     A skip list visits some 25 entries for each that it inserts or looks for, most of
//             them not in the processor's caches: inserting took a third of the processor time of
//             a load. Decision 0019 has the figures.
// How         A B+-tree whose nodes hold 32 entries, and beside each entry the eight bytes of its
//             key that follow what all keys of the node have in common: most searches see the
//             memory of few entries. Entries come and never go, and neither do nodes; all memory is
//             the memtable's arena, which ends as a whole.
// Threads     Any number insert and read at the same time. Nodes have a version that is odd while
//             somebody changes them (optimistic lock coupling: Leis, Scheibner, Kemper, Neumann,
//             "The ART of Practical Synchronization", 2016). A reader waits for no more than the
//             change of a node, or two where one is split, and begins anew when a node that it has
//             read was changed.
// Order       A read sees all entries whose insertion ended before it began; of others some.
class MemtableTree {
 public:
  class Cursor;

  // Nodes are taken from `allocator`, which must stay.
  explicit MemtableTree(rdb::Allocator& allocator);
  MemtableTree(const MemtableTree&) = delete;
  MemtableTree& operator=(const MemtableTree&) = delete;

  // `entry` must stay as it is as long as the tree is read. False if its key is there already.
  bool insert(const char* entry);
  // How many entries are not before `from` but before `to`: exact for some hundreds.
  std::uint64_t estimate_entries(const InternalKey& from, const InternalKey& to) const;

 private:
  struct Node;
  struct Leaf;
  struct Inner;
  struct Spare;
  struct Path;
  enum class Attempt : std::uint8_t { kDone, kExists, kAgain };

  template <typename ChooseChild>
  Leaf* descend(const ChooseChild& choose_child, std::uint64_t& version) const;
  template <bool kOrSame>
  Leaf* leaf_of(const InternalKey& key, std::uint64_t& version) const;
  template <typename NodeType>
  NodeType* new_node();
  Attempt try_insert(const InternalKey& key, const char* entry, Spare& spare);
  bool lock_for_split(Inner* parent, std::uint64_t parent_version, Node& node,
                      std::uint64_t version, Spare& spare);
  void split_leaf(Inner* parent, std::uint64_t parent_version, Leaf& leaf, std::uint64_t version,
                  unsigned at, Spare& spare);
  void split_inner(Inner* parent, std::uint64_t parent_version, Inner& inner, std::uint64_t version,
                   Spare& spare);
  void end_split(Inner* parent, Node& left, unsigned left_size, Node& right, const char* separator,
                 Spare& spare);
  Path path_to(const InternalKey& key) const;
  static double estimate_leaves(const Node* node);
  static double estimate_leaves(const Inner& inner, unsigned begin, unsigned end);
  static double estimate_leaves_between(const Path& first, const Path& last);

  rdb::Allocator& allocator_;
  std::atomic<Node*> root_;
  std::atomic<Leaf*> spare_leaf_{nullptr};
};

// A place in a tree. One thread at a time; the tree may grow meanwhile.
class MemtableTree::Cursor {
 public:
  // Nowhere at first.
  explicit Cursor(const MemtableTree& tree) : tree_(&tree) {}

  bool is_valid() const { return entry_ != nullptr; }
  const char* entry() const { return entry_; }

  void seek_to_first();
  void seek_to_last();
  // The first entry that is not before `key`.
  void seek(const InternalKey& key);
  // The last entry that is not behind `key`.
  void seek_backward(const InternalKey& key);
  // Both from a valid place.
  void next();
  void previous();

 private:
  // Or the entry with `key` itself, if `kOrSame`.
  template <bool kOrSame>
  void find_first_behind(const InternalKey& key);
  template <bool kOrSame>
  void find_last_before(const InternalKey& key);
  bool take(Leaf* leaf, std::uint64_t version, unsigned at);
  bool take_before(Leaf* leaf, std::uint64_t version, unsigned at);
  void set(Leaf* leaf, std::uint64_t version, unsigned at, const char* entry);

  const MemtableTree* tree_;
  const char* entry_ = nullptr;
  // Where it was found, and what that leaf's version was.
  Leaf* leaf_ = nullptr;
  std::uint64_t version_ = 0;
  unsigned at_ = 0;
};

}  // namespace basalt::memtable
