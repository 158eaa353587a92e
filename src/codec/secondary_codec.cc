#include "codec/secondary_codec.h"

#include <array>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/row_time.h"
#include "codec/internal/key_part.h"
#include "codec/internal/key_walk.h"

namespace basalt::codec {

namespace {

// The server allows 32 parts in each of the two keys.
constexpr std::size_t kPartsMax = 64;

// Where in an entry a part of the primary key is found.
struct PrimarySource {
  bool in_suffix = false;
  bool complement = false;   // the own part and the primary key's part sort in opposite ways
  std::uint32_t number = 0;  // of the own part or of the suffix part
};

// An entry taken apart as far as its form says.
struct Entry {
  Cursor key;    // from the first part on
  Cursor value;  // all of it
  bool unique_form = false;
};

}  // namespace

struct SecondaryCodec::State {
  State(const TableLayout& table, const IndexLayout& secondary, const IndexLayout& primary);
  void add_primary_part(const KeyPart& part);

  Fault open(std::string_view key, std::string_view value, Entry& entry) const;
  void append_suffix(std::string_view primary_key, std::string& out) const;
  bool any_null(const std::uint8_t* record) const;
  void append_own(const std::uint8_t* record, std::string& key) const;
  Fault find_primary_parts(std::string_view key, std::string_view value,
                           std::array<const std::uint8_t*, kPartsMax + 2>& bounds) const;

  std::uint32_t index_id;
  std::uint32_t primary_id;
  std::size_t time_bytes;  // with which stored values begin
  bool unique;
  bool hidden_key;
  bool any_nullable = false;  // among the own parts
  bool whole_suffix = true;   // the suffix is the primary key
  std::vector<KeyPart> own;
  std::vector<KeyPart> suffix;
  std::vector<KeyPart> primary;
  std::vector<KeyPart> extended;
  std::vector<PrimarySource> sources;  // of each primary key part
};

SecondaryCodec::State::State(const TableLayout& table, const IndexLayout& secondary,
                             const IndexLayout& primary_layout)
    : index_id(secondary.index_id),
      primary_id(primary_layout.index_id),
      time_bytes(table.has_row_time ? kRowTimeBytes : 0),
      unique(secondary.unique),
      hidden_key(primary_layout.parts.empty()),
      own(make_key_parts(table, secondary)) {
  BASALT_ASSERT(!own.empty());
  for (const KeyPart& part : own) any_nullable |= part.nullable;
  extended = own;
  if (hidden_key) {
    add_primary_part(make_row_id_part());
  } else {
    for (const KeyPart& part : make_key_parts(table, primary_layout)) add_primary_part(part);
    extended.insert(extended.end(), suffix.begin(), suffix.end());
  }
  BASALT_ASSERT(own.size() + suffix.size() <= kPartsMax);
}

void SecondaryCodec::State::add_primary_part(const KeyPart& part) {
  BASALT_ASSERT(!part.nullable);
  primary.push_back(part);
  for (std::uint32_t i = 0; i < own.size(); ++i) {
    if (own[i].column != part.column || own[i].prefix_length != 0 || part.prefix_length != 0)
      continue;
    whole_suffix = false;
    sources.push_back({false, own[i].mask != part.mask, i});
    return;
  }
  sources.push_back({true, false, static_cast<std::uint32_t>(suffix.size())});
  suffix.push_back(part);
}

bool SecondaryCodec::State::any_null(const std::uint8_t* record) const {
  if (!any_nullable) return false;
  for (const KeyPart& part : own)
    if (is_null(part, record)) return true;
  return false;
}

void SecondaryCodec::State::append_own(const std::uint8_t* record, std::string& key) const {
  append_be32(key, index_id);
  for (const KeyPart& part : own) append_part(part, record, key);
}

void SecondaryCodec::State::append_suffix(std::string_view primary_key, std::string& out) const {
  BASALT_DEBUG_ASSERT(primary_key.size() > kIndexIdBytes &&
                      load_be32(primary_key.data()) == primary_id);
  Cursor rest(primary_key.substr(kIndexIdBytes));
  if (whole_suffix) {
    out.append(reinterpret_cast<const char*>(rest.at), rest.left());
    return;
  }
  for (std::size_t i = 0; i < primary.size(); ++i) {
    const std::uint8_t* const begin = rest.at;
    bool null = false;
    BASALT_ASSERT(skip_part(primary[i], rest, null) == nullptr);
    if (sources[i].in_suffix)
      out.append(reinterpret_cast<const char*>(begin), static_cast<std::size_t>(rest.at - begin));
  }
}

Fault SecondaryCodec::State::open(std::string_view key, std::string_view value,
                                  Entry& entry) const {
  if (const Fault fault = open_key(key, index_id, entry.key)) return fault;
  if (value.size() < time_bytes) return "an index entry ends before its time";
  entry.value = Cursor(value.substr(time_bytes));
  entry.unique_form = unique;
  if (!unique || !any_nullable) return nullptr;
  Cursor rest = entry.key;
  bool null = false;
  const Fault fault = skip_parts(own, rest, null);
  entry.unique_form = !null;
  return fault;
}

SecondaryCodec::SecondaryCodec(const TableLayout& table, IndexLayout secondary,
                               const IndexLayout& primary)
    : state_(std::make_unique<const State>(table, secondary, primary)) {}
SecondaryCodec::~SecondaryCodec() = default;
SecondaryCodec::SecondaryCodec(SecondaryCodec&&) noexcept = default;
SecondaryCodec& SecondaryCodec::operator=(SecondaryCodec&&) noexcept = default;

std::uint32_t SecondaryCodec::index_id() const { return state_->index_id; }
bool SecondaryCodec::is_unique() const { return state_->unique; }
std::size_t SecondaryCodec::part_count() const { return state_->own.size(); }
std::size_t SecondaryCodec::extended_part_count() const { return state_->extended.size(); }
std::uint32_t SecondaryCodec::extended_column(std::size_t number) const {
  BASALT_DEBUG_ASSERT(number < state_->extended.size());
  return state_->extended[number].column;
}

bool SecondaryCodec::is_unique_entry(const std::uint8_t* record) const {
  return state_->unique && !state_->any_null(record);
}

void SecondaryCodec::make_entry(const std::uint8_t* record, std::string_view primary_key,
                                std::string& key, std::string& value) const {
  make_key(record, primary_key, key);
  value.clear();
  if (is_unique_entry(record)) state_->append_suffix(primary_key, value);
  for (const KeyPart& part : state_->own) append_unpack_info(part, record, value);
  for (const KeyPart& part : state_->suffix) append_unpack_info(part, record, value);
}

void SecondaryCodec::make_key(const std::uint8_t* record, std::string_view primary_key,
                              std::string& key) const {
  key.clear();
  state_->append_own(record, key);
  if (!is_unique_entry(record)) state_->append_suffix(primary_key, key);
}

void SecondaryCodec::make_unique_prefix(const std::uint8_t* record, std::string& key) const {
  key.clear();
  state_->append_own(record, key);
}

bool SecondaryCodec::make_value_lock(const std::uint8_t* record, std::size_t part_count,
                                     std::string& key) const {
  BASALT_ASSERT(part_count <= state_->own.size());
  key.clear();
  append_be32(key, state_->index_id);
  for (std::size_t i = 0; i < part_count; ++i) {
    if (is_null(state_->own[i], record)) return false;
    append_part(state_->own[i], record, key);
  }
  return true;
}

// Sets bounds[i] and bounds[i + 1] to where own part i begins and ends; those of suffix part i
// follow, one further on, since the suffix may be elsewhere. Own parts are left out where nothing
// depends on them.
Fault SecondaryCodec::State::find_primary_parts(
    std::string_view key, std::string_view value,
    std::array<const std::uint8_t*, kPartsMax + 2>& bounds) const {
  Entry entry;
  if (const Fault fault = open(key, value, entry)) return fault;
  bool null = false;
  if (!entry.unique_form || !whole_suffix) {
    for (std::size_t i = 0; i < own.size(); ++i) {
      bounds[i] = entry.key.at;
      if (const Fault fault = skip_part(own[i], entry.key, null)) return fault;
    }
    bounds[own.size()] = entry.key.at;
    if (entry.unique_form && entry.key.left() != 0) return "bytes follow the end of a key";
  }
  Cursor& from = entry.unique_form ? entry.value : entry.key;
  const std::uint8_t** const suffix_bounds = bounds.data() + own.size() + 1;
  for (std::size_t i = 0; i < suffix.size(); ++i) {
    suffix_bounds[i] = from.at;
    if (const Fault fault = skip_part(suffix[i], from, null)) return fault;
  }
  suffix_bounds[suffix.size()] = from.at;
  if (!entry.unique_form && from.left() != 0) return "bytes follow the end of a key";
  return nullptr;
}

Status SecondaryCodec::primary_key_of(std::string_view key, std::string_view value,
                                      std::string& primary_key) const {
  std::array<const std::uint8_t*, kPartsMax + 2> bounds;
  const Fault fault = state_->find_primary_parts(key, value, bounds);
  if (fault != nullptr) return to_status(fault);
  const std::uint8_t** const suffix_bounds = bounds.data() + state_->own.size() + 1;
  const auto append = [&primary_key](const std::uint8_t* begin, const std::uint8_t* end) {
    primary_key.append(reinterpret_cast<const char*>(begin), static_cast<std::size_t>(end - begin));
  };
  primary_key.clear();
  append_be32(primary_key, state_->primary_id);
  if (state_->whole_suffix) {
    append(suffix_bounds[0], suffix_bounds[state_->suffix.size()]);
    return Status::ok();
  }
  for (const PrimarySource& source : state_->sources) {
    const std::uint8_t* const* const from =
        (source.in_suffix ? suffix_bounds : bounds.data()) + source.number;
    const std::size_t begin = primary_key.size();
    append(from[0], from[1]);
    if (!source.complement) continue;
    for (std::size_t i = begin; i < primary_key.size(); ++i)
      primary_key[i] = static_cast<char>(~primary_key[i]);
  }
  return Status::ok();
}

bool SecondaryCodec::gives_all(const ColumnSet& wanted) const {
  ColumnSet given(wanted.size());
  for (const KeyPart& part : state_->extended)
    if (gives_wanted(part, wanted)) given.set(part.column);
  return given.contains(wanted);
}

ReadPlan SecondaryCodec::plan(const ColumnSet& wanted) const {
  ReadPlan plan;
  if (!gives_any(state_->extended, wanted)) return plan;
  const std::size_t of_suffix = parts_to_walk(state_->suffix, wanted);
  const std::size_t of_own =
      of_suffix != 0 ? state_->own.size() : parts_to_walk(state_->own, wanted);
  plan_parts(state_->own, of_own, wanted, plan.own);
  plan_parts(state_->suffix, of_suffix, wanted, plan.suffix);
  plan.walks_key = of_own == state_->own.size() && of_suffix == state_->suffix.size();
  return plan;
}

Status SecondaryCodec::read(std::string_view key, std::string_view value, const ReadPlan& plan,
                            std::uint8_t* record) const {
  if (plan.own.empty()) return Status::ok();
  Entry entry;
  if (const Fault fault = state_->open(key, value, entry)) return to_status(fault);
  Cursor unpack_info = entry.value;
  bool null = false;
  if (entry.unique_form) {
    const Fault fault = skip_parts(state_->suffix, unpack_info, null);
    if (fault != nullptr) return to_status(fault);
  }
  Fault fault = walk_parts(state_->own, plan.own, entry.key, unpack_info, record);
  if (fault != nullptr) return to_status(fault);
  fault = walk_parts(state_->suffix, plan.suffix, entry.unique_form ? entry.value : entry.key,
                     unpack_info, record);
  if (fault != nullptr) return to_status(fault);
  if (plan.walks_key && entry.key.left() != 0) return to_status("bytes follow the end of a key");
  if (unpack_info.left() != 0) return to_status("bytes follow the end of an index entry");
  return Status::ok();
}

void SecondaryCodec::make_search_prefix(const std::uint8_t* tuple, std::size_t part_count,
                                        std::string& key) const {
  make_prefix_of_tuple(state_->index_id, state_->extended, tuple, part_count, key);
}

std::size_t SecondaryCodec::common_parts(std::string_view key_a, std::string_view key_b) const {
  return count_common_parts(state_->index_id, state_->extended, key_a, key_b);
}

}  // namespace basalt::codec
