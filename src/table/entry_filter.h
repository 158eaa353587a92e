#pragma once
#include <cstdint>

namespace basalt::table {

// Decides about an index entry before its row is fetched.
class EntryFilter {
 public:
  enum class Verdict : std::uint8_t { kAccept, kReject, kEndOfRange, kInterrupted, kFailed };
  virtual ~EntryFilter() = default;
  // The columns named to Cursor::set_filter() are in the record.
  virtual Verdict check() = 0;
};

}  // namespace basalt::table
