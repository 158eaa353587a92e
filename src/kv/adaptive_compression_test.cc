#include "block_cache/adaptive_compression.h"

#include <rocksdb/advanced_compression.h>

#include <cstddef>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/test_support.h"
#include "block_cache/test_blocks.h"
#include "index_stats/key_structure.h"
#include "kv/rocksdb_options.h"

// Goal: blocks are stored in the way that is worth while for them, and RocksDB reads them all.
namespace basalt::kv {
namespace {

using block_cache::test::digits;
using block_cache::test::noise;
using block_cache::test::text;

template <typename Make>
std::vector<std::string> blocks_of(Make make, std::size_t count) {
  std::mt19937 random(20261123);
  std::vector<std::string> blocks;
  for (std::size_t i = 0; i < count; ++i) blocks.push_back(make(random));
  return blocks;
}

rdb::CompressionOptions level_one() {
  rdb::CompressionOptions options;
  options.level = 1;
  options.max_dict_bytes = 16 * 1024;
  return options;
}

// As tables have it.
rdb::CompressionOptions of_lowest_level() {
  return make_table_family_options(with_machine_defaults({}), nullptr,
                                   std::make_shared<index_stats::KeyStructureSlot>())
      .bottommost_compression_opts;
}

struct Stored {
  // Empty if the block is stored as it is.
  std::string bytes;
  rdb::CompressionType type = rdb::kNoCompression;
  // Whether a block that is stored as it is was found not to become small enough.
  bool was_tried = true;
  bool operator==(const Stored&) const = default;
};

// One file of blocks, as RocksDB compresses it.
class File {
 public:
  // With a dictionary of some of the blocks, or none.
  File(rdb::CompressionManager& manager, rdb::CompressionType type,
       const rdb::CompressionOptions& options, const std::vector<std::string>& blocks,
       const std::vector<std::string>& samples) {
    const auto basic = manager.GetCompressor(options, type);
    rdb::Compressor::DictConfigArgs dictionary;
    if (!samples.empty()) {
      rdb::Compressor::DictSamples joined;
      for (const std::string& block : samples) {
        joined.sample_data += block;
        joined.sample_lens.push_back(block.size());
      }
      dictionary = std::move(joined);
    }
    const auto compressor =
        basic->CloneMaybeSpecialized(rdb::CacheEntryRole::kDataBlock, std::move(dictionary));
    dictionary_ = compressor->GetSerializedDict().ToString();
    auto area = compressor->ObtainWorkingArea();
    for (const std::string& block : blocks) {
      Stored stored;
      stored.bytes.resize(block.size() * 7 / 8);
      std::size_t bytes = stored.bytes.size();
      EXPECT_TRUE(
          compressor->CompressBlock(block, stored.bytes.data(), &bytes, &stored.type, &area).ok());
      stored.was_tried = bytes != 0;
      stored.bytes.resize(stored.type == rdb::kNoCompression ? 0 : bytes);
      bytes_ += stored.type == rdb::kNoCompression ? block.size() : bytes;
      stored_.push_back(std::move(stored));
    }
  }

  const std::vector<Stored>& stored() const { return stored_; }
  const std::string& dictionary() const { return dictionary_; }

  std::size_t bytes() const { return bytes_; }

 private:
  std::string dictionary_;
  std::vector<Stored> stored_;
  std::size_t bytes_ = 0;
};

// With a dictionary of the first and the last of them, or none.
File by_zstd(rdb::CompressionManager& manager, const std::vector<std::string>& blocks,
             bool has_dictionary = true) {
  std::vector<std::string> samples;
  if (has_dictionary) samples = {blocks.front(), blocks.back()};
  return {manager, rdb::kZSTD, level_one(), blocks, samples};
}

File adaptive(const std::vector<std::string>& blocks, bool has_dictionary = true) {
  return by_zstd(*block_cache::make_adaptive_compression_manager(), blocks, has_dictionary);
}

File thorough(const std::vector<std::string>& blocks) {
  return by_zstd(*rdb::GetBuiltinV2CompressionManager(), blocks);
}

File adaptive_lz4(const std::vector<std::string>& blocks) {
  return {*block_cache::make_adaptive_compression_manager(), rdb::kLZ4Compression, {}, blocks, {}};
}

File thorough_lz4(const std::vector<std::string>& blocks) {
  return {*rdb::GetBuiltinV2CompressionManager(), rdb::kLZ4Compression, {}, blocks, {}};
}

// How many of the blocks from `begin` on are not stored as ZSTD's level 1 stores them. Both ways
// may give the same by chance, and do where the dictionary has the whole block.
std::size_t accelerated(const std::vector<std::string>& blocks, std::size_t begin = 0) {
  const File ours = adaptive(blocks);
  const File level = thorough(blocks);
  std::size_t count = 0;
  for (std::size_t i = begin; i < blocks.size(); ++i) {
    count += ours.stored()[i] == level.stored()[i] ? 0 : 1;
  }
  return count;
}

TEST(AdaptiveCompression, DigitsAreAccelerated) {
  EXPECT_GT(accelerated(blocks_of(digits, 100)), 85u);
}

TEST(AdaptiveCompression, EachBlockOfATrialIsStoredAsByTheLevel) {
  const std::vector<std::string> blocks = blocks_of(digits, 100);
  const File ours = adaptive(blocks);
  const File level = thorough(blocks);
  for (const std::size_t trial : {0, 1, 2, 3, 32, 64, 96}) {
    EXPECT_TRUE(ours.stored()[trial] == level.stored()[trial]) << trial;
  }
}

TEST(AdaptiveCompression, DigitsBecomeHardlyLarger) {
  const std::vector<std::string> blocks = blocks_of(digits, 100);
  EXPECT_LT(adaptive(blocks).bytes(), thorough(blocks).bytes() * 103 / 100);
}

TEST(AdaptiveCompression, TextIsCompressedAsByTheLevel) {
  EXPECT_EQ(accelerated(blocks_of(text, 100)), 0u);
}

TEST(AdaptiveCompression, TextThatFollowsDigitsIsCompressedAsByTheLevelSoon) {
  std::vector<std::string> blocks = blocks_of(digits, 200);
  for (std::string& block : blocks_of(text, 200)) blocks.push_back(std::move(block));
  EXPECT_EQ(accelerated(blocks, 200 + 3 * 32), 0u);
}

TEST(AdaptiveCompression, DigitsThatFollowTextAreAcceleratedSoon) {
  std::vector<std::string> blocks = blocks_of(text, 200);
  for (std::string& block : blocks_of(digits, 200)) blocks.push_back(std::move(block));
  EXPECT_GT(accelerated(blocks, 200 + 3 * 32), 85u);
}

TEST(AdaptiveCompression, WhatDoesNotBecomeSmallerIsStoredAsItIs) {
  const File file = adaptive(blocks_of(noise, 40), false);
  for (const Stored& stored : file.stored()) {
    EXPECT_EQ(stored.type, rdb::kNoCompression);
  }
}

TEST(AdaptiveCompression, Lz4IsTriedOnDigitsInTrialsOnly) {
  const File file = adaptive_lz4(blocks_of(digits, 100));
  std::vector<std::size_t> trials;
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(file.stored()[i].type, rdb::kNoCompression) << i;
    if (file.stored()[i].was_tried) trials.push_back(i);
  }
  EXPECT_EQ(trials, (std::vector<std::size_t>{0, 1, 2, 3, 32, 64, 96}));
}

TEST(AdaptiveCompression, TextIsCompressedAsByLz4) {
  const std::vector<std::string> blocks = blocks_of(text, 100);
  EXPECT_TRUE(adaptive_lz4(blocks).stored() == thorough_lz4(blocks).stored());
  EXPECT_EQ(adaptive_lz4(blocks).stored().back().type, rdb::kLZ4Compression);
}

TEST(AdaptiveCompression, TextThatFollowsDigitsIsCompressedAsByLz4Soon) {
  std::vector<std::string> blocks = blocks_of(digits, 200);
  for (std::string& block : blocks_of(text, 200)) blocks.push_back(std::move(block));
  const File file = adaptive_lz4(blocks);
  for (std::size_t i = 200 + 32; i < blocks.size(); ++i) {
    EXPECT_EQ(file.stored()[i].type, rdb::kLZ4Compression) << i;
  }
}

// LZ4 saves a sixteenth of them, but some rows of trials meet digits only.
TEST(AdaptiveCompression, DigitsWithTextAmongThemBecomeHardlyLargerThanByLz4) {
  std::mt19937 random(20261124);
  std::vector<std::string> blocks;
  for (std::size_t i = 0; i < 1000; ++i) {
    blocks.push_back(random() % 4 == 0 ? text(random) : digits(random));
  }
  EXPECT_LT(adaptive_lz4(blocks).bytes(), thorough_lz4(blocks).bytes() * 104 / 100);
}

void expect_readable(const File& file, const std::vector<std::string>& blocks) {
  // As files of the lowest level are read.
  const auto plain = rdb::GetBuiltinV2CompressionManager()->GetDecompressorOptimizeFor(rdb::kZSTD);
  std::unique_ptr<rdb::Decompressor> with_dictionary;
  if (!file.dictionary().empty()) {
    ASSERT_TRUE(plain->MaybeCloneForDict(file.dictionary(), &with_dictionary).ok());
  }
  rdb::Decompressor& reader = with_dictionary != nullptr ? *with_dictionary : *plain;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const Stored& stored = file.stored()[i];
    // RocksDB writes the block itself, then.
    if (stored.type == rdb::kNoCompression) continue;
    rdb::Decompressor::Args args;
    args.compression_type = stored.type;
    args.compressed_data = stored.bytes;
    ASSERT_TRUE(reader.ExtractUncompressedSize(args).ok()) << i;
    ASSERT_EQ(args.uncompressed_size, blocks[i].size()) << i;
    std::string block(args.uncompressed_size, '\0');
    ASSERT_TRUE(reader.DecompressBlock(args, block.data()).ok()) << i;
    EXPECT_EQ(block, blocks[i]) << i;
  }
}

TEST(AdaptiveCompression, RocksDbReadsWhatWasCompressed) {
  std::vector<std::string> blocks = blocks_of(digits, 70);
  for (std::string& block : blocks_of(text, 70)) blocks.push_back(std::move(block));
  blocks.emplace_back("short, and short, and short, and short, and short");
  for (const bool has_dictionary : {true, false}) {
    const File file = adaptive(blocks, has_dictionary);
    EXPECT_EQ(file.dictionary().empty(), !has_dictionary);
    for (const Stored& stored : file.stored()) EXPECT_EQ(stored.type, rdb::kZSTD);
    expect_readable(file, blocks);
  }
  expect_readable(adaptive_lz4(blocks), blocks);
}

TEST(AdaptiveCompression, RocksDbReadsWhatWasCompressedAmongBlocksThatDidNotBecomeSmaller) {
  std::mt19937 random(20261125);
  std::vector<std::string> blocks;
  for (std::size_t i = 0; i < 300; ++i) {
    blocks.push_back(i % 3 == 0 ? noise(random) : i % 3 == 1 ? digits(random) : text(random));
    blocks.back().resize(1 + random() % blocks.back().size());
  }
  const std::vector<std::string> samples(blocks.begin(), blocks.begin() + 50);
  const File file(*block_cache::make_adaptive_compression_manager(), rdb::kZSTD, of_lowest_level(),
                  blocks, samples);
  EXPECT_FALSE(file.dictionary().empty());
  expect_readable(file, blocks);
}

TEST(AdaptiveCompression, ALargeBlockIsNoTrialAndDecidesNothing) {
  std::mt19937 random(20261125);
  std::string large_text;
  std::string large_noise;
  while (large_text.size() < 300'000) {
    large_text += text(random);
    large_noise += noise(random);
  }
  // Where there were no trials, thoroughly.
  const File alone = adaptive_lz4({large_text});
  EXPECT_EQ(alone.stored()[0].type, rdb::kLZ4Compression);
  expect_readable(alone, {large_text});
  std::vector<std::string> blocks = {large_noise};
  for (std::string& block : blocks_of(text, 10)) blocks.push_back(std::move(block));
  EXPECT_TRUE(adaptive_lz4(blocks).stored() == thorough_lz4(blocks).stored());
}

TEST(AdaptiveCompression, OtherLevelsAndAlgorithmsAreLeftToRocksDb) {
  const auto manager = block_cache::make_adaptive_compression_manager();
  rdb::CompressionOptions level_three = level_one();
  level_three.level = 3;
  const auto name = [&](const rdb::CompressionOptions& options, rdb::CompressionType type) {
    return std::string(manager->GetCompressor(options, type)->Name());
  };
  EXPECT_EQ(name(level_one(), rdb::kZSTD), "Basalt.AdaptiveZstd");
  EXPECT_NE(name(level_three, rdb::kZSTD), "Basalt.AdaptiveZstd");
  EXPECT_EQ(name({}, rdb::kLZ4Compression), "Basalt.AdaptiveLz4");
  EXPECT_NE(name({}, rdb::kLZ4HCCompression), "Basalt.AdaptiveLz4");
  EXPECT_EQ(manager->GetCompressor(level_one(), rdb::kNoCompression), nullptr);
}

// It owns the digest. Without one each block would digest the dictionary anew: decision 0014.
TEST(AdaptiveCompression, ADictionaryIsDigestedOnceForAFile) {
  constexpr std::size_t kDigestBytesMin = 16 * 1024;
  const File file = adaptive(blocks_of(text, 10));
  const auto manager = block_cache::make_adaptive_compression_manager();
  std::unique_ptr<rdb::Decompressor> reader;
  ASSERT_TRUE(manager->GetDecompressorOptimizeFor(rdb::kZSTD)
                  ->MaybeCloneForDict(file.dictionary(), &reader)
                  .ok());
  EXPECT_GT(reader->ApproximateOwnedMemoryUsage(), kDigestBytesMin);
}

// Files say by this name which compressions they need.
TEST(AdaptiveCompression, FilesNeedNothingButRocksDbsOwnCompressions) {
  EXPECT_STREQ(block_cache::make_adaptive_compression_manager()->CompatibilityName(),
               rdb::GetBuiltinV2CompressionManager()->CompatibilityName());
}

}  // namespace
}  // namespace basalt::kv
