#pragma once
#include <memory>

#include "wal/health.h"

namespace basalt_rocksdb {
class EventListener;
}

namespace basalt::wal {

// Tells `health` what RocksDB's background work and WAL meet. Nothing that failed is tried again by
// RocksDB itself, but for compactions: an administrator decides.
std::shared_ptr<basalt_rocksdb::EventListener> make_health_listener(std::shared_ptr<Health> health);

}  // namespace basalt::wal
