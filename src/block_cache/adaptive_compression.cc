#include "block_cache/adaptive_compression.h"
#include "base/mutex.h"

#include <rocksdb/advanced_compression.h>
// For the switch of the entropy codes of literals, which ZSTD counts among its unstable ones. A
// library without it refuses the number, and nothing is accelerated then.
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace basalt::block_cache {
namespace {

constexpr int kLevel = 1;
// A match is looked for at every third position.
constexpr int kAcceleration = 3;
// One of kTrialInterval blocks is tried in both ways, and so are the first kFirstTrials blocks
// of a file.
constexpr std::uint32_t kTrialInterval = 32;
constexpr std::uint32_t kFirstTrials = 4;
// Blocks are cut between entries: one that holds a large value may be of any size. A trial of it
// would take as much memory again, and outvote many others.
constexpr std::size_t kTrialBytesMax = 256 * 1024;
// Blocks are compressed in the cheap way while that makes them larger by at most size /
// kGrowthDivisor.
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

// The cheap way beside ZSTD's level 1.
class AcceleratedZstd {
 public:
  static constexpr const char* kCompressorName = "Basalt.AdaptiveZstd";

  explicit AcceleratedZstd(rdb::Slice dictionary)
      : context_(make_accelerated_context(dictionary)) {}

  bool is_available() const { return context_ != nullptr; }

  // The arguments and what is left in them are those of Compressor::CompressBlock(). The format is
  // that of RocksDB's blocks of ZSTD: the length of the block as a varint of 32 bits, and ZSTD's
  // frame.
  void compress(rdb::Slice block, char* output, std::size_t* output_bytes,
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
    const std::size_t frame_bytes =
        ZSTD_compress2(context_.get(), frame, *output_bytes - header, block.data(), block.size());
    if (ZSTD_isError(frame_bytes) != 0) {
      // It does not become small enough: one byte tells that it was tried.
      *output_bytes = 1;
      return;
    }
    *output_bytes = header + frame_bytes;
    *type = rdb::kZSTD;
  }

 private:
  Context context_;
};

// The cheap way beside LZ4, which has no entropy codes: where nothing repeats it saves nothing.
class Uncompressed {
 public:
  static constexpr const char* kCompressorName = "Basalt.AdaptiveLz4";

  explicit Uncompressed(rdb::Slice /*dictionary*/) {}

  static bool is_available() { return true; }

  static void compress(rdb::Slice /*block*/, char* /*output*/, std::size_t* output_bytes,
                       rdb::CompressionType* type) {
    *type = rdb::kNoCompression;
    *output_bytes = 0;
  }
};

// Which way is worth while for one file. Each trial weighs half as much as the next.
class Trials {
 public:
  // Whether a block of so many bytes, which begins here, is a trial.
  bool begin_block(std::size_t bytes) {
    if (bytes > kTrialBytesMax) return false;
    const std::uint32_t block = blocks_++;
    return block < kFirstTrials || block % kTrialInterval == 0;
  }

  bool cheap_is_worth_while() const {
    return blocks_ != 0 && cheap_bytes_ <= thorough_bytes_ + thorough_bytes_ / kGrowthDivisor;
  }

  void note(std::size_t thorough_bytes, std::size_t cheap_bytes) {
    thorough_bytes_ = thorough_bytes_ / 2 + thorough_bytes;
    cheap_bytes_ = cheap_bytes_ / 2 + cheap_bytes;
  }

 private:
  std::uint32_t blocks_ = 0;  // that are not too large for trials
  std::uint64_t thorough_bytes_ = 0;
  std::uint64_t cheap_bytes_ = 0;
};

// Wraps RocksDB's compressor for data blocks, which is the thorough way. Contexts are kept here,
// one of each way for a file, not in working areas: RocksDB 11.8 obtains none for a compressor that
// it made of samples, and would make and free a context for each block.
template <typename CheapWay>
class AdaptiveCompressor final : public rdb::CompressorWrapper {
 public:
  using CompressorWrapper::CompressorWrapper;

  const char* Name() const override { return CheapWay::kCompressorName; }

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
    const MutexLock lock(mutex_);
    if (!cheap_) {
      thorough_ = wrapped_->ObtainWorkingArea();
      cheap_.emplace(wrapped_->GetSerializedDict());
    }
    const bool is_trial = trials_.begin_block(block.size()) && cheap_->is_available();
    if (!is_trial && cheap_->is_available() && trials_.cheap_is_worth_while()) {
      cheap_->compress(block, output, output_bytes, type);
      return rdb::Status::OK();
    }
    std::size_t trial_bytes = *output_bytes;
    rdb::Status status = wrapped_->CompressBlock(block, output, output_bytes, type, &thorough_);
    if (is_trial && status.ok()) {
      trial_output_.resize(trial_bytes);
      rdb::CompressionType trial_type = rdb::kNoCompression;
      cheap_->compress(block, trial_output_.data(), &trial_bytes, &trial_type);
      trials_.note(stored_bytes(block, *type, *output_bytes),
                   stored_bytes(block, trial_type, trial_bytes));
    }
    return status;
  }

 private:
  static std::size_t stored_bytes(rdb::Slice block, rdb::CompressionType type, std::size_t bytes) {
    return type == rdb::kNoCompression ? block.size() : bytes;
  }

  // One thread writes a file, but RocksDB promises that a compressor may have several.
  Mutex mutex_{MutexRank::kCompressor};
  ManagedWorkingArea thorough_ BASALT_GUARDED_BY(mutex_);
  // Made with the first block. Where it is not available, all blocks are stored thoroughly.
  std::optional<CheapWay> cheap_ BASALT_GUARDED_BY(mutex_);
  Trials trials_ BASALT_GUARDED_BY(mutex_);
  std::vector<char> trial_output_ BASALT_GUARDED_BY(mutex_);
};

class AdaptiveCompressionManager final : public rdb::CompressionManagerWrapper {
 public:
  AdaptiveCompressionManager() : CompressionManagerWrapper(rdb::GetBuiltinV2CompressionManager()) {}

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
    if (compressor == nullptr) return compressor;
    const rdb::CompressionType preferred = compressor->GetPreferredCompressionType();
    if (preferred == rdb::kZSTD && options.level == kLevel && !options.checksum) {
      return std::make_unique<AdaptiveCompressor<AcceleratedZstd>>(std::move(compressor));
    }
    if (preferred == rdb::kLZ4Compression) {
      return std::make_unique<AdaptiveCompressor<Uncompressed>>(std::move(compressor));
    }
    return compressor;
  }
};

}  // namespace

std::shared_ptr<rdb::CompressionManager> make_adaptive_compression_manager() {
  return std::make_shared<AdaptiveCompressionManager>();
}

}  // namespace basalt::block_cache
