#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What a file of the database says of the entries it holds of one index.
//
// Purpose     Counts, distinct values and positions without reading the entries. Made while a
//             flush or compaction writes the file, stored among its properties.
// Format      docs/formats/index-properties.md; frozen, and versioned.
namespace basalt::index_stats {

// Values picked by their hashes: all whose hash is below 2^(32 - level). Files pick by the same
// rule, so what is in two of them is picked in both; of two samples of different levels, the one
// of the lower level holds that of the higher.
struct HashSample {
  std::uint32_t level = 0;
  std::vector<std::uint32_t> hashes;  // ascending

  bool operator==(const HashSample&) const = default;
};

struct IndexProperties {
  // An entry whose whole key was picked.
  struct Version {
    std::uint32_t hash = 0;
    std::uint64_t sequence = 0;
    bool is_put = true;

    bool operator==(const Version&) const = default;
  };
  // Every `anchor_distance`-th entry.
  struct Anchor {
    // At most kKeyBytesMax bytes that sort behind the entry before it, and not behind it.
    std::string key;
    std::uint64_t puts = 0;  // that precede it

    bool operator==(const Anchor&) const = default;
  };
  static constexpr std::size_t kKeyBytesMax = 128;

  // Entries that hold a value, and entries that remove one. Of several versions of a key only the
  // newest counts.
  std::uint64_t puts = 0;
  std::uint64_t deletions = 0;
  std::uint64_t older_versions = 0;
  std::uint64_t bytes = 0;  // of the keys and values of puts
  // Without the index id, cut to kKeyBytesMax.
  std::string first_key;
  std::string last_key;
  std::uint64_t anchor_distance = 0;
  std::vector<Anchor> anchors;
  // Ascending hashes. Level as in HashSample. None of an index whose entries are put once.
  std::uint32_t version_level = 0;
  std::vector<Version> versions;
  // For each number of leading parts: how many distinct values the puts have, and which were
  // picked. The samples of the last one are empty: `versions` has them. None of both if the parts
  // were not known.
  std::vector<std::uint64_t> distinct;
  std::vector<HashSample> samples;

  std::uint64_t entries() const { return puts + deletions; }
  bool operator==(const IndexProperties&) const = default;
};

// The name of the property that holds those of an index.
std::string index_property_name(std::uint32_t index_id);
inline constexpr std::string_view kIndexPropertyPrefix = "basalt.index.";

std::string encode(const IndexProperties& properties);
// Nothing if the bytes are of another version or do not decode; whatever they are, nothing is
// read out of their bounds and the memory taken is bounded by their size.
std::optional<IndexProperties> parse_index_properties(std::string_view bytes);

// The hash by which values are picked.
std::uint32_t sample_hash(std::string_view bytes, std::uint64_t seed = 0);

}  // namespace basalt::index_stats
