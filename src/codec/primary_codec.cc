#include "codec/primary_codec.h"

#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/bytes.h"
#include "base/row_time.h"
#include "codec/internal/key_part.h"
#include "codec/internal/key_walk.h"
#include "codec/internal/older_rows.h"
#include "codec/internal/row_format.h"

namespace basalt::codec {

namespace {

constexpr std::size_t kRowIdKeySize = kIndexIdBytes + sizeof(std::uint64_t);

// The parts of a primary key. What the key alone, or with a count of spaces, does not give back
// is a column of the row.
std::vector<KeyPart> make_primary_parts(const TableLayout& table, const IndexLayout& primary) {
  std::vector<KeyPart> parts = make_key_parts(table, primary);
  for (KeyPart& part : parts) {
    BASALT_ASSERT(!part.nullable);
    if (part.unpack_info == KeyPart::UnpackInfo::kFull ||
        part.unpack_info == KeyPart::UnpackInfo::kNumber)
      part.unpack_info = KeyPart::UnpackInfo::kNever;
  }
  return parts;
}

ColumnSet columns_given_by(const std::vector<KeyPart>& parts, std::size_t columns) {
  ColumnSet given(columns);
  for (const KeyPart& part : parts)
    if (part.unpack_info != KeyPart::UnpackInfo::kNever) given.set(part.column);
  return given;
}

bool any_unpack_info(const std::vector<KeyPart>& parts) {
  for (const KeyPart& part : parts)
    if (part.has_unpack_info()) return true;
  return false;
}

}  // namespace

struct PrimaryCodec::State {
  State(const TableLayout& table, const IndexLayout& primary, const RowHistory& history)
      : index_id(primary.index_id),
        parts(make_primary_parts(table, primary)),
        has_unpack_info(any_unpack_info(parts)),
        time_bytes(table.has_row_time ? kRowTimeBytes : 0),
        row(make_row_format(table, history)) {
    if (history.is_empty()) return;
    older_rows = std::make_unique<const OlderRows>(
        table, history, columns_given_by(parts, table.columns.size()), has_unpack_info);
  }

  RowFormat make_row_format(const TableLayout& table, const RowHistory& history) const {
    const ColumnSet left_out = columns_given_by(parts, table.columns.size());
    if (history.is_empty()) return RowFormat(table, left_out, has_unpack_info);
    return RowFormat(table, history.columns, left_out, has_unpack_info);
  }

  Fault read_row(std::string_view bytes, const ReadPlan& plan, std::uint8_t* record,
                 Cursor& unpack_info) const {
    if (bytes.size() < time_bytes) return "a row ends before its time";
    bytes.remove_prefix(time_bytes);
    if (older_rows != nullptr) {
      std::uint32_t version = 0;
      if (const Fault fault = RowFormat::schema_version(bytes, version)) return fault;
      if (older_rows->are_of(version))
        return older_rows->read(bytes, version, plan.wanted, record, unpack_info);
    }
    return row.read(bytes, plan.row, record, unpack_info);
  }

  std::uint32_t index_id;
  std::vector<KeyPart> parts;  // none: hidden row id
  bool has_unpack_info;        // rows end with a unpack info
  std::size_t time_bytes;      // with which stored rows begin
  RowFormat row;
  std::unique_ptr<const OlderRows> older_rows;  // null: all rows hold the same columns
};

PrimaryCodec::PrimaryCodec(const TableLayout& table, IndexLayout primary, const RowHistory& history)
    : state_(std::make_unique<const State>(table, primary, history)) {}
PrimaryCodec::~PrimaryCodec() = default;
PrimaryCodec::PrimaryCodec(PrimaryCodec&&) noexcept = default;
PrimaryCodec& PrimaryCodec::operator=(PrimaryCodec&&) noexcept = default;

std::uint32_t PrimaryCodec::index_id() const { return state_->index_id; }
bool PrimaryCodec::has_hidden_key() const { return state_->parts.empty(); }
std::size_t PrimaryCodec::part_count() const { return state_->parts.size(); }

void PrimaryCodec::make_key(const std::uint8_t* record, std::uint64_t hidden_row_id,
                            std::string& key) const {
  key.clear();
  append_be32(key, state_->index_id);
  if (state_->parts.empty()) append_be64(key, hidden_row_id);
  for (const KeyPart& part : state_->parts) append_part(part, record, key);
}

void PrimaryCodec::make_value_lock(const std::uint8_t* record, std::size_t part_count,
                                   std::string& key) const {
  BASALT_ASSERT(part_count <= state_->parts.size());
  key.clear();
  append_be32(key, state_->index_id);
  for (std::size_t i = 0; i < part_count; ++i) append_part(state_->parts[i], record, key);
}

void PrimaryCodec::make_row(const std::uint8_t* record, std::uint32_t schema_version,
                            std::string& row) const {
  state_->row.make(record, schema_version, row);
  if (!state_->has_unpack_info) return;
  for (const KeyPart& part : state_->parts) append_unpack_info(part, record, row);
}

ReadPlan PrimaryCodec::plan(const ColumnSet& wanted) const {
  ReadPlan plan;
  state_->row.plan(wanted, plan.row);
  if (state_->older_rows != nullptr) plan.wanted = wanted;
  if (!gives_any(state_->parts, wanted)) return plan;
  const std::size_t count = parts_to_walk(state_->parts, wanted);
  plan_parts(state_->parts, count, wanted, plan.own);
  plan.walks_key = count == state_->parts.size();
  return plan;
}

Status PrimaryCodec::read(std::string_view key, std::string_view row, const ReadPlan& plan,
                          std::uint8_t* record) const {
  const bool needs_unpack_info = state_->has_unpack_info && !plan.own.empty();
  Cursor unpack_info;
  if (needs_unpack_info || !plan.row.empty()) {
    const Fault fault = state_->read_row(row, plan, record, unpack_info);
    if (fault != nullptr) return to_status(fault);
  }
  if (plan.own.empty()) return Status::ok();
  Cursor rest;
  if (const Fault fault = open_key(key, state_->index_id, rest)) return to_status(fault);
  const Fault fault = walk_parts(state_->parts, plan.own, rest, unpack_info, record);
  if (fault != nullptr) return to_status(fault);
  if (plan.walks_key && rest.left() != 0) return to_status("bytes follow the end of a key");
  if (needs_unpack_info && unpack_info.left() != 0)
    return to_status("bytes follow the end of a row");
  return Status::ok();
}

void PrimaryCodec::make_search_prefix(const std::uint8_t* tuple, std::size_t part_count,
                                      std::string& key) const {
  make_prefix_of_tuple(state_->index_id, state_->parts, tuple, part_count, key);
}

std::size_t PrimaryCodec::common_parts(std::string_view key_a, std::string_view key_b) const {
  return count_common_parts(state_->index_id, state_->parts, key_a, key_b);
}

std::uint64_t PrimaryCodec::hidden_row_id(std::string_view key) {
  return key.size() == kRowIdKeySize ? load_be64(key.data() + kIndexIdBytes) : 0;
}

Status PrimaryCodec::schema_version(std::string_view row, std::uint32_t& version) {
  return to_status(RowFormat::schema_version(row, version));
}

}  // namespace basalt::codec
