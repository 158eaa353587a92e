#pragma once

// Names of RocksDB classes, for headers that must not pull RocksDB's own in. The library is
// built with ROCKSDB_NAMESPACE=basalt_rocksdb, so that another RocksDB in the same process
// shares no symbol with it.
namespace basalt_rocksdb {
class Allocator;
class ColumnFamilyHandle;
class CompactOnDeletionCollectorFactory;
class CompactionFilterFactory;
class CompressionManager;
class DB;
class Env;
class FileIngestionHandle;
class FileSystem;
class Iterator;
class MemTableRepFactory;
class PinnableSlice;
class Snapshot;
class SstFileReader;
class Statistics;
class TablePropertiesCollectorFactory;
class Status;
class TransactionDB;
class WriteBatch;
class WriteBatchWithIndex;
struct ColumnFamilyDescriptor;
struct ColumnFamilyOptions;
struct DBOptions;
struct Options;
}  // namespace basalt_rocksdb

// RocksDB's names and ours for them, in one: rdb::Slice, rdb::slice_of().
namespace basalt::rdb {
using namespace basalt_rocksdb;
}  // namespace basalt::rdb
