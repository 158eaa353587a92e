#pragma once
#include <memory>
#include <mutex>

#include <rocksdb/table_properties.h>

#include "kv/key_parts.h"
#include "kv/rocksdb_fwd.h"

// Makes the index properties (kv/index_properties.h) of every file that RocksDB writes.
namespace basalt::kv {

// Where collectors find the parts of keys: set when someone knows them, which is after the
// database was opened, and unset before that one goes.
class KeyPartsSlot {
 public:
  // Waits until no thread asks the previous source any more.
  void set(KeyPartsSource* source);
  // Null if there is no source, or it does not know the index.
  std::shared_ptr<const KeyParts> find(std::uint32_t index_id);

 private:
  std::mutex mutex_;
  KeyPartsSource* source_ = nullptr;  // guarded by mutex_
};

std::shared_ptr<rdb::TablePropertiesCollectorFactory> make_index_collector_factory(
    std::shared_ptr<KeyPartsSlot> key_parts);

}  // namespace basalt::kv
