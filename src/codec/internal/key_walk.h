#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/key_range.h"
#include "base/status.h"
#include "codec/internal/cursor.h"
#include "codec/internal/key_part.h"
#include "codec/layout.h"
#include "codec/read_plan.h"

// Going through the parts of a key and, in step, through the unpack info.
namespace basalt::codec {

// Whether the part gives its column, and the column is wanted.
bool gives_wanted(const KeyPart& part, const ColumnSet& wanted);
bool gives_any(const std::vector<KeyPart>& parts, const ColumnSet& wanted);

// The number of leading parts to walk so as to reach every wanted column and every item of the
// unpack info, whose end can then be checked.
std::size_t parts_to_walk(const std::vector<KeyPart>& parts, const ColumnSet& wanted);

// Appends the steps through the first `count` parts.
void plan_parts(const std::vector<KeyPart>& parts, std::size_t count, const ColumnSet& wanted,
                std::vector<ReadPlan::KeyStep>& steps);

// Follows the steps.
Fault walk_parts(const std::vector<KeyPart>& parts, const std::vector<ReadPlan::KeyStep>& steps,
                 Cursor& key, Cursor& unpack_info, std::uint8_t* record);

// Moves `key` past all parts and tells whether any of them is NULL.
Fault skip_parts(const std::vector<KeyPart>& parts, Cursor& key, bool& any_null);

// Makes `rest` what follows the index id.
Fault open_key(std::string_view key, std::uint32_t index_id, Cursor& rest);

// Makes `key` what all keys begin with whose first `part_count` parts equal those of a key tuple.
void make_prefix_of_tuple(std::uint32_t index_id, const std::vector<KeyPart>& parts,
                          const std::uint8_t* tuple, std::size_t part_count, std::string& key);

// The number of leading parts in which two keys agree; 0 if one of them is not of the index.
std::size_t count_common_parts(std::uint32_t index_id, const std::vector<KeyPart>& parts,
                               std::string_view key_a, std::string_view key_b);

inline Status to_status(Fault fault) {
  return fault == nullptr ? Status::ok() : Status(ErrorCode::kCorruption, fault);
}

}  // namespace basalt::codec
