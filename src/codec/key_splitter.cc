#include "codec/key_splitter.h"

#include <vector>

#include "codec/internal/key_part.h"
#include "codec/internal/key_walk.h"

namespace basalt::codec {

struct KeySplitter::State {
  std::vector<KeyPart> parts;
};

namespace {

std::vector<KeyPart> primary_parts(const TableLayout& table, const IndexLayout& primary) {
  if (primary.parts.empty()) return {make_row_id_part()};
  return make_key_parts(table, primary);
}

bool has_whole_column(const std::vector<KeyPart>& parts, std::uint32_t column) {
  for (const KeyPart& part : parts)
    if (part.column == column && part.prefix_length == 0) return true;
  return false;
}

// docs/formats/keys.md, "Secondary entries".
std::vector<KeyPart> extended_parts(const TableLayout& table, const IndexLayout& secondary,
                                    const IndexLayout& primary) {
  const std::vector<KeyPart> own = make_key_parts(table, secondary);
  std::vector<KeyPart> parts = own;
  for (const KeyPart& part : primary_parts(table, primary)) {
    if (part.prefix_length == 0 && has_whole_column(own, part.column)) continue;
    parts.push_back(part);
  }
  return parts;
}

}  // namespace

KeySplitter::KeySplitter(const TableLayout& table, const IndexLayout& primary)
    : state_(std::make_unique<const State>(State{primary_parts(table, primary)})) {}
KeySplitter::KeySplitter(const TableLayout& table, const IndexLayout& secondary,
                         const IndexLayout& primary)
    : state_(std::make_unique<const State>(State{extended_parts(table, secondary, primary)})) {}
KeySplitter::~KeySplitter() = default;
KeySplitter::KeySplitter(KeySplitter&&) noexcept = default;
KeySplitter& KeySplitter::operator=(KeySplitter&&) noexcept = default;

std::size_t KeySplitter::part_count() const { return state_->parts.size(); }

void KeySplitter::split(std::string_view key, std::size_t from, std::uint32_t* ends) const {
  const std::size_t begin = from == 0 ? kIndexIdBytes : ends[from - 1];
  Cursor rest(key.substr(begin < key.size() ? begin : key.size()));
  const std::size_t count = state_->parts.size();
  for (std::size_t i = from; i < count; ++i) {
    bool null = false;
    if (skip_part(state_->parts[i], rest, null) != nullptr) rest.at = rest.end;
    ends[i] = static_cast<std::uint32_t>(key.size() - rest.left());
  }
}

}  // namespace basalt::codec
