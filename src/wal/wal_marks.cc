#include "wal/wal_marks.h"

#include "base/bytes.h"

namespace basalt::wal {
namespace {

constexpr std::string_view kPrefix = "basalt";
constexpr std::size_t kBytes = kPrefix.size() + 1 + sizeof(WalMark::number);

// RocksDB's tag of what PutLogData() has put into a batch, and its length.
constexpr std::string_view kBeforeMark("\x03\x0f", 2);
static_assert(kBytes == 0x0f);

}  // namespace

std::string encode(const WalMark& mark) {
  std::string bytes(kPrefix);
  bytes.push_back(static_cast<char>(mark.kind));
  bytes.resize(kBytes);
  store_le(bytes.data() + kPrefix.size() + 1, mark.number);
  return bytes;
}

WalMark parse_wal_mark(std::string_view bytes) {
  if (bytes.size() != kBytes || !bytes.starts_with(kPrefix)) return {};
  const auto kind = static_cast<std::uint8_t>(bytes[kPrefix.size()]);
  if (kind > static_cast<std::uint8_t>(WalMark::Kind::kIngested)) return {};
  return {static_cast<WalMark::Kind>(kind),
          load_le<std::uint64_t>(bytes.data() + kPrefix.size() + 1)};
}

WalMark find_wal_mark(std::string_view content) {
  for (std::size_t at = content.find(kBeforeMark); at != std::string_view::npos;
       at = content.find(kBeforeMark, at + 1)) {
    const WalMark mark = parse_wal_mark(content.substr(at + kBeforeMark.size(), kBytes));
    if (mark.kind != WalMark::Kind::kNone) return mark;
  }
  return {};
}

}  // namespace basalt::wal
