#include "kv/adaptive_compression.h"

#include <rocksdb/advanced_compression.h>
// For the switch of the entropy codes of literals, which ZSTD counts among its unstable ones. A
// library without it refuses the number, and nothing is accelerated then.
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <utility>
#include <vector>

namespace basalt::kv {
namespace {

constexpr int kLevel = 1;
// A match is looked for at every third position.
constexpr int kAcceleration = 3;
// Of so many blocks one is compressed in both ways, and of those a file begins with, each.
constexpr std::uint32_t kTrialInterval = 32;
constexpr std::uint32_t kFirstTrials = 4;
// By which part of themselves accelerated blocks may be larger.
constexpr std::uint64_t kGrowthDivisor = 40;

struct ContextDeleter {
  void operator()(ZSTD_CCtx* context) const { ZSTD_freeCCtx(context); }
};
using Context = std::unique_ptr<ZSTD_CCtx, ContextDeleter>;

// Null where the library lacks memory or one of the settings.
Context make_accelerated_context(rdb::Slice dictionary) {
  Context context(ZSTD_createCCtx());
  if (context == nullptr) return nullptr;
  const auto is_set = [&](ZSTD_cParameter parameter, int value) {
    return ZSTD_isError(ZSTD_CCtx_setParameter(context.get(), parameter, value)) == 0;
  };
  // Without the last one, accelerated blocks would have no entropy codes for what does not repeat.
  if (!is_set(ZSTD_c_compressionLevel, kLevel) || !is_set(ZSTD_c_strategy, ZSTD_fast) ||
      !is_set(ZSTD_c_targetLength, kAcceleration) ||
      !is_set(ZSTD_c_literalCompressionMode, ZSTD_ps_enable)) {
    return nullptr;
  }
  // Digested with the first block, and kept.
  if (ZSTD_isError(ZSTD_CCtx_loadDictionary(context.get(), dictionary.data(), dictionary.size()))) {
    return nullptr;
  }
  return context;
}

// Which way is worth while for one file. Each trial weighs half as much as the next.
class Trials {
 public:
  // Whether the block that begins here is a trial.
  bool begin_block() {
    const std::uint32_t block = blocks_++;
    return block < kFirstTrials || block % kTrialInterval == 0;
  }

  bool accelerated_is_worth_while() const {
    return accelerated_bytes_ <= thorough_bytes_ + thorough_bytes_ / kGrowthDivisor;
  }

  void note(std::size_t thorough_bytes, std::size_t accelerated_bytes) {
    thorough_bytes_ = thorough_bytes_ / 2 + thorough_bytes;
    accelerated_bytes_ = accelerated_bytes_ / 2 + accelerated_bytes;
  }

 private:
  std::uint32_t blocks_ = 0;
  std::uint64_t thorough_bytes_ = 0;
  std::uint64_t accelerated_bytes_ = 0;
};

// Wraps RocksDB's compressor for data blocks, which is the thorough way. Contexts are kept here,
// one of each way for a file, not in working areas: RocksDB 11.8 obtains none for a compressor that
// it made of samples, and would make and free a context for each block.
class AdaptiveCompressor final : public rdb::CompressorWrapper {
 public:
  using CompressorWrapper::CompressorWrapper;

  const char* Name() const override { return "Basalt.AdaptiveZstd"; }

  std::unique_ptr<Compressor> Clone() const override {
    return std::make_unique<AdaptiveCompressor>(wrapped_->Clone());
  }

  // Blocks of indexes are few.
  std::unique_ptr<Compressor> MaybeCloneSpecialized(rdb::CacheEntryRole block_type,
                                                    DictConfigArgs&& dictionary) const override {
    auto clone = wrapped_->CloneMaybeSpecialized(block_type, std::move(dictionary));
    if (block_type != rdb::CacheEntryRole::kDataBlock) return clone;
    return std::make_unique<AdaptiveCompressor>(std::move(clone));
  }

  ManagedWorkingArea ObtainWorkingArea() override { return {}; }

  rdb::Status CompressBlock(rdb::Slice block, char* output, std::size_t* output_bytes,
                            rdb::CompressionType* type, ManagedWorkingArea*) override {
    const std::lock_guard lock(mutex_);
    if (!is_prepared_) {
      thorough_ = wrapped_->ObtainWorkingArea();
      accelerated_ = make_accelerated_context(wrapped_->GetSerializedDict());
      is_prepared_ = true;
    }
    const bool is_trial = trials_.begin_block() && accelerated_ != nullptr;
    if (!is_trial && accelerated_ != nullptr && trials_.accelerated_is_worth_while()) {
      compress_accelerated(block, output, output_bytes, type);
      return rdb::Status::OK();
    }
    std::size_t trial_bytes = *output_bytes;
    rdb::Status status = wrapped_->CompressBlock(block, output, output_bytes, type, &thorough_);
    if (is_trial && status.ok()) {
      trial_output_.resize(trial_bytes);
      rdb::CompressionType trial_type = rdb::kNoCompression;
      compress_accelerated(block, trial_output_.data(), &trial_bytes, &trial_type);
      trials_.note(stored_bytes(block, *type, *output_bytes),
                   stored_bytes(block, trial_type, trial_bytes));
    }
    return status;
  }

 private:
  static std::size_t stored_bytes(rdb::Slice block, rdb::CompressionType type, std::size_t bytes) {
    return type == rdb::kNoCompression ? block.size() : bytes;
  }

  // The arguments and what is left in them are those of CompressBlock(). The format is that of
  // RocksDB's blocks of ZSTD: the length of the block as a varint of 32 bits, and ZSTD's frame.
  void compress_accelerated(rdb::Slice block, char* output, std::size_t* output_bytes,
                            rdb::CompressionType* type) {
    constexpr std::size_t kLongestVarint = 5;
    *type = rdb::kNoCompression;
    if (block.size() > std::numeric_limits<std::uint32_t>::max() ||
        *output_bytes <= kLongestVarint) {
      *output_bytes = 0;
      return;
    }
    char* frame = output;
    auto length = static_cast<std::uint32_t>(block.size());
    for (; length >= 0x80; length >>= 7) *frame++ = static_cast<char>(length | 0x80);
    *frame++ = static_cast<char>(length);
    const auto header = static_cast<std::size_t>(frame - output);
    const std::size_t frame_bytes = ZSTD_compress2(
        accelerated_.get(), frame, *output_bytes - header, block.data(), block.size());
    if (ZSTD_isError(frame_bytes) != 0) {
      // It does not become small enough: one byte tells that it was tried.
      *output_bytes = 1;
      return;
    }
    *output_bytes = header + frame_bytes;
    *type = rdb::kZSTD;
  }

  // One thread writes a file, but RocksDB promises that a compressor may have several.
  std::mutex mutex_;
  bool is_prepared_ = false;
  ManagedWorkingArea thorough_;
  // Null: all blocks are compressed thoroughly.
  Context accelerated_;
  Trials trials_;
  std::vector<char> trial_output_;
};

class AdaptiveCompressionManager final : public rdb::CompressionManagerWrapper {
 public:
  AdaptiveCompressionManager()
      : CompressionManagerWrapper(rdb::GetBuiltinV2CompressionManager()) {}

  const char* Name() const override { return "Basalt.AdaptiveCompression"; }

  std::unique_ptr<rdb::Compressor> GetCompressorForSST(const rdb::FilterBuildingContext& context,
                                                       const rdb::CompressionOptions& options,
                                                       rdb::CompressionType type) override {
    return adapted(options, wrapped_->GetCompressorForSST(context, options, type));
  }

  std::unique_ptr<rdb::Compressor> GetCompressor(const rdb::CompressionOptions& options,
                                                 rdb::CompressionType type) override {
    return adapted(options, wrapped_->GetCompressor(options, type));
  }

 private:
  static std::unique_ptr<rdb::Compressor> adapted(const rdb::CompressionOptions& options,
                                                  std::unique_ptr<rdb::Compressor> compressor) {
    if (compressor == nullptr || compressor->GetPreferredCompressionType() != rdb::kZSTD ||
        options.level != kLevel || options.checksum) {
      return compressor;
    }
    return std::make_unique<AdaptiveCompressor>(std::move(compressor));
  }
};

}  // namespace

std::shared_ptr<rdb::CompressionManager> make_adaptive_compression_manager() {
  return std::make_shared<AdaptiveCompressionManager>();
}

}  // namespace basalt::kv
