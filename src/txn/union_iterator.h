#pragma once
#include <rocksdb/iterator.h>

#include <memory>
#include <string>
#include <vector>

namespace basalt::txn {

// Two sets of entries in one order: those of a snapshot, and a transaction's own. Unlike RocksDB's
// merge, a key in both is seen twice, the snapshot's entry first, and own removals hide nothing.
//
// For unique indexes: the value that a transaction gives to one row may still belong to another row
// in its snapshot. The reader decides by the row which entry counts. An own entry of the same row
// replaces the snapshot's. Where the snapshot's entries cannot be read there are none, whatever is
// among the own ones: what comes next is not known.
class UnionIterator final : public ROCKSDB_NAMESPACE::Iterator {
 public:
  struct Entry {
    std::string key;
    std::string value;
    bool replaces = false;  // the snapshot's entry with this key
  };

  // `own` is sorted by key, with different keys, within the bounds of `base`.
  UnionIterator(std::unique_ptr<ROCKSDB_NAMESPACE::Iterator> base, std::vector<Entry> own);

  bool Valid() const override;
  void SeekToFirst() override;
  void SeekToLast() override;
  void Seek(const ROCKSDB_NAMESPACE::Slice& target) override;
  void SeekForPrev(const ROCKSDB_NAMESPACE::Slice& target) override;
  void Next() override;
  void Prev() override;
  ROCKSDB_NAMESPACE::Slice key() const override;
  ROCKSDB_NAMESPACE::Slice value() const override;
  ROCKSDB_NAMESPACE::Status status() const override;

 private:
  // Position of the first own entry with a key not below `key`.
  std::size_t own_at_or_after(const ROCKSDB_NAMESPACE::Slice& key) const;
  bool has_own() const { return own_position_ < own_.size(); }
  void turn_forward();
  void turn_backward();
  bool is_replaced() const;
  void pass_replaced_forward();
  void pass_replaced_backward();
  void choose_first();
  void choose_last();
  void step_own_back();
  void note_failure();

  std::unique_ptr<ROCKSDB_NAMESPACE::Iterator> base_;
  const std::vector<Entry> own_;
  // Beyond the end: none. The child that is not current is at its next entry in the direction.
  std::size_t own_position_;
  bool is_own_ = false;  // the current entry is an own one
  bool is_forward_ = true;
  bool has_failed_ = false;
};

}  // namespace basalt::txn
