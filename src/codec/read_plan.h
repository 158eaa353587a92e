#pragma once
#include <cstdint>
#include <vector>

#include "codec/layout.h"

// Which columns to unpack, resolved to positions: made once per statement, followed per row.
//
// Made by PrimaryCodec::plan() and SecondaryCodec::plan(), and only good for the codec that made
// it: steps refer to its parts by number. A default-constructed plan unpacks nothing.
namespace basalt::codec {

struct ReadPlan {
  // One key part, or several fixed-size ones that are skipped together.
  struct KeyStep {
    enum class Action : std::uint8_t { kSkipBytes, kSkipPart, kReadPart };
    Action action = Action::kSkipPart;
    std::uint32_t argument = 0;  // bytes, or the part's number
  };

  // One column that comes from the row.
  struct RowStep {
    enum class Action : std::uint8_t { kFixed, kPaddedString, kVariableString, kBlob };
    Action action = Action::kFixed;
    std::uint8_t length_bytes = 0;
    std::uint8_t null_mask = 0;  // 0: the column is not nullable
    std::uint32_t null_offset = 0;
    std::uint32_t row_null_bit = 0;
    std::uint32_t record_offset = 0;
    std::uint32_t record_length = 0;
    std::uint32_t source = 0;     // offset in the fixed part, or number of the variable column
    const char* space = nullptr;  // CHAR padding of space_width bytes
    std::uint32_t space_width = 1;
  };

  std::vector<KeyStep> own;     // the index's own parts, up to the last one of interest
  std::vector<KeyStep> suffix;  // a secondary index's suffix, likewise
  std::vector<RowStep> row;     // a primary index's row
  // The columns for which the plan was made, where a table has rows that hold others than `row`
  // says; else empty.
  ColumnSet wanted = ColumnSet(0);
  // Whether the steps go through the whole key, so that bytes left over are corruption.
  bool walks_key = false;
};

}  // namespace basalt::codec
