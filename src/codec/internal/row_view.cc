#include "codec/internal/row_view.h"

#include "base/assert.h"

namespace basalt::codec {
namespace {

using Action = ReadPlan::RowStep::Action;

Action action_of(ColumnKind kind) {
  if (!is_string(kind)) return Action::kFixed;
  if (kind == ColumnKind::kFixedString) return Action::kPaddedString;
  return kind == ColumnKind::kBlob ? Action::kBlob : Action::kVariableString;
}

}  // namespace

ReadPlan::RowStep make_row_step(const ColumnLayout& column) {
  const Space space = space_of(column.collation);
  ReadPlan::RowStep step;
  step.action = action_of(column.kind);
  step.length_bytes = column.length_bytes;
  step.record_offset = column.record_offset;
  step.record_length = column.record_length;
  step.space = space.bytes;
  step.space_width = space.width;
  if (column.nullable) {
    BASALT_ASSERT(column.null_mask != 0);
    step.null_mask = column.null_mask;
    step.null_offset = column.null_offset;
  }
  return step;
}

void write_neutral(const ReadPlan::RowStep& step, std::uint8_t* field) {
  switch (step.action) {
    case Action::kFixed: std::memset(field, 0, step.record_length); return;
    case Action::kPaddedString:
      return fill_spaces(field, step.record_length, {step.space, step.space_width});
    case Action::kVariableString: return write_neutral_string(field, step.length_bytes);
    case Action::kBlob: return write_neutral_blob(field, step.length_bytes);
  }
}

}  // namespace basalt::codec
