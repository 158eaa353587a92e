#include "index_stats/index_properties.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/bytes.h"

namespace basalt::index_stats {
namespace {

constexpr std::uint8_t kVersion = 1;
constexpr std::uint32_t kLevelMax = 32;

void append_hashes_delta(std::string& out, std::uint32_t hash, std::uint32_t& previous) {
  append_varint(out, hash - previous);
  previous = hash;
}

bool consume_level(std::string_view& bytes, std::uint32_t& level) {
  std::uint64_t number = 0;
  if (!consume_varint(bytes, number) || number > kLevelMax) return false;
  level = static_cast<std::uint32_t>(number);
  return true;
}

// The number of items that follow, each of at least `item_bytes`.
bool consume_count(std::string_view& bytes, std::size_t item_bytes, std::uint64_t& count) {
  return consume_varint(bytes, count) && count <= bytes.size() / item_bytes;
}

bool consume_hash(std::string_view& bytes, std::uint32_t& hash) {
  std::uint64_t delta = 0;
  if (!consume_varint(bytes, delta) || delta > UINT32_MAX - hash) return false;
  hash += static_cast<std::uint32_t>(delta);
  return true;
}

bool consume_key(std::string_view& bytes, std::string& key) {
  std::string_view value;
  if (!consume_length_prefixed(bytes, value) || value.size() > IndexProperties::kKeyBytesMax) {
    return false;
  }
  key = value;
  return true;
}

bool consume_anchors(std::string_view& bytes, IndexProperties& properties) {
  std::uint64_t count = 0;
  if (!consume_varint(bytes, properties.anchor_distance)) return false;
  if (!consume_count(bytes, 2, count)) return false;
  std::uint64_t puts = 0;
  for (; count > 0; --count) {
    IndexProperties::Anchor anchor;
    std::uint64_t delta = 0;
    if (!consume_key(bytes, anchor.key) || !consume_varint(bytes, delta)) return false;
    if (delta > properties.puts - puts) return false;
    puts += delta;
    anchor.puts = puts;
    properties.anchors.push_back(std::move(anchor));
  }
  return true;
}

bool consume_versions(std::string_view& bytes, IndexProperties& properties) {
  std::uint64_t count = 0;
  if (!consume_level(bytes, properties.version_level)) return false;
  if (!consume_count(bytes, 2, count)) return false;
  std::uint32_t hash = 0;
  for (; count > 0; --count) {
    std::uint64_t sequence = 0;
    if (!consume_hash(bytes, hash) || !consume_varint(bytes, sequence)) return false;
    properties.versions.push_back({hash, sequence >> 1, (sequence & 1) != 0});
  }
  return true;
}

bool consume_sample(std::string_view& bytes, HashSample& sample) {
  std::uint64_t count = 0;
  if (!consume_level(bytes, sample.level) || !consume_count(bytes, 1, count)) return false;
  std::uint32_t hash = 0;
  for (; count > 0; --count) {
    if (!consume_hash(bytes, hash)) return false;
    sample.hashes.push_back(hash);
  }
  return true;
}

bool consume_distinct(std::string_view& bytes, IndexProperties& properties) {
  std::uint64_t count = 0;
  if (!consume_count(bytes, 3, count)) return false;
  for (; count > 0; --count) {
    std::uint64_t distinct = 0;
    HashSample sample;
    if (!consume_varint(bytes, distinct) || distinct > properties.puts) return false;
    if (!consume_sample(bytes, sample)) return false;
    properties.distinct.push_back(distinct);
    properties.samples.push_back(std::move(sample));
  }
  return true;
}

// Both factors' product, its halves folded: every bit of the result depends on every bit of both.
std::uint64_t fold(std::uint64_t a, std::uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
}

}  // namespace

std::uint32_t sample_hash(std::string_view bytes, std::uint64_t seed) {
  // Odd numbers with as many ones as zeros; frozen with the format.
  constexpr std::uint64_t kWord = 0x9E3779B97F4A7C15;
  constexpr std::uint64_t kEnd = 0xD1B54A32D192ED03;
  std::uint64_t hash = seed ^ bytes.size() * kWord;
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  for (; left > 8; at += 8, left -= 8) hash = fold(hash ^ load_le<std::uint64_t>(at), kWord);
  if (bytes.size() >= 8) {
    // The last 8 bytes, some of them for the second time: faster than a loop over the rest.
    hash = fold(hash ^ load_le<std::uint64_t>(at + left - 8), kWord);
  } else {
    hash = fold(hash ^ load_le_sized(at, left), kWord);
  }
  return static_cast<std::uint32_t>(fold(hash ^ kWord, kEnd) >> 32);
}

std::string index_property_name(std::uint32_t index_id) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string name(kIndexPropertyPrefix);
  for (int shift = 28; shift >= 0; shift -= 4) name.push_back(kDigits[index_id >> shift & 0xF]);
  return name;
}

std::string encode(const IndexProperties& properties) {
  std::string out(1, static_cast<char>(kVersion));
  append_varint(out, properties.puts);
  append_varint(out, properties.deletions);
  append_varint(out, properties.older_versions);
  append_varint(out, properties.bytes);
  append_length_prefixed(out, properties.first_key);
  append_length_prefixed(out, properties.last_key);
  append_varint(out, properties.anchor_distance);
  append_varint(out, properties.anchors.size());
  std::uint64_t puts = 0;
  for (const IndexProperties::Anchor& anchor : properties.anchors) {
    append_length_prefixed(out, anchor.key);
    append_varint(out, anchor.puts - puts);
    puts = anchor.puts;
  }
  append_varint(out, properties.version_level);
  append_varint(out, properties.versions.size());
  std::uint32_t hash = 0;
  for (const IndexProperties::Version& version : properties.versions) {
    append_hashes_delta(out, version.hash, hash);
    append_varint(out, version.sequence << 1 | static_cast<unsigned>(version.is_put));
  }
  append_varint(out, properties.distinct.size());
  for (std::size_t i = 0; i < properties.distinct.size(); ++i) {
    append_varint(out, properties.distinct[i]);
    append_varint(out, properties.samples[i].level);
    append_varint(out, properties.samples[i].hashes.size());
    hash = 0;
    for (const std::uint32_t picked : properties.samples[i].hashes) {
      append_hashes_delta(out, picked, hash);
    }
  }
  return out;
}

std::optional<IndexProperties> parse_index_properties(std::string_view bytes) {
  if (bytes.empty() || static_cast<std::uint8_t>(bytes.front()) != kVersion) return std::nullopt;
  bytes.remove_prefix(1);
  IndexProperties properties;
  // Sums over files must not overflow, whatever the bytes are.
  constexpr std::uint64_t kNumberMax = std::uint64_t{1} << 48;
  for (std::uint64_t* number :
       {&properties.puts, &properties.deletions, &properties.older_versions, &properties.bytes}) {
    if (!consume_varint(bytes, *number) || *number > kNumberMax) return std::nullopt;
  }
  if (!consume_key(bytes, properties.first_key) || !consume_key(bytes, properties.last_key) ||
      !consume_anchors(bytes, properties) || !consume_versions(bytes, properties) ||
      !consume_distinct(bytes, properties) || !bytes.empty()) {
    return std::nullopt;
  }
  if (properties.anchor_distance > kNumberMax) return std::nullopt;
  return properties;
}

}  // namespace basalt::index_stats
