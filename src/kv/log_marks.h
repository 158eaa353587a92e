#pragma once
#include <cstdint>
#include <string>
#include <string_view>

// Records of the log that change nothing and say something of the sequence numbers beside them, for
// LogContinuity. RocksDB carries them as WriteBatch::PutLogData().
namespace basalt::kv {

struct LogMark {
  enum class Kind : std::uint8_t {
    kNone,       // says nothing
    kOpened,     // the database was opened; `number` would have followed what was replayed of logs
    kIngesting,  // until kIngested comes, `number` sequence numbers may be taken without a record
    kIngested,
  };
  Kind kind = Kind::kNone;
  std::uint64_t number = 0;

  bool operator==(const LogMark&) const = default;
};

// The mark in bytes: its kind and, if it has one, its number in little endian.
std::string encode(const LogMark& mark);
// kNone for bytes that are none of ours.
LogMark parse_log_mark(std::string_view bytes);

}  // namespace basalt::kv
