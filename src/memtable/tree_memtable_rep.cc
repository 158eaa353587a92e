#include "memtable/tree_memtable_rep.h"

#include <db/lookup_key.h>
#include <memory/allocator.h>
#include <memory/arena.h>
#include <rocksdb/memtablerep.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <new>

#include "memtable/memtable_tree.h"
#include "rdb/slice.h"

namespace basalt::memtable {
namespace {

InternalKey internal_key_of(const rdb::Slice& key) { return InternalKey::parse(rdb::view_of(key)); }

class TreeIterator final : public rdb::MemTableRep::Iterator {
 public:
  explicit TreeIterator(const MemtableTree& tree) : cursor_(tree) {}

  bool Valid() const override { return cursor_.is_valid(); }
  const char* key() const override { return cursor_.entry(); }
  void Next() override { cursor_.next(); }
  void Prev() override { cursor_.previous(); }
  void Seek(const rdb::Slice& internal_key, const char* entry) override {
    cursor_.seek(target(internal_key, entry));
  }
  void SeekForPrev(const rdb::Slice& internal_key, const char* entry) override {
    cursor_.seek_backward(target(internal_key, entry));
  }
  void SeekToFirst() override { cursor_.seek_to_first(); }
  void SeekToLast() override { cursor_.seek_to_last(); }

 private:
  // RocksDB gives one or both.
  static InternalKey target(const rdb::Slice& internal_key, const char* entry) {
    return entry == nullptr ? internal_key_of(internal_key) : InternalKey::of_entry(entry);
  }

  MemtableTree::Cursor cursor_;
};

class TreeMemtable final : public rdb::MemTableRep {
 public:
  explicit TreeMemtable(rdb::Allocator& allocator) : MemTableRep(&allocator), tree_(allocator) {}

  void Insert(rdb::KeyHandle handle) override { insert(handle); }
  bool InsertKey(rdb::KeyHandle handle) override { return insert(handle); }
  bool InsertKeyWithHint(rdb::KeyHandle handle, void**) override { return insert(handle); }
  bool InsertKeyWithHintConcurrently(rdb::KeyHandle handle, void**) override {
    return insert(handle);
  }
  void InsertConcurrently(rdb::KeyHandle handle) override { insert(handle); }
  bool InsertKeyConcurrently(rdb::KeyHandle handle) override { return insert(handle); }

  bool Contains(const char* entry) const override {
    const InternalKey key = InternalKey::of_entry(entry);
    MemtableTree::Cursor cursor(tree_);
    cursor.seek(key);
    return cursor.is_valid() && InternalKey::of_entry(cursor.entry()).compare(key) == 0;
  }
  void Get(const rdb::LookupKey& key, void* argument,
           bool (*visit)(void* argument, const char* entry)) override {
    visit_from(internal_key_of(key.internal_key()), argument, visit);
  }
  // What the last three ask for belongs to options that we do not set.
  rdb::Status MultiGet(std::size_t keys, const char* const* entries, void** arguments,
                       bool (*visit)(void* argument, const char* entry), bool, bool,
                       const std::function<rdb::Status(const char*, bool)>&) override {
    for (std::size_t i = 0; i < keys; ++i) {
      visit_from(InternalKey::of_entry(entries[i]), arguments[i], visit);
    }
    return rdb::Status::OK();
  }
  std::uint64_t ApproximateNumEntries(const rdb::Slice& from, const rdb::Slice& to) override {
    return tree_.estimate_entries(internal_key_of(from), internal_key_of(to));
  }
  // All memory is the allocator's.
  std::size_t ApproximateMemoryUsage() override { return 0; }
  Iterator* GetIterator(rdb::Arena* arena) override {
    if (arena == nullptr) return new TreeIterator(tree_);
    return new (arena->AllocateAligned(sizeof(TreeIterator))) TreeIterator(tree_);
  }

 private:
  bool insert(rdb::KeyHandle handle) { return tree_.insert(static_cast<const char*>(handle)); }
  void visit_from(const InternalKey& key, void* argument,
                  bool (*visit)(void* argument, const char* entry)) const {
    MemtableTree::Cursor cursor(tree_);
    for (cursor.seek(key); cursor.is_valid() && visit(argument, cursor.entry()); cursor.next()) {
    }
  }

  MemtableTree tree_;
};

class TreeMemtableFactory final : public rdb::MemTableRepFactory {
 public:
  using rdb::MemTableRepFactory::CreateMemTableRep;

  const char* Name() const override { return "basalt.TreeMemtable"; }
  rdb::MemTableRep* CreateMemTableRep(const rdb::MemTableRep::KeyComparator&,
                                      rdb::Allocator* allocator, const rdb::SliceTransform*,
                                      rdb::Logger*) override {
    return new TreeMemtable(*allocator);
  }
  bool IsInsertConcurrentlySupported() const override { return true; }
  bool CanHandleDuplicatedKey() const override { return true; }
};

}  // namespace

std::shared_ptr<rdb::MemTableRepFactory> make_tree_memtable_factory() {
  return std::make_shared<TreeMemtableFactory>();
}

}  // namespace basalt::memtable
