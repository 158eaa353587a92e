#pragma once
#include <cstddef>
#include <memory>

#include "rocksdb/cache.h"
#include "rocksdb/memtablerep.h"

// What the patches beside this file call, so that RocksDB's own tests run on Basalt's parts. The
// environment variable BASALT_CHECK_PARTS names the parts that are plugged in, separated by commas:
// memtable, cache, compression; all if it is not set.
namespace ROCKSDB_NAMESPACE {

struct ColumnFamilyOptions;

// A memtable in place of a skip list; null where keys are not in the order of their bytes, which
// Basalt's memtable needs.
MemTableRep* NewPluggedMemTable(const MemTableRep::KeyComparator& compare, Allocator* allocator);

// The cache of a table that was given none, and of db_stress; null if not plugged in.
std::shared_ptr<Cache> NewPluggedCache(size_t capacity);

// Whether RocksDB's own compression has been initialized, which the engine's is made of.
bool HasBuiltinCompressionManager();

// Sets what has to do with compression as the engine does for tables; not before the above is.
void PlugCompression(ColumnFamilyOptions& options);

}  // namespace ROCKSDB_NAMESPACE
