#pragma once
#include <rocksdb/iterator.h>
#include <rocksdb/wide_columns.h>

#include <memory>

#include "kv/rocksdb_reads.h"
#include "rdb/rocksdb_fwd.h"
#include "txn/own_change.h"

namespace basalt::txn {

// What a snapshot has, with a transaction's changes on top: what is put is there, in place of the
// snapshot's entry of its key, and what is removed is not.
class OverlayIterator final : public rdb::Iterator {
 public:
  // `bounds`, those of `base`, outlive it.
  OverlayIterator(std::unique_ptr<rdb::Iterator> base, std::unique_ptr<ChangeSource> changes,
                  const kv::IteratorBounds& bounds)
      : base_(std::move(base)), changes_(std::move(changes)), bounds_(bounds) {}

  bool Valid() const override { return at_ != At::kNowhere; }
  void SeekToFirst() override;
  void SeekToLast() override;
  void Seek(const rdb::Slice& target) override;
  void SeekForPrev(const rdb::Slice& target) override;
  void Next() override;
  void Prev() override;
  rdb::Slice key() const override;
  rdb::Slice value() const override;
  const rdb::WideColumns& columns() const override;
  rdb::Status status() const override;

 private:
  enum class At : std::uint8_t { kNowhere, kBase, kChange };

  // Whether there is a change within the bounds.
  bool has_change() const;
  bool has_failed() const;
  void choose_first();
  void choose_last();
  void turn(bool forward);

  const std::unique_ptr<rdb::Iterator> base_;
  const std::unique_ptr<ChangeSource> changes_;
  const kv::IteratorBounds& bounds_;
  At at_ = At::kNowhere;
  bool is_forward_ = true;
  mutable rdb::WideColumns columns_;
};

}  // namespace basalt::txn
