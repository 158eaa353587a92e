#include "table/entry_condition.h"

#include "base/assert.h"

namespace basalt::table {

void EntryCondition::set(EntryFilter* filter, std::size_t index_number,
                         const codec::ColumnSet& columns) {
  BASALT_ASSERT(index_number != 0);
  filter_ = filter;
  index_number_ = index_number;
  if (filter != nullptr) plan_ = table_.secondary(index_number).plan(columns);
}

Status EntryCondition::check(std::string_view key, std::string_view value, std::uint8_t* record,
                             Qualified& qualified) const {
  qualified = Qualified::kFound;
  if (filter_ == nullptr) return Status::ok();
  BASALT_TRY(table_.secondary(index_number_).read(key, value, plan_, record));
  switch (filter_->check()) {
    case EntryFilter::Verdict::kAccept: return Status::ok();
    case EntryFilter::Verdict::kReject: qualified = Qualified::kPass; return Status::ok();
    case EntryFilter::Verdict::kEndOfRange: qualified = Qualified::kEnd; return Status::ok();
    case EntryFilter::Verdict::kInterrupted: return Status::of(ErrorCode::kInterrupted);
    case EntryFilter::Verdict::kFailed:
      return Status(ErrorCode::kInvalidArgument, "the pushed condition failed");
  }
  BASALT_UNREACHABLE();
}

Status EntryCondition::accepts(std::string_view key, std::string_view value, std::uint8_t* record,
                               bool& accepted) const {
  Qualified qualified = Qualified::kFound;
  Status status = check(key, value, record, qualified);
  accepted = status.is_ok() && qualified == Qualified::kFound;
  return status;
}

}  // namespace basalt::table
