#pragma once
#include <memory>

#include "rdb/rocksdb_fwd.h"

namespace basalt_rocksdb {
class EventListener;
}

namespace basalt::kv {

// Counts the bytes that flushes and compactions read and write, in RocksDB's tickers of these
// names. RocksDB itself adds nothing to them: it is compiled without what they are taken from
// (docs/decisions/0011).
std::shared_ptr<rdb::EventListener> make_write_listener(
    std::shared_ptr<rdb::Statistics> statistics);

}  // namespace basalt::kv
