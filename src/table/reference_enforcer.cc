#include "table/reference_enforcer.h"

#include <cstring>
#include <utility>

#include "base/assert.h"
#include "table/cursor.h"
#include "table/row_writer.h"

namespace basalt::table {
namespace {

using catalog::ReferentialAction;

// Rows that lie under the key are looked for in their newest versions, and nobody puts another one
// there before the transaction ends.
LockingRead locking_read(lock::LockMode mode, const lock::WaitPolicy& policy) {
  return {.mode = mode, .wait = policy, .locks_gaps = true};
}

std::size_t column_count(const Table& table) { return table.layout().columns.size(); }

bool is_null_in(const codec::ColumnLayout& column, const std::uint8_t* record) {
  return column.nullable && (record[column.null_offset] & column.null_mask) != 0;
}

// The bytes that count of a column that is in a key.
std::string_view value_in(const codec::ColumnLayout& column, const std::uint8_t* record) {
  const auto* const field = reinterpret_cast<const char*>(record + column.record_offset);
  if (column.kind != codec::ColumnKind::kVariableString) return {field, column.record_length};
  std::uint32_t size = 0;
  std::memcpy(&size, field, column.length_bytes);
  return {field + column.length_bytes, size};
}

// As the stored bytes tell, so also where only the case of a letter changes.
bool differs(const codec::ColumnLayout& column, const std::uint8_t* a, const std::uint8_t* b) {
  if (is_null_in(column, a) != is_null_in(column, b)) return true;
  return !is_null_in(column, a) && value_in(column, a) != value_in(column, b);
}

bool change_columns(const ChildReference& reference, const codec::TableLayout& layout,
                    const std::uint8_t* old_record, const std::uint8_t* new_record) {
  for (const ChildReference::Columns& column : reference.columns) {
    if (differs(layout.columns[column.parent], old_record, new_record)) return true;
  }
  return false;
}

}  // namespace

// What it takes to change the rows of a child, kept from row to row.
struct ReferenceEnforcer::ChildAccess {
  ChildAccess(const Table& child, std::shared_ptr<const TableReferences> references,
              TableSource& tables)
      : cursor(child),
        enforcer(child, std::move(references), tables),
        writer(child),
        record(child.layout().record_length),
        new_record(child.layout().record_length) {
    writer.set_references(&enforcer);
  }

  Cursor cursor;
  ReferenceEnforcer enforcer;
  RowWriter writer;
  std::vector<std::uint8_t> record;
  std::vector<std::uint8_t> new_record;
};

ReferenceEnforcer::ReferenceEnforcer(const Table& table,
                                     std::shared_ptr<const TableReferences> references,
                                     TableSource& tables)
    : table_(table),
      references_(std::move(references)),
      tables_(tables),
      parent_cursors_(references_->parents.size()),
      children_(references_->children.size()) {}
ReferenceEnforcer::~ReferenceEnforcer() = default;

Status ReferenceEnforcer::fail(ErrorCode code, const catalog::ForeignKeyPointer& key) {
  failed_key_ = key;
  return Status(code, key->name);
}

// ---- as the child

Status ReferenceEnforcer::check_parents(txn::Transaction& transaction,
                                        const std::uint8_t* old_record, const std::uint8_t* record,
                                        const lock::WaitPolicy& policy) {
  for (std::size_t i = 0; i < references_->parents.size(); ++i) {
    const ParentReference& reference = references_->parents[i];
    // The row at the other end has just been given the values.
    if (cause_ != nullptr && cause_->key == reference.key->id) continue;
    if (reference.codec != nullptr && old_record != nullptr &&
        reference.codec->make_prefix(record, prefix_) &&
        reference.codec->make_prefix(old_record, other_prefix_) && prefix_ == other_prefix_) {
      continue;
    }
    BASALT_TRY(check_parent(transaction, i, record, policy));
  }
  return Status::ok();
}

Status ReferenceEnforcer::check_parent(txn::Transaction& transaction, std::size_t number,
                                       const std::uint8_t* record, const lock::WaitPolicy& policy) {
  const ParentReference& reference = references_->parents[number];
  if (reference.codec == nullptr) {
    for (const std::uint32_t column : reference.columns) {
      if (is_null_in(table_.layout().columns[column], record)) return Status::ok();
    }
    return fail(ErrorCode::kNoReferencedRow, reference.key);
  }
  if (!reference.codec->make_prefix(record, prefix_)) return Status::ok();
  if (reference.own_key != nullptr && reference.own_key->make_prefix(record, other_prefix_) &&
      prefix_ == other_prefix_) {
    return Status::ok();  // the row references itself
  }
  bool found = false;
  BASALT_TRY(find_parent(transaction, number, policy, found));
  return found ? Status::ok() : fail(ErrorCode::kNoReferencedRow, reference.key);
}

// The row whose key, or the key of whose entry, begins with prefix_.
Status ReferenceEnforcer::find_parent(txn::Transaction& transaction, std::size_t number,
                                      const lock::WaitPolicy& policy, bool& found) {
  const ParentReference& reference = references_->parents[number];
  const Table& parent = *reference.parent;
  if (reference.is_unique) {
    BASALT_TRY(transaction.lock(prefix_, lock::LockMode::kShared, policy));
    return transaction.get(parent.family(reference.index_number), prefix_, {}, found_, found);
  }
  std::unique_ptr<Cursor>& cursor = parent_cursors_[number];
  if (cursor == nullptr) cursor = std::make_unique<Cursor>(parent);
  parent_record_.resize(parent.layout().record_length);
  cursor->set_interruption(interruption_);
  cursor->open(transaction, reference.index_number,
               LockingRead{.mode = lock::LockMode::kShared, .wait = policy},
               codec::ColumnSet(column_count(parent)), false);
  Status status = cursor->seek(SeekMode::kFirstWithPrefix, prefix_, parent_record_.data(), found);
  cursor->close();
  return status;
}

// ---- as the parent

bool ReferenceEnforcer::is_followed(const std::uint8_t* old_record,
                                    const std::uint8_t* new_record) const {
  for (const ChildReference& reference : references_->children) {
    if (change_columns(reference, table_.layout(), old_record, new_record)) return true;
  }
  return false;
}

Status ReferenceEnforcer::follow_removal(txn::Transaction& transaction, const std::uint8_t* record,
                                         const lock::WaitPolicy& policy) {
  return follow({transaction, record, nullptr, policy});
}

Status ReferenceEnforcer::follow_update(txn::Transaction& transaction,
                                        const std::uint8_t* old_record,
                                        const std::uint8_t* new_record,
                                        const lock::WaitPolicy& policy) {
  return follow({transaction, old_record, new_record, policy});
}

Status ReferenceEnforcer::follow(const Change& change) {
  for (std::size_t i = 0; i < references_->children.size(); ++i) {
    const ChildReference& reference = references_->children[i];
    if (change.new_record == nullptr) {
      BASALT_TRY(follow_key(change, i, reference.key->on_delete));
    } else if (change_columns(reference, table_.layout(), change.old_record, change.new_record)) {
      BASALT_TRY(follow_key(change, i, reference.key->on_update));
    }
  }
  return Status::ok();
}

Status ReferenceEnforcer::follow_key(const Change& change, std::size_t number,
                                     ReferentialAction action) {
  const ChildReference& reference = references_->children[number];
  if (reference.codec == nullptr) {
    for (const ChildReference::Columns& column : reference.columns) {
      const codec::ColumnLayout& referenced = table_.layout().columns[column.parent];
      if (is_null_in(referenced, change.old_record)) return Status::ok();
    }
    return fail(ErrorCode::kRowIsReferenced, reference.key);
  }
  if (!reference.codec->make_prefix(change.old_record, prefix_)) return Status::ok();
  switch (action) {
    case ReferentialAction::kRestrict:
    case ReferentialAction::kNoAction: return restrict_children(change, number);
    case ReferentialAction::kCascade:
      return change_children(change, number, change.new_record == nullptr);
    case ReferentialAction::kSetNull: return change_children(change, number, false);
  }
  BASALT_UNREACHABLE();
}

Status ReferenceEnforcer::restrict_children(const Change& change, std::size_t number) {
  const ChildReference& reference = references_->children[number];
  Result<ChildAccess*> access = child_access(number);
  if (!access.is_ok()) return access.take_status();
  ChildAccess& child = *access.value();
  child.cursor.open(change.transaction, reference.index_number,
                    locking_read(lock::LockMode::kShared, change.policy),
                    codec::ColumnSet(column_count(*reference.child)), false);
  bool found = false;
  Status status =
      child.cursor.seek(SeekMode::kFirstWithPrefix, prefix_, child.record.data(), found);
  child.cursor.close();
  BASALT_TRY(std::move(status));
  return found ? fail(ErrorCode::kRowIsReferenced, reference.key) : Status::ok();
}

// A cascade must not come to a table that it is updating already: which of its rows are still to
// come would depend on the order of the changes. InnoDB refuses so, too.
bool ReferenceEnforcer::was_updated_before(const CascadeStep& step, catalog::TableId table) const {
  for (const CascadeStep* cause = step.cause; cause != nullptr; cause = cause->cause) {
    if (cause->table == table && cause->is_update) return true;
  }
  return false;
}

Status ReferenceEnforcer::change_children(const Change& change, std::size_t number, bool removes) {
  const ChildReference& reference = references_->children[number];
  const catalog::TableId own_id = table_.definition().id;
  const CascadeStep own{.table = own_id, .is_update = change.new_record != nullptr};
  const CascadeStep* const cause = cause_ == nullptr ? &own : cause_;
  const CascadeStep step{.cause = cause,
                         .key = reference.key->id,
                         .table = reference.child->definition().id,
                         .is_update = !removes,
                         .depth = cause->depth + 1};
  Result<ChildAccess*> access = child_access(number);
  if (!access.is_ok()) return access.take_status();
  ChildAccess& child = *access.value();
  child.enforcer.set_cause(&step);
  child.writer.set_wait_policy(change.policy);
  child.cursor.open(change.transaction, reference.index_number,
                    locking_read(lock::LockMode::kExclusive, change.policy),
                    codec::ColumnSet(column_count(*reference.child), true), false);
  bool found = false;
  // The prefix is this call's: further down the keys are those of other rows.
  const std::string prefix = prefix_;
  Status status = child.cursor.seek(SeekMode::kFirstWithPrefix, prefix, child.record.data(), found);
  while (status.is_ok() && found) {
    if (step.depth > CascadeStep::kDepthMax) {
      status = fail(ErrorCode::kCascadeTooDeep, reference.key);
      break;
    }
    if (!removes && was_updated_before(step, step.table)) {
      status = fail(ErrorCode::kRowIsReferenced, reference.key);
      break;
    }
    status = change_child(change, number, child, removes);
    if (status.is_ok()) status = child.cursor.next_with_prefix(child.record.data(), found);
  }
  child.cursor.close();
  child.enforcer.set_cause(nullptr);
  return status;
}

// Changes the row that the child's cursor is on.
Status ReferenceEnforcer::change_child(const Change& change, std::size_t number, ChildAccess& child,
                                       bool removes) {
  const ChildReference& reference = references_->children[number];
  const std::string primary_key = child.cursor.primary_key();
  Status status;
  if (removes) {
    status = child.writer.remove(change.transaction, child.record.data(), primary_key);
  } else {
    if (!make_child_record(change, number, child)) {
      return fail(ErrorCode::kRowIsReferenced, reference.key);
    }
    status = child.writer.update(change.transaction, child.record.data(), child.new_record.data(),
                                 primary_key);
  }
  if (!status.is_ok() && child.enforcer.failed_key() != nullptr) {
    failed_key_ = child.enforcer.failed_key();
  }
  return status;
}

// The child's row with the parent's new values, or with NULL. False if it cannot hold them.
bool ReferenceEnforcer::make_child_record(const Change& change, std::size_t number,
                                          ChildAccess& child) const {
  const ChildReference& reference = references_->children[number];
  const codec::TableLayout& layout = reference.child->layout();
  const bool sets_null =
      change.new_record == nullptr || reference.key->on_update == ReferentialAction::kSetNull;
  child.new_record = child.record;
  for (const ChildReference::Columns& column : reference.columns) {
    const codec::ColumnLayout& to = layout.columns[column.child];
    if (sets_null) {
      if (!to.nullable) return false;
      codec::set_column_null(to, child.new_record.data());
    } else if (!codec::copy_column(table_.layout().columns[column.parent], change.new_record, to,
                                   child.new_record.data())) {
      return false;
    }
  }
  return true;
}

Result<ReferenceEnforcer::ChildAccess*> ReferenceEnforcer::child_access(std::size_t number) {
  std::unique_ptr<ChildAccess>& access = children_[number];
  if (access == nullptr) {
    const Table& child = *references_->children[number].child;
    Result<std::shared_ptr<const TableReferences>> references = tables_.references_of(child);
    if (!references.is_ok()) return references.take_status();
    access = std::make_unique<ChildAccess>(child, std::move(references.value()), tables_);
  }
  access->cursor.set_interruption(interruption_);
  access->enforcer.set_interruption(interruption_);
  return access.get();
}

}  // namespace basalt::table
