#pragma once
#include <memory>

#include "kv/rocksdb_fwd.h"

namespace basalt::kv {

// Compresses data blocks with ZSTD no more thoroughly than their data are worth.
//
// ZSTD's level 1 looks for a repetition at every position. Where there are next to none, in digits,
// hashes or random letters, more than half of its time goes into that, and nearly all that it saves
// comes from its entropy codes. So a few blocks of each file are compressed twice: thoroughly, and
// accelerated, with a look at every third position. As long as the accelerated ones are hardly
// larger, the blocks between them are compressed in this way only.
//
// What is written are blocks of RocksDB's own ZSTD format: files are read without this, too. Only
// ZSTD at level 1 is adapted; for all other settings RocksDB's compressors are handed out. Thread
// safe.
std::shared_ptr<rdb::CompressionManager> make_adaptive_compression_manager();

}  // namespace basalt::kv
