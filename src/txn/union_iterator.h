#pragma once
#include <rocksdb/iterator.h>

#include <functional>
#include <memory>
#include <string_view>

#include "kv/rocksdb_reads.h"
#include "txn/own_change.h"

namespace basalt::txn {

// Two sets of entries in one order: those of a snapshot, and a transaction's own. Unlike RocksDB's
// merge, a key in both is seen twice, the snapshot's entry first, and own removals hide nothing.
//
// For unique indexes: the value that a transaction gives to one row may still belong to another row
// in its snapshot. The reader decides by the row which entry counts. An own entry of the same row
// replaces the snapshot's. Where one of both cannot be read there are no entries, whatever is
// among the others: what comes next is not known.
class UnionIterator final : public ROCKSDB_NAMESPACE::Iterator {
 public:
  // `bounds`, those of `base`, outlive it.
  UnionIterator(std::unique_ptr<ROCKSDB_NAMESPACE::Iterator> base,
                std::unique_ptr<ChangeSource> own, const kv::IteratorBounds& bounds,
                SameRow same_row)
      : base_(std::move(base)),
        own_(std::move(own)),
        bounds_(bounds),
        same_row_(std::move(same_row)) {}

  bool Valid() const override { return at_ != At::kNowhere; }
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
  // The child that is not current is at its next entry in the direction.
  enum class At : std::uint8_t { kNowhere, kBase, kOwn };

  // Whether there is an own entry within the bounds; passes over removals, in the direction.
  bool find_own();
  bool has_failed() const;
  // Whether both are on one key, and the own entry replaces the snapshot's.
  bool is_replaced() const;
  void choose_first();
  void choose_last();
  void turn_forward();
  void turn_backward();

  const std::unique_ptr<ROCKSDB_NAMESPACE::Iterator> base_;
  const std::unique_ptr<ChangeSource> own_;
  const kv::IteratorBounds& bounds_;
  const SameRow same_row_;
  At at_ = At::kNowhere;
  bool is_forward_ = true;
};

}  // namespace basalt::txn
