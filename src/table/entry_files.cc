#include "table/entry_files.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "base/parallel.h"
#include "bulk/sst_writer.h"

namespace basalt::table {
namespace {

constexpr std::uint64_t kStepsBetweenChecks = 1024;
// Less is not worth a thread, nor a file.
constexpr std::uint64_t kEntryBytesOfRangeMin = std::uint64_t{1} << 20;

// By samples of the sorts. No more ranges than can be merged at once in the memory there is.
std::vector<KeyRange> entry_ranges(const KeyRange& whole,
                                   std::span<const std::unique_ptr<bulk::ExternalSort>> sorts,
                                   const FileResources& resources) {
  std::vector<WeighedKey> samples;
  std::size_t runs = 0;
  for (const auto& sort : sorts) {
    for (std::string& key : sort->samples()) {
      samples.push_back({std::move(key), sort->sample_bytes()});
    }
    runs += sort->run_count();
  }
  const std::size_t bytes_of_merge =
      std::max<std::size_t>(runs, 1) * bulk::ExternalSort::kReadBytesMin;
  const std::size_t most =
      std::clamp<std::size_t>(resources.memory_bytes / bytes_of_merge, 1, resources.threads);
  return cut_range(whole, std::move(samples), most, kEntryBytesOfRangeMin);
}

// Writes the entries of a range.
Status write_range(std::span<const std::unique_ptr<bulk::ExternalSort>> sorts,
                   const KeyRange& range, std::size_t memory_bytes, Watch watch,
                   bulk::SstWriter& writer, EntryFiles& files) {
  const auto put = [&](std::string_view key, std::string_view value) -> Status {
    BASALT_TRY(watch.check());
    const bool is_first = files.first_key.empty();
    const bool is_twice = !is_first && key == files.last_key;
    if (is_first || is_twice) {
      files.first_key = key;
      files.first_value = value;
    }
    files.has_duplicate = is_twice;
    if (is_twice) return Status::of(ErrorCode::kDuplicateKey);
    files.last_key = key;
    return writer.put(key, value);
  };
  BASALT_TRY(bulk::visit_sorted(sorts, range, memory_bytes, put));
  BASALT_TRY(writer.finish());
  files.paths = writer.paths();
  return Status::ok();
}

}  // namespace

std::vector<KeyRange> cut_range(const KeyRange& whole, std::vector<WeighedKey> keys,
                                std::size_t most, std::uint64_t least) {
  std::ranges::sort(keys, {}, &WeighedKey::key);
  const std::uint64_t total =
      std::accumulate(keys.begin(), keys.end(), std::uint64_t{0},
                      [](std::uint64_t sum, const WeighedKey& key) { return sum + key.weight; });
  const std::uint64_t count = std::clamp<std::uint64_t>(total / least, 1, most);
  std::vector<KeyRange> ranges = {whole};
  std::uint64_t before = 0;
  for (const WeighedKey& key : keys) {
    before += key.weight;
    if (before * count < total * ranges.size() || ranges.size() == count) continue;
    // Anchors are cut, so that several may be equal.
    if (key.key <= ranges.back().lower) continue;
    ranges.back().upper = key.key;
    ranges.push_back({key.key, whole.upper});
  }
  return ranges;
}

Status Watch::check() {
  if (++steps_ % kStepsBetweenChecks != 0) return Status::ok();
  pace_.give_way();
  const bool must_end = has_failed_.load(std::memory_order_relaxed) || interruption_.is_raised();
  return must_end ? Status::of(ErrorCode::kInterrupted) : Status::ok();
}

Status write_entry_files(kv::Database& database, kv::FamilyId family, const KeyRange& whole,
                         std::span<const std::unique_ptr<bulk::ExternalSort>> sorts,
                         const std::string& path, const FileResources& resources,
                         const Interruption& interruption, EntryFiles& files) {
  const std::vector<KeyRange> ranges = entry_ranges(whole, sorts, resources);
  std::vector<std::unique_ptr<bulk::SstWriter>> writers;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    writers.push_back(database.new_sst_writer(family, path + std::to_string(i) + "-"));
  }
  std::vector<EntryFiles> parts(ranges.size());
  const std::size_t memory = resources.memory_bytes / ranges.size();
  Status status =
      run_in_parallel(ranges.size(), [&](std::size_t number, const std::atomic<bool>& has_failed) {
        return write_range(sorts, ranges[number], memory,
                           Watch(interruption, has_failed, resources.pace), *writers[number],
                           parts[number]);
      });
  files = EntryFiles();
  for (EntryFiles& part : parts) {
    if (part.first_key.empty() || (!status.is_ok() && !part.has_duplicate)) continue;
    files.paths.insert(files.paths.end(), part.paths.begin(), part.paths.end());
    files.last_key = std::move(part.last_key);
    if (!files.first_key.empty()) continue;
    files.first_key = std::move(part.first_key);
    files.first_value = std::move(part.first_value);
  }
  return status;
}

}  // namespace basalt::table
