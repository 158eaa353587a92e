#pragma once
#include <cstdint>
#include <string>
#include <string_view>

// Records of the WAL that change nothing and say something of the sequence numbers beside them, for
// WalContinuity. RocksDB carries them as WriteBatch::PutLogData().
namespace basalt::wal {

struct WalMark {
  enum class Kind : std::uint8_t {
    kNone,       // says nothing
    kOpened,     // the database was opened; `number` would have followed what was replayed of WALs
    kIngesting,  // until kIngested comes, `number` sequence numbers may be taken without a record
    kIngested,   // so many may have been taken since kIngesting, which may be in an older WAL
  };
  Kind kind = Kind::kNone;
  std::uint64_t number = 0;

  bool operator==(const WalMark&) const = default;
};

// The mark in bytes: its kind and, if it has one, its number in little endian.
std::string encode(const WalMark& mark);
// kNone for bytes that are none of ours.
WalMark parse_wal_mark(std::string_view bytes);
// The first mark in the content of a record, or of a part of one, which may be of several batches.
WalMark find_wal_mark(std::string_view content);

}  // namespace basalt::wal
