#include "memtable/memtable_tree.h"

#include <sched.h>
#include <memory/allocator.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <new>
#include <utility>

#include "base/assert.h"
#include "base/bytes.h"

namespace basalt::memtable {
namespace {

constexpr unsigned kSlots = 32;
constexpr unsigned kNowhere = ~0U;
constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kTrailerBytes = 8;
// Leaves whose entries are counted before their number is estimated, and children that are looked
// into for how many leaves they have.
constexpr unsigned kLeavesCounted = 64;
constexpr unsigned kChildrenSampled = 8;
constexpr unsigned kLevelsMax = 16;  // of inner nodes; each has 16 children or more, but the root
constexpr int kSpinsBeforeYielding = 64;

// The first eight bytes of what a key has behind the `common_size` bytes that all keys of a node
// have in common. Such keys are in the order of these prefixes, unless two are equal.
std::uint64_t key_prefix(std::string_view user_key, std::size_t common_size) {
  return number_at(user_key, common_size, sizeof(std::uint64_t));
}

}  // namespace

InternalKey InternalKey::of_entry(const char* entry) {
  const auto* at = reinterpret_cast<const unsigned char*>(entry);
  std::uint32_t size = *at & 0x7F;
  for (int shift = 7; *at++ >= 0x80; shift += 7) size |= std::uint32_t{*at & 0x7FU} << shift;
  return parse({reinterpret_cast<const char*>(at), size});
}

InternalKey InternalKey::parse(std::string_view internal_key) {
  BASALT_DEBUG_ASSERT(internal_key.size() >= kTrailerBytes);
  const std::size_t user_bytes = internal_key.size() - kTrailerBytes;
  return {internal_key.substr(0, user_bytes),
          load_le<std::uint64_t>(internal_key.data() + user_bytes)};
}

int InternalKey::compare(const InternalKey& other) const {
  if (const int order = user_key.compare(other.user_key); order != 0) return order;
  if (sequence() == other.sequence()) return 0;
  return sequence() > other.sequence() ? -1 : 1;
}

// What others may read while one changes it is atomic. That a change is seen whole is for
// `version` to tell, so changes are stored with release, behind the odd version, and loaded with
// acquire, before the version is looked at again.
struct MemtableTree::Node {
  explicit Node(bool is_a_leaf) : is_leaf(is_a_leaf) {}

  // Waits while somebody changes the node; what is read from now on is good if is_unchanged() says
  // so afterwards.
  std::uint64_t begin_read() const {
    for (int spins = 0;; ++spins) {
      const std::uint64_t seen = version.load(std::memory_order_acquire);
      if (seen % 2 == 0) return seen;
      if (spins < kSpinsBeforeYielding) {
        __builtin_ia32_pause();
      } else {
        sched_yield();  // the one that changes it may have lost its processor
      }
    }
  }
  bool is_unchanged(std::uint64_t seen) const {
    return version.load(std::memory_order_acquire) == seen;
  }
  // False if the node has changed since.
  bool try_lock(std::uint64_t seen) {
    return version.compare_exchange_strong(seen, seen + 1, std::memory_order_acquire,
                                           std::memory_order_relaxed);
  }
  void unlock() { version.store(own_version() + 1, std::memory_order_release); }
  void unlock_unchanged() { version.store(own_version() - 1, std::memory_order_release); }
  // For the one who has the lock.
  std::uint64_t own_version() const { return version.load(std::memory_order_relaxed); }

  // Before the node is read: its numbers, which are four more lines of the cache.
  void prefetch() const {
    const char* const lines = reinterpret_cast<const char*>(this);
    for (std::size_t i = 1; i <= kSlots * sizeof(std::uint64_t) / kCacheLine; ++i) {
      __builtin_prefetch(lines + i * kCacheLine);
    }
  }

  unsigned size() const { return count.load(std::memory_order_acquire); }
  const char* entry(unsigned at) const { return entries[at].load(std::memory_order_acquire); }
  std::uint64_t prefix(unsigned at) const { return prefixes[at].load(std::memory_order_acquire); }
  // These, too, are for the one who has the lock.
  void set(unsigned at, std::uint64_t prefix, const char* entry) {
    prefixes[at].store(prefix, std::memory_order_release);
    entries[at].store(entry, std::memory_order_release);
  }
  void set_size(unsigned entries_now) {
    count.store(static_cast<std::uint16_t>(entries_now), std::memory_order_release);
  }
  void insert(unsigned at, std::uint64_t prefix_there, const char* entry_there) {
    const unsigned had = size();
    for (unsigned i = had; i > at; --i) set(i, prefix(i - 1), entry(i - 1));
    set(at, prefix_there, entry_there);
    set_size(had + 1);
  }
  // Copies the entries from `from` on to `to`, which is new.
  void copy_entries(unsigned from, Node& to) const {
    const unsigned had = size();
    to.common_size.store(common_size.load(std::memory_order_relaxed), std::memory_order_relaxed);
    for (unsigned i = from; i < had; ++i) to.set(i - from, prefix(i), entry(i));
    to.set_size(had - from);
  }
  // Sets the fence keys, and with them what all keys of the node have in common and its prefixes.
  void set_fences(const char* new_lower_fence, const char* new_upper_fence) {
    lower_fence = new_lower_fence;
    upper_fence = new_upper_fence;
    if (lower_fence == nullptr || upper_fence == nullptr) return;
    const auto in_common = static_cast<std::uint16_t>(
        std::min(common_bytes(InternalKey::of_entry(lower_fence).user_key,
                              InternalKey::of_entry(upper_fence).user_key),
                 std::size_t{UINT16_MAX}));
    if (in_common == common_size.load(std::memory_order_relaxed)) return;
    common_size.store(in_common, std::memory_order_release);
    for (unsigned i = 0; i < size(); ++i) {
      prefixes[i].store(key_prefix(InternalKey::of_entry(entry(i)).user_key, in_common),
                        std::memory_order_release);
    }
  }

  // How many entries are before `key`, or the same. Anything up to size() while somebody changes
  // the node: entries themselves never change, and no slot that was in use ever has none.
  template <bool kOrSame>
  unsigned rank(const InternalKey& key) const {
    const std::uint64_t wanted =
        key_prefix(key.user_key, common_size.load(std::memory_order_acquire));
    unsigned from = 0;
    unsigned to = size();
    while (from < to) {
      const unsigned middle = (from + to) / 2;
      const std::uint64_t found = prefix(middle);
      bool is_before = found < wanted;
      if (found == wanted) {
        const int order = InternalKey::of_entry(entry(middle)).compare(key);
        is_before = kOrSame ? order <= 0 : order < 0;
      }
      if (is_before) {
        from = middle + 1;
      } else {
        to = middle;
      }
    }
    return from;
  }

  // Even; odd while somebody changes the node.
  std::atomic<std::uint64_t> version{0};
  std::atomic<std::uint16_t> count{0};
  // Bytes that all keys of the node have in common, or fewer.
  std::atomic<std::uint16_t> common_size{0};
  const bool is_leaf;
  // Fence keys, guarded by the lock. Null: unbounded. No key of the node, or below it, is before
  // the lower one; all are before the upper one.
  const char* lower_fence = nullptr;
  const char* upper_fence = nullptr;
  std::atomic<std::uint64_t> prefixes[kSlots] = {};
  std::atomic<const char*> entries[kSlots] = {};
};

// Empty only as the root.
struct MemtableTree::Leaf : Node {
  Leaf() : Node(true) {}

  std::atomic<Leaf*> next{nullptr};
  // Guarded by the lock: where the entry belongs that follows the last one inserted.
  unsigned next_in_order = kNowhere;
};

// Entries are separators: the first of what is below the child behind them.
struct MemtableTree::Inner : Node {
  Inner() : Node(false) {}

  Node* child(unsigned at) const { return children[at].load(std::memory_order_acquire); }
  void set_child(unsigned at, Node* node) { children[at].store(node, std::memory_order_release); }

  std::atomic<Node*> children[kSlots + 1] = {};
};

// Nodes that an insertion has allocated before it took a lock, and may need again.
struct MemtableTree::Spare {
  Leaf* leaf = nullptr;
  Inner* inner = nullptr;
  Inner* root = nullptr;
};

// The way to a key, as it was seen without looking for changes.
struct MemtableTree::Path {
  struct Step {
    const Inner* node;
    unsigned child;
  };

  std::array<Step, kLevelsMax> steps;
  unsigned levels = 0;
  const Leaf* leaf;
  unsigned at;
};

MemtableTree::MemtableTree(rdb::Allocator& allocator)
    : allocator_(allocator), root_(new_node<Leaf>()) {}

template <typename NodeType>
NodeType* MemtableTree::new_node() {
  char* const memory = allocator_.AllocateAligned(sizeof(NodeType) + kCacheLine);
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  return new (memory + (kCacheLine - address % kCacheLine) % kCacheLine) NodeType;
}

// The leaf that `choose_child` leads to, a function of an inner node, and the leaf's version while
// it did.
template <typename ChooseChild>
MemtableTree::Leaf* MemtableTree::descend(const ChooseChild& choose_child,
                                          std::uint64_t& version) const {
  for (;;) {
    const Node* node = root_.load(std::memory_order_acquire);
    version = node->begin_read();
    bool is_good = root_.load(std::memory_order_acquire) == node;
    while (is_good && !node->is_leaf) {
      const auto& inner = static_cast<const Inner&>(*node);
      const Node* const child = inner.child(choose_child(inner));
      is_good = inner.is_unchanged(version);
      if (!is_good) break;
      child->prefetch();
      const std::uint64_t child_version = child->begin_read();
      is_good = inner.is_unchanged(version);
      node = child;
      version = child_version;
    }
    if (is_good) return const_cast<Leaf*>(static_cast<const Leaf*>(node));
  }
}

// The leaf where `key` belongs, or where the last entry before it is.
template <bool kOrSame>
MemtableTree::Leaf* MemtableTree::leaf_of(const InternalKey& key, std::uint64_t& version) const {
  return descend([&](const Inner& inner) { return inner.rank<kOrSame>(key); }, version);
}

bool MemtableTree::insert(const char* entry) {
  const InternalKey key = InternalKey::of_entry(entry);
  Spare spare;
  Attempt attempt;
  do {
    attempt = try_insert(key, entry, spare);
  } while (attempt == Attempt::kAgain);
  // Where many insert in order, all but one of them find that they did not need theirs.
  if (spare.leaf != nullptr) spare_leaf_.store(spare.leaf, std::memory_order_release);
  return attempt == Attempt::kDone;
}

// Splits what is full on the way, so that a split never needs more than the parent.
MemtableTree::Attempt MemtableTree::try_insert(const InternalKey& key, const char* entry,
                                               Spare& spare) {
  Inner* parent = nullptr;
  std::uint64_t parent_version = 0;
  Node* node = root_.load(std::memory_order_acquire);
  std::uint64_t version = node->begin_read();
  if (root_.load(std::memory_order_acquire) != node) return Attempt::kAgain;
  while (!node->is_leaf) {
    auto& inner = static_cast<Inner&>(*node);
    if (inner.size() == kSlots) {
      split_inner(parent, parent_version, inner, version, spare);
      return Attempt::kAgain;
    }
    Node* const child = inner.child(inner.rank<true>(key));
    if (!inner.is_unchanged(version)) return Attempt::kAgain;
    parent = &inner;
    parent_version = version;
    node = child;
    node->prefetch();
    version = node->begin_read();
    if (!parent->is_unchanged(parent_version)) return Attempt::kAgain;
  }
  auto& leaf = static_cast<Leaf&>(*node);
  const unsigned size = leaf.size();
  const unsigned at = leaf.rank<false>(key);
  const std::uint64_t prefix =
      key_prefix(key.user_key, leaf.common_size.load(std::memory_order_acquire));
  if (at < size && leaf.prefix(at) == prefix) {
    const bool is_same = InternalKey::of_entry(leaf.entry(at)).compare(key) == 0;
    if (!leaf.is_unchanged(version)) return Attempt::kAgain;
    if (is_same) return Attempt::kExists;
  }
  if (size == kSlots) {
    split_leaf(parent, parent_version, leaf, version, at, spare);
    return Attempt::kAgain;
  }
  if (!leaf.try_lock(version)) return Attempt::kAgain;
  BASALT_DEBUG_ASSERT(leaf.lower_fence == nullptr ||
                      InternalKey::of_entry(leaf.lower_fence).compare(key) < 0);
  BASALT_DEBUG_ASSERT(leaf.upper_fence == nullptr ||
                      InternalKey::of_entry(leaf.upper_fence).compare(key) > 0);
  leaf.insert(at, prefix, entry);
  leaf.next_in_order = at + 1;
  leaf.unlock();
  return Attempt::kDone;
}

// False, and nothing is locked, if one of them has changed since its version.
bool MemtableTree::lock_for_split(Inner* parent, std::uint64_t parent_version, Node& node,
                                  std::uint64_t version, Spare& spare) {
  if (parent == nullptr && spare.root == nullptr) spare.root = new_node<Inner>();
  if (parent != nullptr && !parent->try_lock(parent_version)) return false;
  if (node.try_lock(version)) return true;
  if (parent != nullptr) parent->unlock_unchanged();
  return false;
}

// Makes room at `at`. Where entries come in order, what is before them is left full.
void MemtableTree::split_leaf(Inner* parent, std::uint64_t parent_version, Leaf& leaf,
                              std::uint64_t version, unsigned at, Spare& spare) {
  if (spare.leaf == nullptr) spare.leaf = spare_leaf_.exchange(nullptr, std::memory_order_acquire);
  if (spare.leaf == nullptr) spare.leaf = new_node<Leaf>();
  if (!lock_for_split(parent, parent_version, leaf, version, spare)) return;
  Leaf& right = *std::exchange(spare.leaf, nullptr);
  const bool is_in_order = at == leaf.next_in_order;
  const unsigned split = is_in_order ? std::min(at, kSlots - 1) : kSlots / 2;
  leaf.copy_entries(split, right);
  right.next.store(leaf.next.load(std::memory_order_relaxed), std::memory_order_relaxed);
  if (!is_in_order) leaf.next_in_order = kNowhere;
  if (is_in_order && at > split) right.next_in_order = at - split;
  leaf.next.store(&right, std::memory_order_release);
  end_split(parent, leaf, split, right, right.entry(0), spare);
}

void MemtableTree::split_inner(Inner* parent, std::uint64_t parent_version, Inner& inner,
                               std::uint64_t version, Spare& spare) {
  if (spare.inner == nullptr) spare.inner = new_node<Inner>();
  if (!lock_for_split(parent, parent_version, inner, version, spare)) return;
  Inner& right = *std::exchange(spare.inner, nullptr);
  // The separator in the middle goes up.
  constexpr unsigned kMiddle = kSlots / 2;
  const char* const separator = inner.entry(kMiddle);
  inner.copy_entries(kMiddle + 1, right);
  for (unsigned i = 0; i <= right.size(); ++i) right.set_child(i, inner.child(kMiddle + 1 + i));
  end_split(parent, inner, kMiddle, right, separator, spare);
}

// Leaves `left` its first `left_size` entries, makes `right` known beside it, and unlocks.
void MemtableTree::end_split(Inner* parent, Node& left, unsigned left_size, Node& right,
                             const char* separator, Spare& spare) {
  right.set_fences(separator, left.upper_fence);
  left.set_size(left_size);
  left.set_fences(left.lower_fence, separator);
  Inner& above = parent != nullptr ? *parent : *std::exchange(spare.root, nullptr);
  if (parent == nullptr) above.set_child(0, &left);
  const InternalKey key = InternalKey::of_entry(separator);
  const unsigned at = above.rank<true>(key);
  BASALT_DEBUG_ASSERT(above.child(at) == &left && above.size() < kSlots);
  for (unsigned i = above.size(); i > at; --i) above.set_child(i + 1, above.child(i));
  above.set_child(at + 1, &right);
  above.insert(at, key_prefix(key.user_key, above.common_size.load(std::memory_order_relaxed)),
               separator);
  if (parent == nullptr) {
    root_.store(&above, std::memory_order_release);
  } else {
    parent->unlock();
  }
  left.unlock();
}

MemtableTree::Path MemtableTree::path_to(const InternalKey& key) const {
  for (;;) {
    Path path;
    const Node* node = root_.load(std::memory_order_acquire);
    while (node != nullptr && !node->is_leaf && path.levels < kLevelsMax) {
      const auto& inner = static_cast<const Inner&>(*node);
      const unsigned child = inner.rank<true>(key);
      path.steps.at(path.levels++) = {&inner, child};
      node = inner.child(child);  // null only while the node is changed
    }
    if (node == nullptr || !node->is_leaf) continue;
    path.leaf = static_cast<const Leaf*>(node);
    path.at = path.leaf->rank<false>(key);
    return path;
  }
}

// Estimates the leaves as if all nodes were like those in their middles.
double MemtableTree::estimate_leaves(const Node* node) {
  double leaves = 1;
  while (node != nullptr && !node->is_leaf) {
    const auto& inner = static_cast<const Inner&>(*node);
    leaves *= inner.size() + 1;
    node = inner.child(inner.size() / 2);
  }
  return leaves;
}

// Below the children from `begin` to before `end`, as if all were like some of them.
double MemtableTree::estimate_leaves(const Inner& inner, unsigned begin, unsigned end) {
  if (begin >= end) return 0;
  const unsigned stride = std::max(1U, (end - begin) / kChildrenSampled);
  double leaves = 0;
  unsigned samples = 0;
  for (unsigned i = begin; i < end; i += stride, ++samples) {
    leaves += estimate_leaves(inner.child(i));
  }
  return leaves / samples * (end - begin);
}

// Between the leaves of two paths: where these part, and beside either of them below.
double MemtableTree::estimate_leaves_between(const Path& first, const Path& last) {
  unsigned level = 0;
  const unsigned levels = std::min(first.levels, last.levels);
  while (level < levels && first.steps.at(level).child == last.steps.at(level).child) ++level;
  if (level == levels) return 0;
  const Path::Step& parting = first.steps.at(level);
  double leaves = estimate_leaves(*parting.node, parting.child + 1, last.steps.at(level).child);
  for (unsigned i = level + 1; i < first.levels; ++i) {
    const Path::Step& step = first.steps.at(i);
    leaves += estimate_leaves(*step.node, step.child + 1, step.node->size() + 1);
  }
  for (unsigned i = level + 1; i < last.levels; ++i) {
    const Path::Step& step = last.steps.at(i);
    leaves += estimate_leaves(*step.node, 0, step.child);
  }
  return leaves;
}

std::uint64_t MemtableTree::estimate_entries(const InternalKey& from, const InternalKey& to) const {
  if (from.compare(to) >= 0) return 0;
  const Path first = path_to(from);
  const Path last = path_to(to);
  std::uint64_t entries = 0;
  const Leaf* leaf = first.leaf;
  for (unsigned i = 0; i < kLeavesCounted && leaf != nullptr; ++i) {
    if (leaf == last.leaf) {
      const std::uint64_t until_last = entries + last.at;
      return until_last - std::min<std::uint64_t>(until_last, first.at);
    }
    entries += leaf->size();
    leaf = leaf->next.load(std::memory_order_acquire);
  }
  const double entries_of_leaf = static_cast<double>(entries) / kLeavesCounted;
  const double estimate = estimate_leaves_between(first, last) * entries_of_leaf;
  return std::max(entries, static_cast<std::uint64_t>(estimate));
}

void MemtableTree::Cursor::set(Leaf* leaf, std::uint64_t version, unsigned at, const char* entry) {
  leaf_ = leaf;
  version_ = version;
  at_ = at;
  entry_ = entry;
}

// Goes to the entry `at` of a leaf, which may be the first of the next leaf. False if the leaf has
// changed.
bool MemtableTree::Cursor::take(Leaf* leaf, std::uint64_t version, unsigned at) {
  if (at < leaf->size()) {
    const char* const entry = leaf->entry(at);
    // A reader that walks on needs the memory of the next entries.
    if (at + 2 < kSlots) __builtin_prefetch(leaf->entry(at + 2));
    if (!leaf->is_unchanged(version)) return false;
    set(leaf, version, at, entry);
    return true;
  }
  Leaf* const next = leaf->next.load(std::memory_order_acquire);
  if (!leaf->is_unchanged(version)) return false;
  if (next == nullptr) {
    entry_ = nullptr;
    return true;
  }
  const std::uint64_t next_version = next->begin_read();
  const char* const entry = next->entry(0);
  if (!next->is_unchanged(next_version) || !leaf->is_unchanged(version)) return false;
  set(next, next_version, 0, entry);
  return true;
}

// Goes to the entry before `at`. Nothing is before the first of a leaf that a search for something
// behind it has found, but at the beginning of the tree.
bool MemtableTree::Cursor::take_before(Leaf* leaf, std::uint64_t version, unsigned at) {
  const char* const entry = at == 0 ? nullptr : leaf->entry(at - 1);
  if (!leaf->is_unchanged(version)) return false;
  set(leaf, version, at - 1, entry);
  return true;
}

void MemtableTree::Cursor::seek_to_first() {
  Leaf* leaf;
  std::uint64_t version;
  do {
    leaf = tree_->descend([](const Inner&) { return 0U; }, version);
  } while (!take(leaf, version, 0));
}

void MemtableTree::Cursor::seek_to_last() {
  Leaf* leaf;
  std::uint64_t version;
  do {
    leaf = tree_->descend([](const Inner& inner) { return inner.size(); }, version);
  } while (!take_before(leaf, version, leaf->size()));
}

template <bool kOrSame>
void MemtableTree::Cursor::find_last_before(const InternalKey& key) {
  Leaf* leaf;
  std::uint64_t version;
  do {
    leaf = tree_->leaf_of<kOrSame>(key, version);
  } while (!take_before(leaf, version, leaf->rank<kOrSame>(key)));
}

template <bool kOrSame>
void MemtableTree::Cursor::find_first_behind(const InternalKey& key) {
  Leaf* leaf;
  std::uint64_t version;
  do {
    leaf = tree_->leaf_of<true>(key, version);
  } while (!take(leaf, version, leaf->rank<!kOrSame>(key)));
}

void MemtableTree::Cursor::seek(const InternalKey& key) { find_first_behind<true>(key); }
void MemtableTree::Cursor::seek_backward(const InternalKey& key) { find_last_before<true>(key); }

void MemtableTree::Cursor::next() {
  BASALT_DEBUG_ASSERT(is_valid());
  if (!take(leaf_, version_, at_ + 1)) find_first_behind<false>(InternalKey::of_entry(entry_));
}

void MemtableTree::Cursor::previous() {
  BASALT_DEBUG_ASSERT(is_valid());
  if (at_ > 0 && take_before(leaf_, version_, at_)) return;
  find_last_before<false>(InternalKey::of_entry(entry_));
}

}  // namespace basalt::memtable
