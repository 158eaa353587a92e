#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "lock/lock_manager.h"
#include "table/interruption.h"
#include "table/references.h"
#include "table/statement_context.h"
#include "table/system_versions.h"
#include "table/table.h"
#include "txn/transaction.h"

namespace basalt::table {

class Cursor;
class RowWriter;

// What led to a change of a row: the statement itself, or a foreign key of another changed row.
struct CascadeStep {
  // Foreign keys are followed so many times one after the other, as in InnoDB: over fifteen tables,
  // the statement's own among them.
  static constexpr std::uint32_t kDepthMax = 14;

  const CascadeStep* cause = nullptr;  // null: the statement
  catalog::ForeignKeyId key = 0;       // that was followed; 0: none
  catalog::TableId table = 0;          // of the changed row
  bool is_update = false;
  std::uint32_t depth = 0;
};

// Holds the foreign keys of one table while its rows are changed.
//
// New rows    Each row that is referenced is locked, shared, and there, in its newest committed
//             version or by the transaction itself: it stays until the transaction ends, since
//             whoever removes it locks it exclusively.
// Old rows    Rows that reference one which goes are found with locks, in their newest versions;
//             those that others insert meanwhile wait for the referenced row. They are removed or
//             changed in turn, with what references them.
// History     Rows that are history reference nothing and are not referenced; a row that becomes
//             history is removed. Changes of children make history as the server's own do.
//             A row that references itself stays, and keeps its values, unless its removal is
//             handed on.
// Newer keys  No metadata lock keeps tables from getting foreign keys that lead to this one, or to
//             a child of it, while a statement runs: see renew(). Nor does one keep such a child,
//             or one that only forbids a change further down, from getting other indexes: it is
//             looked at again then.
// Errors      kNoReferencedRow, kRowIsReferenced, kCascadeTooDeep: refusal() tells which key.
//             kDuplicateInChild: duplicate_in_child() tells of what. Others as of Cursor, RowWriter
//             and StatementContext. What was changed before is left to the caller to undo.
// Threads     Belongs to one RowWriter.
class ReferenceEnforcer {
 public:
  // `tables` outlives it. The references are of `table`.
  ReferenceEnforcer(const Table& table, std::shared_ptr<const TableReferences> references,
                    TableSource& tables);
  ~ReferenceEnforcer();
  ReferenceEnforcer(const ReferenceEnforcer&) = delete;
  ReferenceEnforcer& operator=(const ReferenceEnforcer&) = delete;

  const TableReferences& references() const { return *references_; }
  // For a transaction that is going to write rows: with the newest foreign keys, the definitions of
  // the parents stay as they are until it ends. Errors as of locks, and of TableSource.
  Status bind(txn::Transaction& transaction, const lock::WaitPolicy& policy);
  // The same if there may be keys that came since. To be asked before a row goes or changes, when
  // all is locked of it that who references it locks: a key that comes later is one whose children
  // wait for the row.
  Status renew(txn::Transaction& transaction, const lock::WaitPolicy& policy) {
    return is_outdated() ? bind(transaction, policy) : Status::ok();
  }
  void set_interruption(const Interruption* interruption) { interruption_ = interruption; }
  // It outlives the calls. Without one, children that need it are not changed: kUnsupported.
  void set_context(StatementContext* context) { context_ = context; }
  // Rows of other tables that are referenced are locked and looked for by this transaction, not by
  // the one that writes: a copy's knows nothing of what its statement has locked, and would wait
  // for it, and its locks last for a portion of the rows alone. Null: by the one that writes. It
  // outlives the calls.
  void set_parents_transaction(txn::Transaction* transaction) {
    parents_transaction_ = transaction;
  }
  // The rows that are changed now are changed because of `step`; null: by the statement. It
  // outlives the calls.
  void set_cause(const CascadeStep* step) { cause_ = step; }

  // Before the row is written. `old_record` is null for a new row; else only keys whose columns
  // change are looked at.
  Status check_parents(txn::Transaction& transaction, const std::uint8_t* old_record,
                       const std::uint8_t* record, const lock::WaitPolicy& policy);
  // Whether rows may have to be changed, or may forbid the change, when this row goes, or changes.
  bool has_children() const { return !references_->children.empty(); }
  bool is_followed(const std::uint8_t* old_record, const std::uint8_t* new_record) const;
  // After the row was removed, or changed.
  Status follow_removal(txn::Transaction& transaction, const std::uint8_t* record,
                        const lock::WaitPolicy& policy);
  Status follow_update(txn::Transaction& transaction, const std::uint8_t* old_record,
                       const std::uint8_t* new_record, const lock::WaitPolicy& policy);

  // What a foreign key has refused.
  struct Refusal {
    enum class Change : std::uint8_t { kInsert, kUpdate, kRemoval };
    catalog::ForeignKeyPointer key;
    std::string table;  // whose row was to change, "database/table": the key's child or parent
    Change change = Change::kInsert;
    bool is_child = false;  // the row references none; else it is referenced
    // What was looked for in the index at the key's other end; empty if there is no such index.
    std::string prefix;
  };
  // Of the last such error; the key is null before.
  const Refusal& refusal() const { return refusal_; }
  // An index of another table.
  struct IndexName {
    std::string table;  // "database/table"
    std::string index;
  };
  // Where the duplicate of the last such error is.
  const IndexName& duplicate_in_child() const { return duplicate_in_child_; }

 private:
  struct ParentAccess;
  struct ChildAccess;
  // The change of this table's row that is being followed.
  struct Change {
    txn::Transaction& transaction;
    const std::uint8_t* old_record;
    const std::uint8_t* new_record;  // null: it was removed
    const lock::WaitPolicy& policy;

    Refusal::Change kind() const {
      return new_record == nullptr ? Refusal::Change::kRemoval : Refusal::Change::kUpdate;
    }
  };

  bool keeps_parent(const ParentReference& reference, const std::uint8_t* old_record,
                    const std::uint8_t* record);
  bool references_its_old_key(const ParentReference& reference, const std::uint8_t* old_record,
                              const std::uint8_t* record);
  bool finds_itself(const ChildReference& child, const std::uint8_t* record);
  // By whom the parent is locked, where `writing` writes.
  txn::Transaction& parents_transaction(txn::Transaction& writing,
                                        const ParentReference& reference) const {
    // Rows of the table itself may have been written just now.
    const bool is_own = parents_transaction_ == nullptr || reference.key->references_itself();
    return is_own ? writing : *parents_transaction_;
  }
  Status check_parent(txn::Transaction& transaction, std::size_t number, const std::uint8_t* record,
                      Refusal::Change change, const lock::WaitPolicy& policy);
  bool counts(const SystemVersions& versions, const ReferencedValues* values,
              const std::uint8_t* record);
  Status find_parent(txn::Transaction& transaction, std::size_t number,
                     const lock::WaitPolicy& policy, bool& found);
  bool is_outdated() const { return references_->generation != tables_.generation(); }
  Status follow(const Change& change);
  Status follow_key(const Change& change, std::size_t number, bool& is_sure);
  Status refuse(const Change& change, const catalog::ForeignKeyPointer& key,
                std::string_view prefix);
  bool is_another_now(const Status& status) const;
  Status restrict_children(const Change& change, std::size_t number);
  Status change_children(const Change& change, std::size_t number, bool removes, bool& is_sure);
  Status change_child(const Change& change, std::size_t number, ChildAccess& child, bool removes);
  bool make_child_record(const Change& change, std::size_t number, ChildAccess& child) const;
  Status remove_child(const Change& change, ChildAccess& child, std::string_view primary_key);
  Status update_child(const Change& change, ChildAccess& child, std::string_view primary_key);
  // Has new_record be the child's record as history has it.
  Status make_history(ChildAccess& child);
  Status note_failure(const ChildAccess& child, Status status);
  Result<ChildAccess*> child_access(std::size_t number);
  bool was_updated_before(const CascadeStep& step, catalog::TableId table) const;
  Status fail(ErrorCode code, const catalog::ForeignKeyPointer& key, Refusal::Change change,
              std::string_view prefix);

  const Table& table_;
  std::shared_ptr<const TableReferences> references_;
  const SystemVersions versions_;
  TableSource& tables_;
  const Interruption* interruption_ = nullptr;
  StatementContext* context_ = nullptr;
  const CascadeStep* cause_ = nullptr;
  txn::Transaction* parents_transaction_ = nullptr;
  std::vector<std::unique_ptr<ParentAccess>> parents_;  // of each parent; null until needed
  std::vector<std::unique_ptr<ChildAccess>> children_;  // likewise
  std::string prefix_;
  std::string other_prefix_;
  std::string values_;  // of what is looked for, where the prefix does not tell all of them
  kv::PinnedValue found_;
  Refusal refusal_;
  IndexName duplicate_in_child_;
};

}  // namespace basalt::table
