#include "codec/internal/key_walk.h"

#include <algorithm>

#include "base/assert.h"
#include "base/bytes.h"

namespace basalt::codec {

using Action = ReadPlan::KeyStep::Action;

bool gives_wanted(const KeyPart& part, const ColumnSet& wanted) {
  return part.unpack_info != KeyPart::UnpackInfo::kNever && wanted.test(part.column);
}

bool gives_any(const std::vector<KeyPart>& parts, const ColumnSet& wanted) {
  for (const KeyPart& part : parts)
    if (gives_wanted(part, wanted)) return true;
  return false;
}

std::size_t parts_to_walk(const std::vector<KeyPart>& parts, const ColumnSet& wanted) {
  std::size_t count = parts.size();
  while (count > 0 && !parts[count - 1].has_unpack_info() &&
         !gives_wanted(parts[count - 1], wanted))
    --count;
  return count;
}

void plan_parts(const std::vector<KeyPart>& parts, std::size_t count, const ColumnSet& wanted,
                std::vector<ReadPlan::KeyStep>& steps) {
  for (std::uint32_t i = 0; i < count; ++i) {
    const KeyPart& part = parts[i];
    if (gives_wanted(part, wanted)) {
      steps.push_back({Action::kReadPart, i});
    } else if (!part.is_fixed() || part.has_unpack_info()) {
      steps.push_back({Action::kSkipPart, i});
    } else if (!steps.empty() && steps.back().action == Action::kSkipBytes) {
      steps.back().argument += part.width;
    } else {
      steps.push_back({Action::kSkipBytes, part.width});
    }
  }
}

Fault walk_parts(const std::vector<KeyPart>& parts, const std::vector<ReadPlan::KeyStep>& steps,
                 Cursor& key, Cursor& unpack_info, std::uint8_t* record) {
  for (const ReadPlan::KeyStep& step : steps) {
    bool null = false;
    switch (step.action) {
      case Action::kSkipBytes:
        if (key.left() < step.argument) return "key ends inside a part";
        key.at += step.argument;
        break;
      case Action::kSkipPart:
        if (const Fault fault = skip_part(parts[step.argument], key, null)) return fault;
        if (null) break;
        if (const Fault fault = skip_unpack_info(parts[step.argument], unpack_info)) return fault;
        break;
      case Action::kReadPart:
        if (const Fault fault = read_part(parts[step.argument], key, unpack_info, record))
          return fault;
        break;
    }
  }
  return nullptr;
}

Fault skip_parts(const std::vector<KeyPart>& parts, Cursor& key, bool& any_null) {
  any_null = false;
  for (const KeyPart& part : parts) {
    bool null = false;
    if (const Fault fault = skip_part(part, key, null)) return fault;
    any_null |= null;
  }
  return nullptr;
}

Fault open_key(std::string_view key, std::uint32_t index_id, Cursor& rest) {
  if (key.size() < kIndexIdBytes) return "key is shorter than an index id";
  if (load_be32(key.data()) != index_id) return "key belongs to another index";
  rest = Cursor(key.substr(kIndexIdBytes));
  return nullptr;
}

void make_prefix_of_tuple(std::uint32_t index_id, const std::vector<KeyPart>& parts,
                          const std::uint8_t* tuple, std::size_t part_count, std::string& key) {
  BASALT_ASSERT(part_count <= parts.size());
  key.clear();
  append_be32(key, index_id);
  for (std::size_t i = 0; i < part_count; ++i) tuple = append_tuple_part(parts[i], tuple, key);
}

std::size_t count_common_parts(std::uint32_t index_id, const std::vector<KeyPart>& parts,
                               std::string_view key_a, std::string_view key_b) {
  Cursor a;
  Cursor b;
  if (open_key(key_a, index_id, a) != nullptr || open_key(key_b, index_id, b) != nullptr) return 0;
  const std::size_t shorter = std::min(a.left(), b.left());
  const std::uint8_t* const differs = std::mismatch(a.at, a.at + shorter, b.at).first;
  std::size_t common = 0;
  bool null = false;
  for (const KeyPart& part : parts) {
    if (skip_part(part, a, null) != nullptr || a.at > differs) break;
    ++common;
  }
  return common;
}

}  // namespace basalt::codec
