#include <benchmark/benchmark.h>
#include <rocksdb/advanced_compression.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "block_cache/adaptive_compression.h"
#include "block_cache/test_blocks.h"

// A block of 8 KB compressed by ZSTD with a dictionary of 16 KB, and by LZ4: adaptively, by
// RocksDB, and by RocksDB with no context that is kept from block to block, as its files with
// dictionaries are written.
namespace basalt::block_cache {
namespace {

enum Way : std::int64_t { kAdaptive, kRocksDb, kRocksDbWithoutContext };
enum Kind : std::int64_t { kDigits, kText, kNoise };
enum Algorithm : std::int64_t { kZstd, kLz4 };

std::string make_block(std::int64_t kind, std::mt19937& random) {
  switch (kind) {
    case kDigits: return test::digits(random);
    case kText: return test::text(random);
    default: return test::noise(random);
  }
}

void compress_block(benchmark::State& state) {
  std::mt19937 random(std::mt19937::default_seed);
  std::vector<std::string> blocks;
  for (int i = 0; i < 256; ++i) blocks.push_back(make_block(state.range(1), random));

  rdb::CompressionOptions options;
  const bool is_zstd = state.range(2) == kZstd;
  rdb::Compressor::DictConfigArgs dictionary;
  if (is_zstd) {
    options.level = 1;
    options.max_dict_bytes = 16 * 1024;
    rdb::Compressor::DictSamples samples;
    for (int i = 0; i < 2; ++i) {
      samples.sample_data += make_block(state.range(1), random);
      samples.sample_lens.push_back(test::kBlock);
    }
    dictionary = std::move(samples);
  }
  const auto manager = state.range(0) == kAdaptive ? make_adaptive_compression_manager()
                                                   : rdb::GetBuiltinV2CompressionManager();
  const auto compressor =
      manager->GetCompressor(options, is_zstd ? rdb::kZSTD : rdb::kLZ4Compression)
          ->CloneMaybeSpecialized(rdb::CacheEntryRole::kDataBlock, std::move(dictionary));
  rdb::Compressor::ManagedWorkingArea area;
  if (state.range(0) == kRocksDb) area = compressor->ObtainWorkingArea();

  std::vector<char> output(2 * test::kBlock);
  std::size_t number = 0;
  std::size_t stored_bytes = 0;
  for (auto _ : state) {
    const std::string& block = blocks[number++ % blocks.size()];
    std::size_t bytes = block.size() * 7 / 8;
    rdb::CompressionType type;
    if (!compressor->CompressBlock(block, output.data(), &bytes, &type, &area).ok()) {
      state.SkipWithError("a block could not be compressed");
      break;
    }
    stored_bytes += type == rdb::kNoCompression ? block.size() : bytes;
  }
  state.counters["stored_bytes"] =
      benchmark::Counter(static_cast<double>(stored_bytes), benchmark::Counter::kAvgIterations);
}
BENCHMARK(compress_block)
    ->ArgNames({"way", "data", "algorithm"})
    ->ArgsProduct({{kAdaptive, kRocksDb, kRocksDbWithoutContext},
                   {kDigits, kText, kNoise},
                   {kZstd, kLz4}});

}  // namespace
}  // namespace basalt::block_cache
