#include "table/row_fetcher.h"

#include <algorithm>

namespace basalt::table {
namespace {

bool has_blob_columns(const codec::TableLayout& layout) {
  return std::any_of(layout.columns.begin(), layout.columns.end(),
                     [](const auto& column) { return column.kind == codec::ColumnKind::kBlob; });
}

codec::ColumnSet columns_not_stored(const codec::TableLayout& layout) {
  codec::ColumnSet columns(layout.columns.size());
  for (std::size_t i = 0; i < layout.columns.size(); ++i) {
    if (!layout.columns[i].stored) columns.set(i);
  }
  return columns;
}

}  // namespace

RowFetcher::RowFetcher(const Table& table)
    : table_(table),
      has_blobs_(has_blob_columns(table.layout())),
      not_stored_(columns_not_stored(table.layout())) {}

void RowFetcher::plan(std::size_t index_number, RowAccess access, const codec::ColumnSet& wanted) {
  index_number_ = index_number;
  if (planned_.index_number == index_number && planned_.access == access &&
      planned_.wanted == wanted) {
    return;
  }
  planned_.index_number = index_number;
  planned_.access = access;
  planned_.wanted = wanted;
  row_plan_ = table_.primary().plan(wanted);
  visits_row_ = true;
  if (index_number == 0) return;
  const codec::SecondaryCodec& codec = table_.secondary(index_number);
  visits_row_ =
      access == RowAccess::kAlways || (access == RowAccess::kIfNeeded && !codec.gives_all(wanted));
  if (!visits_row_) {
    entry_plan_ = codec.plan(wanted);
    return;
  }
  codec::ColumnSet from_entry = not_stored_;
  from_entry.keep(wanted);
  entry_plan_ = codec.plan(from_entry);
}

Status RowFetcher::set_primary_key_of(std::string_view entry_key, std::string_view entry_value) {
  is_key_known_ = false;
  BASALT_TRY(table_.secondary(index_number_).primary_key_of(entry_key, entry_value, primary_key_));
  is_key_known_ = true;
  return Status::ok();
}

Status RowFetcher::read_here(const IndexIterator& iterator, std::uint8_t* record) {
  std::string_view row = iterator.value();
  if (has_blobs_ && iterator.transaction().has_writes()) {
    // An own row is in the transaction's batch, which the next write may move.
    row_copy_ = row;
    row = row_copy_;
  }
  return table_.primary().read(iterator.key(), row, row_plan_, record);
}

Status RowFetcher::read(txn::Transaction& transaction, const kv::ReadView& view,
                        std::uint8_t* record, bool& found) {
  BASALT_TRY(transaction.get(table_.family(0), primary_key_, view, row_, found));
  if (found && table_.is_expired(transaction, row_.view())) found = false;
  if (!found) return Status::ok();
  return table_.primary().read(primary_key_, row_.view(), row_plan_, record);
}

Status RowFetcher::read_next_of(RowBatch& batch, txn::Transaction& transaction,
                                const kv::ReadView& view, std::uint8_t* record, bool& found) {
  found = false;
  while (batch.has_next()) {
    std::string_view row;
    BASALT_TRY(batch.next(transaction, table_.family(0), view, found, row));
    if (found && table_.is_expired(transaction, row)) found = false;
    if (!found && (index_number_ == 0 || table_.has_expiry())) continue;
    set_primary_key(batch.primary_key());
    if (!found) return entry_without_row(transaction, batch.entry_key(), view);
    return table_.primary().read(primary_key_, row, row_plan_, record);
  }
  return Status::ok();
}

Status RowFetcher::find_owner(txn::Transaction& transaction, std::string_view key,
                              std::string& owner) {
  owner.clear();
  bool exists = false;
  BASALT_TRY(get_entry(transaction, key, {}, exists));
  if (!exists) return Status::ok();
  const codec::SecondaryCodec& codec = table_.secondary(index_number_);
  if (codec.is_unique()) return codec.primary_key_of(key, entry_value(), owner);
  owner = primary_key_;
  return Status::ok();
}

Status RowFetcher::entry_without_row(txn::Transaction& transaction, std::string_view entry_key,
                                     const kv::ReadView& view) {
  if (table_.has_expiry()) return Status::ok();
  const std::string index = "index '" + table_.index(index_number_).name + "'";
  bool has_entry = false;
  bool has_row = false;
  BASALT_TRY(get_entry(transaction, entry_key, view, has_entry));
  BASALT_TRY(transaction.get(table_.family(0), primary_key_, view, row_, has_row));
  std::string owner;
  if (has_entry) {
    BASALT_TRY(table_.secondary(index_number_).primary_key_of(entry_key, entry_value(), owner));
  }
  if (!has_row && owner == primary_key_) {
    return Status(ErrorCode::kCorruption, "an entry of " + index + " has no row; run CHECK TABLE");
  }
  return Status(
      ErrorCode::kInconsistentRead,
      "a scan of " + index +
          " gave an entry without a row, but read again at one "
          "snapshot the two agree: either the statement's snapshot changed while it ran, "
          "which is a defect of the engine to be reported, or the index is damaged, which "
          "CHECK TABLE would tell; the statement may be repeated");
}

void RowFetcher::release() {
  row_.reset();
  entry_value_.reset();
  is_key_known_ = false;
}

}  // namespace basalt::table
