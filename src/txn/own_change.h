#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "rdb/rocksdb_fwd.h"

// What a transaction has changed, in the order of the keys.
namespace basalt::txn {

// What a transaction has done to a key last.
enum class OwnVersion : std::uint8_t { kNone, kPut, kRemoved };

// What an entry does to its key. One of kRemoveSingle must meet exactly one that is put.
enum class ChangeKind : std::uint8_t { kPut, kRemove, kRemoveSingle };

// Whether two values of one key belong to the same row.
using SameRow = std::function<bool(std::string_view key, std::string_view, std::string_view)>;

// The changes of one family in one place, each key once. Nowhere after construction.
//
// Threads     Belongs to one.
class ChangeSource {
 public:
  ChangeSource() = default;
  virtual ~ChangeSource() = default;
  ChangeSource(const ChangeSource&) = delete;
  ChangeSource& operator=(const ChangeSource&) = delete;

  // False at either end and after an error.
  virtual bool is_valid() const = 0;
  // Valid until the next move.
  virtual std::string_view key() const = 0;
  virtual std::string_view value() const = 0;
  virtual ChangeKind kind() const = 0;
  bool is_put() const { return kind() == ChangeKind::kPut; }

  virtual void seek(std::string_view key) = 0;               // first key >= key
  virtual void seek_for_previous(std::string_view key) = 0;  // last key <= key
  virtual void seek_to_first() = 0;
  virtual void seek_to_last() = 0;
  virtual void next() = 0;
  virtual void previous() = 0;
  virtual Status status() const = 0;
};

// The status of a source, for an iterator of RocksDB's that stands on it.
rdb::Status to_rocksdb(const Status& status);

// Several sources as one, in which each key has its newest change.
//
// Cost        A move compares the keys of all sources: a transaction has few.
class MergedChanges final : public ChangeSource {
 public:
  // The newest one first.
  explicit MergedChanges(std::vector<std::unique_ptr<ChangeSource>> sources)
      : sources_(std::move(sources)) {}

  bool is_valid() const override { return current_ != nullptr; }
  std::string_view key() const override { return current_->key(); }
  std::string_view value() const override { return current_->value(); }
  ChangeKind kind() const override { return current_->kind(); }
  void seek(std::string_view key) override;
  void seek_for_previous(std::string_view key) override;
  void seek_to_first() override;
  void seek_to_last() override;
  void next() override;
  void previous() override;
  // The first error of a source.
  Status status() const override;

 private:
  // Sources that are not current are at their first change that is not before the current one, or,
  // on the way back, at their last one that is not behind it.
  void choose_first();
  void choose_last();
  bool has_failed() const;
  // Moves all that are on the current key by one.
  void step(void (ChangeSource::*move)());
  void turn(bool forward);

  const std::vector<std::unique_ptr<ChangeSource>> sources_;
  ChangeSource* current_ = nullptr;
  bool is_forward_ = true;
};

}  // namespace basalt::txn
