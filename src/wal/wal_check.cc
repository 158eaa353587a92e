#include "wal/wal_check.h"

#include <errno.h>
#include <fcntl.h>
#include <nmmintrin.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/remedies.h"
#include "wal/wal_marks.h"
#include "wal/wal_paths.h"

namespace basalt::wal {
namespace {

// RocksDB's WAL format: blocks of 32 KiB with records that do not cross them. A record's header is
// the masked CRC-32C of type and content (4 bytes), the content's length (2) and the type (1).
constexpr std::size_t kBlockBytes = 32768;
constexpr std::size_t kHeaderBytes = 7;
// A record that does not fit into a block has several parts, each with a header.
constexpr char kWhole = 1;
constexpr char kFirstPart = 2;
constexpr char kMiddlePart = 3;
constexpr char kLastPart = 4;
constexpr std::size_t kSectorBytes = 512;
// Of an ingestion, which takes one for each file. More is no mark, but what looks like one.
constexpr std::uint64_t kNumbersTakenMax = std::uint64_t{1} << 32;
// What find_wal_mark() looks at is not longer.
constexpr std::size_t kMarkBytesMax = 32;
constexpr std::uint32_t kMaskDelta = 0xa282ead8;

std::uint32_t masked_crc32c(std::string_view bytes) {
  std::uint64_t crc = 0xffffffff;
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) {
    std::uint64_t word = 0;
    memcpy(&word, bytes.data(), sizeof word);
    crc = _mm_crc32_u64(crc, word);
  }
  auto rest = static_cast<std::uint32_t>(crc);
  for (const char byte : bytes) rest = _mm_crc32_u8(rest, static_cast<unsigned char>(byte));
  rest = ~rest;
  return ((rest >> 15) | (rest << 17)) + kMaskDelta;
}

bool is_zero(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

// The record at the beginning of `block`'s rest, or nothing if it does not check out.
std::optional<std::size_t> record_size(std::string_view rest) {
  if (rest.size() < kHeaderBytes) return std::nullopt;
  std::uint32_t stored = 0;
  std::uint16_t length = 0;
  memcpy(&stored, rest.data(), sizeof stored);
  memcpy(&length, rest.data() + sizeof stored, sizeof length);
  if (length > rest.size() - kHeaderBytes) return std::nullopt;
  const std::size_t type_offset = kHeaderBytes - 1;
  if (masked_crc32c(rest.substr(type_offset, 1 + length)) != stored) return std::nullopt;
  return kHeaderBytes + length;
}

// Whether a sector of the file is empty, in the part that begins in it or touches [begin, end).
bool has_empty_sector(std::string_view block, std::size_t begin, std::size_t end) {
  for (std::size_t at = begin / kSectorBytes * kSectorBytes; at < end; at += kSectorBytes) {
    const std::size_t first = std::max(at, begin);
    const std::size_t last = std::min(at + kSectorBytes, block.size());
    if (is_zero(block.substr(first, last - first))) return true;
  }
  return false;
}

// The number of a WAL's record of which `content` is the beginning: its first entry's.
std::optional<std::uint64_t> sequence_of(std::string_view content) {
  std::uint64_t sequence = 0;
  if (content.size() < sizeof sequence) return std::nullopt;
  memcpy(&sequence, content.data(), sizeof sequence);
  return sequence;
}

// Files of the same form.
enum class Form : std::uint8_t { kWal, kManifest };

struct Scan {
  explicit Scan(Form its_form) : form(its_form) {}

  Form form;
  std::optional<std::uint64_t> sequence;  // of a WAL's last record that is sound
  std::optional<WalDamage> damage;
  std::uint64_t records = 0;
  WalMark first_mark;
  std::string end_of_part;  // of the record that was begun
  // Where a record begins of which only the first parts have come so far.
  std::optional<std::uint64_t> begun;

  // The whole record is lost, not only the part that does not check out.
  void note_damage(std::uint64_t offset, bool is_unwritten) {
    if (damage) return;
    damage.emplace();
    damage->offset = begun.value_or(offset);
    damage->is_unwritten = is_unwritten;
  }
  void find_mark(char type, std::string_view content) {
    if (type == kWhole || type == kFirstPart) end_of_part.clear();
    // One that begins in the part before.
    end_of_part += content.substr(0, kMarkBytesMax);
    first_mark = find_wal_mark(end_of_part);
    if (first_mark.kind == WalMark::Kind::kNone) first_mark = find_wal_mark(content);
    end_of_part = content.substr(content.size() - std::min(content.size(), kMarkBytesMax));
  }
  void note_part(std::uint64_t offset, char type, std::string_view content) {
    if (form == Form::kWal && (type == kWhole || type == kFirstPart)) {
      sequence = sequence_of(content);
    }
    if (form == Form::kWal && !damage && first_mark.kind == WalMark::Kind::kNone) {
      find_mark(type, content);
    }
    ++records;
    if (damage) ++damage->records_behind;
    if (damage && type != kMiddlePart && type != kLastPart) ++damage->begun_behind;
    if (type == kFirstPart) begun = offset;
    if (type == kWhole || type == kLastPart) begun.reset();
  }
};

// Where a record begins in `block`, at `from` or behind it, that checks out, is not a later part of
// one, and follows those that were read: what is left of a record whose length is lost does not
// tell where the next one is. A value may hold records of another WAL: they have other numbers. The
// block's size if there is none. Looked for only behind damage.
std::size_t find_record(const Scan& scan, std::string_view block, std::size_t from) {
  constexpr std::uint64_t kSequencesAheadMax = std::uint64_t{1} << 32;
  if (scan.form == Form::kWal && !scan.sequence) return block.size();
  for (std::size_t at = from; at + kHeaderBytes <= block.size(); ++at) {
    const char type = block[at + kHeaderBytes - 1];
    if (type != kWhole && type != kFirstPart) continue;
    const std::optional<std::size_t> size = record_size(block.substr(at));
    if (!size) continue;
    if (scan.form == Form::kManifest) return at;
    const auto sequence = sequence_of(block.substr(at, *size).substr(kHeaderBytes));
    // One before is below zero, and so beyond the limit.
    if (sequence && *sequence - *scan.sequence - 1 < kSequencesAheadMax) return at;
  }
  return block.size();
}

void scan_block(std::string_view block, std::uint64_t offset, bool is_last, Scan& scan) {
  std::size_t at = 0;
  while (block.size() - at >= kHeaderBytes) {
    const std::string_view rest = block.substr(at);
    if (is_zero(rest)) {
      // Empty to the end of the block: RocksDB goes on behind it, but must not.
      scan.note_damage(offset + at, true);
      return;
    }
    const std::optional<std::size_t> size = record_size(rest);
    if (size) {
      scan.note_part(offset + at, rest[kHeaderBytes - 1],
                     rest.substr(kHeaderBytes, *size - kHeaderBytes));
      at += *size;
      continue;
    }
    std::uint16_t length = 0;
    memcpy(&length, rest.data() + 4, sizeof length);
    const std::size_t end = at + kHeaderBytes + length;
    // Where the next one begins is known only if this one's length is right.
    const bool has_next = end < block.size() && record_size(block.substr(end)).has_value();
    const std::size_t next = has_next ? end : find_record(scan, block, at + 1);
    const bool is_cut = is_last && end > block.size() && next == block.size();
    scan.note_damage(offset + at,
                     is_cut || has_empty_sector(block, at, std::min({end, next, block.size()})));
    at = next;
  }
  const bool has_torn_header =
      at < block.size() && !is_zero(block.substr(at)) && block.size() < kBlockBytes;
  if (is_last && (has_torn_header || scan.begun)) scan.note_damage(offset + at, true);
}

Status failure(const std::string& path, const char* what, int cause) {
  return Status(ErrorCode::kIoError, std::string("the WAL '") + path + "' cannot be " + what +
                                         ": " + std::generic_category().message(cause) +
                                         "; check its owner, its permissions and the device");
}

Result<Scan> scan_file(const std::string& path, Form form) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return failure(path, "opened", errno);
  Scan scan(form);
  std::string block(kBlockBytes, '\0');
  for (std::uint64_t offset = 0;;) {
    std::size_t filled = 0;
    ssize_t got = 1;
    while (filled < kBlockBytes && got > 0) {
      got = pread(file, block.data() + filled, kBlockBytes - filled,
                  static_cast<off_t>(offset + filled));
      if (got > 0) filled += static_cast<std::size_t>(got);
    }
    if (got < 0) {
      const int cause = errno;
      ::close(file);
      return failure(path, "read", cause);
    }
    scan_block(std::string_view(block).substr(0, filled), offset, filled < kBlockBytes, scan);
    offset += filled;
    if (filled < kBlockBytes) break;
  }
  ::close(file);
  return scan;
}

}  // namespace

std::string damage_remedy() {
  return "; restore a backup, or " + std::string(remedies().accept_wal_damage) +
         ", without what was committed from there on";
}

Result<std::vector<WalDamage>> check_wals(const std::string& directory) {
  Result<std::vector<WalPath>> wals = find_wals(directory);
  if (!wals.is_ok()) return wals.take_status();
  std::vector<WalDamage> damaged;
  for (const WalPath& wal : wals.value()) {
    Result<Scan> scan = scan_file(wal.path, Form::kWal);
    if (!scan.is_ok()) return scan.take_status();
    for (WalDamage& older : damaged) older.records_in_newer_wals += scan.value().records;
    if (!scan.value().damage) continue;
    damaged.push_back(std::move(*scan.value().damage));
    damaged.back().path = wal.path;
  }
  return damaged;
}

Result<std::uint64_t> numbers_taken_before(const std::string& directory, std::uint64_t wal) {
  Result<std::vector<WalPath>> wals = find_wals(directory);
  if (!wals.is_ok()) return wals.take_status();
  for (const WalPath& newer : wals.value()) {
    if (newer.number < wal) continue;
    Result<Scan> scan = scan_file(newer.path, Form::kWal);
    if (!scan.is_ok()) return scan.take_status();
    const WalMark& mark = scan.value().first_mark;
    if (mark.kind == WalMark::Kind::kNone && !scan.value().damage) continue;
    const bool is_told = mark.kind == WalMark::Kind::kIngested && mark.number < kNumbersTakenMax;
    return is_told ? mark.number : 0;
  }
  return std::uint64_t{0};
}

Result<std::optional<WalDamage>> check_manifest(const std::string& directory) {
  std::ifstream current(directory + "/CURRENT");
  std::string name;
  if (!std::getline(current, name)) return std::optional<WalDamage>();
  const std::string path = directory + "/" + name;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::optional<WalDamage>();
  Result<Scan> scan = scan_file(path, Form::kManifest);
  if (!scan.is_ok()) return scan.take_status();
  std::optional<WalDamage> damage = std::move(scan.value().damage);
  // Each record is synced before the next is written; some of its parts may be there.
  if (!damage || !damage->is_unwritten || damage->begun_behind > 0) {
    return std::optional<WalDamage>();
  }
  damage->path = path;
  return damage;
}

}  // namespace basalt::wal
