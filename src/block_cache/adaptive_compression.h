#pragma once
#include <memory>

#include "rdb/rocksdb_fwd.h"

namespace basalt::block_cache {

// Compresses data blocks no more thoroughly than their data are worth.
//
// Where next to nothing repeats, in digits, hashes or random letters, ZSTD's level 1 spends more
// than half of its time on looking for a repetition at every position, though nearly all that it
// saves comes from its entropy codes; and LZ4, which has none, saves nothing. So a few blocks of
// each file are stored in two ways, thoroughly and cheaply: by ZSTD with a look at every third
// position, in place of LZ4 uncompressed. As long as the cheap ones are hardly larger, the blocks
// between them are stored in this way only.
//
// What is written are blocks of RocksDB's own formats: files are read without this, too. Only LZ4
// and ZSTD at level 1 are adapted; for all other settings RocksDB's compressors are handed out.
// Thread safe.
std::shared_ptr<rdb::CompressionManager> make_adaptive_compression_manager();

}  // namespace basalt::block_cache
