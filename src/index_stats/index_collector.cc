#include "index_stats/index_collector.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/key_range.h"
#include "index_stats/index_properties.h"

namespace basalt::index_stats {
namespace {

constexpr std::size_t kPartsMax = 64;
// Positions kept per index and file: between half of it and all.
constexpr std::size_t kAnchorsMax = 128;
constexpr std::uint64_t kFirstAnchorDistance = 64;
// Values picked per sample: between half of it and all. Of keys not even of a small index more
// than an eighth: what is picked takes 5 bytes, and small tables are counted when they are opened.
constexpr std::size_t kVersionsMax = 1024;
constexpr std::uint32_t kFirstVersionLevel = 3;
constexpr std::size_t kHashesMax = 128;

// Whether a value is picked at a level: its hash begins with that many zero bits.
bool is_picked(std::uint32_t hash, std::uint32_t level) {
  return (static_cast<std::uint64_t>(hash) >> (32 - level)) == 0;
}

std::string cut(std::string_view key) {
  return std::string(key.substr(0, IndexProperties::kKeyBytesMax));
}

// Counts the entries of one index, which come in order.
class IndexCounter {
 public:
  // `parts` may be null.
  void begin(std::string_view key, std::shared_ptr<const KeyStructure> parts);
  void add(std::string_view key, std::size_t value_size, bool is_put, std::uint64_t sequence);
  // What was counted since begin().
  const IndexProperties& finish();

 private:
  void add_anchor(std::string_view key, std::size_t common);
  void add_version(std::string_view key, bool is_put, std::uint64_t sequence);
  void add_prefixes(std::string_view key);

  IndexProperties properties_;
  std::shared_ptr<const KeyStructure> parts_;
  std::size_t part_count_ = 0;
  bool picks_versions_ = true;
  std::uint64_t next_anchor_ = 0;
  std::string previous_;  // the whole key
  // These are of the last put: where its parts end, what the prefix up to there hashes to, and how
  // many bytes of it the current key shares.
  std::array<std::uint32_t, kPartsMax> ends_;
  std::array<std::uint32_t, kPartsMax> hashes_;
  std::size_t common_with_put_ = 0;
};

void IndexCounter::begin(std::string_view key, std::shared_ptr<const KeyStructure> parts) {
  properties_ = {};
  parts_ = std::move(parts);
  part_count_ = parts_ == nullptr ? 0 : parts_->count();
  if (part_count_ > kPartsMax) part_count_ = 0;
  picks_versions_ = parts_ == nullptr || parts_->are_overwritten();
  properties_.version_level = kFirstVersionLevel;
  properties_.distinct.resize(part_count_);
  properties_.samples.resize(part_count_);
  properties_.first_key = cut(key.substr(kIndexIdBytes));
  properties_.anchor_distance = kFirstAnchorDistance;
  next_anchor_ = kFirstAnchorDistance;
  previous_.clear();
  common_with_put_ = 0;
}

void IndexCounter::add(std::string_view key, std::size_t value_size, bool is_put,
                       std::uint64_t sequence) {
  const std::size_t common = common_bytes(previous_, key);
  if (common == key.size() && common == previous_.size()) {
    ++properties_.older_versions;
    return;
  }
  if (properties_.entries() == next_anchor_) add_anchor(key, common);
  if (picks_versions_) add_version(key, is_put, sequence);
  common_with_put_ = std::min(common_with_put_, common);
  if (is_put) {
    ++properties_.puts;
    properties_.bytes += key.size() + value_size;
    if (part_count_ > 0) add_prefixes(key);
    common_with_put_ = key.size();
  } else {
    ++properties_.deletions;
  }
  previous_.assign(key);
}

void IndexCounter::add_anchor(std::string_view key, std::size_t common) {
  // The first byte that differs is enough to sort behind the entry before.
  const std::string_view separator = key.substr(0, common + 1);
  properties_.anchors.push_back({cut(separator.substr(kIndexIdBytes)), properties_.puts});
  next_anchor_ += properties_.anchor_distance;
  if (properties_.anchors.size() < kAnchorsMax) return;
  // Twice the distance: every second one stays.
  std::vector<IndexProperties::Anchor>& anchors = properties_.anchors;
  for (std::size_t i = 0; i < anchors.size() / 2; ++i) anchors[i] = std::move(anchors[2 * i + 1]);
  anchors.resize(anchors.size() / 2);
  properties_.anchor_distance *= 2;
  next_anchor_ = (anchors.size() + 1) * properties_.anchor_distance;
}

void IndexCounter::add_version(std::string_view key, bool is_put, std::uint64_t sequence) {
  const std::uint32_t hash = sample_hash(key);
  if (!is_picked(hash, properties_.version_level)) return;
  std::vector<IndexProperties::Version>& versions = properties_.versions;
  versions.push_back({hash, sequence, is_put});
  while (versions.size() >= kVersionsMax) {
    const std::uint32_t level = ++properties_.version_level;
    std::erase_if(versions, [level](const auto& picked) { return !is_picked(picked.hash, level); });
  }
}

// Where a prefix differs from the last put's it is a value that was not seen before.
void IndexCounter::add_prefixes(std::string_view key) {
  std::size_t common = 0;
  if (properties_.puts > 1) {
    while (common < part_count_ && ends_[common] <= common_with_put_) ++common;
  }
  if (common == part_count_) return;  // cannot be: keys differ
  parts_->split(key, common, ends_.data());
  for (std::size_t i = common; i < part_count_; ++i) {
    ++properties_.distinct[i];
    if (i + 1 == part_count_) break;
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    hashes_[i] = sample_hash(key.substr(begin, ends_[i] - begin), i == 0 ? 0 : hashes_[i - 1]);
    HashSample& sample = properties_.samples[i];
    if (!is_picked(hashes_[i], sample.level)) continue;
    sample.hashes.push_back(hashes_[i]);
    while (sample.hashes.size() >= kHashesMax) {
      const std::uint32_t level = ++sample.level;
      std::erase_if(sample.hashes, [level](std::uint32_t hash) { return !is_picked(hash, level); });
    }
  }
}

const IndexProperties& IndexCounter::finish() {
  properties_.last_key = cut(std::string_view(previous_).substr(kIndexIdBytes));
  std::sort(properties_.versions.begin(), properties_.versions.end(),
            [](const auto& a, const auto& b) { return a.hash < b.hash; });
  for (HashSample& sample : properties_.samples) {
    std::sort(sample.hashes.begin(), sample.hashes.end());
  }
  return properties_;
}

class IndexCollector final : public rdb::TablePropertiesCollector {
 public:
  explicit IndexCollector(KeyStructureSlot& key_parts) : key_structures_(key_parts) {}

  rdb::Status AddUserKey(const rdb::Slice& key, const rdb::Slice& value, rdb::EntryType type,
                         rdb::SequenceNumber sequence, std::uint64_t) override {
    const std::string_view bytes(key.data(), key.size());
    // Ranges are removed only from indexes that are gone.
    if (type == rdb::kEntryRangeDeletion || bytes.size() < kIndexIdBytes) return rdb::Status::OK();
    const std::uint32_t index_id = load_be32(bytes.data());
    if (!is_counting_ || index_id != index_id_) begin(index_id, bytes);
    const bool is_put = type != rdb::kEntryDelete && type != rdb::kEntrySingleDelete &&
                        type != rdb::kEntryDeleteWithTimestamp;
    counter_.add(bytes, value.size(), is_put, sequence);
    return rdb::Status::OK();
  }

  rdb::Status Finish(rdb::UserCollectedProperties* properties) override {
    finish_index();
    *properties = std::move(finished_);
    return rdb::Status::OK();
  }

  // For RocksDB's log, where the bytes would say nothing.
  rdb::UserCollectedProperties GetReadableProperties() const override { return {}; }
  const char* Name() const override { return "basalt.IndexCollector"; }

 private:
  void begin(std::uint32_t index_id, std::string_view key) {
    finish_index();
    index_id_ = index_id;
    is_counting_ = true;
    counter_.begin(key, key_structures_.find(index_id));
  }
  void finish_index() {
    if (is_counting_) finished_[index_property_name(index_id_)] = encode(counter_.finish());
    is_counting_ = false;
  }

  KeyStructureSlot& key_structures_;  // of the factory, which RocksDB keeps longer
  IndexCounter counter_;
  std::uint32_t index_id_ = 0;
  bool is_counting_ = false;
  rdb::UserCollectedProperties finished_;
};

class IndexCollectorFactory final : public rdb::TablePropertiesCollectorFactory {
 public:
  explicit IndexCollectorFactory(std::shared_ptr<KeyStructureSlot> key_parts)
      : key_structures_(std::move(key_parts)) {}

  rdb::TablePropertiesCollector* CreateTablePropertiesCollector(
      rdb::TablePropertiesCollectorFactory::Context) override {
    return new IndexCollector(*key_structures_);
  }
  const char* Name() const override { return "basalt.IndexCollectorFactory"; }

 private:
  const std::shared_ptr<KeyStructureSlot> key_structures_;
};

}  // namespace

void KeyStructureSlot::set(KeyStructureSource* source) {
  const MutexLock guard(mutex_);
  source_ = source;
}

std::shared_ptr<const KeyStructure> KeyStructureSlot::find(std::uint32_t index_id) {
  const MutexLock guard(mutex_);
  return source_ == nullptr ? nullptr : source_->find(index_id);
}

std::shared_ptr<rdb::TablePropertiesCollectorFactory> make_index_collector_factory(
    std::shared_ptr<KeyStructureSlot> key_parts) {
  return std::make_shared<IndexCollectorFactory>(std::move(key_parts));
}

}  // namespace basalt::index_stats
