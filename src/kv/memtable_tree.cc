#include "kv/memtable_tree.h"

#include <memory/allocator.h>
#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>

#include "base/assert.h"
#include "base/bytes.h"

namespace basalt::kv {
namespace {

constexpr unsigned kSlots = 32;
constexpr unsigned kNowhere = ~0U - 1;
constexpr std::size_t kCacheLine = 64;
constexpr std::size_t kTrailerBytes = 8;
constexpr unsigned kLeavesCounted = 64;  // for an estimate, before it is one
constexpr int kSpinsBeforeYielding = 64;

// The eight bytes behind the first `skip` of a key, as a number in their order; those that a short
// key lacks are zeros. Keys that have the first `skip` in common are in the order of their heads,
// unless these are equal.
std::uint64_t head_of(std::string_view user_key, std::size_t skip) {
  if (user_key.size() >= skip + sizeof(std::uint64_t)) return load_be64(user_key.data() + skip);
  std::uint64_t head = 0;
  if (user_key.size() > skip) {
    std::memcpy(&head, user_key.data() + skip, user_key.size() - skip);
  }
  return __builtin_bswap64(head);
}

std::uint16_t common_prefix(const char* low, const char* high) {
  const std::string_view a = InternalKey::of_entry(low).user_key;
  const std::string_view b = InternalKey::of_entry(high).user_key;
  const std::size_t most = std::min({a.size(), b.size(), std::size_t{UINT16_MAX}});
  return static_cast<std::uint16_t>(std::mismatch(a.begin(), a.begin() + most, b.begin()).first -
                                    a.begin());
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
  if (trailer == other.trailer) return 0;
  return trailer > other.trailer ? -1 : 1;
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
  // For the one who has the lock, as all below.
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
  std::uint64_t head(unsigned at) const { return heads[at].load(std::memory_order_acquire); }
  void set(unsigned at, std::uint64_t head, const char* entry) {
    heads[at].store(head, std::memory_order_release);
    entries[at].store(entry, std::memory_order_release);
  }
  void set_size(unsigned entries_now) {
    count.store(static_cast<std::uint16_t>(entries_now), std::memory_order_release);
  }
  void insert(unsigned at, std::uint64_t head_there, const char* entry_there) {
    const unsigned had = size();
    for (unsigned i = had; i > at; --i) set(i, head(i - 1), entry(i - 1));
    set(at, head_there, entry_there);
    set_size(had + 1);
  }
  // Copies the entries from `from` on to `to`, which is new.
  void copy_entries(unsigned from, Node& to) const {
    const unsigned had = size();
    for (unsigned i = from; i < had; ++i) to.set(i - from, head(i), entry(i));
    to.set_size(had - from);
  }
  // What all keys between the bounds have in common; with it the heads change.
  void narrow(const char* new_low, const char* new_high) {
    low = new_low;
    high = new_high;
    if (low == nullptr || high == nullptr) return;
    const std::uint16_t in_common = common_prefix(low, high);
    if (in_common == skip.load(std::memory_order_relaxed)) return;
    skip.store(in_common, std::memory_order_release);
    for (unsigned i = 0; i < size(); ++i) {
      heads[i].store(head_of(InternalKey::of_entry(entry(i)).user_key, in_common),
                     std::memory_order_release);
    }
  }

  // How many entries are before `key`, or the same. Anything, within bounds, while somebody
  // changes the node.
  template <bool kOrSame>
  unsigned rank(const InternalKey& key) const {
    const std::uint64_t wanted = head_of(key.user_key, skip.load(std::memory_order_acquire));
    unsigned from = 0;
    unsigned to = size();
    while (from < to) {
      const unsigned middle = (from + to) / 2;
      const std::uint64_t found = head(middle);
      bool is_before = found < wanted;
      if (found == wanted) {
        const char* const there = entry(middle);
        if (there == nullptr) return from;
        const int order = InternalKey::of_entry(there).compare(key);
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
  std::atomic<std::uint16_t> skip{0};
  const bool is_leaf;
  // Guarded by the lock. Null: unbounded. No key of the node, or below it, is before `low`; all are
  // before `high`.
  const char* low = nullptr;
  const char* high = nullptr;
  std::atomic<std::uint64_t> heads[kSlots] = {};
  std::atomic<const char*> entries[kSlots] = {};
};

// Empty only as the root.
struct MemtableTree::Leaf : Node {
  Leaf() : Node(true) {}

  std::atomic<Leaf*> next{nullptr};
  unsigned last_insertion = kNowhere;  // guarded by the lock
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

bool MemtableTree::insert(const char* entry) {
  const InternalKey key = InternalKey::of_entry(entry);
  Spare spare;
  for (;;) {
    const Attempt attempt = try_insert(key, entry, spare);
    if (attempt != Attempt::kAgain) return attempt == Attempt::kDone;
  }
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
  const std::uint64_t head = head_of(key.user_key, leaf.skip.load(std::memory_order_acquire));
  if (at < size && leaf.head(at) == head) {
    const char* const there = leaf.entry(at);
    const bool is_same = there != nullptr && InternalKey::of_entry(there).compare(key) == 0;
    if (!leaf.is_unchanged(version)) return Attempt::kAgain;
    if (is_same) return Attempt::kExists;
  }
  if (size == kSlots) {
    split_leaf(parent, parent_version, leaf, version, at, spare);
    return Attempt::kAgain;
  }
  if (!leaf.try_lock(version)) return Attempt::kAgain;
  leaf.insert(at, head, entry);
  leaf.last_insertion = at;
  leaf.unlock();
  return Attempt::kDone;
}

// Makes room at `at`. Where entries come in order, what is before them is left full.
void MemtableTree::split_leaf(Inner* parent, std::uint64_t parent_version, Leaf& leaf,
                              std::uint64_t version, unsigned at, Spare& spare) {
  if (spare.leaf == nullptr) spare.leaf = new_node<Leaf>();
  if (parent == nullptr && spare.root == nullptr) spare.root = new_node<Inner>();
  if (parent != nullptr && !parent->try_lock(parent_version)) return;
  if (!leaf.try_lock(version)) {
    if (parent != nullptr) parent->unlock_unchanged();
    return;
  }
  Leaf& right = *spare.leaf;
  spare.leaf = nullptr;
  const bool is_in_order = at == leaf.last_insertion + 1;
  const unsigned split = is_in_order ? std::min(at, kSlots - 1) : kSlots / 2;
  right.skip.store(leaf.skip.load(std::memory_order_relaxed), std::memory_order_relaxed);
  leaf.copy_entries(split, right);
  right.next.store(leaf.next.load(std::memory_order_relaxed), std::memory_order_relaxed);
  if (is_in_order) {
    if (at > split) right.last_insertion = at - 1 - split;
  } else {
    leaf.last_insertion = kNowhere;
  }
  const char* const separator = right.entry(0);
  right.narrow(separator, leaf.high);
  leaf.set_size(split);
  leaf.narrow(leaf.low, separator);
  leaf.next.store(&right, std::memory_order_release);
  leaves_.fetch_add(1, std::memory_order_relaxed);
  if (parent == nullptr) {
    Inner& root = *spare.root;
    spare.root = nullptr;
    root.set_child(0, &leaf);
    add_to_parent(&root, separator, leaf, right);
    root_.store(&root, std::memory_order_release);
  } else {
    add_to_parent(parent, separator, leaf, right);
    parent->unlock();
  }
  leaf.unlock();
}

void MemtableTree::split_inner(Inner* parent, std::uint64_t parent_version, Inner& inner,
                               std::uint64_t version, Spare& spare) {
  if (spare.inner == nullptr) spare.inner = new_node<Inner>();
  if (parent == nullptr && spare.root == nullptr) spare.root = new_node<Inner>();
  if (parent != nullptr && !parent->try_lock(parent_version)) return;
  if (!inner.try_lock(version)) {
    if (parent != nullptr) parent->unlock_unchanged();
    return;
  }
  Inner& right = *spare.inner;
  spare.inner = nullptr;
  // The separator in the middle goes up.
  constexpr unsigned kMiddle = kSlots / 2;
  const char* const separator = inner.entry(kMiddle);
  right.skip.store(inner.skip.load(std::memory_order_relaxed), std::memory_order_relaxed);
  inner.copy_entries(kMiddle + 1, right);
  for (unsigned i = 0; i <= right.size(); ++i) right.set_child(i, inner.child(kMiddle + 1 + i));
  right.narrow(separator, inner.high);
  inner.set_size(kMiddle);
  inner.narrow(inner.low, separator);
  if (parent == nullptr) {
    Inner& root = *spare.root;
    spare.root = nullptr;
    root.set_child(0, &inner);
    add_to_parent(&root, separator, inner, right);
    root_.store(&root, std::memory_order_release);
  } else {
    add_to_parent(parent, separator, inner, right);
    parent->unlock();
  }
  inner.unlock();
}

void MemtableTree::add_to_parent(Inner* parent, const char* separator, Node& left, Node& right) {
  const InternalKey key = InternalKey::of_entry(separator);
  const unsigned at = parent->rank<true>(key);
  BASALT_DEBUG_ASSERT(parent->child(at) == &left && parent->size() < kSlots);
  for (unsigned i = parent->size(); i > at; --i) parent->set_child(i + 1, parent->child(i));
  parent->set_child(at + 1, &right);
  parent->insert(at, head_of(key.user_key, parent->skip.load(std::memory_order_relaxed)),
                 separator);
}

std::uint64_t MemtableTree::estimate_entries(const InternalKey& from, const InternalKey& to) const {
  if (from.compare(to) >= 0) return 0;
  struct Place {
    const Leaf* leaf;
    unsigned at;
    double part;  // of the tree that is before it, if all children of a node had as much
  };
  const auto find = [this](const InternalKey& key) {
    double part = 0;
    double width = 1;
    std::uint64_t version;
    const Leaf* const leaf = descend(
        [&](const Inner& inner) {
          if (&inner == root_.load(std::memory_order_acquire)) {  // a search may begin anew
            part = 0;
            width = 1;
          }
          const unsigned child = inner.rank<true>(key);
          width /= inner.size() + 1;
          part += child * width;
          return child;
        },
        version);
    return Place{leaf, leaf->rank<false>(key), part};
  };
  const Place first = find(from);
  const Place last = find(to);
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
  const double leaves = (last.part - first.part) * leaves_.load(std::memory_order_relaxed);
  const double estimate = leaves * static_cast<double>(entries) / kLeavesCounted;
  return std::max(entries, static_cast<std::uint64_t>(std::max(estimate, 0.0)));
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
    // Whoever walks on needs the memory of the entries that come.
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

void MemtableTree::Cursor::seek(const InternalKey& key) {
  Leaf* leaf;
  std::uint64_t version;
  do {
    leaf = tree_->descend([&](const Inner& inner) { return inner.rank<true>(key); }, version);
  } while (!take(leaf, version, leaf->rank<false>(key)));
}

void MemtableTree::Cursor::seek_backward(const InternalKey& key) {
  Leaf* leaf;
  std::uint64_t version;
  do {
    leaf = tree_->descend([&](const Inner& inner) { return inner.rank<true>(key); }, version);
  } while (!take_before(leaf, version, leaf->rank<true>(key)));
}

void MemtableTree::Cursor::next() {
  BASALT_DEBUG_ASSERT(is_valid());
  if (take(leaf_, version_, at_ + 1)) return;
  const InternalKey key = InternalKey::of_entry(entry_);
  Leaf* leaf;
  std::uint64_t version;
  do {
    leaf = tree_->descend([&](const Inner& inner) { return inner.rank<true>(key); }, version);
  } while (!take(leaf, version, leaf->rank<true>(key)));
}

void MemtableTree::Cursor::previous() {
  BASALT_DEBUG_ASSERT(is_valid());
  if (at_ > 0 && take_before(leaf_, version_, at_)) return;
  const InternalKey key = InternalKey::of_entry(entry_);
  Leaf* leaf;
  std::uint64_t version;
  do {
    leaf = tree_->descend([&](const Inner& inner) { return inner.rank<false>(key); }, version);
  } while (!take_before(leaf, version, leaf->rank<false>(key)));
}

}  // namespace basalt::kv
