#pragma once
#include <memory>

#include <rocksdb/table_properties.h>

#include "base/mutex.h"
#include "index_stats/key_structure.h"
#include "rdb/rocksdb_fwd.h"

// Makes the index properties (index_stats/index_properties.h) of every file that RocksDB writes.
namespace basalt::index_stats {

// Where collectors find the parts of keys: set when someone knows them, which is after the
// database was opened, and unset before that one goes.
class KeyStructureSlot {
 public:
  // Waits until no thread asks the previous source any more.
  void set(KeyStructureSource* source);
  // Null if there is no source, or it does not know the index.
  std::shared_ptr<const KeyStructure> find(std::uint32_t index_id);

 private:
  Mutex mutex_{MutexRank::kKeyStructures};
  KeyStructureSource* source_ BASALT_GUARDED_BY(mutex_) = nullptr;
};

std::shared_ptr<rdb::TablePropertiesCollectorFactory> make_index_collector_factory(
    std::shared_ptr<KeyStructureSlot> key_parts);

}  // namespace basalt::index_stats
