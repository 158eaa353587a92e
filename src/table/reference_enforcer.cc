#include "table/reference_enforcer.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/failpoint.h"
#include "table/cursor.h"
#include "table/record_values.h"
#include "table/row_writer.h"

namespace basalt::table {
namespace {

using catalog::ReferentialAction;

// Rows that lie under the key are looked for in their newest versions, and nobody puts another one
// there before the transaction ends.
LockingRead locking_read(lock::LockMode mode, const lock::WaitPolicy& policy,
                         NewOwnKeys new_own_keys) {
  return {.mode = mode, .wait = policy, .locks_gaps = true, .new_own_keys = new_own_keys};
}

std::size_t column_count(const Table& table) { return table.layout().columns.size(); }

// What is read of rows only to know that there are some, which have `values`, if there are any.
codec::ColumnSet columns_to_look_at(const Table& table, const SystemVersions& versions,
                                    const ReferencedValues* values) {
  codec::ColumnSet columns(column_count(table));
  if (versions.exist()) columns.set(*versions.row_end());
  if (values == nullptr) return columns;
  for (const std::uint32_t column : values->found_columns) columns.set(column);
  return columns;
}

// The columns of which keys are made and which rows do not hold.
codec::ColumnSet computed_key_columns(const catalog::TableDefinition& table) {
  codec::ColumnSet columns(table.columns.size());
  for (const catalog::IndexDefinition& index : table.indexes) {
    for (const catalog::KeyPartDefinition& part : index.parts) {
      if (!table.columns[part.column].stored) columns.set(part.column);
    }
  }
  return columns;
}

bool change_columns(const ChildReference& reference, const codec::TableLayout& layout,
                    const std::uint8_t* old_record, const std::uint8_t* new_record) {
  for (const ChildReference::Columns& column : reference.columns) {
    if (values_differ(layout.columns[column.parent], old_record, new_record)) return true;
  }
  return false;
}

}  // namespace

// What it takes to find the rows of a parent, kept from row to row.
struct ReferenceEnforcer::ParentAccess {
  explicit ParentAccess(const Table& parent)
      : cursor(parent), versions(parent), record(parent.layout().record_length) {}

  Cursor cursor;
  const SystemVersions versions;
  std::vector<std::uint8_t> record;
};

// What it takes to change the rows of a child, likewise.
struct ReferenceEnforcer::ChildAccess {
  ChildAccess(const Table& child, std::shared_ptr<const TableReferences> references,
              TableSource& tables)
      : table(child),
        cursor(child),
        enforcer(child, std::move(references), tables),
        writer(child),
        computed(computed_key_columns(child.definition())),
        record(child.layout().record_length),
        new_record(child.layout().record_length) {
    writer.set_references(&enforcer);
  }

  const SystemVersions& versions() const { return enforcer.versions_; }
  Status find_context(StatementContext*& context) const {
    context = enforcer.context_;
    if (context != nullptr) return Status::ok();
    return Status(ErrorCode::kUnsupported, "no statement tells the time and computes columns");
  }
  Status compute(StatementContext::Version version) {
    if (computed.count() == 0) return Status::ok();
    StatementContext* context = nullptr;
    BASALT_TRY(find_context(context));
    const bool is_new = version == StatementContext::Version::kNew;
    return context->compute_columns(table, computed, version, (is_new ? new_record : record).data(),
                                    is_new ? new_blobs : blobs);
  }

  const Table& table;
  Cursor cursor;
  ReferenceEnforcer enforcer;
  RowWriter writer;
  const codec::ColumnSet computed;
  std::vector<std::uint8_t> record;
  std::vector<std::uint8_t> new_record;
  std::vector<std::string> blobs;  // of either
  std::vector<std::string> new_blobs;
};

ReferenceEnforcer::ReferenceEnforcer(const Table& table,
                                     std::shared_ptr<const TableReferences> references,
                                     TableSource& tables)
    : table_(table),
      references_(std::move(references)),
      versions_(table),
      tables_(tables),
      parents_(references_->parents.size()),
      children_(references_->children.size()) {}
ReferenceEnforcer::~ReferenceEnforcer() = default;

Status ReferenceEnforcer::fail(ErrorCode code, const catalog::ForeignKeyPointer& key,
                               Refusal::Change change, std::string_view prefix) {
  refusal_ = {.key = key,
              .table = table_.definition().name,
              .change = change,
              .is_child = code == ErrorCode::kNoReferencedRow,
              .prefix = std::string(prefix)};
  return Status(code, key->name);
}

Status ReferenceEnforcer::bind(txn::Transaction& transaction, const lock::WaitPolicy& policy) {
  while (true) {
    if (references_->generation != tables_.generation()) {
      Result<std::shared_ptr<const TableReferences>> newer = tables_.references_of(table_);
      if (!newer.is_ok()) return newer.take_status();
      // Nobody follows one of these: rows of children have an enforcer of their own for each way
      // that leads to them.
      parents_.clear();
      children_.clear();
      references_ = std::move(newer.value());
      parents_.resize(references_->parents.size());
      children_.resize(references_->children.size());
    }
    for (const ParentReference& reference : references_->parents) {
      // The statement has the metadata lock of its own table.
      if (reference.parent == nullptr || reference.key->references_itself()) continue;
      const std::string key = definition_lock(reference.parent->definition());
      BASALT_TRY(
          parents_transaction(transaction, reference).lock(key, lock::LockMode::kShared, policy));
    }
    // While it waited, a referenced table was perhaps replaced by a copy.
    if (references_->generation == tables_.generation()) return Status::ok();
  }
}

// ---- as the child

Status ReferenceEnforcer::check_parents(txn::Transaction& transaction,
                                        const std::uint8_t* old_record, const std::uint8_t* record,
                                        const lock::WaitPolicy& policy) {
  if (references_->parents.empty() || versions_.is_history(record)) return Status::ok();
  if (old_record != nullptr && versions_.is_history(old_record)) old_record = nullptr;
  const auto change = old_record == nullptr ? Refusal::Change::kInsert : Refusal::Change::kUpdate;
  for (std::size_t i = 0; i < references_->parents.size(); ++i) {
    const ParentReference& reference = references_->parents[i];
    // The row at the other end has just been given the values.
    if (cause_ != nullptr && cause_->key == reference.key->id) continue;
    if (old_record != nullptr && keeps_parent(reference, old_record, record)) continue;
    if (old_record != nullptr && references_its_old_key(reference, old_record, record)) {
      reference.codec->make_prefix(record, prefix_);
      return fail(ErrorCode::kNoReferencedRow, reference.key, change, prefix_ + reference.current);
    }
    BASALT_TRY(check_parent(transaction, i, record, change, policy));
  }
  return Status::ok();
}

// Whether the row references what it did before, be it there or not.
bool ReferenceEnforcer::keeps_parent(const ParentReference& reference,
                                     const std::uint8_t* old_record, const std::uint8_t* record) {
  if (reference.codec != nullptr) {
    const codec::ReferenceCodec& compared = reference.compared();
    return compared.make_prefix(record, prefix_) &&
           compared.make_prefix(old_record, other_prefix_) && prefix_ == other_prefix_;
  }
  return std::ranges::none_of(reference.columns, [&](std::uint32_t column) {
    return values_differ(table_.layout().columns[column], old_record, record);
  });
}

// Whether the row would reference values that it alone has, and gives up.
bool ReferenceEnforcer::references_its_old_key(const ParentReference& reference,
                                               const std::uint8_t* old_record,
                                               const std::uint8_t* record) {
  if (reference.own_key == nullptr || !reference.tells_one_row) return false;
  const codec::ReferenceCodec& own_key = *reference.own_key;
  return reference.compared().make_prefix(record, prefix_) &&
         own_key.make_prefix(old_record, other_prefix_) && prefix_ == other_prefix_ &&
         !(own_key.make_prefix(record, other_prefix_) && prefix_ == other_prefix_);
}

Status ReferenceEnforcer::check_parent(txn::Transaction& transaction, std::size_t number,
                                       const std::uint8_t* record, Refusal::Change change,
                                       const lock::WaitPolicy& policy) {
  const ParentReference& reference = references_->parents[number];
  if (reference.codec == nullptr) {
    for (const std::uint32_t column : reference.columns) {
      if (is_null_in(table_.layout().columns[column], record)) return Status::ok();
    }
    return fail(ErrorCode::kNoReferencedRow, reference.key, change, "");
  }
  if (!reference.compared().make_prefix(record, prefix_)) return Status::ok();
  if (reference.own_key != nullptr && reference.own_key->make_prefix(record, other_prefix_) &&
      prefix_ == other_prefix_) {
    return Status::ok();  // the row references itself
  }
  if (reference.values != nullptr) {
    values_ = prefix_;
    reference.codec->make_prefix(record, prefix_);
  }
  prefix_ += reference.current;
  bool found = false;
  BASALT_TRY(find_parent(parents_transaction(transaction, reference), number, policy, found));
  if (found) return Status::ok();
  return fail(ErrorCode::kNoReferencedRow, reference.key, change, prefix_);
}

// Whether the row, which was found by its key, is current and has values_, if there are any.
bool ReferenceEnforcer::counts(const SystemVersions& versions, const ReferencedValues* values,
                               const std::uint8_t* record) {
  if (versions.is_history(record)) return false;
  return values == nullptr ||
         (values->found.make_prefix(record, other_prefix_) && other_prefix_ == values_);
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
  std::unique_ptr<ParentAccess>& access = parents_[number];
  if (access == nullptr) access = std::make_unique<ParentAccess>(parent);
  Cursor& cursor = access->cursor;
  std::uint8_t* const record = access->record.data();
  cursor.set_interruption(interruption_);
  cursor.open(transaction, reference.index_number,
              LockingRead{.mode = lock::LockMode::kShared, .wait = policy},
              columns_to_look_at(parent, access->versions, reference.values.get()), false);
  Status status = cursor.seek(SeekMode::kFirstWithPrefix, prefix_, record, found);
  while (status.is_ok() && found && !counts(access->versions, reference.values.get(), record)) {
    if (reference.values != nullptr) cursor.release_row_lock();
    status = cursor.next_with_prefix(record, found);
  }
  cursor.close();
  return status;
}

// ---- as the parent

bool ReferenceEnforcer::is_followed(const std::uint8_t* old_record,
                                    const std::uint8_t* new_record) const {
  if (!has_children() || versions_.is_history(old_record)) return false;
  if (versions_.is_history(new_record)) return true;
  for (const ChildReference& reference : references_->children) {
    if (change_columns(reference, table_.layout(), old_record, new_record)) return true;
  }
  return false;
}

Status ReferenceEnforcer::follow_removal(txn::Transaction& transaction, const std::uint8_t* record,
                                         const lock::WaitPolicy& policy) {
  if (versions_.is_history(record)) return Status::ok();
  return follow({transaction, record, nullptr, policy});
}

Status ReferenceEnforcer::follow_update(txn::Transaction& transaction,
                                        const std::uint8_t* old_record,
                                        const std::uint8_t* new_record,
                                        const lock::WaitPolicy& policy) {
  if (versions_.is_history(new_record)) return follow_removal(transaction, old_record, policy);
  return follow({transaction, old_record, new_record, policy});
}

// A child that nobody keeps from it may have got other indexes while its rows were looked for, or
// while the statement waited for those of another one. Space of indexes that have gone is given
// back: what is not there, or does not fit, says nothing then.
Status ReferenceEnforcer::follow(const Change& change) {
  std::vector<catalog::ForeignKeyId> followed;
  std::size_t number = 0;
  while (number < references_->children.size()) {
    const catalog::ForeignKeyId key = references_->children[number].key->id;
    bool is_sure = std::ranges::find(followed, key) != followed.end();
    if (!is_sure) BASALT_TRY(follow_key(change, number, is_sure));
    if (!is_outdated()) {
      ++number;
      continue;
    }
    // The next child may be another table now also where a cascade further down has its lock.
    for (std::size_t i = 0; i < number; ++i) {
      followed.push_back(references_->children[i].key->id);
    }
    if (is_sure) followed.push_back(key);
    BASALT_TRY(bind(change.transaction, change.policy));
    number = 0;
  }
  return Status::ok();
}

// But for a key that may have another index by now, or be gone.
Status ReferenceEnforcer::refuse(const Change& change, const catalog::ForeignKeyPointer& key,
                                 std::string_view prefix) {
  if (is_outdated()) return Status::ok();
  return fail(ErrorCode::kRowIsReferenced, key, change.kind(), prefix);
}

Status ReferenceEnforcer::follow_key(const Change& change, std::size_t number, bool& is_sure) {
  const ChildReference& reference = references_->children[number];
  const bool is_removal = change.new_record == nullptr;
  if (!is_removal &&
      !change_columns(reference, table_.layout(), change.old_record, change.new_record)) {
    return Status::ok();
  }
  const ReferentialAction action = is_removal ? reference.key->on_delete : reference.key->on_update;
  // What rows a discarded child has nobody knows before they are imported.
  if (reference.codec == nullptr || reference.child->definition().is_discarded) {
    for (const ChildReference::Columns& column : reference.columns) {
      const codec::ColumnLayout& referenced = table_.layout().columns[column.parent];
      if (is_null_in(referenced, change.old_record)) return Status::ok();
    }
    return refuse(change, reference.key, "");
  }
  const bool is_refused = !is_removal || action == ReferentialAction::kRestrict ||
                          action == ReferentialAction::kNoAction;
  if (is_refused && finds_itself(reference, change.old_record)) {
    return refuse(change, reference.key, prefix_);
  }
  if (!reference.codec->make_prefix(change.old_record, prefix_)) return Status::ok();
  if (reference.values != nullptr &&
      !reference.values->own.make_prefix(change.old_record, values_)) {
    return Status::ok();
  }
  prefix_ += reference.current;
  switch (action) {
    case ReferentialAction::kRestrict:
    case ReferentialAction::kNoAction: return restrict_children(change, number);
    case ReferentialAction::kCascade: return change_children(change, number, is_removal, is_sure);
    case ReferentialAction::kSetNull: return change_children(change, number, false, is_sure);
  }
  BASALT_UNREACHABLE();
}

// Whether the row is its own parent, and InnoDB finds its entry when it looks for rows that
// reference it: it does so when the entry that is referenced has gone, and before those of later
// indexes go.
bool ReferenceEnforcer::finds_itself(const ChildReference& child, const std::uint8_t* record) {
  if (!child.key->references_itself()) return false;
  return std::ranges::any_of(references_->parents, [&](const ParentReference& reference) {
    return reference.key->id == child.key->id && reference.own_key != nullptr &&
           child.index_number > reference.index_number &&
           reference.compared().make_prefix(record, prefix_) &&
           reference.own_key->make_prefix(record, other_prefix_) && prefix_ == other_prefix_;
  });
}

// Whether what was found of a child's rows, or went wrong when they were looked for, says nothing,
// and follow() looks again.
bool ReferenceEnforcer::is_another_now(const Status& status) const {
  return is_outdated() && (status.is_ok() || status.is(ErrorCode::kCorruption) ||
                           status.is(ErrorCode::kDefinitionMismatch));
}

Status ReferenceEnforcer::restrict_children(const Change& change, std::size_t number) {
  const ChildReference& reference = references_->children[number];
  Result<ChildAccess*> access = child_access(number);
  if (!access.is_ok()) return access.take_status();
  ChildAccess& child = *access.value();
  child.cursor.open(change.transaction, reference.index_number,
                    locking_read(lock::LockMode::kShared, change.policy, NewOwnKeys::kMet),
                    columns_to_look_at(*reference.child, child.versions(), reference.values.get()),
                    false);
  bool found = false;
  Status status =
      child.cursor.seek(SeekMode::kFirstWithPrefix, prefix_, child.record.data(), found);
  while (status.is_ok() && found &&
         !counts(child.versions(), reference.values.get(), child.record.data())) {
    status = child.cursor.next_with_prefix(child.record.data(), found);
  }
  child.cursor.close();
  if (is_another_now(status)) return Status::ok();
  BASALT_TRY(std::move(status));
  if (!found) return Status::ok();
  return fail(ErrorCode::kRowIsReferenced, reference.key, change.kind(), prefix_);
}

// A cascade must not come to a table that it is updating already: which of its rows are still to
// come would depend on the order of the changes. InnoDB refuses so, too.
bool ReferenceEnforcer::was_updated_before(const CascadeStep& step, catalog::TableId table) const {
  for (const CascadeStep* cause = step.cause; cause != nullptr; cause = cause->cause) {
    if (cause->table == table && cause->is_update) return true;
  }
  return false;
}

// `is_sure`: the child keeps its definition from before its first row is changed.
Status ReferenceEnforcer::change_children(const Change& change, std::size_t number, bool removes,
                                          bool& is_sure) {
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
  // A row that gets other values of the key may keep its prefix, and is not changed again.
  const NewOwnKeys new_own_keys = removes ? NewOwnKeys::kMet : NewOwnKeys::kPassedInRange;
  child.cursor.open(change.transaction, reference.index_number,
                    locking_read(lock::LockMode::kExclusive, change.policy, new_own_keys),
                    codec::ColumnSet(column_count(*reference.child), true), false);
  bool found = false;
  // The prefix is this call's: further down the keys are those of other rows.
  const std::string prefix = prefix_;
  Status status = child.cursor.seek(SeekMode::kFirstWithPrefix, prefix, child.record.data(), found);
  if (status.is_ok() && found && context_ != nullptr) status = context_->begin_changes(child.table);
  is_sure = status.is_ok() && found && context_ != nullptr;
  if (!is_sure && is_another_now(status)) {
    status = Status::ok();
    found = false;
  }
  // The statement has opened only those children that it knew of.
  if (status.is_ok() && found) status = child.enforcer.bind(change.transaction, change.policy);
  // A removal may change other rows of the child by way of keys that lead to it, and give those
  // that are still to come a key behind the scan.
  bool may_have_moved = false;
  while (status.is_ok()) {
    if (!found) {
      if (!std::exchange(may_have_moved, false)) break;
      status = child.cursor.seek(SeekMode::kFirstWithPrefix, prefix, child.record.data(), found);
      continue;
    }
    if (!counts(child.versions(), reference.values.get(), child.record.data())) {
      status = child.cursor.next_with_prefix(child.record.data(), found);
      continue;
    }
    if (step.depth > CascadeStep::kDepthMax) {
      status = fail(ErrorCode::kCascadeTooDeep, reference.key, change.kind(), prefix);
      break;
    }
    if (!removes && was_updated_before(step, step.table)) {
      status = fail(ErrorCode::kRowIsReferenced, reference.key, change.kind(), prefix);
      break;
    }
    status = change_child(change, number, child, removes);
    may_have_moved = removes && child.enforcer.has_children();
    BASALT_FAILPOINT("table.cascade.after_row");
    // One parent may have more children than memory has room for their changes.
    if (status.is_ok()) status = change.transaction.spill_if_large();
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
  BASALT_TRY(child.compute(StatementContext::Version::kStored));
  if (removes) return note_failure(child, remove_child(change, child, primary_key));
  if (!make_child_record(change, number, child)) {
    return fail(ErrorCode::kRowIsReferenced, reference.key, change.kind(), prefix_);
  }
  return note_failure(child, update_child(change, child, primary_key));
}

Status ReferenceEnforcer::remove_child(const Change& change, ChildAccess& child,
                                       std::string_view primary_key) {
  if (child.versions().exist()) {
    BASALT_TRY(make_history(child));
    Status status = child.writer.update(change.transaction, child.record.data(),
                                        child.new_record.data(), primary_key);
    // There is history of this moment already: there is no more of it, as where the server removes
    // rows.
    if (!status.is(ErrorCode::kDuplicateKey)) return status;
  }
  return child.writer.remove(change.transaction, child.record.data(), primary_key);
}

// From the child's record to its new_record.
Status ReferenceEnforcer::update_child(const Change& change, ChildAccess& child,
                                       std::string_view primary_key) {
  const bool is_kept = child.versions().is_kept(child.record.data(), child.new_record.data());
  if (is_kept) {
    StatementContext* context = nullptr;
    BASALT_TRY(child.find_context(context));
    child.versions().begin(context->time(), child.new_record.data());
  }
  BASALT_TRY(child.compute(StatementContext::Version::kNew));
  BASALT_TRY(child.writer.update(change.transaction, child.record.data(), child.new_record.data(),
                                 primary_key));
  if (!is_kept) return Status::ok();
  BASALT_TRY(make_history(child));
  return child.writer.insert(change.transaction, child.new_record.data());
}

Status ReferenceEnforcer::make_history(ChildAccess& child) {
  StatementContext* context = nullptr;
  BASALT_TRY(child.find_context(context));
  child.new_record = child.record;
  child.versions().end(context->time(), child.new_record.data());
  return child.compute(StatementContext::Version::kNew);
}

// Tells what a failure further down was about.
Status ReferenceEnforcer::note_failure(const ChildAccess& child, Status status) {
  if (status.is_ok()) return status;
  if (child.enforcer.refusal().key != nullptr) refusal_ = child.enforcer.refusal();
  if (status.is(ErrorCode::kDuplicateInChild)) {
    duplicate_in_child_ = child.enforcer.duplicate_in_child();
  }
  if (!status.is(ErrorCode::kDuplicateKey)) return status;
  duplicate_in_child_ = {child.table.definition().name,
                         child.table.index(child.writer.duplicate_index()).name};
  return Status(ErrorCode::kDuplicateInChild, duplicate_in_child_.table);
}

// The child's row with NULL, or with the parent's new values where they are others. False if it
// cannot hold them.
bool ReferenceEnforcer::make_child_record(const Change& change, std::size_t number,
                                          ChildAccess& child) const {
  const ChildReference& reference = references_->children[number];
  const codec::TableLayout& layout = reference.child->layout();
  const bool sets_null =
      change.new_record == nullptr || reference.key->on_update == ReferentialAction::kSetNull;
  child.new_record = child.record;
  for (const ChildReference::Columns& column : reference.columns) {
    const codec::ColumnLayout& to = layout.columns[column.child];
    const codec::ColumnLayout& from = table_.layout().columns[column.parent];
    if (sets_null) {
      if (!to.nullable) return false;
      codec::set_column_null(to, child.new_record.data());
    } else if (values_differ(from, change.old_record, change.new_record) &&
               !codec::copy_column(from, change.new_record, to, child.new_record.data())) {
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
  access->enforcer.set_context(context_);
  return access.get();
}

}  // namespace basalt::table
